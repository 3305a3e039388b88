//! Reads a collection: the only room that calls the driver. Nothing here writes.

use std::time::Duration;

use bucket_runtime::bson::{Document, RawDocumentBuf, doc};
use bucket_runtime::mongodb::options::{ClientOptions, Hint};
use bucket_runtime::mongodb::{Client, Collection, Database, IndexModel};
use futures_util::TryStreamExt;

use super::measure::whole;
use super::refusal::{Refusal, is_unauthorized};
use super::scan::Scan;
use crate::progress::Progress;

/// How long a client waits for a server, unless the connection string says so.
const SERVER_WAIT: Duration = Duration::from_secs(10);

/// How long the server may count over the whole collection, unless everything is to be read.
const COUNTING: Duration = Duration::from_secs(10);

/// The number of documents after which the bar moves.
const PROGRESS: u64 = 100;

/// The bytes after which a sample ends, however few documents these are.
const SAMPLE_BYTES: u64 = 256 << 20;

/// `$sample` is quick if it takes less than one document in this many.
const QUICK_SHARE: u64 = 20;

/// A collection that is not larger is read whole rather than sampled slowly.
const WHOLE_BYTES: u64 = 64 << 20;

/// A collection to read.
#[derive(Debug)]
pub(super) struct Source {
    db: Database,
    collection: Collection<Document>,
    /// Whether everything is to be read, however long it takes.
    is_all: bool,
}

/// The type of a collection, as the server says.
#[derive(Debug, PartialEq)]
pub(super) enum CollectionType {
    Plain,
    TimeSeries,
}

impl Source {
    pub(super) async fn open(uri: &str, collection: &str, is_all: bool) -> Result<Self, Refusal> {
        let mut options = ClientOptions::parse(uri).await?;
        let name = options.default_database.clone().ok_or_else(|| {
            Refusal::usage("the connection string names no database (mongodb://localhost/shop)")
        })?;
        options.server_selection_timeout.get_or_insert(SERVER_WAIT);
        options
            .app_name
            .get_or_insert_with(|| "bucket advise".to_owned());
        let db = Client::with_options(options)?.database(&name);
        Ok(Self {
            collection: db.collection(collection),
            db,
            is_all,
        })
    }

    /// The name with the database.
    pub(super) fn namespace(&self) -> String {
        self.collection.namespace().to_string()
    }

    pub(super) fn name(&self) -> &str {
        self.collection.name()
    }

    /// The type of the collection; it must exist, and not be a view.
    pub(super) async fn collection_type(&self) -> Result<CollectionType, Refusal> {
        // With these two options, the privileges on the collection alone are enough.
        let list = doc! {
            "listCollections": 1, "nameOnly": true, "authorizedCollections": true,
            "filter": { "name": self.name() },
        };
        let listed = self.db.run_command(list).await?;
        let cursor = listed.get_document("cursor").ok();
        let found =
            cursor.and_then(|cursor| cursor.get_array("firstBatch").ok()?.first()?.as_document());
        let is = |name| found.is_some_and(|found| found.get_str("type").ok() == Some(name));
        if found.is_none() {
            return Err(Refusal::nothing(format!(
                "{} does not exist, or the user may not read it",
                self.namespace()
            )));
        } else if is("view") {
            let text = format!(
                "{} is a view; name the collection behind it",
                self.namespace()
            );
            return Err(Refusal::usage(text));
        }
        Ok(if is("timeseries") {
            CollectionType::TimeSeries
        } else {
            CollectionType::Plain
        })
    }

    /// The indexes; none if the user may not list them.
    pub(super) async fn indexes(&self) -> Result<Vec<IndexModel>, Refusal> {
        match self.collection.list_indexes().await {
            Ok(indexes) => Ok(indexes.try_collect().await?),
            Err(error) if is_unauthorized(&error) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads a sample of this many documents, or all of them.
    pub(super) async fn scan(&self, sample: u64, mut scan: Scan) -> Result<Scan, Refusal> {
        let documents = self.collection.estimated_document_count().await?;
        // Read as they are, documents cost less than as values of their own.
        let raw = self.collection.clone_with_type::<RawDocumentBuf>();
        let mut rows = match self.sample_size(sample, documents).await {
            None => {
                scan.is_all = true;
                raw.find(doc! {}).await?
            }
            Some(size) => {
                let size = i64::try_from(size).unwrap_or(i64::MAX);
                let stages = [doc! { "$sample": { "size": size } }];
                let rows = raw.aggregate(stages).allow_disk_use(true);
                rows.with_type::<RawDocumentBuf>().await?
            }
        };
        let progress = Progress::of("documents");
        while rows.advance().await? {
            scan.add(rows.current());
            if scan.shape.documents.is_multiple_of(PROGRESS) {
                progress.set(scan.shape.documents);
            }
            if scan.bytes > SAMPLE_BYTES && !self.is_all {
                scan.is_all = false;
                break;
            }
        }
        scan.end();
        scan.in_collection = documents.max(scan.shape.documents);
        match scan.shape.documents {
            0 => Err(Refusal::nothing(format!("{} is empty", self.namespace()))),
            _ => Ok(scan),
        }
    }

    /// How many documents to sample; `None` to read all.
    async fn sample_size(&self, sample: u64, documents: u64) -> Option<u64> {
        if self.is_all || documents <= sample {
            return None;
        }
        if documents > sample * QUICK_SHARE {
            return Some(sample);
        }
        // The server would read the whole collection, and sort it, for a larger part of it.
        match self.bytes().await {
            Some(bytes) if bytes <= WHOLE_BYTES => None,
            _ => Some((documents / QUICK_SHARE).max(100).min(sample)),
        }
    }

    /// The size of all documents, if the user may ask.
    async fn bytes(&self) -> Option<u64> {
        let stages = [doc! { "$collStats": { "storageStats": {} } }];
        let found = self.rows(stages.to_vec()).await.ok()?;
        let stats = found.first()?.get_document("storageStats").ok()?;
        stats.contains_key("size").then(|| whole(stats, "size"))
    }

    /// The rows of a pipeline over the whole collection; `None` if counting takes the server too
    /// long.
    pub(super) async fn count(
        &self,
        stages: Vec<Document>,
    ) -> Result<Option<Vec<Document>>, Refusal> {
        let rows = self.collection.aggregate(stages).allow_disk_use(true);
        let rows = match self.is_all {
            true => rows.await,
            false => rows.max_time(COUNTING).await,
        };
        let rows = match rows {
            Ok(rows) => rows.try_collect().await,
            Err(error) => Err(error),
        };
        match rows {
            Ok(rows) => Ok(Some(rows)),
            Err(error) if is_too_long(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn rows(&self, stages: Vec<Document>) -> Result<Vec<Document>, Refusal> {
        let rows = self.collection.aggregate(stages).await?;
        Ok(rows.try_collect().await?)
    }

    /// The first documents in the order in which they were stored, with these fields alone.
    pub(super) async fn first(
        &self,
        fields: &[&str],
        limit: i64,
    ) -> Result<Vec<RawDocumentBuf>, Refusal> {
        let mut projection: Document = fields
            .iter()
            .map(|name| ((*name).to_owned(), 1.into()))
            .collect();
        if !fields.contains(&"_id") {
            projection.insert("_id", 0);
        }
        let hint = Hint::Keys(doc! { "$natural": 1 });
        let raw = self.collection.clone_with_type::<RawDocumentBuf>();
        let rows = raw
            .find(doc! {})
            .projection(projection)
            .hint(hint)
            .limit(limit);
        Ok(rows.await?.try_collect().await?)
    }
}

/// The server's codes for a request that takes too long, or too much memory.
fn is_too_long(error: &bucket_runtime::mongodb::error::Error) -> bool {
    use bucket_runtime::mongodb::error::ErrorKind;
    matches!(&*error.kind, ErrorKind::Command(command) if [50, 146, 292].contains(&command.code))
}
