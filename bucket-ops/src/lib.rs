#![doc = "[guide]: crate::guide"]
//!
//! For collections of [`bucket_runtime`]; an application does not compile it.
#![doc = include_str!("../README.md")]
//!
//! [`Ops`] is the handle for a struct that derives [`Bucket`](macro@bucket_runtime::Bucket),
//! [`OutlierOps`] for one that derives [`Outlier`](macro@bucket_runtime::Outlier). The [`guide`] shows
//! each call at work.
//!
//! With the feature `sync`, every call has `.run()`, which blocks the thread, beside `.await`.

pub mod action;
mod archive;
mod change_capacity;
pub mod guide;
mod import_flat;
mod migrate;
mod ops;
mod outlier;
mod transfer;
mod verify;

pub use crate::{
    archive::{
        import::Imported,
        refused_line::{RefusedLine, RefusedReason},
    },
    import_flat::ImportProgress,
    migrate::MigrateProgress,
    ops::Ops,
    outlier::{ops::OutlierOps, repair::RepairedOutliers, verify::VerifiedOutliers},
    verify::{Problem, ProblemKind, RepairedBuckets, VerifiedBuckets, rebuild::RollupProgress},
};
