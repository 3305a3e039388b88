//! Moving in: parents that have grown too long already are brought under the pattern.

use std::{future::IntoFuture, marker::PhantomData};

use futures_util::future::BoxFuture;
use mongodb::{
    ClientSession,
    bson::{Array, Bson, Document, doc},
    error::Error as DriverError,
};

use super::{
    command::{ParentScope, longer_than},
    core::Core,
    handle::Outliers,
};
use crate::{
    Error, Outlier, Result,
    error::{Kind, duplicate_index},
    id,
    server::Range,
};

/// How often the split of one parent is begun anew because others wrote to it meanwhile.
const TRIES: u32 = 100;

/// How far a [`split_existing`](crate::Outliers::split_existing) is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SplitProgress {
    /// How many parents were too long when the call began.
    pub found: u64,
    /// How many of them were looked at so far.
    pub done: u64,
    /// How many items were moved to extras so far.
    pub moved: u64,
}

/// The splitting of all parents that are too long, which waits to be awaited; see
/// [`Outliers::split_existing`](crate::Outliers::split_existing).
#[must_use = "nothing is split until this is awaited"]
pub struct SplitExisting<'p, T> {
    outliers: Outliers<T>,
    progress: Box<dyn FnMut(SplitProgress) + Send + 'p>,
    parent: PhantomData<fn() -> T>,
}

impl<T: Outlier> SplitExisting<'static, T> {
    pub(crate) fn new(outliers: &Outliers<T>) -> Self {
        Self {
            outliers: outliers.clone(),
            progress: Box::new(|_| {}),
            parent: PhantomData,
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
            parent: PhantomData,
        }
    }
}

impl<'p, T: Outlier> IntoFuture for SplitExisting<'p, T> {
    type Output = Result<SplitProgress>;
    type IntoFuture = BoxFuture<'p, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self {
                outliers,
                mut progress,
                ..
            } = self;
            let core = outliers.core();
            let fail = |error| Error::read(error, core.parents.name());
            let too_long = longer_than(&T::SPEC, T::SPEC.threshold);
            let found = core.parents.count_documents(too_long.clone(), None).await;
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
                .find::<Document>(too_long, range, None)
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
        })
    }
}

/// Splits one parent, in a transaction: all of it is moved, or nothing is, and nobody sees it half
/// done. Tells how many items were moved.
pub(crate) async fn split(core: &Core, scope: &ParentScope) -> Result<u64> {
    let client = core.parents.collection().client();
    let session = client.start_session().await;
    let mut session = session.map_err(|error| core.failed(scope, error))?;
    for tries in 0..TRIES {
        crate::engine::pause(tries).await;
        let error = match attempt(core, scope, &mut session).await {
            Ok(moved) => return Ok(moved),
            Err(error) => error,
        };
        // The server ends the transaction by itself when it is not told to.
        let _ = session.abort_transaction().await;
        let Some(driver) = error.driver() else {
            return Err(error);
        };
        // A push took the page number that the transaction was about to take.
        let lost = duplicate_index(driver).is_some();
        if !lost && !driver.contains_label(mongodb::error::TRANSIENT_TRANSACTION_ERROR) {
            return Err(error);
        }
    }
    Err(core.fail(scope, Kind::Contended(TRIES)))
}

async fn attempt(core: &Core, scope: &ParentScope, session: &mut ClientSession) -> Result<u64> {
    let fail = |error: DriverError| core.failed(scope, error);
    session.start_transaction().await.map_err(fail)?;
    let rest = rest(core, scope, session).await.map_err(fail)?;
    if rest.is_empty() {
        session.abort_transaction().await.map_err(fail)?;
        return Ok(0);
    }
    let moved = rest.len() as u64;
    let server = &core.extras.server;
    let range = Range {
        limit: Some(1),
        ..Range::oldest_first()
    };
    let mut first = server
        .find::<Document>(scope.extras.all(), range, Some(&mut *session))
        .await
        .map_err(fail)?;
    let first = match first.advance().await.map_err(fail)? {
        true => Some(first.decode().map_err(fail)?),
        false => None,
    };
    let pages = match first
        .as_ref()
        .map(|first| first.get_str("_id").unwrap_or_default())
    {
        None => pages_of(scope, rest),
        Some(first) => pages_before(scope, first, rest)
            .ok_or_else(|| core.fail(scope, Kind::ForeignId(first.to_owned())))?,
    };
    server
        .insert_many(pages, &mut *session)
        .await
        .map_err(fail)?;
    core.parents
        .modify(scope.cut(), Some(&mut *session))
        .await
        .map_err(fail)?;
    commit(session).await.map_err(fail)?;
    core.known.remember(&scope.extras.prefix);
    Ok(moved)
}

/// The items beyond the threshold, in the transaction.
async fn rest(
    core: &Core,
    scope: &ParentScope,
    session: &mut ClientSession,
) -> Result<Array, DriverError> {
    let range = Range {
        projection: Some(doc! { scope.spec.items: 1 }),
        limit: Some(1),
        ..Range::unordered()
    };
    let mut parent = core
        .parents
        .find::<Document>(scope.parent(), range, Some(session))
        .await?;
    if !parent.advance().await? {
        return Ok(Array::new());
    }
    let mut parent = parent.decode()?;
    let threshold = scope.spec.threshold as usize;
    Ok(match parent.get_array_mut(scope.spec.items) {
        Ok(items) if items.len() > threshold => items.split_off(threshold),
        _ => Array::new(),
    })
}

/// A commit whose answer got lost is sent again: the server carries it out once.
async fn commit(session: &mut ClientSession) -> Result<(), DriverError> {
    let mut tries = 0;
    loop {
        match session.commit_transaction().await {
            Err(error)
                if tries < TRIES
                    && error.contains_label(mongodb::error::UNKNOWN_TRANSACTION_COMMIT_RESULT) =>
            {
                tries += 1;
            }
            done => return done,
        }
    }
}

/// The pages of a parent that has none: numbered from 0, all full but the last, which stays open.
fn pages_of(scope: &ParentScope, items: Array) -> Vec<Document> {
    let capacity = scope.extras.spec.capacity as usize;
    let chunks = items.chunks(capacity).zip(0..);
    chunks
        .filter_map(|(chunk, n)| Some(page(scope, id::number(n)?, chunk)))
        .collect()
}

/// The pages of a parent to which extras were pushed already. What stands in the parent is older,
/// so its pages take the numbers before the first one, below zero if need be. The first of them
/// takes what does not fill a page, and is sealed: the open page is at the other end.
fn pages_before(scope: &ParentScope, first: &str, items: Array) -> Option<Vec<Document>> {
    let capacity = scope.extras.spec.capacity as usize;
    let first = id::parse_signed(first.strip_prefix(&scope.extras.prefix)?)?;
    let odd = items.len() % capacity;
    let (begin, full) = items.split_at(odd);
    let chunks: Vec<_> = [begin]
        .into_iter()
        .filter(|odd| !odd.is_empty())
        .chain(full.chunks(capacity))
        .collect();
    let least = first - i64::try_from(chunks.len()).ok()?;
    let pages = chunks.into_iter().zip(least..).map(|(chunk, n)| {
        let mut page = page(scope, id::signed(n)?, chunk);
        if chunk.len() < capacity {
            page.insert(crate::command::SEALED, page.get("_id").cloned()?);
        }
        Some(page)
    });
    pages.collect()
}

fn page(scope: &ParentScope, number: String, items: &[Bson]) -> Document {
    let mut page = doc! { "_id": scope.extras.id(&number) };
    page.extend(scope.all_extras());
    page.insert("count", crate::command::size(items));
    page.insert(scope.spec.extra_items, items.to_vec());
    page
}
