//! Buckets that are inserted, since no bucket is open.

use bucket_core::protocol::command::Update;

use super::{Batch, Carried, NewestBucket};

impl Batch {
    /// If no bucket is open: the statements that insert buckets for the waiting items, `most` at
    /// most. All are full but the last one, which has room left; with numbers it may be full, too.
    /// None where opening a bucket for the first items does as well, and joins a bucket that
    /// another writer has opened under the same id.
    ///
    /// A full bucket is not in the open index, so the server would accept it beside an open one.
    /// With a time ordinal, a writer's next items would then go into the open one, and come before
    /// those of the full one. So the last bucket is inserted first: while it is open, no other can
    /// be. After a refusal, however, the items of a full bucket come after those of the last one,
    /// so the order of the items must not matter. Its id may be taken, too, since only the ids of
    /// the first item's moment were read; so a writer that was refused twice opens a bucket for
    /// that item. Where buckets are numbered, a full one takes the number that an open one would
    /// need, and all are inserted in order.
    pub(super) fn new_buckets(
        &self,
        begin: usize,
        newest_bucket: &NewestBucket,
        most: usize,
        bytes: &mut usize,
    ) -> Vec<(Update, Carried)> {
        let (capacity, in_order) = (self.scope.capacity(), self.scope.spec.id.ordinal.counts());
        let is_closed = matches!(newest_bucket, NewestBucket::Closed { .. });
        let is_fit = in_order || self.is_unordered && !self.is_contended();
        // A bucket of capacity 1 is never open.
        if !is_closed || capacity == 1 || !is_fit {
            return Vec::new();
        }
        let least = match in_order {
            true => capacity,
            false => capacity + 1,
        };
        let mut buckets = Vec::<(Update, Carried)>::new();
        let (mut newest, mut end, mut sum) = (newest_bucket.clone(), begin, *bytes);
        while buckets.len() + 1 < most && self.len() >= end + least {
            let mut with = sum;
            match self.new_bucket(end, capacity, &newest, &mut with) {
                Some(full) if full.1.items == capacity => {
                    newest = full.1.after.clone();
                    buckets.push(full);
                }
                _ => break,
            }
            (end, sum) = (end + capacity, with);
        }
        if in_order && (buckets.is_empty() || end == self.len()) {
            *bytes = sum;
            return buckets;
        }
        let room = self.max_in_new_bucket();
        let last = self.new_bucket(end, room, &newest, &mut sum);
        let Some((update, mut carried)) = last else {
            return Vec::new();
        };
        *bytes = sum;
        if in_order {
            buckets.push((update, carried));
        } else {
            for (_, full) in &mut buckets {
                full.after = carried.after.clone();
            }
            carried.begin = end - begin;
            buckets.insert(0, (update, carried));
        }
        buckets
    }

    /// The statement that inserts the bucket after a closed one, with up to `room` items.
    fn new_bucket(
        &self,
        begin: usize,
        room: usize,
        newest_bucket: &NewestBucket,
        bytes: &mut usize,
    ) -> Option<(Update, Carried)> {
        let NewestBucket::Closed { last } = newest_bucket else {
            return None;
        };
        let opening_id = self.entries[begin].1.opening_id.as_deref();
        let id = self.next_id(opening_id, last.as_deref()).ok()?;
        let items = self.items(begin, room, None, bytes);
        let count = items.elements.len();
        if count == 0 {
            return None;
        }
        let after = self.opened(&id, &items);
        let update = self.scope.insert_bucket(items, &id);
        let update = self.with_newest_of(update, begin..begin + count);
        Some((update, Carried::new(count, after)))
    }
}
