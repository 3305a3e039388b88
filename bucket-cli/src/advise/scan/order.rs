//! Whether buckets come in the order of their ids, as it shows while all of them are read.

use std::collections::HashMap;

use bucket_runtime::bson::{RawBsonRef, RawDocument};

use super::key_hash;

/// So many keys are told apart.
const MOST_KEYS: usize = 100_000;

/// Where buckets hold their key, their items, and the time of an item.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::advise) struct BucketTimes {
    pub(in crate::advise) key: Vec<String>,
    pub(in crate::advise) items: String,
    pub(in crate::advise) time: String,
}

/// The buckets that were read, as long as each comes after all others of its key, by its id and by its first item.
///
/// Buckets are mostly stored as they were opened. Then nothing has to be sorted, and the buckets that a key opened
/// in a minute are neighbours; otherwise the server counts.
#[derive(Debug)]
pub(in crate::advise) struct BucketOrder {
    times: BucketTimes,
    is_kept: bool,
    last: HashMap<u64, LastBucket>,
    busiest_minute: u64,
}

/// The last bucket of a key.
#[derive(Debug, Default)]
struct LastBucket {
    id: String,
    /// The time of its first item, in milliseconds.
    first: i64,
    /// How many buckets of the key began in the same minute until then.
    in_minute: u64,
}

impl BucketOrder {
    pub(in crate::advise) fn of(times: BucketTimes) -> Self {
        Self {
            times,
            is_kept: true,
            last: HashMap::new(),
            busiest_minute: 0,
        }
    }

    pub(super) fn add(&mut self, bucket: &RawDocument) {
        // A busy key's ring has no items.
        let is_ring = matches!(bucket.get("sealed"), Ok(Some(RawBsonRef::Array(_))));
        if self.is_kept && !is_ring {
            self.is_kept = self.follow(bucket).is_some();
        }
    }

    /// Goes on to the next bucket; `None` if it is out of order, or lacks an id or a time.
    fn follow(&mut self, bucket: &RawDocument) -> Option<()> {
        let id = bucket.get_str("_id").ok()?;
        let items = bucket.get_array(&self.times.items).ok()?;
        let first = items.get_document(0).ok()?.get_datetime(&self.times.time);
        let first = first.ok()?.timestamp_millis();
        let key = key_hash(bucket, &self.times.key);
        if self.last.len() == MOST_KEYS && !self.last.contains_key(&key) {
            return None;
        }
        let last = self.last.entry(key).or_insert_with(|| LastBucket {
            first,
            ..LastBucket::default()
        });
        if *last.id > *id || last.first > first {
            return None;
        }
        let minute = |millis: i64| millis.div_euclid(60_000);
        last.in_minute = match minute(last.first) == minute(first) {
            true => last.in_minute + 1,
            false => 1,
        };
        last.first = first;
        last.id.clear();
        last.id.push_str(id);
        self.busiest_minute = self.busiest_minute.max(last.in_minute);
        Some(())
    }

    /// The most buckets that a key opened in a minute, if all buckets, which have these times, came in order.
    pub(in crate::advise) fn busiest_minute(&self, times: &BucketTimes) -> Option<u64> {
        (self.is_kept && self.times == *times).then_some(self.busiest_minute)
    }
}

#[cfg(test)]
mod tests {
    use bucket_runtime::bson::{DateTime, Document, RawDocumentBuf, doc};

    use super::{BucketOrder, BucketTimes};

    fn bucket(key: i32, id: &str, millis: i64) -> Document {
        let items = [doc! { "at": DateTime::from_millis(millis) }];
        doc! { "_id": id, "user": key, "items": items.to_vec() }
    }

    fn busiest(buckets: &[Document]) -> Option<u64> {
        let times = BucketTimes {
            key: vec!["user".to_owned()],
            items: "items".to_owned(),
            time: "at".to_owned(),
        };
        let mut order = BucketOrder::of(times.clone());
        for bucket in buckets {
            order.add(&RawDocumentBuf::try_from(bucket).unwrap_or_default());
        }
        order.busiest_minute(&times)
    }

    #[test]
    fn buckets_that_come_in_order_are_counted_by_the_minute() {
        let ring = doc! { "_id": "0", "user": 7, "sealed": [1, 2] };
        let buckets = [
            bucket(7, "7_1", 0),
            bucket(8, "8_1", 61_000),
            bucket(7, "7_2", 59_000),
            ring,
            bucket(8, "8_2", 61_000),
            bucket(7, "7_3", 60_000),
            bucket(8, "8_3", 119_999),
        ];
        assert_eq!(busiest(&buckets), Some(3));
        assert_eq!(busiest(&buckets[..3]), Some(2));
        assert_eq!(busiest(&[]), Some(0));
    }

    #[test]
    fn any_other_order_is_left_to_the_server() {
        let first = bucket(7, "7_2", 1000);
        for next in [
            bucket(7, "7_1", 2000),
            bucket(7, "7_3", 999),
            doc! { "_id": "7_3", "user": 7, "items": [] },
            doc! { "_id": 9, "user": 7, "items": [{ "at": DateTime::from_millis(2000) }] },
        ] {
            let buckets = [first.clone(), next, bucket(7, "7_4", 3000)];
            assert_eq!(busiest(&buckets), None, "{buckets:?}");
        }
    }
}
