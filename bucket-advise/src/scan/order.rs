//! Counts what depends on the order of buckets, while all of them are read.

use std::collections::HashMap;
use std::mem;
use std::ops::Range;

use bucket_runtime::bson::RawDocument;

use super::scalar_key_hash;

/// So many keys are told apart.
const MAX_KEYS: usize = 100_000;

/// The bytes of a batch, which are those of about 600,000 buckets.
const BATCH_BYTES: usize = 24 << 20;

/// Where buckets hold their key, their items, and the time of an item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BucketTimes {
    pub(crate) key: Vec<String>,
    pub(crate) items: String,
    pub(crate) time: String,
}

/// Figures that depend on the order of buckets.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct OrderCounts {
    /// The buckets that begin before the bucket with the lower id of their key.
    pub(crate) out_of_order: u64,
    /// The most buckets that a key opened in a minute.
    pub(crate) busiest_minute: u64,
}

/// The buckets that were read, sorted in batches, so that they need not be sorted by the server.
///
/// Each batch has to go on where those before it ended, since no more than its last bucket is kept
/// of a key. One batch holds most collections, in whatever order they come; larger ones are mostly
/// stored as their buckets were opened. Otherwise the server counts.
#[derive(Debug)]
pub(crate) struct BucketOrder {
    times: BucketTimes,
    /// `None` if the server has to count.
    sorter: Option<Sorter>,
}

impl BucketOrder {
    pub(crate) fn of(times: BucketTimes) -> Self {
        Self {
            times,
            sorter: Some(Sorter::of_batches(BATCH_BYTES)),
        }
    }

    pub(super) fn add(&mut self, bucket: &RawDocument) {
        if let Some(sorter) = self.sorter.as_mut()
            && sorter.add(bucket, &self.times).is_none()
        {
            self.sorter = None;
        }
    }

    /// Counts the last batch.
    pub(super) fn end(&mut self) {
        if self.sorter.as_mut().and_then(Sorter::count).is_none() {
            self.sorter = None;
        }
    }

    /// The counts, if all buckets have these times, and could be sorted.
    pub(crate) fn counts(&self, times: &BucketTimes) -> Option<OrderCounts> {
        let sorter = self.sorter.as_ref().filter(|_| self.times == *times);
        sorter.map(|sorter| sorter.counts)
    }
}

/// Where a bucket begins.
#[derive(Debug)]
struct BucketBegin {
    /// The hash of its key.
    key: u64,
    /// The time of its first item, in milliseconds.
    first: i64,
    /// Where its id stands among those of the batch.
    id: Range<u32>,
}

impl BucketBegin {
    fn minute(&self) -> i64 {
        self.first.div_euclid(60_000)
    }
}

/// Sorts buckets in batches.
#[derive(Debug)]
struct Sorter {
    batch: Vec<BucketBegin>,
    ids: Ids,
    most_bytes: usize,
    keys: HashMap<u64, KeyEnd>,
    counts: OrderCounts,
}

/// The ids of a batch, in one piece of memory.
#[derive(Debug, Default)]
struct Ids(String);

impl Ids {
    fn push(&mut self, id: &str) -> Option<Range<u32>> {
        let begin = u32::try_from(self.0.len()).ok()?;
        self.0.push_str(id);
        Some(begin..u32::try_from(self.0.len()).ok()?)
    }

    fn of(&self, bucket: &BucketBegin) -> &str {
        &self.0[bucket.id.start as usize..bucket.id.end as usize]
    }
}

/// Where the buckets of a key end.
#[derive(Debug)]
struct KeyEnd {
    id: Box<str>,
    /// The time of the first item of the bucket with this id.
    first: i64,
    /// The last minute in which a bucket began, and how many did.
    minute: i64,
    in_minute: u64,
}

impl Sorter {
    fn of_batches(most_bytes: usize) -> Self {
        Self {
            batch: Vec::new(),
            ids: Ids::default(),
            most_bytes,
            keys: HashMap::new(),
            counts: OrderCounts::default(),
        }
    }

    /// `None` if the bucket lacks a key, an id or a time, or if a batch ends, and does not go on
    /// where those before it ended.
    fn add(&mut self, bucket: &RawDocument, times: &BucketTimes) -> Option<()> {
        let items = bucket.get_array(&times.items).ok()?;
        let first = items.get_document(0).ok()?.get_datetime(&times.time).ok()?;
        self.batch.push(BucketBegin {
            key: scalar_key_hash(bucket, &times.key)?,
            first: first.timestamp_millis(),
            id: self.ids.push(bucket.get_str("_id").ok()?)?,
        });
        let bytes = size_of_val(&*self.batch) + self.ids.0.len();
        match bytes < self.most_bytes {
            true => Some(()),
            false => self.count(),
        }
    }

    fn count(&mut self) -> Option<()> {
        let (mut batch, mut ids) = (mem::take(&mut self.batch), mem::take(&mut self.ids));
        batch.sort_unstable_by(|a, b| (a.key, ids.of(a)).cmp(&(b.key, ids.of(b))));
        for buckets in batch.chunk_by_mut(|a, b| a.key == b.key) {
            self.count_key(buckets, &ids)?;
        }
        batch.clear();
        ids.0.clear();
        (self.batch, self.ids) = (batch, ids);
        Some(())
    }

    /// Goes on with the buckets of a key, in the order of their ids.
    fn count_key(&mut self, buckets: &mut [BucketBegin], ids: &Ids) -> Option<()> {
        let key = buckets.first()?.key;
        if self.keys.len() == MAX_KEYS && !self.keys.contains_key(&key) {
            return None;
        }
        let end = self.keys.entry(key).or_insert_with(|| KeyEnd {
            id: "".into(),
            first: i64::MIN,
            minute: i64::MIN,
            in_minute: 0,
        });
        if *end.id > *ids.of(buckets.first()?) {
            return None;
        }
        for bucket in &*buckets {
            self.counts.out_of_order += u64::from(bucket.first < end.first);
            end.first = bucket.first;
        }
        end.id = ids.of(buckets.last()?).into();
        buckets.sort_unstable_by_key(|bucket| bucket.first);
        if end.minute > buckets.first()?.minute() {
            return None;
        }
        for minute in buckets.iter().map(BucketBegin::minute) {
            end.in_minute = match end.minute == minute {
                true => end.in_minute + 1,
                false => 1,
            };
            end.minute = minute;
            self.counts.busiest_minute = self.counts.busiest_minute.max(end.in_minute);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use bucket_runtime::bson::{Bson, DateTime, Document, RawDocumentBuf, doc};

    use super::{BucketBegin, BucketOrder, BucketTimes, OrderCounts, Sorter};

    fn bucket(key: impl Into<Bson>, id: &str, millis: i64) -> Document {
        let items = [doc! { "at": DateTime::from_millis(millis) }];
        doc! { "_id": id, "user": key.into(), "items": items.to_vec() }
    }

    /// The counts of buckets that are sorted in batches of this many bytes.
    fn counts(buckets: &[Document], batch: usize) -> Option<OrderCounts> {
        let times = BucketTimes {
            key: vec!["user".to_owned()],
            items: "items".to_owned(),
            time: "at".to_owned(),
        };
        let mut order = BucketOrder {
            times: times.clone(),
            sorter: Some(Sorter::of_batches(batch)),
        };
        for bucket in buckets {
            order.add(&RawDocumentBuf::try_from(bucket).unwrap_or_default());
        }
        order.end();
        order.counts(&times)
    }

    fn counted(out_of_order: u64, busiest_minute: u64) -> Option<OrderCounts> {
        Some(OrderCounts {
            out_of_order,
            busiest_minute,
        })
    }

    #[test]
    fn buckets_in_order_are_counted_in_batches_of_any_size() {
        let buckets = [
            bucket(7, "7_1", 0),
            bucket(8, "8_1", 61_000),
            bucket(7, "7_2", 59_000),
            bucket(8, "8_2", 61_000),
            bucket(7, "7_3", 60_000),
            bucket(8, "8_3", 119_999),
        ];
        for batch in [1, 3 * size_of::<BucketBegin>(), usize::MAX] {
            assert_eq!(counts(&buckets, batch), counted(0, 3));
            assert_eq!(counts(&buckets[..3], batch), counted(0, 2));
            assert_eq!(counts(&[], batch), counted(0, 0));
        }
    }

    #[test]
    fn the_buckets_of_a_batch_are_counted_in_any_order() {
        let buckets = [
            bucket(7, "7_5", 61_000),
            bucket(7, "7_2", 90_000),
            bucket(8, "8_1", 50_000),
            bucket(7, "7_1", 1000),
            bucket(7, "7_4", 59_999),
            bucket(7, "7_3", 0),
            bucket(7, "7_9", 200_000),
            bucket(7, "7_8", 210_000),
        ];
        assert_eq!(counts(&buckets[..6], usize::MAX), counted(1, 3));
        let six = 6 * size_of::<BucketBegin>();
        assert_eq!(counts(&buckets, six), counted(2, 3));
    }

    #[test]
    fn batches_that_go_back_are_left_to_the_server() {
        let first = bucket(7, "7_2", 60_500);
        for (next, apart, together) in [
            (bucket(7, "7_1", 61_000), None, counted(1, 3)),
            (bucket(7, "7_3", 59_999), None, counted(1, 2)),
            (bucket(7, "7_3", 60_000), counted(1, 3), counted(1, 3)),
        ] {
            let buckets = [first.clone(), next, bucket(7, "7_4", 119_999)];
            assert_eq!(counts(&buckets, 1), apart, "{buckets:?}");
            assert_eq!(counts(&buckets, usize::MAX), together, "{buckets:?}");
        }
    }

    #[test]
    fn buckets_without_a_key_an_id_or_a_time_are_left_to_the_server() {
        let first = bucket(7, "7_2", 1000);
        for next in [
            doc! { "_id": "7_3", "user": 7, "items": [] },
            doc! { "_id": 9, "user": 7, "items": [{ "at": DateTime::from_millis(2000) }] },
            bucket(Bson::Null, "7_3", 2000),
        ] {
            let buckets = [first.clone(), next, bucket(7, "7_4", 3000)];
            assert_eq!(counts(&buckets, usize::MAX), None, "{buckets:?}");
        }
    }

    /// Two longs may be one double.
    #[test]
    fn long_keys_are_told_apart() {
        let key = 1_i64 << 53;
        let buckets = [
            bucket(key, &format!("{key}_1"), 1000),
            bucket(key + 1, &format!("{}_1", key + 1), 0),
        ];
        assert_eq!(counts(&buckets, usize::MAX), counted(0, 1));
    }
}
