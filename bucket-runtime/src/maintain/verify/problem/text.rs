//! The texts of the problems.

use std::fmt;

use super::BucketProblem;
use crate::{error::count, value::shell::shell};

impl fmt::Display for BucketProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.ids().first().map(shell).unwrap_or_default();
        self.write_problem(&id, f)?;
        match self.is_repairable() {
            true => write!(f, "; `repair` {}", self.remedy()),
            false => write!(f, "; {}", self.remedy()),
        }
    }
}

impl BucketProblem {
    /// The text of the problem, without the remedy.
    fn write_problem(&self, id: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SeveralOpen { key, buckets } => {
                write!(f, "G3: key {key:?} has {} open buckets", buckets.len())
            }
            Self::WrongCount { items, .. } => write!(
                f,
                "G2: bucket {id} holds {}, but its count differs",
                count(*items, "item")
            ),
            Self::OverFull { items, .. } => write!(
                f,
                "G2: bucket {id} holds {}, more than the capacity",
                count(*items, "item")
            ),
            Self::ForeignId { key, .. } => write!(
                f,
                "G4: no bucket of key {key:?} can have the _id {id}, so no read of the key finds it"
            ),
            Self::WrongSeal { .. } => write!(f, "G3: `sealed` of bucket {id} is not its own _id"),
            Self::NoArray { array, .. } => write!(
                f,
                "G2: `{array}` of the document with _id {id} is not an array of items"
            ),
            Self::NoKey { field, .. } => write!(
                f,
                "G4: the document with _id {id} has no readable `{field}`"
            ),
            Self::Gap {
                beside: [_, next],
                missing,
                ..
            } => write!(
                f,
                "G5: between the buckets {id} and {} of one key {} {} missing, so `page` gives none there",
                shell(next),
                count(*missing, "number"),
                if *missing == 1 { "is" } else { "are" }
            ),
            Self::OpenBeforeLast { key, .. } => write!(
                f,
                "G5: bucket {id} is open, although others of key {key:?} come after it"
            ),
            Self::MissingIndex { .. } => {
                f.write_str("the collection lacks an index that the struct needs")
            }
            Self::OutsideWindow { .. } | Self::Unreadable { .. } | Self::Twins { .. } => {
                self.write_item_problem(id, f)
            }
            Self::IncompleteRollup { .. }
            | Self::FalseRollup { .. }
            | Self::BlockedRollup { .. }
            | Self::NoRollup { .. } => self.write_rollup(id, f),
        }
    }

    /// The text of a problem of single items.
    fn write_item_problem(&self, id: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutsideWindow { place, time, .. } => write!(
                f,
                "item {place} (from 0) of bucket {id} is of {}, outside the bucket's time window, so \
                 reads by time miss it",
                shell(&(*time).into())
            ),
            Self::Unreadable { place, error, .. } => write!(
                f,
                "G1: item {place} (from 0) of bucket {id} cannot be read: {error}"
            ),
            Self::Twins { field, .. } => write!(
                f,
                "G1: items of bucket {id} have the same value in the `unique` field `{field}`"
            ),
            _ => Ok(()),
        }
    }

    /// The text of a problem of the rollup.
    fn write_rollup(&self, id: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IncompleteRollup { field, .. } => write!(
                f,
                "the rollup of `{field}` in bucket {id} does not cover all its items"
            ),
            Self::FalseRollup {
                field,
                part,
                stored,
                ..
            } => write!(
                f,
                "the rollup of `{field}` in bucket {id} is false: its items have another `{part}` \
                 than {}",
                shell(stored)
            ),
            Self::BlockedRollup { path, stored, .. } => write!(
                f,
                "`{path}` of bucket {id} is {}, so the server refuses to append to the bucket",
                shell(stored)
            ),
            Self::NoRollup { field, .. } => write!(
                f,
                "the rollup of `{field}` in bucket {id} is not that of its items, and no rollup can \
                 be: a sum would exceed 64 bits or 34 digits, or a decimal is not a number"
            ),
            _ => Ok(()),
        }
    }
}
