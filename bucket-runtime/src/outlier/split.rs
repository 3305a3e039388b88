//! Splits parents that have already grown too large.

use futures_util::future::BoxFuture;
use mongodb::{
    ClientSession,
    bson::{Array, Bson, Document, doc},
    error::Error as DriverError,
};

use super::{
    command::{ParentScope, too_large},
    core::Core,
    handle::Outliers,
    pages::{pages_before, pages_of},
};
use crate::{
    Error, Result,
    error::Kind,
    outlier::Outlier,
    protocol::range::Range,
    server::transaction::{self, Attempt},
    value::element::document_size,
};

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

impl<T: Outlier> SplitExisting<'static, T> {
    pub(crate) fn new(outliers: &Outliers<T>) -> Self {
        Self {
            outliers: outliers.clone(),
            progress: Box::new(|_| {}),
        }
    }
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
}

impl<'p, T: Outlier> SplitExisting<'p, T> {
    pub(crate) async fn execute(self) -> Result<SplitProgress> {
        let Self {
            outliers,
            mut progress,
        } = self;
        let core = outliers.core();
        core.parents.needs_replica_set("split_existing").await?;
        let fail = |error| Error::read(error, core.parents.name());
        let too_large = too_large(&T::SPEC);
        let found = core.parents.count_documents(too_large.clone(), None).await;
        let mut at = SplitProgress {
            found: found.map_err(fail)?,
            ..SplitProgress::default()
        };
        progress(at);
        let range = Range {
            projection: Some(doc! { "_id": 1 }),
            ..Range::oldest_first()
        };
        let mut rows = core
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
            let scope = outliers.scope_of(id.clone()).ok_or_else(|| {
                Error::new(Kind::Deserialize(id.to_string()), core.parents.name())
            })?;
            at.moved += split(core, &scope).await?;
            at.done += 1;
            progress(at);
        }
        Ok(at)
    }
}

/// Splits one parent, in a transaction: all of it moves, or nothing does, and no reader sees it half
/// done. Returns how many items moved.
pub(crate) async fn split(core: &Core, scope: &ParentScope) -> Result<u64> {
    let split = Split {
        core: core.clone(),
        scope: scope.clone(),
    };
    transaction::run(&core.parents, split).await
}

struct Split {
    core: Core,
    scope: ParentScope,
}

impl Attempt for Split {
    type Output = u64;

    fn attempt<'s>(&'s self, session: &'s mut ClientSession) -> BoxFuture<'s, Result<u64>> {
        Box::pin(async move {
            let Self { core, scope } = self;
            let fail = |error: DriverError| core.failed(scope, error);
            let (kept, rest) = rest(core, scope, session).await.map_err(fail)?;
            if rest.is_empty() {
                return Ok(0);
            }
            let moved = rest.len() as u64;
            move_out(core, scope, rest, session).await?;
            core.parents
                .modify(scope.cut(kept), Some(&mut *session))
                .await
                .map_err(fail)?;
            // This only saves round trips, so it does no harm if the commit fails.
            core.known.remember(&scope.extras.prefix);
            Ok(moved)
        })
    }
}

/// Moves items to the extras, before the existing ones.
async fn move_out(
    core: &Core,
    scope: &ParentScope,
    items: Array,
    session: &mut ClientSession,
) -> Result<()> {
    let fail = |error: DriverError| core.failed(scope, error);
    let server = &core.extras.server;
    // Reads return the manual's extras documents first, so the first of these takes the items.
    let unnumbered = first_id(core, scope.unnumbered_extras(), session).await;
    if let Some(id) = unnumbered.map_err(fail)? {
        let put = scope.put_before(id, items);
        return server
            .modify(put, Some(session))
            .await
            .map(drop)
            .map_err(fail);
    }
    let first = first_id(core, scope.extras.all(), session)
        .await
        .map_err(fail)?;
    let pages = match &first {
        None => pages_of(scope, items),
        Some(id) => pages_before(scope, id.as_str().unwrap_or_default(), items),
    };
    let foreign = || Kind::ForeignId(first.unwrap_or(Bson::Null).to_string());
    let pages = pages.ok_or_else(|| core.fail(scope, foreign()))?;
    server.insert_many(&pages, session).await.map_err(fail)
}

/// The smallest id among extras documents, in the transaction.
async fn first_id(
    core: &Core,
    filter: Document,
    session: &mut ClientSession,
) -> Result<Option<Bson>, DriverError> {
    let range = Range {
        projection: Some(doc! { "_id": 1 }),
        limit: Some(1),
        ..Range::oldest_first()
    };
    let server = &core.extras.server;
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
    core: &Core,
    scope: &ParentScope,
    session: &mut ClientSession,
) -> Result<(usize, Array), DriverError> {
    let range = Range {
        limit: Some(1),
        ..Range::unordered()
    };
    let mut parent = core
        .parents
        .find::<Document>(scope.parent(), range, Some(session))
        .await?;
    if !parent.advance().await? {
        return Ok((0, Array::new()));
    }
    let mut parent = parent.decode()?;
    let Ok(items) = parent.get_array_mut(scope.spec.items) else {
        return Ok((0, Array::new()));
    };
    let mut items = std::mem::take(items);
    let kept = scope.fitting(0, document_size(&parent), &items);
    let rest = items.split_off(kept);
    Ok((kept, rest))
}
