//! The handle of operations on parents and their extras.

use std::{fmt, marker::PhantomData};

use bucket_core::server::{Server, call::span};
use bucket_runtime::{
    Outlier,
    action::Call,
    mongodb::{Collection, Database},
};

use super::{
    repair::RepairOutliers,
    verify::{OutlierVerifier, VerifiedOutliers},
};

/// Operations on the parents of one collection and their extras in another. Making it sends
/// nothing.
pub struct OutlierOps<T> {
    parents: Server,
    extras: Server,
    parent: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for OutlierOps<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OutlierOps")
            .field(&self.parents.name())
            .finish()
    }
}

impl<T: Outlier> OutlierOps<T> {
    /// Operations on the struct's two collections.
    pub fn of(db: &Database) -> Self {
        Self::in_collections(
            db.collection::<T>(T::SPEC.collection),
            db.collection::<T>(T::SPEC.extras),
        )
    }

    /// Operations on collections of your choice, with the read preferences and the concerns of
    /// these handles.
    pub fn in_collections<C: Send + Sync>(parents: Collection<C>, extras: Collection<C>) -> Self {
        let extras = Server::new(extras.clone_with_type());
        Self {
            parents: extras.with_collection(parents.clone_with_type()),
            extras,
            parent: PhantomData,
        }
    }

    /// Lists what breaks O2 to O4 in the struct's two collections, and what the struct cannot read:
    /// parents and items, each as a problem of its own; also
    /// [`unique`](macro@bucket_runtime::Outlier#unique) items that stand twice, in a parent, among
    /// its extras or in both. It also counts what it has read. The collections need not open:
    /// extras of which a parent has two open documents do not.
    ///
    /// It reads all parents and all extras, as the primary has them, in bounded memory. Writers may
    /// be active; each problem existed at one moment.
    ///
    /// # Errors
    ///
    /// Those of [`outliers`](bucket_runtime::Outlier::outliers) about indexes, or the driver's.
    /// Nothing that is stored is an error.
    ///
    /// ```no_run
    /// # use bucket_ops::OutlierOps;
    /// # use bucket_runtime::{Outlier, mongodb::Database};
    /// # async fn example<Book: Outlier>(db: Database) -> bucket_runtime::Result<()> {
    /// let verified = OutlierOps::<Book>::of(&db).verify().await?;
    /// println!("{} parents, {} items", verified.parents, verified.items);
    /// for problem in verified.problems {
    ///     println!("{problem}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn verify(&self) -> Call<'static, VerifiedOutliers> {
        let (parents, extras) = (self.parents.clone(), self.extras.clone());
        Call::new(span!(verify), |()| async move {
            let verifier = OutlierVerifier::<T>::check(parents, extras).await?;
            verifier.verify().await
        })
    }

    /// Repairs what [`verify`](Self::verify) finds where that needs no guessing: it repairs the
    /// extras as [`Ops::repair`](crate::Ops::repair)(crate::Ops::repair) does, splits parents that
    /// are too large, sets missing flags and corrects totals. It says how many problems of each
    /// kind it solved, and which are left.
    ///
    /// It also takes over extras that another program stored under ids of its own, as the manual's
    /// commands do: their items move to documents of this library's, behind the parent's own items
    /// and before those that were pushed since, in the order of the old documents' ids. The old
    /// documents go, with whatever other fields they have.
    ///
    /// A split moves what exceeds the threshold or `max_bytes`. Each parent takes a transaction of
    /// its own, so every item is in one place whenever the call stops. A parent that cannot be
    /// split, since two of its items have the same identity, say, stays as it is and is
    /// [told](crate::RepairedOutliers::refused).
    ///
    /// It deletes extras whose parent is gone only with
    /// [`delete_orphans`](crate::action::RepairOutliers::delete_orphans), and no other item ever.
    ///
    /// Writers may be active, and repeating the call does no harm. After a dropped future some
    /// problems are solved, and a task finishes the current parent.
    ///
    /// # Errors
    ///
    /// Those of [`verify`](Self::verify), the driver's about a write, and
    /// [`is_unsupported`](bucket_runtime::Error::is_unsupported) on a standalone server, which has
    /// no transactions.
    ///
    /// ```no_run
    /// # use bucket_ops::OutlierOps;
    /// # use bucket_runtime::{Outlier, mongodb::Database};
    /// # async fn example<Book: Outlier>(db: Database) -> bucket_runtime::Result<()> {
    /// let result = OutlierOps::<Book>::of(&db).repair().await?;
    /// println!("{:?}", result.repaired); // {TooLarge: 1, NoFlag: 2}
    /// for problem in result.left {
    ///     println!("{problem}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn repair(&self) -> RepairOutliers<T> {
        RepairOutliers::new(self.parents.clone(), self.extras.clone())
    }
}
