//! Shared by the tests of edits and removals: items with every ordinal, with and without totals that
//! the buckets keep, and an oracle that reads documents.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    sync::{
        LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use bucket_runtime::{
    Bucket, Buckets, Filter, Key, Ordinal,
    mongodb::{
        Database,
        bson::{Bson, DateTime, Document},
    },
};

use crate::support::database::{documents, number};

pub(crate) const CAPACITY: i64 = 3;

pub(crate) trait Note:
    for<'k> Bucket<Key: Key<Ref<'k> = &'k i64>> + Clone + PartialEq + Debug
{
    fn new(owner: i64, n: i64, value: i32) -> Self;
    fn n_is(n: i64) -> Filter<Self>;
    fn value_is(value: i32) -> Filter<Self>;
    fn n(&self) -> i64;
    fn value(&mut self) -> &mut i32;
    fn at(&mut self) -> &mut DateTime;
    fn owner(&mut self) -> &mut i64;
}

/// The fields that all notes share; only their attributes differ.
macro_rules! fields_of_note {
    () => {
        fn n_is(n: i64) -> Filter<Self> {
            Self::FIELDS.n.eq(n)
        }

        fn value_is(value: i32) -> Filter<Self> {
            Self::FIELDS.value.eq(value)
        }

        fn n(&self) -> i64 {
            self.n
        }

        fn value(&mut self) -> &mut i32 {
            &mut self.value
        }

        fn at(&mut self) -> &mut DateTime {
            &mut self.at
        }

        fn owner(&mut self) -> &mut i64 {
            &mut self.owner
        }
    };
}
#[cfg(not(feature = "bson-3"))]
pub(crate) use fields_of_note;

macro_rules! notes {
    ($($name:ident($($bucket:tt)*) $([$($kept:tt)*])?)+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "notes", capacity = 3, $($bucket)*)]
        pub(crate) struct $name {
            owner: i64,
            at: DateTime,
            n: i64,
            $(#[bucket($($kept)*)])?
            #[serde(rename = "val")]
            value: i32,
        }

        impl Note for $name {
            fn new(owner: i64, n: i64, value: i32) -> Self {
                Self { owner, at: moment(n), n, value }
            }

            fields_of_note!();
        }
    )+};
}

notes! {
    Seconds(id = "{owner}_{at}")
    Millis(id = "{owner}_{at:millis}", count = "length", items = "history")
    Numbered(id = "{owner}_{#}")
    Windows(id = "{owner}_{at/1m}")
    SecondsSum(id = "{owner}_{at}") [sum, min, max]
    NumberedSum(id = "{owner}_{#}", rollup = "totals") [sum, max]
    Dying(id = "{owner}_{at}", expire_after = "90d")
    DyingSum(id = "{owner}_{at/1m}", expire_after = "90d") [sum, min, max]
}

/// Runs a generic test for every struct but `SecondsSum`, whose ways are those of `Seconds` and of `DyingSum`.
macro_rules! for_all_notes {
    ($call:ident($($argument:expr),*)) => {{
        use crate::support::notes::*;
        $call::<Seconds>($($argument),*).await;
        $call::<Millis>($($argument),*).await;
        $call::<Numbered>($($argument),*).await;
        $call::<Windows>($($argument),*).await;
        $call::<NumberedSum>($($argument),*).await;
        $call::<Dying>($($argument),*).await;
        $call::<DyingSum>($($argument),*).await;
    }};
}
pub(crate) use for_all_notes;

/// The moment of the nth item: a window holds nine, and later items have later moments.
pub(crate) fn moment(n: i64) -> DateTime {
    static START: LazyLock<i64> =
        LazyLock::new(|| DateTime::now().timestamp_millis() / 60_000 * 60_000 - 960_000_000);
    DateTime::from_millis(*START + n * 6500)
}

/// Buckets in a new collection, with the validator.
pub(crate) async fn created<T: Note>(db: &Database) -> Buckets<T> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("notes_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let collection = db.collection::<Document>(&name);
    (T::create_collection_in(collection.clone()).await).unwrap();
    T::buckets_in(collection).await.unwrap()
}

/// The stored items: the number and the value of each item, by owner, in order. It also checks everything
/// that must hold for a bucket after removals.
pub(crate) async fn checked<T: Note>(notes: &Buckets<T>) -> BTreeMap<i64, Vec<(i64, i32)>> {
    let by_moment = matches!(T::SPEC.id.ordinal, Ordinal::Seconds | Ordinal::Millis);
    let documents = documents(notes.collection()).await;
    for bucket in &documents {
        let is_left_over = bucket.contains_key("sealed") && number(bucket.get(T::SPEC.count)) == 0;
        assert!(
            !(is_left_over && by_moment),
            "an empty bucket stays: {bucket}"
        );
    }
    checked_documents::<T>(documents)
}

/// [`checked`] for documents that have already been read. One of them may be an emptied bucket that is
/// about to be deleted.
pub(crate) fn checked_documents<T: Note>(
    documents: Vec<Document>,
) -> BTreeMap<i64, Vec<(i64, i32)>> {
    let capacity = T::SPEC.capacity.into();
    checked_within::<T>(documents, capacity, capacity)
}

/// [`checked`] while buckets may hold up to `most` items, and those with fewer than `open_below` are open.
pub(crate) fn checked_within<T: Note>(
    documents: Vec<Document>,
    open_below: i64,
    most: i64,
) -> BTreeMap<i64, Vec<(i64, i32)>> {
    let spec = T::SPEC;
    let mut found = BTreeMap::<_, Vec<_>>::new();
    let mut open = Vec::new();
    for bucket in documents {
        let items = bucket.get_array(spec.items).expect("an array");
        let items = Vec::from_iter(items.iter().map(|item| item.as_document().unwrap()));
        let count = items.len() as i64;
        assert_eq!(number(bucket.get(spec.count)), count, "G2: {bucket}");
        assert!(count <= most, "G2: {bucket}");
        match bucket.get("sealed") {
            None if count < open_below => {
                open.push(format!(
                    "{:?} {:?}",
                    bucket.get("owner"),
                    bucket.get("window")
                ));
            }
            None => {}
            Some(sealed) => assert_eq!(Some(sealed), bucket.get("_id"), "{bucket}"),
        }
        let value = |item: &&Document| number(item.get("val"));
        if let Some(field) = spec.rollups.first() {
            let kept = bucket.get_document(spec.rollup).expect("a rollup");
            let kept = kept.get_document("val").expect("of the field");
            let values = || items.iter().map(value);
            let long = |keeps: bool, value: Option<i64>| value.filter(|_| keeps).map(Bson::Int64);
            let of_none = (count > 0).then(|| values().sum());
            assert_eq!(number(kept.get("count")), count, "{bucket}");
            assert_eq!(
                kept.get("sum").cloned(),
                long(field.sum, of_none),
                "{bucket}"
            );
            let (min, max) = (values().min(), values().max());
            assert_eq!(kept.get("min").cloned(), long(field.min, min), "{bucket}");
            assert_eq!(kept.get("max").cloned(), long(field.max, max), "{bucket}");
        }
        if spec.expire_after.is_some() && count > 0 {
            let newest = items.iter().map(|item| *item.get_datetime("at").unwrap());
            let kept = *bucket.get_datetime("newest").unwrap();
            assert_eq!(Some(kept), newest.max(), "{bucket}");
        }
        let owner = number(bucket.get("owner"));
        let stored = items.iter().map(|item| {
            let value = i32::try_from(value(item)).unwrap();
            (number(item.get("n")), value)
        });
        found.entry(owner).or_default().extend(stored);
    }
    open.sort_unstable();
    assert!(
        open.windows(2).all(|pair| pair[0] != pair[1]),
        "G3: {open:?}"
    );
    found.retain(|_, items| !items.is_empty());
    found
}
