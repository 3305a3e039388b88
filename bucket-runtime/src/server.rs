//! The one place that talks to the server.

mod create;
mod edit;
mod index;
mod many;
mod numbers;
mod pipeline;
mod range;
mod watch;

use mongodb::{
    ClientSession, Collection,
    bson::{Bson, Document, doc},
    error::Error as DriverError,
    options::{Hint, ReadConcern, ReadPreference, SelectionCriteria},
    results::UpdateResult,
};
use serde::{Serialize, de::DeserializeOwned};

use self::numbers::Numbers;
pub(crate) use self::range::Range;
use crate::{
    BucketSpec,
    command::{KeyScope, OVERSIZE, SEALED, Update, each_one},
    error::is_killed,
    outlier::command::ParentScope,
    rows::Rows,
};

/// Carries out an action of the driver's, in the session if there is one.
macro_rules! with_session {
    ($action:expr, $session:expr) => {
        match $session {
            Some(session) => $action.session(session).await,
            None => $action.await,
        }
    };
}

/// A collection, and what the runtime asks of it.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    collection: Collection<Document>,
    numbers: Numbers,
}

/// An open bucket.
pub(crate) struct Open {
    pub(crate) id: Bson,
    pub(crate) count: usize,
    /// How many bytes its items take beyond their shares.
    pub(crate) oversize: i64,
}

/// The last bucket of a key, and what more it takes.
pub(crate) struct Last {
    pub(crate) id: String,
    pub(crate) room: usize,
    /// How many bytes its items take beyond their shares.
    pub(crate) oversize: i64,
}

/// How full a parent is.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) length: usize,
    pub(crate) flagged: bool,
    /// How many bytes it takes.
    pub(crate) bytes: usize,
}

impl Server {
    pub(crate) fn new(collection: Collection<Document>) -> Self {
        Self {
            collection,
            numbers: Numbers::default(),
        }
    }

    pub(crate) fn collection(&self) -> &Collection<Document> {
        &self.collection
    }

    /// The collection as `database.collection`.
    pub(crate) fn name(&self) -> String {
        self.collection.namespace().to_string()
    }

    /// Carries out one update; tells whether it changed anything.
    pub(crate) async fn modify(
        &self,
        update: Update,
        session: Option<&mut ClientSession>,
    ) -> Result<bool, DriverError> {
        self.send(update, session)
            .await
            .map(|result| result.modified_count > 0)
    }

    /// Carries out one update; tells whether it found or made a document. One round trip, which the
    /// driver repeats once if the connection breaks and the deployment is a replica set. If its index
    /// is dropped meanwhile, it takes two more to learn whether it was carried out.
    pub(crate) async fn update(
        &self,
        update: Update,
        session: Option<&mut ClientSession>,
    ) -> Result<bool, DriverError> {
        let found = |result: UpdateResult| result.matched_count > 0 || result.upserted_id.is_some();
        if session.is_some() {
            return self.send(update, session).await.map(found);
        }
        // One that is known, so that the server can be asked about it.
        let mut session = self.collection.client().start_session().await?;
        match self.send(update.clone(), Some(&mut session)).await {
            Err(error) if is_killed(&error) => {
                let found = self.update_again(update, session).await?;
                found.ok_or(error)
            }
            sent => sent.map(found),
        }
    }

    async fn send(
        &self,
        update: Update,
        session: Option<&mut ClientSession>,
    ) -> Result<UpdateResult, DriverError> {
        let mut action = (self.collection)
            .update_one(update.filter, update.update)
            .upsert(update.upsert);
        if let Some(hint) = update.hint {
            action = action.hint(Hint::Name(hint.to_owned()));
        }
        with_session!(action, session)
    }

    /// These fields of the last document that matches, for a write that is about to take the next id.
    /// It asks the primary for its latest state, whatever the handle prefers: an older state would
    /// only give an id that is taken.
    async fn last(
        &self,
        filter: Document,
        fields: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Document>, DriverError> {
        let action = (self.collection)
            .find_one(filter)
            .projection(fields)
            .sort(doc! { "_id": -1 })
            .selection_criteria(primary());
        match session {
            Some(session) => action.session(session).await,
            // A transaction has a read concern of its own; elsewhere this one is the latest state.
            None => action.read_concern(ReadConcern::local()).await,
        }
    }

    /// The greatest id that matches; see [`last`](Self::last).
    pub(crate) async fn last_id(
        &self,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<String>, DriverError> {
        let found = self.last(filter, doc! { "_id": 1 }, session).await?;
        Ok(found.and_then(|document| document.get_str("_id").ok().map(str::to_owned)))
    }

    /// The key's open bucket, if there is one, as the primary has it.
    pub(crate) async fn open_bucket(
        &self,
        scope: &KeyScope,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Open>, DriverError> {
        let action = (self.collection)
            .find_one(scope.open_bucket_anywhere())
            .hint(Hint::Name(scope.open.name.to_owned()))
            .projection(filling(scope.spec))
            .selection_criteria(primary());
        let found = with_session!(action, session)?;
        Ok(found.map(|mut bucket| {
            let count = bucket.get(scope.spec.count).and_then(whole).unwrap_or(0);
            Open {
                count: usize::try_from(count).unwrap_or(0),
                oversize: oversize(&bucket),
                id: bucket.remove("_id").unwrap_or(Bson::Null),
            }
        }))
    }

    /// A key's last bucket; see [`last`](Self::last).
    pub(crate) async fn last_bucket(
        &self,
        scope: &KeyScope,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Last>, DriverError> {
        let mut projection = filling(scope.spec);
        projection.insert(SEALED, 1_i32);
        let found = self.last(scope.all(), projection, session).await?;
        let capacity = i64::from(scope.open.capacity);
        Ok(found.and_then(|bucket| {
            let count = bucket.get(scope.spec.count).and_then(whole);
            let room = match (count, bucket.get(SEALED)) {
                (Some(count), None) => usize::try_from(capacity - count).unwrap_or(0),
                _ => 0,
            };
            Some(Last {
                id: bucket.get_str("_id").ok()?.to_owned(),
                room,
                oversize: oversize(&bucket),
            })
        }))
    }

    /// The open buckets of these keys, each with the values of its key fields (and of the window).
    pub(crate) async fn open_buckets(
        &self,
        scopes: &[&KeyScope],
    ) -> Result<Vec<(Vec<Bson>, Open)>, DriverError> {
        let Some((spec, open)) = scopes.first().map(|scope| (scope.spec, scope.open)) else {
            return Ok(Vec::new());
        };
        let names = Vec::from_iter(spec.key_names().chain(spec.window_name()));
        let mut projection = each_one(names.iter().copied());
        projection.extend(filling(spec));
        let mut buckets = (self.collection)
            .find(KeyScope::open_buckets_anywhere(scopes))
            .hint(Hint::Name(open.name.to_owned()))
            .projection(projection)
            .selection_criteria(primary())
            .await?;
        let mut found = Vec::new();
        while buckets.advance().await? {
            let bucket: Document = buckets.deserialize_current()?;
            let value = |name| bucket.get(name).cloned().unwrap_or(Bson::Null);
            let count = bucket.get(spec.count).and_then(whole).unwrap_or(0);
            let key = names.iter().map(value).collect();
            let open = Open {
                id: value(&"_id"),
                count: usize::try_from(count).unwrap_or(0),
                oversize: oversize(&bucket),
            };
            found.push((key, open));
        }
        Ok(found)
    }

    /// Finds documents.
    pub(crate) async fn find<'s, R>(
        &self,
        filter: Document,
        range: Range,
        session: Option<&'s mut ClientSession>,
    ) -> Result<Rows<'s, R>, DriverError>
    where
        R: DeserializeOwned,
    {
        let mut action = self.collection.find(filter);
        if let Some(sort) = range.sort {
            action = action.sort(sort);
        }
        if let Some(projection) = range.projection {
            action = action.projection(projection);
        }
        if range.skip > 0 {
            action = action.skip(range.skip);
        }
        if let Some(limit) = range.limit {
            action = action.limit(limit);
        }
        Ok(match session {
            None => Rows::from(action.await?.with_type()),
            Some(session) => {
                let cursor = action.session(&mut *session).await?;
                Rows::from((cursor.with_type(), session))
            }
        })
    }

    /// How many documents match, counted on the index alone where the filter is a range of ids.
    pub(crate) async fn count_documents(
        &self,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<u64, DriverError> {
        let action = self.collection.count_documents(filter);
        with_session!(action, session)
    }

    /// The field `items` of the single document that a pipeline ends in; 0 if it ends in none.
    pub(crate) async fn sum(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
        session: Option<&mut ClientSession>,
    ) -> Result<u64, DriverError> {
        let found = self.aggregate::<Document>(pipeline, session).await?;
        let sum = found.first().and_then(|sum| sum.get("items"));
        Ok(sum
            .and_then(whole)
            .and_then(|sum| u64::try_from(sum).ok())
            .unwrap_or(0))
    }

    /// One of the documents that match.
    pub(crate) async fn find_one(
        &self,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Document>, DriverError> {
        let action = self
            .collection
            .find_one(filter)
            .selection_criteria(primary());
        with_session!(action, session)
    }

    /// The documents that a pipeline ends in, which may sort on disk.
    pub(crate) async fn scan<R: DeserializeOwned>(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
    ) -> Result<Rows<'static, R>, DriverError> {
        let action = self.collection.aggregate(pipeline).allow_disk_use(true);
        Ok(Rows::from(action.await?.with_type()))
    }

    /// Inserts one document. One round trip.
    pub(crate) async fn insert(
        &self,
        document: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<(), DriverError> {
        let action = self.collection.insert_one(document);
        with_session!(action, session).map(drop)
    }

    /// Inserts documents, in a session.
    pub(crate) async fn insert_many<D: Serialize + Send + Sync>(
        &self,
        documents: &[D],
        session: &mut ClientSession,
    ) -> Result<(), DriverError> {
        self.collection
            .clone_with_type::<D>()
            .insert_many(documents)
            .session(session)
            .await
            .map(drop)
    }

    /// Carries out a pipeline on all documents that match; tells whether it changed any.
    pub(crate) async fn update_many(
        &self,
        filter: Document,
        pipeline: Vec<Document>,
        session: Option<&mut ClientSession>,
    ) -> Result<bool, DriverError> {
        let action = self.collection.update_many(filter, pipeline);
        let result = with_session!(action, session)?;
        Ok(result.modified_count > 0)
    }

    /// Deletes all documents that match; tells how many.
    pub(crate) async fn delete_many(
        &self,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<u64, DriverError> {
        let action = self.collection.delete_many(filter);
        let result = with_session!(action, session)?;
        Ok(result.deleted_count)
    }

    /// Deletes one document that matches; tells whether there was one.
    pub(crate) async fn delete_one(
        &self,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<bool, DriverError> {
        let action = self.collection.delete_one(filter);
        let result = with_session!(action, session)?;
        Ok(result.deleted_count > 0)
    }

    /// How full a parent is, if there is one; for a write as the primary has it.
    pub(crate) async fn state(
        &self,
        scope: &ParentScope,
        for_a_write: bool,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<State>, DriverError> {
        let mut action = self
            .collection
            .find_one(scope.parent())
            .projection(scope.state());
        if for_a_write {
            action = action.selection_criteria(primary());
        }
        let found = with_session!(action, session)?;
        Ok(found.map(|state| State {
            length: (state.get("length").and_then(whole))
                .and_then(|length| usize::try_from(length).ok())
                .unwrap_or(0),
            flagged: state.get_bool("flag").unwrap_or(false),
            bytes: (state.get("bytes").and_then(whole))
                .and_then(|bytes| usize::try_from(bytes).ok())
                .unwrap_or(0),
        }))
    }
}

/// A projection that tells how full a bucket is.
fn filling(spec: &BucketSpec) -> Document {
    doc! { spec.count: 1, OVERSIZE: 1 }
}

fn oversize(bucket: &Document) -> i64 {
    bucket.get(OVERSIZE).and_then(whole).unwrap_or(0)
}

/// For reads that belong to a write, whatever read preference the handle has.
fn primary() -> SelectionCriteria {
    SelectionCriteria::ReadPreference(ReadPreference::Primary)
}

/// A whole number, whichever numeric type it has: other tools write others.
pub(crate) fn whole(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(int) => Some((*int).into()),
        Bson::Int64(int) => Some(*int),
        Bson::Double(float) if float.fract() == 0.0 => Some(*float as i64),
        _ => None,
    }
}
