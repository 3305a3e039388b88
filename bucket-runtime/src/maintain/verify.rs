//! Verifies buckets against G2 to G5, and repairs whatever needs no guessing.

mod command;
mod find;
mod mend;
mod problem;

use mongodb::{
    Collection,
    bson::{Bson, Document},
};

pub use self::problem::BucketProblem;
pub(crate) use self::{
    command::seal,
    find::{Facts, Verifier},
};
use crate::{
    Bucket, Result,
    schema::key::{Key, KeyPart},
    server::Server,
    value::unreadable::unreadable,
};

/// Builder of a verification: await it; see [`Bucket::verify`](crate::Bucket::verify).
#[must_use = "nothing is verified until this is awaited"]
pub struct VerifyBuckets(Verifier);

impl VerifyBuckets {
    pub(crate) fn new(verifier: Verifier) -> Self {
        Self(verifier)
    }

    pub(crate) async fn execute(self) -> Result<Vec<BucketProblem>> {
        self.0.check_indexes().await?;
        self.0.problems().await
    }
}

/// Builder of a repair: await it; see [`Bucket::repair`](crate::Bucket::repair).
#[must_use = "nothing is repaired until this is awaited"]
pub struct RepairBuckets(Verifier);

impl RepairBuckets {
    pub(crate) fn new(verifier: Verifier) -> Self {
        Self(verifier)
    }

    pub(crate) async fn execute(self) -> Result<Vec<BucketProblem>> {
        self.0.check_indexes().await?;
        self.0.repair().await?;
        self.0.problems().await
    }
}

/// The verifier of a collection.
pub(crate) fn verifier<T: Bucket>(collection: Collection<Document>) -> Verifier {
    Verifier {
        server: Server::new(collection),
        buckets: Document::new(),
        spec: const { &T::SPEC },
        parts: parts::<T>,
        unreadable: unreadable::<T>,
    }
}

/// The key with these stored values, or the index of the first unreadable field.
fn parts<T: Bucket>(values: Vec<Bson>) -> Result<Vec<KeyPart>, usize> {
    T::Key::from_values(values).map(|key| T::Key::parts(key.borrowed()))
}
