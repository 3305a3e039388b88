//! For collections of [`bucket_runtime`]; an application does not compile it.
#![doc = include_str!("../README.md")]
//!
//! [`Ops`] is the handle for a struct that derives [`Bucket`](macro@bucket_runtime::Bucket),
//! [`OutlierOps`] for one that derives [`Outlier`](macro@bucket_runtime::Outlier). The guide's pages
//! on [taking over], [importing], [archives] and [another struct] show each call at work.
//!
//! With the feature `sync`, every call has `.run()`, which blocks the thread, beside `.await`.
//!
//! [taking over]: bucket_runtime::guide::taking_over
//! [importing]: bucket_runtime::guide::importing
//! [archives]: bucket_runtime::guide::archive
//! [another struct]: bucket_runtime::guide::versions

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
        import::Imported,
        refused_line::{RefusedLine, RefusedReason},
    },
    import_flat::ImportProgress,
    migrate::MigrateProgress,
    ops::Ops,
    outlier::{ops::OutlierOps, repair::RepairedOutliers, verify::VerifiedOutliers},
    verify::{Problem, ProblemKind, RepairedBuckets, VerifiedBuckets, rebuild::RollupProgress},
};
