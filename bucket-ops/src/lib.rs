//! Operations on collections of [`bucket_runtime`]: what an operator calls once in a while, and an
//! application need not compile. Verify, repair, rebuild rollups, change the capacity, import flat
//! data, migrate to another struct, export and import archives.
//!
//! [`Ops`] is the handle for a struct that derives [`Bucket`](macro@bucket_runtime::Bucket),
//! [`OutlierOps`] for one that derives [`Outlier`](macro@bucket_runtime::Outlier).
//!
//! ```no_run
//! use bucket_ops::Ops;
//! # use bucket_runtime::{Bucket, mongodb::Database};
//!
//! # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
//! let verified = Ops::<Trade>::of(&db).verify().await?;
//! println!("{} items in {} buckets", verified.items, verified.buckets);
//! # Ok(())
//! # }
//! ```

pub mod action;
mod archive;
mod change_capacity;
mod import_flat;
mod migrate;
mod ops;
mod outlier;
mod transfer;
mod verify;

pub use crate::{
    archive::{
        export::ExportStream,
        import::Imported,
        refused_line::{RefusedLine, RefusedReason},
    },
    import_flat::ImportProgress,
    migrate::MigrateProgress,
    ops::Ops,
    outlier::{ops::OutlierOps, repair::RepairedOutliers, verify::VerifiedOutliers},
    verify::{Problem, ProblemKind, RepairedBuckets, VerifiedBuckets, rebuild::RollupProgress},
};
