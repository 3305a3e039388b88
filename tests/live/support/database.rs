//! Shared by all live tests: one server, one database per test, and an oracle that reads the documents
//! with the raw driver and knows nothing of the runtime.

use std::{
    collections::BTreeMap,
    error::Error,
    ops::Deref,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use bucket_runtime::{
    Bucket, Buckets, KeyRef, Ordinal, Page,
    mongodb::{
        Client, Collection, Database,
        bson::{Bson, Document, doc},
        event::{EventHandler, command::CommandEvent},
        options::ClientOptions,
    },
};
use bucket_testkit::{Fixture, Server, Test};
use futures_util::TryStreamExt;
use tokio::{runtime::Handle, sync::OnceCell, task::block_in_place};

use crate::support::sharding;

/// The server of this test process.
pub(crate) async fn server() -> &'static Server {
    static KNOWN: OnceCell<&Server> = OnceCell::const_new();
    let start = async || {
        let server = Server::shared().await.expect("a server for the tests");
        let is_cluster = server.is_sharded().await.expect("an answer");
        CLUSTER.get_or_init(|| is_cluster.then(|| server.uri().to_owned()));
        server
    };
    KNOWN.get_or_init(start).await
}

/// An empty database for one test. On a cluster it shards each collection that is opened.
pub(crate) struct Live(Database);

impl Fixture for Live {
    async fn set_up(test: &Test) -> Result<Self, Box<dyn Error + Send + Sync>> {
        Ok(Self(client().await.database(test.database())))
    }
}

impl Deref for Live {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.0
    }
}

/// A client of the tests' server. On a cluster it shards each collection that it opens.
pub(crate) async fn client() -> Client {
    listened_to(|_| ()).await
}

/// Such a client. Whenever it is about to send a command for which `is_moment` holds, `step` is done first, by other
/// clients. Only for tests that are `multi_thread`.
///
/// Not before `endSessions`: a dropped client sends it while the test's runtime may be ending, which then waits for
/// `step` forever.
pub(crate) async fn interrupted<F: Future>(
    is_moment: impl Fn(&Document) -> bool + Send + Sync + 'static,
    step: impl Fn() -> F + Send + Sync + 'static,
) -> Client {
    let runtime = Handle::current();
    let interrupt = move |command: Document| {
        if !command.contains_key("endSessions") && is_moment(&command) {
            block_in_place(|| runtime.block_on(step()));
        }
    };
    listened_to(interrupt).await
}

async fn listened_to(sent: impl Fn(Document) + Send + Sync + 'static) -> Client {
    let options = ClientOptions::parse(server().await.uri()).await;
    let options = sharding(options.expect("options"), sent);
    Client::with_options(options).expect("a client")
}

/// Whether the server of the tests is a cluster.
pub(crate) async fn is_cluster() -> bool {
    server().await;
    CLUSTER.get().is_some_and(Option::is_some)
}

/// Whether the runtime numbers commands of several statements: on a replica set it does.
pub(crate) async fn numbers_its_commands() -> bool {
    !is_cluster().await
}

/// The server's version of the wire protocol: 17 is server 6.0, 27 is 8.2.
pub(crate) async fn wire_version() -> i64 {
    let admin = server().await.database("admin").await.expect("a client");
    let hello = admin.run_command(doc! { "hello": 1 }).await.expect("hello");
    number(hello.get("maxWireVersion"))
}

/// Calls `seen` with each command before it is sent; on a cluster, after the command's collection is
/// sharded.
fn sharding(
    mut options: ClientOptions,
    sent: impl Fn(Document) + Send + Sync + 'static,
) -> ClientOptions {
    let handler = move |event| {
        if let CommandEvent::Started(started) = event {
            if let Some(Some(uri)) = CLUSTER.get() {
                sharding::before(&started.command, uri);
            }
            if started.command_name != "explain" {
                sent(started.command);
            }
        }
    };
    options.command_event_handler = Some(EventHandler::callback(handler));
    options
}

/// The connection string if the server is a cluster; unset until that is known.
static CLUSTER: OnceLock<Option<String>> = OnceLock::new();

/// An empty database for one test, and a record of all commands sent to it.
pub(crate) struct Recorded(pub(crate) Database, pub(crate) Record);

impl Fixture for Recorded {
    async fn set_up(test: &Test) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let (client, record) = recording().await;
        Ok(Self(client.database(test.database()), record))
    }
}

async fn recording() -> (Client, Record) {
    let options = ClientOptions::parse(server().await.uri()).await;
    let (options, record) = listening(options.expect("options"));
    (Client::with_options(options).expect("a client"), record)
}

/// A record of all commands that a client with these options sends.
pub(crate) fn listening(options: ClientOptions) -> (ClientOptions, Record) {
    let record = Record::default();
    let commands = Arc::clone(&record.0);
    let options = sharding(options, move |command| {
        commands.lock().unwrap().push(command)
    });
    (options, record)
}

/// The statements of a command that writes: `bulkWrite` calls them `ops`, and all others that carry several `updates`.
pub(crate) fn statements(command: &Document) -> &[Bson] {
    let statements = command.get_array("updates").or(command.get_array("ops"));
    statements.map_or(&[], Vec::as_slice)
}

/// The commands that a client sent.
#[derive(Default, Clone)]
pub(crate) struct Record(Arc<Mutex<Vec<Document>>>);

impl Record {
    /// The commands sent since the last call.
    pub(crate) fn take(&self) -> Vec<Document> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// Asserts that only the opening of a collection was sent since the last look.
    pub(crate) async fn assert_opened(&self, is_new: bool) {
        let sent: &[_] = match (is_new, is_cluster().await) {
            (true, _) => &[
                "hello",
                "listIndexes",
                "createIndexes",
                "listIndexes",
                "update",
            ],
            // On a cluster every opening sends the index to each shard again.
            (false, true) => &[
                "hello",
                "listIndexes",
                "aggregate",
                "createIndexes",
                "update",
            ],
            (false, false) => &["hello", "listIndexes", "aggregate", "update"],
        };
        assert_eq!(self.names(), sent);
    }

    /// The names of the commands sent since the last look.
    pub(crate) fn names(&self) -> Vec<String> {
        let name = |command: &Document| command.keys().next().cloned().unwrap_or_default();
        self.take().iter().map(name).collect()
    }
}

/// A recorded command, without the fields that belong to its session.
fn repeatable(mut command: Document) -> Document {
    for of_the_session in [
        "lsid",
        "$clusterTime",
        "$db",
        "txnNumber",
        "$readPreference",
    ] {
        command.remove(of_the_session);
    }
    command
}

/// How the server would carry out a recorded command: `executionStats` of `explain`.
pub(crate) async fn explain(db: &Database, command: Document) -> Document {
    let explain = doc! { "explain": repeatable(command), "verbosity": "executionStats" };
    db.run_command(explain).await.expect("explain")
}

/// The first batch that the server sends for a recorded command.
pub(crate) async fn first_batch(db: &Database, command: Document) -> Vec<Document> {
    let reply = db.run_command(repeatable(command)).await.unwrap();
    let cursor = reply.get_document("cursor").unwrap();
    let batch = cursor.get_array("firstBatch").unwrap().iter();
    batch
        .map(|row| row.as_document().unwrap().clone())
        .collect()
}

/// A number of any numeric type.
pub(crate) fn number(value: Option<&Bson>) -> i64 {
    match value {
        Some(Bson::Int32(int)) => (*int).into(),
        Some(Bson::Int64(int)) => *int,
        Some(Bson::Double(float)) => *float as i64,
        other => panic!("{other:?} is not a number"),
    }
}

/// The buckets of a struct in a collection that holds nothing yet.
pub(crate) async fn fresh<T: Bucket>(db: &Database) -> Buckets<T> {
    let collection = db.collection::<Document>(T::SPEC.collection);
    collection.drop().await.expect("an empty collection");
    T::buckets(db).await.expect("buckets")
}

/// All documents of a collection in the order of their ids.
pub(crate) async fn documents<T: Send + Sync>(collection: &Collection<T>) -> Vec<Document> {
    let collection = collection.clone_with_type::<Document>();
    let found = collection.find(doc! {}).sort(doc! { "_id": 1 }).await;
    found
        .expect("find")
        .try_collect()
        .await
        .expect("all documents")
}

/// All documents of a collection once no command is on its way any more ([`settled`]).
pub(crate) async fn at_rest<T: Send + Sync>(collection: &Collection<T>) -> Vec<Document> {
    settled(Duration::from_millis(150), async || {
        documents(collection).await
    })
    .await
}

/// What two looks in a row give alike: dropped calls and killed processes may still have commands on their way, which the
/// server carries out, or which are lost.
pub(crate) async fn settled<R: PartialEq>(pause: Duration, look: impl AsyncFn() -> R) -> R {
    let mut before = look().await;
    loop {
        tokio::time::sleep(pause).await;
        let now = look().await;
        if now == before {
            return now;
        }
        before = now;
    }
}

/// All buckets of a collection at one moment, while others write. `None` if that moment is too soon
/// after the collection was created.
pub(crate) async fn snapshot<T: Send + Sync>(collection: &Collection<T>) -> Option<Vec<Document>> {
    let collection = collection.clone_with_type::<Document>();
    let session = collection.client().start_session().snapshot(true);
    let mut session = session.await.expect("a session");
    let find = collection.find(doc! {}).sort(doc! { "_id": 1 });
    let mut found = find.session(&mut session).await.ok()?;
    found.stream(&mut session).try_collect().await.ok()
}

/// The buckets of each key (or of each window of a key), in the order of their ids. It checks G2 and G3
/// first: the count is the length of the array and within the capacity, a key has ceil(n / capacity)
/// buckets, and all but one are full.
pub(crate) async fn dense_buckets<T: Bucket>(
    buckets: &Buckets<T>,
) -> BTreeMap<String, Vec<Document>> {
    dense::<T>(documents(buckets.collection()).await)
}

/// [`dense_buckets`] of documents that have already been read.
pub(crate) fn dense<T: Bucket>(documents: Vec<Document>) -> BTreeMap<String, Vec<Document>> {
    let spec = T::SPEC;
    let mut by_key = BTreeMap::<String, Vec<Document>>::new();
    for bucket in documents {
        let items = bucket.get_array(spec.items).expect("an array of items");
        assert_eq!(
            number(bucket.get(spec.count)),
            items.len() as i64,
            "G2: {bucket}"
        );
        assert!(
            (1..=spec.capacity as usize).contains(&items.len()),
            "G2: {bucket}"
        );
        assert!(!bucket.contains_key("sealed"), "{bucket}");
        let window = matches!(spec.id.ordinal, Ordinal::Window { .. }).then_some(spec.window);
        let names = spec.key.iter().map(|key| key.name).chain(window);
        let key = names.map(|name| bucket.get(name).expect("a key field").to_string());
        by_key
            .entry(key.collect::<Vec<_>>().join("\u{0}"))
            .or_default()
            .push(bucket);
    }
    for (key, of_key) in &by_key {
        let counts: Vec<_> = of_key
            .iter()
            .map(|bucket| number(bucket.get(spec.count)))
            .collect();
        let total: i64 = counts.iter().sum();
        let capacity = i64::from(spec.capacity);
        assert_eq!(
            counts.len() as i64,
            (total + capacity - 1) / capacity,
            "G3: {key}: {counts:?}"
        );
        let open = counts.iter().filter(|count| **count < capacity).count();
        assert!(open <= 1, "G3: {key}: {counts:?}");
    }
    by_key
}

/// All items of a key, as the stream gives them.
pub(crate) async fn items<T: Bucket>(buckets: &Buckets<T>, key: KeyRef<'_, T>) -> Vec<T> {
    let items = buckets.items(key).await.expect("a stream of items");
    items.try_collect().await.expect("all items")
}

/// All pages of a key, as the stream gives them.
pub(crate) async fn pages<T: Bucket>(buckets: &Buckets<T>, key: KeyRef<'_, T>) -> Vec<Page<T>> {
    let pages = buckets.pages(key).await.expect("a stream of pages");
    pages.try_collect().await.expect("all pages")
}

/// The ids of all documents, in their order.
pub(crate) async fn ids<T: Bucket>(buckets: &Buckets<T>) -> Vec<String> {
    let id = |bucket: &Document| bucket.get_str("_id").expect("a text").to_owned();
    documents(buckets.collection())
        .await
        .iter()
        .map(id)
        .collect()
}
