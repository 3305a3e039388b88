//! Knowledge of items after some calls were dropped, and what is stored in the end.

use std::{
    collections::{BTreeMap, HashMap},
    future::IntoFuture,
    time::Duration,
};

use bucket_ops::Ops;
use bucket_runtime::{
    Buckets, Ordinal, Result,
    mongodb::{
        Database,
        bson::{Bson, Document, RawDocumentBuf},
    },
};
use tokio::time::timeout;

use crate::{
    guarantees::life::support::{Entry, OWNERS},
    support::database::{documents, items, number},
    support::notes::checked_within,
};

/// More items than a writer has. A writer's items are numbered from its own number times this.
pub(crate) const ITEMS: i64 = 10_000;

/// The outcome of a call.
#[derive(Debug)]
pub(crate) enum Outcome<O> {
    Done(O),
    /// Nothing was stored: the capacity has changed since the handle was opened, or is changing.
    Refused,
    /// The call was dropped, and may still be carried out.
    Unknown,
}

/// Carries out a call, or drops it after `limit` microseconds.
pub(crate) async fn called<O>(
    call: impl IntoFuture<Output = Result<O>>,
    limit: Option<u64>,
) -> Outcome<O> {
    let result = match limit {
        None => call.await,
        Some(limit) => match timeout(Duration::from_micros(limit), call.into_future()).await {
            Ok(result) => result,
            Err(_) => return Outcome::Unknown,
        },
    };
    match result {
        Err(error) if error.is_index_missing() && !error.is_maybe_stored() => Outcome::Refused,
        result => Outcome::Done(result.unwrap()),
    }
}

/// A writer's knowledge of one of its items.
pub(crate) struct Known<T> {
    pub(crate) item: T,
    /// The values that the item may have, `None` if it may be missing.
    pub(crate) values: Vec<Option<i32>>,
    /// Whether the append was acknowledged, before the next item was sent.
    pub(crate) in_order: bool,
}

/// All writers' knowledge of their items.
#[derive(Default)]
pub(crate) struct Model(BTreeMap<i64, (i64, Vec<Option<i32>>, bool)>);

impl Model {
    pub(crate) fn add<T: Entry>(&mut self, writers: Vec<BTreeMap<i64, Known<T>>>) {
        for (n, mut known) in writers.into_iter().flatten() {
            let owner = *known.item.owner();
            self.0.insert(n, (owner, known.values, known.in_order));
        }
    }

    /// Each item is stored once with a value that it may have, or is missing if it may be. There are no other items, and
    /// the buckets satisfy all guarantees, with `most` items at most.
    pub(crate) async fn agrees<T: Entry>(&self, db: &Database, most: i64) {
        assert_eq!(Ops::<T>::of(db).verify().await.unwrap().problems, []);
        let documents = documents(&db.collection::<Document>(T::SPEC.collection)).await;
        self.has_order::<T>(&documents);
        for bucket in &documents {
            let bytes = RawDocumentBuf::try_from(bucket).unwrap().as_bytes().len();
            let most = T::SPEC.max_bytes as usize;
            assert!(bytes <= most, "{bytes} bytes: {bucket}");
        }
        let stored = checked_within::<T>(documents, T::SPEC.capacity.into(), most);
        assert_once(stored.values().flatten().map(|(n, _)| *n));
        let of_owner = |(owner, items): (_, Vec<_>)| {
            let each = move |(n, value): (i64, i32)| (n, (owner, value));
            items.into_iter().map(each)
        };
        let mut stored = BTreeMap::from_iter(stored.into_iter().flat_map(of_owner));
        for (n, (owner, values, _)) in &self.0 {
            let found = stored.remove(n);
            assert!(found.is_none_or(|(of, _)| of == *owner), "G4: {n}");
            let value = found.map(|(_, value)| value);
            let is_known = values.contains(&value);
            assert!(is_known, "item {n}: {value:?} is not one of {values:?}");
        }
        assert_eq!(stored, BTreeMap::new(), "nobody wrote these");
    }

    /// Where buckets are numbered, a writer's items are in the order in which they were acknowledged.
    fn has_order<T: Entry>(&self, documents: &[Document]) {
        if matches!(T::SPEC.id.ordinal, Ordinal::Seconds | Ordinal::Millis) {
            return;
        }
        let mut last = HashMap::new();
        for bucket in documents {
            let window = bucket.get("window").map(ToString::to_string);
            for item in bucket.get_array(T::SPEC.items).unwrap() {
                let n = number(item.as_document().unwrap().get("n"));
                let (owner, _, in_order) = self.0[&n];
                if in_order {
                    let before = last.insert((owner, window.clone(), n / ITEMS), n);
                    let told = || told::<T>(documents);
                    assert!(before < Some(n), "{before:?} before {n}: {}", told());
                }
            }
        }
    }
}

/// The buckets with the numbers of their items, as text.
fn told<T: Entry>(documents: &[Document]) -> String {
    let n = |item: &Bson| number(item.as_document().unwrap().get("n"));
    let line = |bucket: &Document| {
        let items = bucket.get_array(T::SPEC.items).unwrap().iter();
        let sealed = bucket.contains_key("sealed");
        let id = bucket.get_str("_id").unwrap();
        format!("{id} {sealed} {:?}\n", Vec::from_iter(items.map(n)))
    };
    documents.iter().map(line).collect()
}

/// The items of each owner, in the order in which they are read.
pub(crate) async fn in_order<T: Entry>(notes: &Buckets<T>) -> Vec<Vec<i64>> {
    let mut all = Vec::new();
    for owner in 0..OWNERS {
        all.push(items(notes, &owner).await.iter().map(T::n).collect());
    }
    all
}

pub(crate) fn assert_once(items: impl Iterator<Item = i64>) {
    let mut items = Vec::from_iter(items);
    items.sort_unstable();
    let twice = items.windows(2).find(|pair| pair[0] == pair[1]);
    assert_eq!(twice, None, "an item is stored twice");
}
