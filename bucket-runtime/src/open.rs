//! Opening a collection: the index that the guarantees stand on is there, and it is the right one.

use std::{future::IntoFuture, marker::PhantomData};

use futures_util::future::BoxFuture;
use mongodb::{
    Collection, IndexModel,
    bson::{DateTime, Document},
};

use crate::{
    Bucket, BucketSpec, Buckets, Error, Ordinal, Result,
    append::Writer,
    combine::Combiner,
    command::{self, UNIQUE_INDEX},
    engine::Engine,
    error::{Kind, duplicate_index},
    indexes,
    open_index::{OpenIndex, is_open_index},
    server::{Server, whole},
};

/// The opening of a collection, which waits to be awaited; see [`Bucket::buckets`].
#[must_use = "the collection is opened when this is awaited"]
pub struct OpenBuckets<T> {
    collection: Collection<Document>,
    combine: bool,
    item: PhantomData<fn() -> T>,
}

impl<T: Bucket> OpenBuckets<T> {
    pub(crate) fn new(collection: Collection<Document>) -> Self {
        Self {
            collection,
            combine: true,
            item: PhantomData,
        }
    }

    /// Whether appends that wait at the same time travel together; see
    /// [`Buckets::append`]. They do unless this is called with `false`.
    pub fn combine(mut self, combine: bool) -> Self {
        self.combine = combine;
        self
    }
}

impl<T: Bucket> IntoFuture for OpenBuckets<T> {
    type Output = Result<Buckets<T>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let server = Server::new(self.collection);
            let index = open(&server, &T::SPEC).await?.index;
            let engine = Engine::new(server, index);
            let combiner = self.combine.then(|| Combiner::new(engine.clone()));
            Ok(Buckets::new(Writer { engine, combiner }))
        })
    }
}

/// What is known of a collection's indexes.
pub(crate) struct Indexes {
    pub(crate) found: Vec<IndexModel>,
    /// Those that are to be made.
    missing: Vec<IndexModel>,
    pub(crate) index: OpenIndex,
}

/// Checks the indexes of the collection, and makes those that are not there.
pub(crate) async fn open(server: &Server, spec: &BucketSpec) -> Result<Indexes> {
    let mut indexes = check_indexes(server, spec).await?;
    create(server, std::mem::take(&mut indexes.missing)).await?;
    Ok(indexes)
}

/// Checks the indexes of the collection.
pub(crate) async fn check_indexes(server: &Server, spec: &BucketSpec) -> Result<Indexes> {
    let fail = |kind| Error::new(kind, server.name());
    let found = (server.indexes().await).map_err(|error| Error::read(error, server.name()))?;
    let stored = open_index(&found, spec).map_err(fail)?;
    if let Some(stored) = stored.filter(|stored| stored.capacity != spec.capacity) {
        return Err(fail(Kind::CapacityMismatch {
            stored: stored.capacity.into(),
            derived: spec.capacity,
        }));
    }
    let index = stored.unwrap_or(OpenIndex::first(spec.capacity));
    let mut missing = indexes::asked_for(&found, spec).map_err(fail)?;
    if stored.is_none() {
        missing.insert(0, indexes::open(spec, index));
    }
    Ok(Indexes {
        found,
        missing,
        index,
    })
}

/// The open index of a collection, if there is one.
pub(crate) fn open_index(
    found: &[IndexModel],
    spec: &BucketSpec,
) -> Result<Option<OpenIndex>, Kind> {
    open_indexes(found, spec).map(|open| open.first().copied())
}

/// The open indexes of a collection. There is one, except while its capacity is changed.
pub(crate) fn open_indexes(
    found: &[IndexModel],
    spec: &BucketSpec,
) -> Result<Vec<OpenIndex>, Kind> {
    if has_collation(found) {
        return Err(Kind::Collation);
    }
    let names = found
        .iter()
        .filter_map(|index| Some((index, indexes::name(index)?)));
    let open = names.filter(|(_, name)| is_open_index(name));
    open.map(|(index, name)| check(index, name, spec)).collect()
}

/// Makes indexes. One round trip, or none if there are none.
pub(crate) async fn create(server: &Server, missing: Vec<IndexModel>) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    server.create_indexes(missing).await.map_err(|error| {
        let kind = match duplicate_index(&error) {
            Some(UNIQUE_INDEX) => Kind::NotUnique,
            // No other but the open index refuses documents.
            Some(_) => Kind::SeveralOpen,
            None => Kind::Driver,
        };
        Error::new(kind, server.name()).with_driver(error)
    })
}

/// Whether the collection compares text by a locale. The index on `_id` tells, since it always has
/// the collation of its collection.
fn has_collation(found: &[IndexModel]) -> bool {
    indexes::named(found, "_id_")
        .and_then(|index| index.options.as_ref())
        .is_some_and(|options| options.collation.is_some())
}

/// Whether an index of the right name is the right index, for whichever capacity.
fn check(index: &IndexModel, name: &str, spec: &BucketSpec) -> Result<OpenIndex, Kind> {
    let options = index.options.clone().unwrap_or_default();
    let filter = options.partial_filter_expression.unwrap_or_default();
    let foreign = || indexes::foreign(index);
    // A query with the simple collation cannot use an index with another one.
    if options.unique != Some(true)
        || options.collation.is_some()
        || options.hidden == Some(true)
        || !index.keys.keys().eq(command::open_index_keys(spec).keys())
    {
        return Err(foreign());
    }
    let bound = filter
        .get_document(spec.count)
        .ok()
        .and_then(|count| count.get("$lt"));
    if let Ordinal::Window { seconds } = spec.id.ordinal {
        let bound = filter.get_document(spec.window);
        let bound = bound.and_then(|window| window.get_datetime("$gte"));
        let stored = window_of(*bound.map_err(|_| foreign())?);
        if stored != i64::from(seconds) {
            return Err(Kind::WindowMismatch {
                stored,
                derived: seconds,
            });
        }
    }
    let capacity = bound
        .and_then(whole)
        .and_then(|bound| u32::try_from(bound).ok());
    let open = capacity.and_then(|capacity| OpenIndex::found(name, capacity));
    let open = open.ok_or_else(foreign)?;
    match filter.len() == command::open_index_filter(spec, open).len() {
        true => Ok(open),
        false => Err(foreign()),
    }
}

/// How many seconds long the windows are of an index with this bound.
fn window_of(bound: DateTime) -> i64 {
    let none = command::before_all_windows(0);
    (none.timestamp_millis() - bound.timestamp_millis()) / 1000
}
