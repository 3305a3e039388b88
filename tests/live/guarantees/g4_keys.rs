//! G4: a read for one key never returns another key's item, for any two keys.
//!
//! Distinct items go to every key of a set, all in one collection; then every way of reading a key must
//! return exactly its own items. That checks every ordered pair of keys.

use std::fmt::Debug;

use bucket_runtime::{
    Bucket, Buckets, Key, KeyRef, Page,
    mongodb::{
        Database,
        bson::{Bson, DateTime, Decimal128, Document, Uuid, doc, oid::ObjectId},
    },
};
use futures_util::TryStreamExt;

use crate::support::database::{Live, documents, items, number, pages};

pub(crate) trait Note: Bucket + Clone + PartialEq + Debug {
    fn new(key: Self::Key, at: DateTime, n: i64) -> Self;
}

macro_rules! notes {
    ($($name:ident($id:literal, $($field:ident: $type:ty),+))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "notes", id = $id, capacity = 2)]
        pub(crate) struct $name {
            $($field: $type,)+
            at: DateTime,
            n: i64,
        }

        impl Note for $name {
            fn new(key: Self::Key, at: DateTime, n: i64) -> Self {
                let ($($field,)+) = key;
                Self { $($field,)+ at, n }
            }
        }
    )+};
}

notes! {
    Seconds("{a}_{at}", a: String)
    Numbered("{a}|{#}", a: String)
    LongLiterals("notes/{a}_x_{at}", a: String)
    PairSeconds("{a}_{b}_{at}", a: String, b: String)
    PairMillis("{a}_x{b}-{at:millis}", a: String, b: String)
    PairMixed("{a}_{b}_{at}", a: String, b: i64)
    Signed("{a}_{at}", a: i64)
    SignedMinus("{a}-{at:millis}", a: i64)
    Unsigned("{a}_{at}", a: u64)
    UnsignedNumbered("{a}_{#}", a: u64)
    Small("{a}_{at}", a: i8)
    Flag("{a}_{at}", a: bool)
    Object("{a}_{at}", a: ObjectId)
    Unique("{a}-{at}", a: Uuid)
}

/// All keys have the same moments, so that ids differ only in their keys.
fn time(round: i64) -> DateTime {
    DateTime::from_millis(1_698_335_223_434 + round * 1000)
}

const ROUNDS: i64 = 3;

/// Appends three items to each key (a full bucket, and an open one), one key after the other, so that a
/// bucket that is mistaken for another key's is open at that moment. Then reads each key.
pub(crate) async fn stay_apart<T: Note>(notes: &Buckets<T>, keys: &[T::Key]) {
    let n = |index: usize, round: i64| index as i64 * ROUNDS + round;
    let item = |index: usize, round| T::new(keys[index].clone(), time(round), n(index, round));
    for round in 0..ROUNDS {
        for index in 0..keys.len() {
            notes.append(&item(index, round)).await.unwrap();
        }
    }
    for (index, key) in keys.iter().enumerate() {
        let own: Vec<T> = (0..ROUNDS).map(|round| item(index, round)).collect();
        reads_give_exactly(notes, key.borrowed(), &own).await;
        let ns = Vec::from_iter((0..ROUNDS).map(|round| n(index, round)));
        filter_gives_exactly(notes, key.borrowed(), &ns).await;
    }
    assert_eq!(documents(notes.collection()).await.len(), keys.len() * 2);
}

async fn reads_give_exactly<T: Note>(notes: &Buckets<T>, key: KeyRef<'_, T>, own: &[T]) {
    let page = async |n| notes.page(key, n).await.unwrap();
    let items_of = |page: Option<Page<T>>| page.map(|page| page.items).unwrap_or_default();

    assert_eq!(items(notes, key).await, own);
    let found = pages(notes, key).await;
    let found: Vec<_> = found.into_iter().map(|page| page.items).collect();
    assert_eq!(found, [&own[..2], &own[2..]]);
    assert_eq!(items_of(page(1).await), own[..2]);
    assert_eq!(items_of(page(2).await), own[2..]);
    assert_eq!(page(3).await, None);
    assert_eq!(items_of(notes.latest(key).await.unwrap()), own[2..]);
    let list = || notes.items(key).page_of_items(2);
    let first = list().await.unwrap();
    assert_eq!(first.items, own[..2]);
    let second = list().after(&first.next.unwrap()).await.unwrap();
    assert_eq!(second.items, own[2..]);
    assert_eq!(second.next, None);
    let back = list().before(&second.previous.unwrap()).await.unwrap();
    assert_eq!(back.items, own[..2]);
    assert_eq!(back.previous, None);
    assert_eq!(notes.count(key).await.unwrap(), own.len() as u64);
    assert_eq!(notes.page_count(key).await.unwrap(), 2);
}

/// The raw driver finds exactly the key's items with the key's filter, and the buckets' key fields hold
/// that key.
async fn filter_gives_exactly<T: Note>(notes: &Buckets<T>, key: KeyRef<'_, T>, own: &[i64]) {
    let found = notes.collection().find(notes.filter(key));
    let found = found.sort(doc! { "_id": 1 });
    let found: Vec<Document> = found.await.unwrap().try_collect().await.unwrap();
    let mut ns = Vec::new();
    for bucket in &found {
        for (name, part) in T::SPEC.key.iter().zip(T::Key::parts(key)) {
            assert_eq!(bucket.get(name.name), Some(&part.value));
        }
        let items = bucket.get_array("items").unwrap().iter();
        ns.extend(items.map(|item| number(item.as_document().unwrap().get("n"))));
    }
    assert_eq!(ns, own, "{found:?}");
}

pub(crate) async fn fresh<T: Note>(db: &Database) -> Buckets<T> {
    let name = std::any::type_name::<T>().rsplit("::").next().unwrap();
    T::buckets_in(db.collection::<()>(name)).await.unwrap()
}

#[bucket_testkit::test]
async fn integers_stay_apart_up_to_their_limits(db: Live) {
    let signed = [i64::MIN, -123, -12, -1, 0, 1, 12, 123, i64::MAX];
    let signed = signed.map(|key| (key,));
    stay_apart(&fresh::<Signed>(&db).await, &signed).await;
    stay_apart(&fresh::<SignedMinus>(&db).await, &signed).await;

    let above = i64::MAX as u64 + 1;
    let unsigned = [0, 1, 12, 123, above - 1, above, above + 1, u64::MAX];
    let unsigned = unsigned.map(|key| (key,));
    stay_apart(&fresh::<Unsigned>(&db).await, &unsigned).await;
    stay_apart(&fresh::<UnsignedNumbered>(&db).await, &unsigned).await;

    // Another tool sees an int64 where 64 bits suffice, otherwise a decimal number.
    let raw = db.collection::<Document>("Unsigned");
    let greatest = doc! { "_id": "18446744073709551615_1698335223" };
    let greatest = raw.find_one(greatest).await.unwrap().unwrap();
    let decimal: Decimal128 = "18446744073709551615".parse().unwrap();
    assert_eq!(greatest.get("a"), Some(&Bson::Decimal128(decimal)));
    let long = doc! { "a": { "$type": "long" } };
    assert_eq!(raw.count_documents(long).await.unwrap(), 5 * 2);

    let small = [i8::MIN, -1, 0, 1, i8::MAX].map(|key| (key,));
    stay_apart(&fresh::<Small>(&db).await, &small).await;
}

#[bucket_testkit::test]
async fn bools_object_ids_and_uuids_stay_apart(db: Live) {
    stay_apart(&fresh::<Flag>(&db).await, &[(true,), (false,)]).await;
    let objects = [0, 1, 0x10, 0xff].map(|last| {
        let mut bytes = [0; 12];
        bytes[11] = last;
        (ObjectId::from_bytes(bytes),)
    });
    stay_apart(&fresh::<Object>(&db).await, &objects).await;
    let uuids = [0, 1, 0x10, 0xff].map(|last| (Uuid::from_bytes([last; 16]),));
    stay_apart(&fresh::<Unique>(&db).await, &uuids).await;
}

#[bucket_testkit::test]
async fn a_text_and_an_integer_stay_apart(db: Live) {
    let notes = fresh::<PairMixed>(&db).await;
    let texts = ["", "1", "1_2", "_", "-", "a_-1"];
    let numbers = [i64::MIN, -12, -1, 0, 1, 12, 2, i64::MAX];
    let pairs = texts.map(|text| numbers.map(|n| (text.to_owned(), n)));
    stay_apart(&notes, pairs.as_flattened()).await;
}
