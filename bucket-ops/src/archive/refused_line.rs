//! Lines that an import did not take, and why.

use std::fmt;

/// A line that an [`import`](crate::Ops::import) did not take. What is stored stays as it is,
/// so the line can be imported again once the reason is gone.
///
/// The text says what happened, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedLine {
    /// The number of the line, from 1.
    pub line: u64,
    /// The `_id` of the bucket, if the line could be read that far.
    pub bucket: Option<String>,
    /// How many items the line has; 0 if it could not be read.
    pub items: u64,
    /// Why the line was not taken.
    pub reason: RefusedReason,
}

/// Why an [`import`](crate::Ops::import) did not take a line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusedReason {
    /// The line is not a bucket of the struct, or breaks a guarantee: the text says how.
    NotABucket(String),
    /// All items are older than `expire_after` allows, so the server would remove the bucket at
    /// once.
    Expired,
    /// The bucket is there, and does not begin with the line's items: some were changed, removed or
    /// replaced.
    Taken,
    /// Other buckets of the key hold items with the `unique` values of some of the line's.
    Elsewhere,
    /// A document that is not a bucket of the key has the `_id`.
    IdTaken,
    /// Other writers changed the bucket each time before the items could be put back.
    Contended,
    /// The server refused the bucket, such as by a validator: its answer.
    ByServer(String),
}

impl fmt::Display for RefusedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if let Some(bucket) = &self.bucket {
            write!(f, ", bucket {bucket:?}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl fmt::Display for RefusedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotABucket(why) => write!(
                f,
                "it is not a sound bucket of this struct: {why}; correct the line, and import it again"
            ),
            Self::Expired => f.write_str(
                "its items are older than `expire_after`, so the server would remove them within a \
                 minute; import the line into a collection that does not expire, or with \
                 `expired(true)`",
            ),
            Self::Taken => f.write_str(
                "the bucket is there with other items; compare the two, and append what is missing, or import the \
                 line into another collection",
            ),
            Self::Elsewhere => f.write_str(
                "other buckets of the key hold some of its items, by their `unique` values; append the items of the \
                 line, which stores those that are missing",
            ),
            Self::IdTaken => f.write_str(
                "another document has this _id and is not a bucket of the key; move it to another \
                 collection, and import the line again",
            ),
            Self::Contended => f.write_str(
                "other writers were faster each time; import the line again",
            ),
            Self::ByServer(answer) => write!(
                f,
                "the server refused it: {answer}; remove the cause, and import the line again"
            ),
        }
    }
}
