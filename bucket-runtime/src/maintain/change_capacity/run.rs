//! Successive buckets of a key that are rewritten together, and the ids of their replacements.

use mongodb::bson::{Document, doc};

use crate::{
    error::Kind,
    protocol::command::IndexedScope,
    schema::{id, spec::Ordinal},
    write::engine::next_number,
};

/// After this many buckets or bytes a run ends as soon as it can.
const BUCKETS_PER_RUN: usize = 500;
const BYTES_PER_RUN: usize = 8 << 20;

/// The most that one transaction rewrites.
const MOST_BUCKETS_PER_RUN: usize = 10_000;
const MOST_BYTES_PER_RUN: usize = 64 << 20;

/// Successive buckets, starting with this one.
pub(super) struct Run {
    pub(super) scope: IndexedScope,
    pub(super) from: String,
    /// Whether the run continues after the moment of the first bucket.
    pub(super) repack: bool,
}

impl Run {
    pub(super) fn ids(&self) -> Document {
        doc! { "_id": { "$gte": &self.from, "$lt": id::successor(&self.scope.prefix) } }
    }

    /// Whether the run can and should end between these two buckets. There is no room for ids between
    /// two numbers, or between two suffixes of a moment or a window.
    ///
    /// The open bucket, which the key's writers wait for, gets a run of its own.
    pub(super) fn ends_between(
        &self,
        last: &str,
        next: &str,
        is_next_open: bool,
        buckets: usize,
        bytes: usize,
    ) -> bool {
        let is_long =
            buckets >= BUCKETS_PER_RUN || (buckets > 1 && (bytes >= BYTES_PER_RUN || is_next_open));
        let is_time = matches!(
            self.scope.spec.id.ordinal,
            Ordinal::Seconds | Ordinal::Millis
        );
        is_time && (is_long || !self.repack) && self.moment(last) != self.moment(next)
    }

    pub(super) fn check_size(&self, buckets: usize, bytes: usize) -> Result<(), Kind> {
        match buckets <= MOST_BUCKETS_PER_RUN && bytes <= MOST_BYTES_PER_RUN {
            true => Ok(()),
            false => Err(Kind::KeyTooLarge),
        }
    }

    /// The id without its suffix.
    fn moment<'i>(&self, id: &'i str) -> &'i str {
        let (prefix, ordinal) = id.split_at(self.scope.prefix.len());
        &id[..prefix.len() + ordinal.find('_').unwrap_or(ordinal.len())]
    }

    /// The id after `last`, for a bucket that would start at `opening_id` by its first item alone. It
    /// sorts before `next`, the id of the next bucket that stays, so that items keep their order.
    pub(super) fn next_id(
        &self,
        last: &str,
        opening_id: Option<&str>,
        next: Option<&str>,
    ) -> Result<String, Kind> {
        let moment = self.moment(last);
        let id = match opening_id {
            Some(opening_id)
                if opening_id > moment
                    && next.is_none_or(|next| opening_id < self.moment(next)) =>
            {
                return Ok(opening_id.to_owned());
            }
            Some(_) => id::next_suffix(moment, Some(last)),
            None => next_number(&self.scope, Some(last)),
        };
        match id {
            Ok(Some(id)) => Ok(id),
            Ok(None) => Err(Kind::IdsExhausted(last.to_owned())),
            Err(()) => Err(Kind::ForeignId(last.to_owned())),
        }
    }
}
