//! Splits parents that have already grown too large.

use futures_util::future::BoxFuture;
use mongodb::{
    ClientSession,
    bson::{Array, Bson, Document, RawDocumentBuf, doc},
    error::Error as DriverError,
};

use super::{
    collections::Collections,
    command::{ParentScope, too_large},
    handle::Outliers,
    pages::{pages_before, pages_of},
};
use crate::{
    Result,
    error::Kind,
    outlier::Outlier,
    protocol::range::Range,
    server::transaction::{self, Attempt},
    value::element::document_size,
};

impl<T: Outlier> Outliers<T> {
    /// Moves what exceeds the threshold or `max_bytes` to extras, for a collection whose documents have
    /// grown already. Programs that use this library go on writing.
    ///
    /// It splits each parent in a transaction of its own, so it needs a replica set or a sharded cluster,
    /// and every item is in one place whenever it stops. Call it again to go on. After a dropped future, a
    /// task finishes the current parent.
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
        SplitExisting::new(self)
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

impl<'s, T: Outlier> SplitExisting<'s, T> {
    pub(crate) fn new(outliers: &Outliers<T>) -> Self {
        Self {
            outliers: outliers.clone(),
            progress: Box::new(|_| {}),
        }
    }

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
        let collections = outliers.collections();
        collections
            .parents
            .needs_replica_set("split_existing")
            .await?;
        let fail = |error| collections.parents.target().read_error(error);
        let too_large = too_large(&T::SPEC);
        let found = collections
            .parents
            .count_documents(too_large.clone(), None)
            .await;
        let mut at = SplitProgress {
            found: found.map_err(fail)?,
            ..SplitProgress::default()
        };
        progress(at);
        let range = Range {
            projection: Some(doc! { "_id": 1 }),
            ..Range::oldest_first()
        };
        let mut rows = collections
            .parents
            .find::<Document>(too_large, range, None)
            .await
            .map_err(fail)?;
        while rows.advance().await.map_err(fail)? {
            let id = rows
                .decode()
                .map_err(fail)?
                .remove("_id")
                .unwrap_or(Bson::Null);
            let scope = outliers.scope_of(&id)?;
            at.moved += split(collections, &scope).await?;
            at.done += 1;
            progress(at);
        }
        Ok(at)
    }
}

/// Splits one parent, in a transaction: all of it moves, or nothing does, and no reader sees it half
/// done. Returns how many items moved.
pub(crate) async fn split(collections: &Collections, scope: &ParentScope) -> Result<u64> {
    let split = Split {
        collections: collections.clone(),
        scope: scope.clone(),
    };
    transaction::run(&collections.parents, split).await
}

struct Split {
    collections: Collections,
    scope: ParentScope,
}

impl Attempt for Split {
    type Output = u64;

    fn attempt<'s>(&'s self, session: &'s mut ClientSession) -> BoxFuture<'s, Result<u64>> {
        Box::pin(async move {
            let Self { collections, scope } = self;
            let fail = |error: DriverError| collections.target_of(scope).read_error(error);
            let (kept, rest) = rest(collections, scope, session).await.map_err(fail)?;
            if rest.is_empty() {
                return Ok(0);
            }
            let moved = rest.len() as u64;
            move_out(collections, scope, rest, session).await?;
            collections
                .parents
                .modify(scope.cut(kept), Some(&mut *session))
                .await
                .map_err(fail)?;
            // This only saves round trips, so it does no harm if the commit fails.
            collections.known.remember(&scope.extras.prefix);
            Ok(moved)
        })
    }
}

/// Moves items to the extras, before the existing ones.
async fn move_out(
    collections: &Collections,
    scope: &ParentScope,
    items: Array,
    session: &mut ClientSession,
) -> Result<()> {
    let fail = |error: DriverError| collections.target_of(scope).read_error(error);
    let server = &collections.extras.server;
    // Reads return the manual's extras documents first, so the first of these takes the items.
    let unnumbered = first_id(collections, scope.unnumbered_extras(), session).await;
    if let Some(id) = unnumbered.map_err(fail)? {
        let put = scope.put_before(id, items);
        return server
            .modify(put, Some(session))
            .await
            .map(drop)
            .map_err(fail);
    }
    let first = first_id(collections, scope.extras.all(), session)
        .await
        .map_err(fail)?;
    let pages = match &first {
        None => pages_of(scope, &items),
        Some(id) => pages_before(scope, id.as_str().unwrap_or_default(), &items),
    };
    let foreign = || Kind::ForeignId(first.unwrap_or(Bson::Null).to_string());
    let pages = pages.ok_or_else(|| collections.target_of(scope).error(foreign()))?;
    server.insert_many(&pages, session).await.map_err(fail)
}

/// The smallest id among extras documents, in the transaction.
async fn first_id(
    collections: &Collections,
    filter: Document,
    session: &mut ClientSession,
) -> Result<Option<Bson>, DriverError> {
    let range = Range {
        projection: Some(doc! { "_id": 1 }),
        limit: Some(1),
        ..Range::oldest_first()
    };
    let server = &collections.extras.server;
    let mut rows = server
        .find::<Document>(filter, range, Some(session))
        .await?;
    Ok(match rows.advance().await? {
        true => rows.decode()?.remove("_id"),
        false => None,
    })
}

/// How many items the parent keeps, and the remaining items, in the transaction.
async fn rest(
    collections: &Collections,
    scope: &ParentScope,
    session: &mut ClientSession,
) -> Result<(usize, Array), DriverError> {
    let range = Range {
        limit: Some(1),
        ..Range::unordered()
    };
    let mut parents = collections
        .parents
        .find::<RawDocumentBuf>(scope.parent(), range, Some(session))
        .await?;
    if !parents.advance().await? {
        return Ok((0, Array::new()));
    }
    // serde would read payloads with keys such as `$oid` as values of other types.
    let mut parent = Document::try_from(parents.decode()?.as_ref())?;
    let Ok(items) = parent.get_array_mut(scope.spec.items) else {
        return Ok((0, Array::new()));
    };
    let mut items = std::mem::take(items);
    let kept = scope.fitting(0, document_size(&parent), &items);
    let rest = items.split_off(kept);
    Ok((kept, rest))
}
