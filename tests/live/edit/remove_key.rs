//! Removing a key removes all of its buckets and no other key's, and the key can be used again.

use std::fmt::Debug;

use bucket_runtime::{
    Bucket,
    mongodb::{
        Database,
        bson::{DateTime, Document, doc},
    },
};

use crate::support::{
    database::{Live, Recorded, dense, dense_buckets, documents, fresh, number, snapshot},
    tasks::JoinSet,
};

trait Note: Bucket<Key = (String, i64)> + Clone + PartialEq + Debug {
    fn new(topic: &str, user: i64, n: i64) -> Self;
}

macro_rules! notes {
    ($($name:ident($id:literal))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "notes", id = $id, capacity = 3)]
        struct $name {
            #[serde(alias = "subject")]
            topic: String,
            user: i64,
            at: DateTime,
            n: i64,
        }

        impl Note for $name {
            fn new(topic: &str, user: i64, n: i64) -> Self {
                let at = DateTime::from_millis(1_698_321_600_000 + n * 500_000);
                Self { topic: topic.to_owned(), user, at, n }
            }
        }
    )+};
}

notes! {
    Timed("{topic}_{user}_{at}")
    Numbered("{topic}_{user}_{#}")
    Windowed("{topic}_{user}_{at/1h}")
}

const TOPICS: [&str; 7] = ["12", "12_3", "", "_", "a.b", "a%b", "$ne"];

/// Whether the bucket is of the first user's notes on this topic.
fn is_of(bucket: &Document, topic: &str) -> bool {
    bucket.get_str("topic").unwrap() == topic && number(bucket.get("user")) == 1
}

async fn goes_alone<T: Note>(db: &Database) {
    let notes = fresh::<T>(db).await;
    let all = (0..500).map(|n: i64| T::new(TOPICS[n as usize % 7], n % 3, n));
    notes.append_many(all).await.unwrap();
    for topic in TOPICS {
        let before = documents(notes.collection()).await.into_iter();
        let (gone, stay): (Vec<_>, Vec<_>) = before.partition(|bucket| is_of(bucket, topic));
        assert!(gone.len() > 5);
        let removed = notes.remove_key((topic, &1)).await.unwrap();
        assert_eq!(removed, gone.len() as u64, "{topic:?}");
        assert_eq!(documents(notes.collection()).await, stay, "{topic:?}");
        assert_eq!(notes.count((topic, &1)).await.unwrap(), 0);
        assert_eq!(notes.remove_key((topic, &1)).await.unwrap(), 0);

        // The key starts over.
        let anew = T::new(topic, 1, 7);
        notes.append(&anew).await.unwrap();
        let page = notes.page((topic, &1), 1).await.unwrap().unwrap();
        assert_eq!(page.items, [anew]);
    }
    dense_buckets(&notes).await;
}

#[bucket_testkit::test]
async fn all_of_a_key_goes_and_nothing_else(db: Live) {
    goes_alone::<Timed>(&db).await;
    goes_alone::<Numbered>(&db).await;
    goes_alone::<Windowed>(&db).await;
}

#[bucket_testkit::test]
async fn a_bucket_under_an_older_name_goes_and_a_foreign_one_stays(db: Live) {
    let notes = fresh::<Timed>(&db).await;
    let bucket = |id: &str, name: &str, topic: &str| {
        let item = doc! { "at": DateTime::now(), "n": 1_i64 };
        doc! { "_id": id, name: topic, "user": 1, "count": 3, "items": [item.clone(), item.clone(), item] }
    };
    let foreign = bucket("x_1_1698321602", "topic", "y");
    let older = bucket("x_1_1698321601", "subject", "x");
    let raw = notes.collection();
    raw.insert_many([older, foreign.clone()]).await.unwrap();
    notes.append(&Timed::new("x", 1, 1)).await.unwrap();
    assert_eq!(notes.remove_key(("x", &1)).await.unwrap(), 2);
    assert_eq!(documents(raw).await, [foreign]);
}

async fn beside_writers<T: Note>(db: &Database) {
    let notes = fresh::<T>(db).await;
    let mut tasks = JoinSet::new();
    for writer in 0..16 {
        let notes = notes.clone();
        tasks.spawn(async move {
            for n in 0..30 {
                let n = writer * 100 + n;
                notes.append(&T::new("a", n % 2, n)).await.unwrap();
            }
        });
    }
    let mut removed = 0;
    while !tasks.is_empty() {
        removed += notes.remove_key(("a", &0)).await.unwrap();
        dense::<T>(snapshot(notes.collection()).await.unwrap_or_default());
        while let Some(result) = tasks.try_join_next() {
            result.unwrap();
        }
    }
    removed += notes.remove_key(("a", &0)).await.unwrap();
    assert!(removed > 0);
    // The other key has lost nothing.
    assert_eq!(notes.count(("a", &1)).await.unwrap(), 16 * 15);
    dense_buckets(&notes).await;
}

#[bucket_testkit::test]
async fn writers_of_the_moment_go_on(db: Live) {
    beside_writers::<Timed>(&db).await;
    beside_writers::<Numbered>(&db).await;
    beside_writers::<Windowed>(&db).await;
}

#[bucket_testkit::test]
async fn in_a_transaction_all_goes_or_nothing(db: Live) {
    let notes = fresh::<Timed>(&db).await;
    for n in 0..8 {
        notes.append(&Timed::new("a", 1, n)).await.unwrap();
    }
    let before = documents(notes.collection()).await;
    let mut session = db.client().start_session().await.unwrap();
    for commit in [false, true] {
        session.start_transaction().await.unwrap();
        let remove = notes.remove_key(("a", &1)).session(&mut session);
        assert_eq!(remove.await.unwrap(), 3);
        assert_eq!(documents(notes.collection()).await, before);
        match commit {
            true => session.commit_transaction().await.unwrap(),
            false => session.abort_transaction().await.unwrap(),
        }
    }
    assert_eq!(documents(notes.collection()).await, []);
}

#[bucket_testkit::test]
async fn it_is_one_command(Recorded(db, record): Recorded) {
    let notes = Timed::buckets(&db).await.unwrap();
    record.take();
    notes.remove_key(("a", &1)).await.unwrap();
    assert_eq!(record.names(), ["delete"]);
}
