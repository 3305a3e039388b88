//! Verifies buckets against G2 to G5, and repairs whatever needs no guessing.

mod bucket;
mod command;
mod find;
mod look;
mod numbers;
mod problem;
pub(crate) mod rebuild;
mod repair;
mod rollup;

use std::collections::BTreeMap;

use bucket_core::server::{Server, call::span};
use bucket_runtime::{__ops::parts, Bucket, Result, action::Call};
use mongodb::bson::Document;

use self::look::look;
pub use self::problem::{Problem, ProblemKind};
pub(crate) use self::{command::seal, find::Verifier};

/// The result of a [`verify`](crate::Ops::verify): how much was read, and the problems found.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct VerifiedBuckets {
    /// How many buckets were read, among them documents that are not buckets.
    pub buckets: u64,
    /// How many items they hold.
    pub items: u64,
    /// The problems found, each of which breaks a guarantee.
    pub problems: Vec<Problem>,
}

/// The result of a [`repair`](crate::Ops::repair): the repaired problems, and those that are
/// left.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct RepairedBuckets {
    /// How many problems of each kind were repaired; empty if none was.
    pub repaired: BTreeMap<ProblemKind, u64>,
    /// The problems that are left; the [remedy](Problem::remedy) of each says what to do.
    pub left: Vec<Problem>,
}

impl Verifier {
    pub(crate) fn into_verified(mut self) -> Call<'static, VerifiedBuckets> {
        Call::new(span!(verify), |()| async move {
            let missing = self.missing_indexes().await?;
            let mut verified = self.verify().await?;
            verified.problems.extend(missing);
            Ok(verified)
        })
    }

    pub(crate) fn into_repaired(mut self) -> Call<'static, RepairedBuckets> {
        Call::new(span!(repair), |()| async move {
            let missing = self.missing_indexes().await?;
            let repaired = self.repair().await?;
            let mut left = self.problems().await?;
            left.extend(missing);
            Ok(RepairedBuckets { repaired, left })
        })
    }
}

/// The verifier of a collection.
pub(crate) fn verifier<T: Bucket>(server: Server) -> Verifier {
    Verifier {
        server,
        buckets: Document::new(),
        spec: const { &T::SPEC },
        may_exceed: false,
        parts: parts::<T>,
        look: look::<T>,
    }
}

/// Whether the collection exists: then it has the index on `_id`.
pub(crate) async fn exists(server: &Server) -> Result<bool> {
    Ok(!server.target().indexes().await?.is_empty())
}
