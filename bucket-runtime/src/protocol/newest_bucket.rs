//! What a writer knows of a key's newest bucket.

use mongodb::bson::Bson;

use crate::protocol::command::KeyScope;

/// What a writer knows of a key's newest bucket. It may be outdated at any time: then the server
/// refuses the statement that was built on it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NewestBucket {
    /// Nothing.
    Unknown,
    /// Nothing, and it cannot be left at that.
    MustRead,
    /// Nothing is open. Which id is next has to be read.
    NoneOpen,
    /// A bucket is open, and has room for so many.
    Open {
        id: String,
        room: usize,
        /// How many bytes its items take beyond their shares, where that counts.
        oversize: i64,
    },
    /// Nothing is open, and this is the last id that has to be counted on from.
    Closed { last: Option<String> },
}

/// An open bucket.
pub(crate) struct OpenBucket {
    pub(crate) id: Bson,
    pub(crate) count: usize,
    /// The bytes that its items take beyond their shares.
    pub(crate) oversize: i64,
}

/// A key's last bucket, and how much room it has.
pub(crate) struct LastBucket {
    pub(crate) id: String,
    pub(crate) room: usize,
    /// The bytes that its items take beyond their shares.
    pub(crate) oversize: i64,
}

impl NewestBucket {
    /// What is known of a key, or of a window, by its last bucket. One read tells both: which number
    /// is next, and that nothing is open. Another writer may have opened that bucket a moment ago.
    pub(crate) fn by_last(last: Option<LastBucket>) -> Self {
        match last {
            Some(LastBucket { id, room, oversize }) if room > 0 => {
                Self::Open { id, room, oversize }
            }
            last => Self::Closed {
                last: last.map(|last| last.id),
            },
        }
    }

    /// What is known of a key by its open bucket; if that has an id that is none of the key's, that id.
    pub(crate) fn by_open(open: OpenBucket, scope: &KeyScope) -> Result<Self, Bson> {
        match open.id {
            Bson::String(id) if id.starts_with(&scope.prefix) => Ok(Self::Open {
                id,
                room: (scope.open.capacity as usize)
                    .saturating_sub(open.count)
                    .max(1),
                oversize: open.oversize,
            }),
            other => Err(other),
        }
    }

    /// Notes that a bucket that is about to be opened gets another id.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        if let Self::Open { id, .. } | Self::Closed { last: Some(id) } = self
            && id == from
        {
            to.clone_into(id);
        }
    }
}
