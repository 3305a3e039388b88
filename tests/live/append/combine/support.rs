//! Shared by the tests of combined appends: items with each ordinal and several capacities, and an
//! oracle that reads the documents with the raw driver.

use std::{collections::BTreeMap, fmt::Debug};

use bucket_runtime::{
    Bucket, Buckets,
    mongodb::{
        Database, IndexModel,
        bson::{Bson, DateTime, Document, doc},
        options::IndexOptions,
    },
};

use futures_util::future::join_all;

use crate::support::database::{self, dense_buckets, fresh, number, statements};

/// 2023-10-26, noon.
pub(crate) const NOON: i64 = 1_698_321_600_000;

pub(crate) trait Mark:
    for<'k> Bucket<Key = (i64,)> + Clone + PartialEq + Debug + Unpin
{
    /// All at one moment, so that every further bucket needs another id.
    fn new(k: i64, n: i64) -> Self;
    fn at(self, millis: i64) -> Self;
    fn text(self, text: &str) -> Self;
    fn k(&self) -> i64;
    fn n(&self) -> i64;
}

macro_rules! marks {
    ($($name:ident($id:literal, $capacity:literal))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "marks", id = $id, capacity = $capacity, max_bytes = 15728640)]
        pub(crate) struct $name {
            k: i64,
            at: DateTime,
            n: i64,
            text: String,
        }

        impl Mark for $name {
            fn new(k: i64, n: i64) -> Self {
                Self { k, at: DateTime::from_millis(NOON), n, text: String::new() }
            }

            fn at(self, millis: i64) -> Self {
                Self { at: DateTime::from_millis(millis), ..self }
            }

            fn text(self, text: &str) -> Self {
                Self { text: text.to_owned(), ..self }
            }

            fn k(&self) -> i64 {
                self.k
            }

            fn n(&self) -> i64 {
                self.n
            }
        }
    )+};
}

marks! {
    Seconds1("{k}_{at}", 1)
    Seconds2("{k}_{at}", 2)
    Seconds5("{k}_{at}", 5)
    Seconds10("{k}_{at}", 10)
    Millis2("{k}_{at:millis}", 2)
    Millis10("{k}_{at:millis}", 10)
    Numbered1("{k}_{#}", 1)
    Numbered2("{k}_{#}", 2)
    Numbered5("{k}_{#}", 5)
    Numbered10("{k}_{#}", 10)
}

/// A fresh collection with a unique index on the items' numbers, of which these are taken, by items of other keys. Such
/// an index compares whole documents. Returns these items, too.
pub(crate) async fn with_taken<T: Mark>(
    db: &Database,
    numbers: impl Iterator<Item = i64>,
) -> (Buckets<T>, Vec<(i64, i64)>) {
    let marks = fresh::<T>(db).await;
    let unique = IndexOptions::builder().unique(true).build();
    let index = IndexModel::builder().keys(doc! { "items.n": 1 });
    let index = index.options(unique).build();
    marks.collection().create_index(index).await.unwrap();
    let taken = Vec::from_iter(numbers.map(|n| (1000 + n, n)));
    for (k, n) in &taken {
        marks.append(&T::new(*k, *n)).await.unwrap();
    }
    (marks, taken)
}

/// A fresh collection whose validator refuses items with the text "bad".
pub(crate) async fn refuse_bad_texts(db: &Database) {
    let _ = db.collection::<Document>("marks").drop().await;
    let bad = doc! { "items": { "$elemMatch": { "text": "bad" } } };
    let create = db.create_collection("marks");
    create.validator(doc! { "$nor": [bad] }).await.unwrap();
}

/// The numbers of each key's items in the order of storage. It checks G2 and G3 first.
pub(crate) async fn stored<T: Mark>(buckets: &Buckets<T>) -> BTreeMap<i64, Vec<i64>> {
    let mut stored = BTreeMap::<i64, Vec<i64>>::new();
    for bucket in dense_buckets(buckets).await.values().flatten() {
        let of_key = stored.entry(number(bucket.get("k"))).or_default();
        for item in bucket.get_array("items").unwrap() {
            of_key.push(number(item.as_document().unwrap().get("n")));
        }
    }
    stored
}

/// G1, G2, G3: each of these items is stored once under its key, in dense buckets, and no other item
/// is.
pub(crate) async fn assert_stored<T: Mark>(
    buckets: &Buckets<T>,
    items: impl IntoIterator<Item = (i64, i64)>,
) {
    let mut expected: Vec<_> = items.into_iter().collect();
    let mut found: Vec<_> = (stored(buckets).await.into_iter())
        .flat_map(|(k, ns)| ns.into_iter().map(move |n| (k, n)))
        .collect();
    expected.sort_unstable();
    found.sort_unstable();
    let only = |in_one: &[(i64, i64)], other: &[(i64, i64)]| {
        let only = in_one
            .iter()
            .filter(|item| other.binary_search(item).is_err());
        only.take(10).copied().collect::<Vec<_>>()
    };
    let doubled = found.windows(2).find(|pair| pair[0] == pair[1]);
    assert_eq!(doubled, None, "G1: stored twice");
    assert_eq!(only(&expected, &found), [], "G1: missing");
    assert_eq!(only(&found, &expected), [], "G1: stored without being sent");
}

/// What is stored once dropped appends have settled.
pub(crate) async fn at_rest<T: Mark>(buckets: &Buckets<T>) -> BTreeMap<i64, Vec<i64>> {
    database::at_rest(buckets.collection()).await;
    stored(buckets).await
}

/// Makes these appends at once: all of them wait before the first one is sent, since nothing else runs
/// on this runtime's single thread in between.
pub(crate) async fn together<T: Mark>(
    buckets: &Buckets<T>,
    items: impl IntoIterator<Item = T>,
) -> Vec<Result<bucket_runtime::Appended, bucket_runtime::Error>> {
    let appends = items.into_iter().map(|item| buckets.append(&item));
    let all = join_all(appends.map(IntoFuture::into_future));
    tokio::task::unconstrained(all).await
}

/// How many items each `update` carries, statement by statement.
pub(crate) fn carried(commands: &[Document]) -> Vec<Vec<usize>> {
    let each = |statement: &Bson| {
        let statement = statement.as_document()?;
        // `bulkWrite` has another name for it.
        let update = (statement.get_document("u")).or(statement.get_document("updateMods"));
        let push = update.ok()?.get_document("$push").ok()?;
        let each = push.get_document("items").ok()?.get_array("$each").ok()?;
        Some(each.len())
    };
    let pushes = commands.iter().map(|command| {
        let pushes = statements(command).iter().filter_map(each);
        pushes.collect::<Vec<_>>()
    });
    // The command that finds out a session's number pushes nothing.
    pushes.filter(|carried| !carried.is_empty()).collect()
}
