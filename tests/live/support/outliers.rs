//! Parents and extras of any struct.

use bucket_ops::{OutlierOps, Problem, RepairedOutliers};
use bucket_runtime::{
    EditManyError, Field, IdRef, Outlier, Outliers, Result,
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
    let verified =
        OutlierOps::<T>::in_collections(of.collection().clone(), of.extras_collection().clone())
            .verify()
            .await;
    verified.map(|verified| verified.problems)
}

/// Repairs the two collections.
pub(crate) async fn repaired<T: Outlier>(of: &Outliers<T>) -> Result<RepairedOutliers> {
    OutlierOps::<T>::in_collections(of.collection().clone(), of.extras_collection().clone())
        .repair()
        .await
}

/// Removes all items of a parent that equal this one; returns whether there were any.
pub(crate) async fn remove<T: Outlier>(
    of: &Outliers<T>,
    id: IdRef<'_, T>,
    item: impl Into<T::Item>,
) -> Result<bool, EditManyError> {
    let equal = Field::<T::Item, T::Item>::new("").eq(item.into());
    of.remove_items(id, equal).await.map(|removed| removed > 0)
}
