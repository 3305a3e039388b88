//! Splits parents that have already grown too large.

pub(crate) mod buckets;

use std::collections::HashSet;

use futures_util::future::BoxFuture;
use mongodb::{
    ClientSession,
    bson::{Array, Bson, Document, RawDocumentBuf, doc},
};

use self::buckets::pack;
use crate::{
    Result,
    error::Kind,
    outlier::{
        Outlier, Outliers, command::oversize_parents, parent_handle::ParentHandle,
        write::ITEMS_PER_COMPARISON,
    },
    protocol::{command::identity, range::Range},
    server::{
        target::Target,
        transaction::{self, Attempt},
        wire::Request,
    },
    value::{
        element::{comparable, document_size},
        shell::shell,
    },
};

impl<T: Outlier> Outliers<T> {
    /// Moves what exceeds the threshold or `max_bytes` to extras, for a collection whose documents have
    /// grown already. Programs that use this library go on writing.
    ///
    /// It splits each parent in a transaction of its own, so it needs a replica set or a sharded cluster,
    /// and every item is in one place whenever it stops. Call it again to go on. After a dropped future, a
    /// task finishes the current parent.
    ///
    /// # Errors
    ///
    /// [`is_not_unique`](crate::Error::is_not_unique) if items are [`unique`](macro@crate::Outlier#unique), and two
    /// of a parent have the same identity, or none. That parent stays as it is, as does one that the server refuses to
    /// split; all others are split, and then the call returns the error of the first one.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Outlier, Outliers};
    /// # async fn example<Book: Outlier>(books: Outliers<Book>) -> bucket_runtime::Result<()> {
    /// let split = books.split_existing().on_progress(|at| println!("{}/{}", at.done, at.found)).await?;
    /// println!("{} items moved", split.moved);
    /// # Ok(())
    /// # }
    /// ```
    pub fn split_existing(&self) -> SplitExisting<'static, T> {
        SplitExisting {
            outliers: self.clone(),
            progress: Box::new(|_| {}),
        }
    }
}

/// The progress of a [`split_existing`](crate::Outliers::split_existing).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SplitProgress {
    /// How many parents were too large when the call began.
    pub found: u64,
    /// How many of them have been handled so far.
    pub done: u64,
    /// How many items were moved to extras so far.
    pub moved: u64,
}

/// Builder of a split of all parents that are too large: await it; see
/// [`Outliers::split_existing`](crate::Outliers::split_existing).
#[must_use = "nothing is split until this is awaited"]
pub struct SplitExisting<'p, T> {
    outliers: Outliers<T>,
    progress: Box<dyn FnMut(SplitProgress) + Send + 'p>,
}

impl<T: Outlier> SplitExisting<'_, T> {
    /// Calls this at the beginning and after each parent.
    pub fn on_progress<'p>(
        self,
        progress: impl FnMut(SplitProgress) + Send + 'p,
    ) -> SplitExisting<'p, T> {
        SplitExisting {
            outliers: self.outliers,
            progress: Box::new(progress),
        }
    }

    pub(crate) async fn execute(self) -> Result<SplitProgress> {
        let Self {
            outliers,
            mut progress,
        } = self;
        let parents = &outliers.collections.parents;
        parents.needs_replica_set("split_existing").await?;
        let parents = parents.target();
        let oversize = oversize_parents(&T::SPEC);
        let mut at = SplitProgress {
            found: parents.count_documents(oversize.clone(), None).await?,
            ..SplitProgress::default()
        };
        progress(at);
        let mut rows = parents
            .find(oversize, ids())
            .cursor::<Document>(None)
            .await?;
        let mut refused = None;
        while let Some(row) = rows.next_decoded().await? {
            let id = row.get("_id").unwrap_or(&Bson::Null);
            let split = async { outliers.stored_parent(id)?.split().await };
            match split.await {
                Ok(moved) => at.moved += moved,
                Err(error) if error.is_fatal() => return Err(error),
                Err(error) => refused = refused.or(Some(error)),
            }
            at.done += 1;
            progress(at);
        }
        refused.map_or(Ok(at), Err)
    }
}

/// The ids alone, in their order.
fn ids() -> Range {
    Range::oldest_first().project(doc! { "_id": 1 })
}

impl ParentHandle {
    /// Splits the parent, in a transaction: all of it moves, or nothing does, and no reader sees it half
    /// done. Returns how many items moved.
    pub(super) async fn split(self) -> Result<u64> {
        let server = self.collections.parents.clone();
        transaction::run(&server, SplitParent(self)).await
    }
}

/// The split of one parent. It stores no item that was not stored before, so no error of its requests is in
/// doubt.
struct SplitParent(ParentHandle);

impl Attempt for SplitParent {
    type Output = u64;

    fn attempt<'s>(&'s self, session: &'s mut ClientSession) -> BoxFuture<'s, Result<u64>> {
        Box::pin(async move {
            let parent = &self.0;
            let (kept, rest) = self.rest(session).await?;
            if rest.is_empty() {
                return Ok(0);
            }
            self.check_not_in_extras(&rest, session).await?;
            let moved = rest.len() as u64;
            self.move_out(rest, session).await?;
            for update in [parent.scope.unset_flag(), parent.scope.cut(kept)] {
                let target = parent.parent().store_no_items();
                target.modify(update, &mut *session).await?;
            }
            // This only saves round trips, so it does no harm if the commit fails.
            parent.remember();
            Ok(moved)
        })
    }
}

impl SplitParent {
    /// The extras' collection, for requests in the transaction.
    fn extras(&self) -> Target<'_> {
        self.0.extras().store_no_items()
    }

    /// Moves items to the extras, before the existing ones.
    async fn move_out(&self, items: Array, session: &mut ClientSession) -> Result<()> {
        let scope = &self.0.scope;
        // Reads return the manual's extras documents first, so the first of these takes the items.
        if let Some(id) = self.first_id(scope.unnumbered_extras(), session).await? {
            let put = scope.put_before(id, items);
            return self.extras().modify(put, session).await.map(drop);
        }
        let first = self.first_id(scope.extras.all(), session).await?;
        let next = first.as_ref().map(|id| id.as_str().unwrap_or_default());
        let buckets = pack(scope, next, &items);
        let foreign = || Kind::ForeignId(first.unwrap_or(Bson::Null).to_string());
        let buckets = buckets.ok_or_else(|| self.0.error(foreign()))?;
        let insert = Request::Insert(&buckets, true);
        self.extras().send(insert, Some(session)).await.map(drop)
    }

    /// An error if the extras hold an item with the identity of one that is to move there.
    async fn check_not_in_extras(&self, items: &[Bson], session: &mut ClientSession) -> Result<()> {
        let Self(parent) = self;
        let Some(field) = parent.scope.spec.unique else {
            return Ok(());
        };
        for items in items.chunks(ITEMS_PER_COMPARISON) {
            let identities = items.iter().filter_map(|item| identity(field, item));
            let identities = Vec::from_iter(identities.cloned());
            let server = &parent.collections.extras.server;
            let scope = &parent.scope.extras;
            let held = server.present_identities(scope, field, identities.clone(), Some(session));
            let held: HashSet<_> = held.await?.iter().map(comparable).collect();
            if let Some(twin) = identities
                .iter()
                .find(|item| held.contains(&comparable(item)))
            {
                return Err(parent.error(Kind::Twins(shell(twin))));
            }
        }
        Ok(())
    }

    /// The smallest id among extras documents.
    async fn first_id(
        &self,
        filter: Document,
        session: &mut ClientSession,
    ) -> Result<Option<Bson>> {
        let first = self.extras().find(filter, ids()).first(Some(session));
        Ok(first.await?.and_then(|mut first| first.remove("_id")))
    }

    /// Reads how many items the parent keeps, and the remaining items.
    async fn rest(&self, session: &mut ClientSession) -> Result<(usize, Array)> {
        let Self(parent) = self;
        let range = Range {
            limit: Some(1),
            ..Range::unordered()
        };
        let target = parent.parent();
        let found = target.find(parent.scope.parent(), range);
        let found: Vec<RawDocumentBuf> = found.rows(Some(session)).await?;
        let Some(found) = found.first() else {
            return Ok((0, Array::new()));
        };
        // serde would read payloads with keys such as `$oid` as values of other types.
        let document = Document::try_from(&**found);
        let mut document = document.map_err(|error| target.read_error(error.into()))?;
        let Ok(items) = document.get_array_mut(parent.scope.spec.items) else {
            return Ok((0, Array::new()));
        };
        let mut items = std::mem::take(items);
        parent.check_twins(&items)?;
        let kept = (parent.scope).count_fitting(0, document_size(&document), &items);
        let rest = items.split_off(kept);
        Ok((kept, rest))
    }
}
