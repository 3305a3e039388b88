//! The read preference and the read concern of one call.

use std::sync::{Arc, Mutex};

use bucket_runtime::{
    Bucket, Buckets, Outlier, Outliers,
    mongodb::{
        Client,
        bson::{DateTime, Document, doc},
        event::{EventHandler, command::CommandEvent},
        options::{ClientOptions, ReadConcern, ReadPreference},
    },
};
use bucket_testkit::ReplicaSet;
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "readings", id = "{sensor}_{at}", capacity = 3)]
struct Reading {
    sensor: i64,
    at: DateTime,
    #[bucket(sum)]
    value: i32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(collection = "books", reference = "book_id", threshold = 2)]
struct Book {
    _id: i64,
    #[outlier(items)]
    buyers: Vec<i32>,
}

/// The commands that were sent, each with the member that got it.
type Sent = Arc<Mutex<Vec<(Document, String)>>>;

async fn client(uri: &str) -> (Client, Sent) {
    let sent = Sent::default();
    let record = Arc::clone(&sent);
    let mut options = ClientOptions::parse(uri).await.unwrap();
    options.command_event_handler = Some(EventHandler::callback(move |event| {
        if let CommandEvent::Started(started) = event {
            let member = started.connection.address.to_string();
            record.lock().unwrap().push((started.command, member));
        }
    }));
    (Client::with_options(options).unwrap(), sent)
}

/// Every call that reads, with these settings. Without them its first command says nothing of either.
macro_rules! each_read {
    ($readings:ident, $books:ident, $done:ident, |$read:ident| $settings:expr) => {{
        macro_rules! done {
            ($call:expr) => {{
                let $read = $call;
                let result = $settings.await.unwrap();
                $done(stringify!($call));
                result
            }};
        }
        let large = || Reading::FIELDS.value.gt(4);
        let first = done!($readings.page(&1, 1)).unwrap();
        assert_eq!(first.items[0].value, 0);
        assert_eq!(done!($readings.latest(&1)).unwrap().items[0].value, 6);
        assert_eq!(done!($readings.count(&1)), 7);
        assert_eq!(done!($readings.count_all()), 7);
        assert_eq!(done!($readings.page_count(&1)), 3);
        assert_eq!(done!($readings.rollup(&1)).value.sum(), 21);
        assert_eq!(done!($readings.rollup_all()).value.sum(), 21);
        let pages: Vec<_> = done!($readings.pages(&1)).try_collect().await.unwrap();
        assert_eq!(pages.len(), 3);
        for (items, count) in [
            (done!($readings.items(&1)), 7),
            (done!($readings.items(&1).skip(5)), 2),
            (done!($readings.items(&1).filter(large())), 2),
            (done!($readings.all_items()), 7),
        ] {
            assert_eq!(items.try_collect::<Vec<_>>().await.unwrap().len(), count);
        }
        assert!(done!($books.get(&1)).unwrap().has_extras);
        assert_eq!(done!($books.get_all(&1)).unwrap().buyers.len(), 5);
        assert_eq!(done!($books.count(&1)), 5);
        let items: Vec<_> = done!($books.items(&1)).try_collect().await.unwrap();
        assert_eq!(items, [0, 1, 2, 3, 4]);
        let extras: Vec<_> = done!($books.extras(&1)).try_collect().await.unwrap();
        assert_eq!(extras.len(), 1);
        let parents: Vec<_> = done!($books.find(doc! {})).try_collect().await.unwrap();
        assert_eq!(parents.len(), 1);
    }};
}

/// A set of two members: what a majority has, both have.
#[bucket_testkit::test]
async fn each_read_takes_a_read_preference_and_a_read_concern() {
    let set = ReplicaSet::start(2).await.unwrap();
    let primary = set.primary().await.unwrap().address();
    let (client, sent) = client(set.uri()).await;
    let db = client.database("settings");
    let readings: Buckets<Reading> = Reading::buckets(&db).await.unwrap();
    for value in 0..7 {
        let at = DateTime::from_millis(1_800_000_000_000 + i64::from(value) * 1000);
        let reading = Reading {
            sensor: 1,
            at,
            value,
        };
        readings.append(&reading).await.unwrap();
    }
    let books: Outliers<Book> = Book::outliers(&db).await.unwrap();
    let buyers = vec![0];
    books.insert(&Book { _id: 1, buyers }).await.unwrap();
    books.push_many(&1, [1, 2, 3, 4]).await.unwrap();
    let take = || std::mem::take(&mut *sent.lock().unwrap());

    take();
    let by_default = |call: &str| {
        for (command, member) in take() {
            assert_eq!(member, primary, "{call}");
            assert!(!command.contains_key("readConcern"), "{call}: {command}");
        }
    };
    each_read!(readings, books, by_default, |read| read);

    let from_secondary = |call: &str| {
        let commands = take();
        assert!(!commands.is_empty(), "{call}");
        for (command, member) in commands {
            assert_ne!(member, primary, "{call}: {command}");
            let concern = command.get_document("readConcern").unwrap();
            assert_eq!(concern.get_str("level").unwrap(), "majority", "{call}");
        }
    };
    each_read!(readings, books, from_secondary, |read| read
        .read_preference(ReadPreference::Secondary { options: None })
        .read_concern(ReadConcern::majority()));

    // The handle keeps its own, and so does what another call of it sends.
    take();
    readings.count(&1).await.unwrap();
    assert!(take().iter().all(|(_, member)| member == primary));
}
