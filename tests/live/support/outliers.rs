//! Parents and extras of any struct.

use bucket_runtime::{
    Outlier, Outliers, Problem, Result,
    mongodb::{Database, bson::Document},
};

/// Both collections, emptied.
pub(crate) async fn fresh<T: Outlier>(db: &Database) -> Outliers<T> {
    for name in [T::SPEC.collection, T::SPEC.extras] {
        let _ = db.collection::<Document>(name).drop().await;
    }
    T::outliers(db).await.unwrap()
}

/// The problems that `verify` finds in the two collections.
pub(crate) async fn verify<T: Outlier>(of: &Outliers<T>) -> Result<Vec<Problem>> {
    let verified = T::verify_in(of.collection().clone(), of.extras_collection().clone()).await;
    verified.map(|verified| verified.problems)
}
