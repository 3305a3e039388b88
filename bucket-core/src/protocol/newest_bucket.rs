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
                    false => scope.capacity().saturating_sub(open.count).max(1),
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
}
