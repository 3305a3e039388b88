//! No bucket exceeds its bytes, and nothing that fits is refused, however the items arrive.

mod grown;

use std::collections::BTreeMap;

use bucket_runtime::{
    Bucket, Buckets,
    mongodb::{
        Database,
        bson::{Bson, DateTime, Document, doc},
    },
};
use futures_util::{TryStreamExt, future::try_join_all};

use crate::support::{
    database::{Live, documents, fresh, items, number},
    ops,
};

/// An item with as many bytes as a test needs.
trait Item: Bucket<Key = (i64,)> + Clone + PartialEq + std::fmt::Debug {
    fn new(key: i64, writer: i64, n: i64, bytes: usize) -> Self;
    fn place(&self) -> (i64, i64);
    fn text(&self) -> &str;
}

macro_rules! items {
    ($($name:ident $collection:literal $id:literal $capacity:literal $max:literal)+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = $collection, id = $id, capacity = $capacity, max_bytes = $max)]
        struct $name {
            key: i64,
            at: DateTime,
            writer: i64,
            n: i64,
            text: String,
        }

        impl Item for $name {
            fn new(key: i64, writer: i64, n: i64, bytes: usize) -> Self {
                Self {
                    key,
                    // Several items in a second, and several seconds in an hour.
                    at: DateTime::from_millis(1_698_335_223_000 + n * 300),
                    writer,
                    n,
                    text: "x".repeat(bytes),
                }
            }

            fn place(&self) -> (i64, i64) {
                (self.writer, self.n)
            }

            fn text(&self) -> &str {
                &self.text
            }
        }
    )+};
}

items! {
    Numbered "bytes_numbered" "{key}_{#}" 10 2500
    Seconds "bytes_seconds" "{key}_{at}" 10 2500
    Windows "bytes_windows" "{key}_{at/1h}" 10 2500
    Long "bytes_long" "{key}_{#}" 500 6000
    One "bytes_one" "{key}_{at}" 1 2500
    Large "bytes_large" "{key}_{#}" 10 5000000
    LargeSeconds "bytes_large_seconds" "{key}_{at}" 10 5000000
}

/// Items of a writer for a number of keys. Most are small, some nearly fill a bucket.
fn random_items<T: Item>(keys: i64, writer: i64, number: i64) -> Vec<T> {
    // A little below the limit that the error states.
    let most = T::SPEC.max_bytes as usize - 500;
    let item = |n: i64| {
        let most = [1, most / 50, most / 8, most][rand::random_range(0..4)];
        T::new(n % keys, writer, n, rand::random_range(1..=most))
    };
    (0..number).map(item).collect()
}

/// The documents as they are stored, by key. It checks the bound, G2 and G3 first.
async fn bounded<T: Bucket>(buckets: &Buckets<T>) -> BTreeMap<i64, Vec<Document>> {
    let spec = T::SPEC;
    let raw = buckets.collection().clone_with_type::<Document>();
    let sizes = raw.aggregate([doc! { "$project": { "size": { "$bsonSize": "$$ROOT" } } }]);
    let sizes: Vec<_> = sizes.await.unwrap().try_collect().await.unwrap();
    for bucket in sizes {
        let size = number(bucket.get("size"));
        assert!(size <= i64::from(spec.max_bytes), "{size} bytes: {bucket}");
    }
    let mut by_key = BTreeMap::<i64, Vec<Document>>::new();
    for bucket in documents(buckets.collection()).await {
        let length = bucket.get_array(spec.items).unwrap().len() as i64;
        assert_eq!(number(bucket.get(spec.count)), length, "G2");
        assert!((1..=i64::from(spec.capacity)).contains(&length), "G2");
        if let Some(sealed) = bucket.get("sealed") {
            assert_eq!(Some(sealed), bucket.get("_id"));
        }
        let of_key = by_key.entry(number(bucket.get("key"))).or_default();
        of_key.push(bucket);
    }
    for buckets in by_key.values() {
        let mut open = BTreeMap::<_, usize>::new();
        for bucket in buckets {
            let takes_more = number(bucket.get(spec.count)) < i64::from(spec.capacity);
            if takes_more && !bucket.contains_key("sealed") {
                let window = bucket.get("window").map(ToString::to_string);
                *open.entry(window).or_default() += 1;
            }
        }
        assert!(open.values().all(|open| *open == 1), "G3: {open:?}");
    }
    by_key
}

/// Every item that was sent is stored once; numbered buckets also keep each writer's order.
async fn assert_stored<T: Item>(buckets: &Buckets<T>, key: i64, mut sent: Vec<T>) {
    let mut stored = items(buckets, &key).await;
    if T::SPEC.time.is_none() {
        for writer in 0..4 {
            let of_writer = stored.iter().map(T::place).filter(|(by, _)| *by == writer);
            assert!(of_writer.is_sorted(), "the order of writer {writer}");
        }
    }
    stored.sort_by_key(T::place);
    sent.sort_by_key(T::place);
    assert_eq!(stored.len(), sent.len(), "G1");
    assert!(stored == sent, "G1: other items are stored than were sent");
}

/// Four writers append to two keys: alone, in sessions, many at once, and in bulk.
async fn mixed<T: Item>(db: &Database, each: i64) {
    let buckets = T::buckets(db).await.unwrap();
    let writers = (0..4).map(|writer| {
        let buckets = buckets.clone();
        let client = db.client().clone();
        async move {
            let all = random_items::<T>(2, writer, each);
            for part in all.chunks(each as usize / 5) {
                match rand::random_range(0..4) {
                    0 => {
                        for item in part {
                            buckets.append(item).await.unwrap();
                        }
                    }
                    1 => {
                        let mut session = client.start_session().await.unwrap();
                        for item in part {
                            buckets.append(item).session(&mut session).await.unwrap();
                        }
                    }
                    2 => {
                        let appends = part.iter().map(|item| async { buckets.append(item).await });
                        try_join_all(appends).await.unwrap();
                    }
                    _ => {
                        let stored = buckets.append_many(part.to_vec()).await.unwrap();
                        assert_eq!(stored, part.len() as u64);
                    }
                }
            }
            all
        }
    });
    let sent = try_join_all(writers.map(tokio::spawn)).await.unwrap();
    let sent = sent.concat();
    bounded(&buckets).await;
    for key in 0..2 {
        let of_key = sent.iter().filter(|item| item.place().1 % 2 == key);
        assert_stored(&buckets, key, of_key.cloned().collect()).await;
    }
}

macro_rules! mixed {
    ($($test:ident $name:ident $each:literal)+) => {$(
        #[bucket_testkit::test(multi_thread)]
        async fn $test(db: Live) {
            mixed::<$name>(&db, $each).await;
        }
    )+};
}

mixed! {
    numbered_buckets_keep_within_their_bytes Numbered 120
    buckets_of_seconds_keep_within_their_bytes Seconds 120
    buckets_of_windows_keep_within_their_bytes Windows 120
    long_buckets_keep_within_their_bytes Long 200
    buckets_of_one_item_keep_within_their_bytes One 40
    items_of_megabytes_keep_numbered_buckets_within_their_bytes Large 15
    items_of_megabytes_keep_buckets_of_seconds_within_their_bytes LargeSeconds 15
}

/// One writer seals a bucket only if the next item did not fit into the bytes that are not set aside
/// for other items.
async fn dense<T: Item>(db: &Database, in_bulk: bool) {
    let buckets = fresh::<T>(db).await;
    let all = random_items::<T>(1, 0, 150);
    if in_bulk {
        buckets.append_many(all.clone()).await.unwrap();
    } else {
        for item in &all {
            buckets.append(item).await.unwrap();
        }
    }
    let of_key = bounded(&buckets).await.remove(&0).unwrap();
    let text = |item: &Bson| item.as_document().unwrap().get_str("text").unwrap().len();
    for pair in of_key.windows(2) {
        let [here, next] = [0, 1].map(|nth| pair[nth].get_array("items").unwrap());
        let is_full = here.len() == T::SPEC.capacity as usize;
        let (here, next) = (here.iter().map(text).sum::<usize>(), text(&next[0]));
        let most = T::SPEC.max_bytes as usize;
        // Allow for the names and the bucket's other fields, which take less than a kilobyte.
        let is_dense = is_full || here + next > most * 3 / 4 - 1500;
        assert!(is_dense, "{here} and {next} of {most}");
    }
    let is_in_order = items(&buckets, &0).await == all;
    assert!(is_in_order, "not in the order of the appends");
}

#[bucket_testkit::test]
async fn a_bucket_is_sealed_for_an_item_that_has_no_room(db: Live) {
    dense::<Numbered>(&db, false).await;
    dense::<Seconds>(&db, false).await;
    dense::<Windows>(&db, false).await;
    dense::<Numbered>(&db, true).await;
    dense::<Windows>(&db, true).await;
}

#[bucket_testkit::test]
async fn an_item_that_never_fits_is_refused_with_its_size_and_the_others_are_stored(db: Live) {
    let buckets = Numbered::buckets(&db).await.unwrap();
    let append = async |n, bytes| buckets.append(&Numbered::new(1, 0, n, bytes)).await;
    let error = append(0, 2500).await.unwrap_err();
    assert!(error.is_too_large() && !error.is_maybe_stored(), "{error}");
    let text = error.to_string();
    assert!(text.contains("max_bytes = 2500"), "{text}");
    let number_after = |what: &str| -> usize {
        let (_, rest) = text.split_once(what).unwrap_or_else(|| panic!("{text}"));
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
        digits.unwrap().parse().unwrap()
    };
    let (takes, most) = (number_after("takes "), number_after("more than "));
    assert!(documents(buckets.collection()).await.is_empty());

    // The text of the error is true, to the byte.
    let fits = 2500 - (takes - most);
    append(1, fits).await.unwrap();
    let error = append(2, fits + 1).await.unwrap_err();
    assert!(error.is_too_large(), "{error}");

    let many = [10, 3000, fits, 2501, 20].into_iter().zip(3..);
    let many = many.map(|(bytes, n)| Numbered::new(1, 0, n, bytes));
    let error = buckets.append_many(Vec::from_iter(many)).await.unwrap_err();
    let failed = error.failed().iter();
    let failed = failed.map(|failed| (failed.item.n, failed.error.is_too_large()));
    assert_eq!(Vec::from_iter(failed), [(4, true), (6, true)]);
    bounded(&buckets).await;
    let stored = items(&buckets, &1).await;
    let stored = stored.iter().map(|item| item.n);
    assert_eq!(Vec::from_iter(stored), [1, 3, 5, 7]);
}

/// In a transaction the server must refuse nothing along the way.
#[bucket_testkit::test]
async fn buckets_are_sealed_in_a_transaction(db: Live) {
    let numbered = Numbered::buckets(&db).await.unwrap();
    let seconds = Seconds::buckets(&db).await.unwrap();
    let sizes = [1, 2000, 1, 1, 1900, 1, 300, 300, 2000, 2000];
    for commit in [false, true] {
        let mut session = db.client().start_session().await.unwrap();
        session.start_transaction().await.unwrap();
        for (bytes, n) in sizes.into_iter().zip(0..) {
            let item = Numbered::new(1, 0, n, bytes);
            numbered.append(&item).session(&mut session).await.unwrap();
            let item = Seconds::new(1, 0, n * 10, bytes);
            seconds.append(&item).session(&mut session).await.unwrap();
        }
        match commit {
            true => session.commit_transaction().await.unwrap(),
            false => session.abort_transaction().await.unwrap(),
        }
        let stored = if commit { sizes.len() } else { 0 };
        assert_eq!(items(&numbered, &1).await.len(), stored);
        assert_eq!(items(&seconds, &1).await.len(), stored);
    }
    bounded(&numbered).await;
    bounded(&seconds).await;
}

#[bucket_testkit::test]
async fn imported_buckets_keep_within_their_bytes(db: Live) {
    async fn imported<T: Item>(db: &Database) {
        let flat = db.collection::<Document>("flat");
        flat.drop().await.unwrap();
        let all = random_items::<T>(3, 0, 200);
        let document = |item: &T| {
            let (writer, n) = item.place();
            let at = DateTime::from_millis(1_698_335_223_000 + n * 300);
            doc! { "key": n % 3, "writer": writer, "n": n, "at": at, "text": item.text() }
        };
        flat.insert_many(all.iter().map(document)).await.unwrap();
        let buckets = T::buckets(db).await.unwrap();
        ops(&buckets).import_flat(&flat).await.unwrap();
        bounded(&buckets).await;
        for key in 0..3 {
            let of_key = all.iter().filter(|item| item.place().1 % 3 == key);
            assert_stored(&buckets, key, of_key.cloned().collect()).await;
        }
    }
    imported::<Numbered>(&db).await;
    imported::<Seconds>(&db).await;
    imported::<Windows>(&db).await;
}
