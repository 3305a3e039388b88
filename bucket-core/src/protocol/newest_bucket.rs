//! A writer's knowledge of a key's newest bucket.

use mongodb::bson::Bson;

use crate::protocol::command::IndexedScope;

/// A writer's knowledge of a key's newest bucket. It may be out of date at any time: then the
/// server refuses the statement that was built on it.
#[derive(Debug, Clone, PartialEq)]
pub enum NewestBucket {
    /// Nothing is known yet; the next statement does not need to know more.
    Unknown,
    /// Nothing is known, and the bucket must be read before the next statement.
    MustRead,
    /// No bucket is open. The next id has to be read.
    NoneOpen,
    /// A bucket is open, with room for this many items.
    Open {
        id: String,
        /// None if it is empty; then it takes nothing, and is to be sealed.
        room: usize,
        /// The bytes that its items take beyond their shares, if bytes are counted.
        oversize: i64,
    },
    /// No bucket is open, and the next id follows `last` if there is one.
    Closed { last: Option<String> },
}

/// An open bucket.
pub struct OpenBucket {
    pub id: Bson,
    pub count: usize,
    pub is_empty: bool,
    /// The bytes that its items take beyond their shares.
    pub oversize: i64,
}

impl NewestBucket {
    /// The state that the key's open bucket shows; `Err` with the id if no bucket of the key can
    /// have it.
    pub fn from_open(open: OpenBucket, scope: &IndexedScope) -> Result<Self, Bson> {
        match open.id {
            Bson::String(id) if id.starts_with(&scope.prefix) => Ok(Self::Open {
                id,
                room: match open.is_empty {
                    true => 0,
                    false => (scope.open.capacity as usize)
                        .saturating_sub(open.count)
                        .max(1),
                },
                oversize: open.oversize,
            }),
            other => Err(other),
        }
    }

    /// The state after the bucket with this id was written last, with this much room left.
    pub fn with_room(id: &str, room: usize, oversize: i64) -> Self {
        let id = id.to_owned();
        match room {
            0 => Self::Closed { last: Some(id) },
            room => Self::Open { id, room, oversize },
        }
    }

    /// Replaces the id of a bucket that is about to be opened under another id.
    pub fn rename(&mut self, from: &str, to: &str) {
        if let Self::Open { id, .. } | Self::Closed { last: Some(id) } = self
            && id == from
        {
            to.clone_into(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{protocol::command::KeyScope, schema::open_index::OpenIndex};

    fn open(id: &str, room: usize) -> NewestBucket {
        let id = id.to_owned();
        NewestBucket::Open {
            id,
            room,
            oversize: 7,
        }
    }

    fn closed(last: Option<&str>) -> NewestBucket {
        NewestBucket::Closed {
            last: last.map(str::to_owned),
        }
    }

    /// Another capacity may have filled it beyond this one: the statement then finds out.
    #[test]
    fn an_open_bucket_has_room_for_one_item_at_least_unless_it_is_empty() {
        let scope = KeyScope::numbered().by(OpenIndex::first(4));
        let from_open = |id: Bson, count| {
            NewestBucket::from_open(
                OpenBucket {
                    id,
                    count,
                    is_empty: count == 0,
                    oversize: 7,
                },
                &scope,
            )
        };
        assert_eq!(from_open("a_0".into(), 1), Ok(open("a_0", 3)));
        assert_eq!(from_open("a_0".into(), 4), Ok(open("a_0", 1)));
        assert_eq!(from_open("a_0".into(), 0), Ok(open("a_0", 0)));
        assert_eq!(from_open("b_0".into(), 1), Err("b_0".into()));
        assert_eq!(from_open(7.into(), 1), Err(7.into()));
    }

    #[test]
    fn a_bucket_gets_another_id_and_no_other_bucket_does() {
        for (mut newest, renamed) in [
            (open("a_0", 3), open("a_1", 3)),
            (closed(Some("a_0")), closed(Some("a_1"))),
            (open("a_2", 3), open("a_2", 3)),
            (closed(None), closed(None)),
        ] {
            newest.rename("a_0", "a_1");
            assert_eq!(newest, renamed);
        }
    }
}
