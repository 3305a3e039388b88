//! The blocking calls, in plain threads without a runtime of their own.

use std::thread;

use bucket_ops::OutlierOps;
use bucket_runtime::{
    Bucket, Buckets, Outlier,
    mongodb::{
        Database,
        bson::{Document, doc},
        sync::Client,
    },
    sync,
};
use futures_util::stream;
use serde::{Deserialize, Serialize};

use crate::support::{
    database::{Live, dense, server},
    runtime::blocking,
    zoo::ticks::{Numbered10, Tick},
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "sales",
    reference = "book_id",
    threshold = 3,
    extras_capacity = 2
)]
struct Book {
    #[serde(rename = "_id")]
    id: i64,
    year: i32,
    #[outlier(items)]
    buyers: Vec<String>,
}

/// The driver's blocking client, and a database through its asynchronous one.
fn connect(name: &str) -> (Client, Database) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(server());
    let client = Client::with_uri_str(server.uri()).unwrap();
    let db = sync::client(&client).unwrap().database(name);
    (client, db)
}

fn numbers(ticks: impl IntoIterator<Item = Numbered10>) -> Vec<i64> {
    ticks.into_iter().map(|tick| tick.n()).collect()
}

fn all(ticks: &Buckets<Numbered10>, k: i64) -> Vec<i64> {
    let items = ticks.items(&k).run().unwrap();
    numbers(items.map(Result::unwrap))
}

#[bucket_testkit::test(multi_thread)]
async fn appends_of_many_threads_fill_whole_buckets(db: Live) {
    blocking(|| {
        let (client, db) = connect(db.name());
        let ticks = Numbered10::buckets(&db).run().unwrap();
        thread::scope(|scope| {
            for writer in 0..8 {
                let ticks = &ticks;
                scope.spawn(move || {
                    for n in 0..50 {
                        let tick = Numbered10::new(n % 2, writer * 1000 + n);
                        ticks.append(&tick).run().unwrap();
                    }
                });
            }
        });
        let stored = client.database(db.name()).collection::<Document>("ticks");
        let stored = stored.find(doc! {}).sort(doc! { "_id": 1 }).run().unwrap();
        let buckets = dense::<Numbered10>(stored.map(Result::unwrap).collect());
        assert_eq!(Vec::from_iter(buckets.values().map(Vec::len)), [20, 20]);

        let mut of_first = all(&ticks, 0);
        for writer in 0..8 {
            // Each writer's own items are in order.
            let own = of_first.iter().copied().filter(|n| n / 1000 == writer);
            let sent = (0..25).map(|n| writer * 1000 + 2 * n);
            assert!(own.eq(sent), "{of_first:?}");
        }
        of_first.sort_unstable();
        of_first.dedup();
        assert_eq!(of_first.len(), 200);
    });
}

#[bucket_testkit::test(multi_thread)]
async fn pages_items_and_counts_are_read(db: Live) {
    blocking(|| {
        let (_, db) = connect(db.name());
        let ticks = Numbered10::buckets(&db).run().unwrap();
        let stored = ticks.append_many((0..35).map(|n| Numbered10::new(1, n)));
        assert_eq!(stored.run().unwrap(), 35);
        let more = stream::iter([100, 101].map(|n| Numbered10::new(2, n)));
        assert_eq!(ticks.append_stream(more).run().unwrap(), 2);

        let second = ticks.page(&1, 2).run().unwrap().unwrap();
        assert_eq!(numbers(second.items), Vec::from_iter(10..20));
        assert_eq!(ticks.count(&1).run().unwrap(), 35);
        let pages = ticks.pages(&1).run().unwrap();
        let lengths = pages.map(|page| page.unwrap().items.len());
        assert_eq!(Vec::from_iter(lengths), [10, 10, 10, 5]);

        let some = Numbered10::n_is(34).or(Numbered10::n_is(101));
        let some = ticks.all_items().filter(some).newest_first().run();
        assert_eq!(numbers(some.unwrap().map(Result::unwrap)), [101, 34]);
        // A stream that is not read to its end.
        let some = ticks.items(&1).skip(7).run().unwrap().take(5);
        assert_eq!(numbers(some.map(Result::unwrap)), Vec::from_iter(7..12));
    });
}

#[bucket_testkit::test(multi_thread)]
async fn a_transaction_of_the_drivers_blocking_session_holds_all_or_nothing(db: Live) {
    blocking(|| {
        let (client, db) = connect(db.name());
        let ticks = Numbered10::buckets(&db).run().unwrap();
        ticks.append(&Numbered10::new(1, 0)).run().unwrap();
        let mut session = client.start_session().run().unwrap();

        session.start_transaction().run().unwrap();
        for n in 1..15 {
            let (item, session) = (Numbered10::new(1, n), &mut session);
            ticks.append(&item).session(session).run().unwrap();
        }
        // The transaction sees its own writes: the reads use the same session.
        let within = ticks.items(&1).session(&mut session).run().unwrap();
        assert_eq!(within.count(), 15);
        assert_eq!(all(&ticks, 1), [0]);
        session.abort_transaction().run().unwrap();
        assert_eq!(all(&ticks, 1), [0]);

        session.start_transaction().run().unwrap();
        let one = Numbered10::new(1, 1);
        ticks.append(&one).session(&mut session).run().unwrap();
        session.commit_transaction().run().unwrap();
        assert_eq!(all(&ticks, 1), [0, 1]);
    });
}

#[bucket_testkit::test(multi_thread)]
async fn parents_are_written_read_and_repaired(db: Live) {
    blocking(|| {
        let (client, db) = connect(db.name());
        let books = Book::outliers(&db).run().unwrap();
        let book = |id, year, buyers: &[&str]| Book {
            id,
            year,
            buyers: buyers.iter().map(|buyer| buyer.to_string()).collect(),
        };
        books.insert(&book(1, 2019, &["a"])).run().unwrap();
        books.insert(&book(2, 2023, &[])).run().unwrap();
        books.push(&1, "b").run().unwrap();
        let many = ["c", "d", "e", "f", "g"];
        books.push_many(&1, many).run().unwrap();
        assert!(books.push(&3, "a").run().unwrap_err().is_not_found());

        assert!(books.get(&1).run().unwrap().unwrap().has_extras);
        let joined = books.get_all(&1).run().unwrap().unwrap();
        assert_eq!(joined.buyers, ["a", "b", "c", "d", "e", "f", "g"]);
        let buyers = books.items(&1).run().unwrap().map(Result::unwrap);
        assert_eq!(Vec::from_iter(buyers), joined.buyers);
        assert_eq!(books.extras(&1).run().unwrap().count(), 2);
        let recent = books.find(Book::FIELDS.year.gte(2020)).run().unwrap();
        let recent: Vec<_> = recent.map(|book| book.unwrap().document.id).collect();
        assert_eq!(recent, [2]);

        // A parent that has grown without the library.
        let sales = client.database(db.name()).collection::<Document>("sales");
        let grown = doc! { "_id": 4_i64, "year": 2020, "buyers": ["a", "b", "c", "d", "e"] };
        sales.insert_one(grown).run().unwrap();
        let ops = OutlierOps::<Book>::of(&db);
        assert_eq!(ops.verify().run().unwrap().problems.len(), 1);
        assert_eq!(ops.repair().run().unwrap().left, []);
        assert!(books.delete(&1).run().unwrap());
    });
}

/// A blocking call there would hold up other tasks.
#[bucket_testkit::test]
#[should_panic(expected = "within a runtime")]
async fn asynchronous_code_may_not_block(db: Live) {
    let _ = Numbered10::buckets(&db).run();
}
