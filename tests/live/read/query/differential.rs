//! Any read of items returns what the same query of the raw driver returns on a flat collection.

use std::collections::BTreeMap;

use bucket_runtime::{
    Bucket, Buckets,
    mongodb::{
        Collection, Database,
        bson::{Document, doc},
    },
};
use futures_util::TryStreamExt;

use crate::{
    read::query::{
        cases::{CAPACITY, Event, Numbered, Seconds, Values, Windows},
        random::{Change, Query, changes, queries},
    },
    support::{
        database::{Live, documents, number},
        random::for_any,
    },
};

/// All items twice: in buckets, and flat in the order of the buckets.
pub(crate) struct Twice<T> {
    pub(crate) buckets: Buckets<T>,
    pub(crate) flat: Collection<Document>,
    appended: BTreeMap<i32, Values>,
}

impl<T: Event> Twice<T> {
    pub(crate) async fn new(db: &Database, changes: &[Change]) -> Self {
        let _ = db.collection::<T>("events").drop().await;
        let buckets = T::buckets(db).await.unwrap();
        let (mut appended, mut load) = (BTreeMap::new(), Vec::new());
        for (n, change) in (0..).zip(changes) {
            if !matches!(change, Change::Append(_)) {
                let load = std::mem::take(&mut load);
                buckets.append_many(load).await.unwrap();
            }
            match change {
                Change::Append(values) => {
                    load.push(T::new(values, n));
                    appended.insert(n, values.clone());
                }
                Change::Seal(nth) => {
                    let open =
                        doc! { "count": { "$lt": CAPACITY }, "sealed": { "$exists": false } };
                    let seal = vec![doc! { "$set": { "sealed": "$_id" } }];
                    change_nth(&buckets, open, *nth, seal).await;
                }
                Change::TakeOut(nth) => change_nth(&buckets, doc! {}, *nth, take_out()).await,
                Change::Delete(nth) => {
                    if let Some(bucket) = documents(buckets.collection()).await.get(*nth) {
                        let id = doc! { "_id": bucket.get("_id") };
                        buckets.collection().delete_one(id).await.unwrap();
                    }
                }
            }
        }
        buckets.append_many(load).await.unwrap();
        let flat = db.collection::<Document>("flat");
        flat.drop().await.unwrap();
        let mut twice = Self {
            buckets,
            flat,
            appended,
        };
        twice.fill_flat().await;
        twice
    }

    async fn fill_flat(&mut self) {
        let mut flat = Vec::new();
        for bucket in documents(self.buckets.collection()).await {
            for item in bucket.get_array("history").unwrap() {
                let n = number(item.as_document().unwrap().get("n")) as i32;
                let mut item = doc! { "_id": flat.len() as i32 };
                item.extend(self.appended[&n].flat(n));
                flat.push(item);
            }
        }
        if !flat.is_empty() {
            self.flat.insert_many(flat).await.unwrap();
        }
    }

    async fn agree(&self, query: &Query) {
        let items = match query.key {
            Some((region, user)) => self.buckets.items((region, &user)),
            None => self.buckets.all_items(),
        };
        let mut items = items.filter(T::filter(&query.test));
        if query.newest_first {
            items = items.newest_first();
        }
        if let Some(skip) = query.skip {
            items = items.skip(skip);
        }
        if let Some(limit) = query.limit {
            items = items.limit(limit);
        }
        let read: Vec<T> = items.await.unwrap().try_collect().await.unwrap();
        self.agree_in_number(query).await;

        let expected = self.expected(query).await;
        assert_eq!(Vec::from_iter(read.iter().map(T::n)), expected, "{query:?}");
        for item in &read {
            let whole = T::new(&self.appended[&item.n()], item.n());
            assert_eq!(format!("{item:?}"), format!("{whole:?}"));
        }
    }

    async fn agree_in_number(&self, query: &Query) {
        let count = match query.key {
            Some((region, user)) => self.buckets.count((region, &user)),
            None => self.buckets.count_all(),
        };
        let count = count.filter(T::filter(&query.test));
        let expected = self.flat.count_documents(Self::by_hand(query));
        assert_eq!(count.await.unwrap(), expected.await.unwrap(), "{query:?}");
    }

    /// The filter of the flat collection.
    fn by_hand(query: &Query) -> Document {
        let filter = query.test.by_hand();
        match query.key {
            Some((region, user)) => doc! { "$and": [{ "region": region, "userId": user }, filter] },
            None => filter,
        }
    }

    async fn expected(&self, query: &Query) -> Vec<i32> {
        let filter = Self::by_hand(query);
        let direction = if query.newest_first { -1 } else { 1 };
        let mut find = self.flat.find(filter).sort(doc! { "_id": direction });
        find = find.skip(query.skip.unwrap_or(0));
        match query.limit {
            // The driver takes 0 for no limit.
            Some(0) => return Vec::new(),
            Some(limit) => find = find.limit(limit as i64),
            None => {}
        }
        let numbers = find
            .await
            .unwrap()
            .map_ok(|found| number(found.get("n")) as i32);
        numbers.try_collect().await.unwrap()
    }
}

fn take_out() -> Vec<Document> {
    let rest = doc! { "$slice": ["$history", 1, CAPACITY] };
    let rest = doc! { "$cond": [{ "$gt": ["$count", 1] }, rest, "$history"] };
    let was_full = doc! { "$eq": ["$count", CAPACITY] };
    let sealed = doc! { "$cond": [was_full, "$_id", { "$ifNull": ["$sealed", "$$REMOVE"] }] };
    vec![
        doc! { "$set": { "history": rest, "sealed": sealed } },
        doc! { "$set": { "count": { "$size": "$history" } } },
    ]
}

async fn change_nth<T: Bucket>(
    buckets: &Buckets<T>,
    filter: Document,
    nth: usize,
    change: Vec<Document>,
) {
    let of_key = buckets.collection().find(filter).sort(doc! { "_id": 1 });
    let found: Vec<Document> = of_key.await.unwrap().try_collect().await.unwrap();
    if let Some(bucket) = found.get(nth) {
        let id = doc! { "_id": bucket.get("_id") };
        buckets.collection().update_one(id, change).await.unwrap();
    }
}

async fn all_agree<T: Event>(db: &Database, changes: &[Change], queries: &[Query]) {
    let twice = Twice::<T>::new(db, changes).await;
    for query in queries {
        twice.agree(query).await;
    }
}

/// 13 states of a collection × 3 ordinals × 40 queries. Nothing but the digits of an id tells milliseconds from seconds.
#[bucket_testkit::test(multi_thread)]
async fn any_query_gives_what_it_gives_on_a_flat_collection(db: Live) {
    let states = (changes(), queries(40));
    for_any(13, states, async |(changes, queries)| {
        all_agree::<Seconds>(&db, &changes, &queries).await;
        all_agree::<Windows>(&db, &changes, &queries).await;
        all_agree::<Numbered>(&db, &changes, &queries).await;
    });
}
