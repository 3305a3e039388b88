//! Problems that break a guarantee, and how to solve them.

use std::{fmt, slice};

use mongodb::bson::Bson;

use crate::{error::count, maintain::verify::BucketProblem, value::shell::shell};

/// A problem that breaks a guarantee among parents and their extras; see
/// [`Outlier::verify`](crate::Outlier::verify).
///
/// Its text says which guarantee it breaks, where, and what to do; the methods give the same to programs:
///
/// ```
/// use bucket_runtime::OutlierProblem;
///
/// fn report(problem: &OutlierProblem) {
///     if problem.is_repairable() {
///         println!("{}: `repair` {}", problem.kind(), problem.remedy());
///     } else {
///         println!("{problem}");
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum OutlierProblem {
    /// O1: the struct cannot read an item of a parent. Reads of the parent fail, unless they
    /// [skip](crate::action::ParentItems::skip_unreadable) it.
    UnreadableItem {
        /// The parent's `_id`.
        parent: Bson,
        /// The number of items before it in the parent's array.
        place: u64,
        /// Why it cannot be read.
        error: String,
    },
    /// O1: the struct cannot read a parent, whatever its items are: the array or another field is missing,
    /// or has another type. If that is the `_id`, no other problem of the parent is listed.
    UnreadableParent {
        /// The parent's `_id`.
        parent: Bson,
        /// Why it cannot be read.
        error: String,
    },
    /// O2: a parent holds more items than the threshold, or takes more bytes than `max_bytes` although
    /// some items could move.
    TooLarge {
        /// The parent's `_id`.
        parent: Bson,
        /// How many items it holds.
        items: u64,
    },
    /// O3: a parent without a flag has extras, so no read returns them.
    NoFlag {
        /// The parent's `_id`.
        parent: Bson,
    },
    /// O3: there are extras of a parent that does not exist: a delete raced with a push.
    NoParent {
        /// The `_id` of the deleted parent.
        parent: Bson,
        /// How many extras documents there are.
        documents: u64,
        /// How many items they hold.
        items: u64,
    },
    /// O1: the total of a parent (`#[outlier(total)]`) is not the number of its items, extras included:
    /// another program wrote some.
    WrongTotal {
        /// The parent's `_id`.
        parent: Bson,
        /// The stored total; `Null` if there is none.
        total: Bson,
        /// How many items it has.
        items: u64,
    },
    /// O1: items of a parent have the same identity (`#[outlier(items, unique = …)]`): two in its array, one there
    /// and one in the extras, or two in several extras documents. Another program wrote one, or it was there before
    /// the struct asked for it.
    Twins {
        /// The parent's `_id`.
        parent: Bson,
        /// The identity; `Null` if they have none, which the unique index takes for the same one.
        identity: Bson,
        /// The number of items before each of them in the parent's array.
        places: Vec<u64>,
        /// The `_id`s of the extras documents that hold the others.
        extras: Vec<Bson>,
    },
    /// O4: what breaks a guarantee in an extras document, which is a bucket; or an item of it that cannot
    /// be read.
    Extras(BucketProblem),
}

impl OutlierProblem {
    /// The kind as one word: the name of the variant, of the inner problem for
    /// [`Extras`](Self::Extras).
    pub fn kind(&self) -> &'static str {
        match self {
            Self::UnreadableItem { .. } => "UnreadableItem",
            Self::UnreadableParent { .. } => "UnreadableParent",
            Self::TooLarge { .. } => "TooLarge",
            Self::NoFlag { .. } => "NoFlag",
            Self::NoParent { .. } => "NoParent",
            Self::WrongTotal { .. } => "WrongTotal",
            Self::Twins { .. } => "Twins",
            Self::Extras(problem) => problem.kind(),
        }
    }

    /// The `_id` of the parent, or the `_id`s of the extras documents that it concerns.
    pub fn ids(&self) -> &[Bson] {
        match self {
            Self::UnreadableItem { parent, .. }
            | Self::UnreadableParent { parent, .. }
            | Self::TooLarge { parent, .. }
            | Self::NoFlag { parent }
            | Self::NoParent { parent, .. }
            | Self::WrongTotal { parent, .. }
            | Self::Twins { parent, .. } => slice::from_ref(parent),
            Self::Extras(problem) => problem.ids(),
        }
    }

    /// The parent's `_id` as readable text. `None` where a problem of an extras document does not say whose
    /// it is.
    pub fn key(&self) -> Option<String> {
        match self {
            Self::Extras(problem) => problem.key().map(str::to_owned),
            _ => self.ids().first().map(text),
        }
    }

    /// Whether [`repair`](crate::Outlier::repair) solves it without an option.
    pub fn is_repairable(&self) -> bool {
        match self {
            Self::TooLarge { .. }
            | Self::NoFlag { .. }
            | Self::WrongTotal { .. }
            | Self::Extras(BucketProblem::ForeignId { .. }) => true,
            Self::UnreadableItem { .. }
            | Self::UnreadableParent { .. }
            | Self::NoParent { .. }
            | Self::Twins { .. } => false,
            Self::Extras(problem) => problem.is_repairable(),
        }
    }

    /// The way in which [`repair`](crate::Outlier::repair) solves the problem, such as "splits it";
    /// otherwise advice, such as "correct it, or take it out".
    pub fn remedy(&self) -> String {
        let remedy = match self {
            Self::UnreadableItem { .. } | Self::Extras(BucketProblem::Unreadable { .. }) => {
                "correct it, or take it out"
            }
            Self::UnreadableParent { .. } => "correct it, or move it to another collection",
            Self::TooLarge { .. } => "splits it",
            Self::NoFlag { .. } => "sets it",
            Self::NoParent { items, .. } => {
                return format!(
                    "insert the parent and repair again to keep them, or delete these {items} items \
                     with the option `delete_orphans` of `repair`"
                );
            }
            Self::WrongTotal { .. } => "corrects it",
            Self::Twins { .. } | Self::Extras(BucketProblem::Twins { .. }) => {
                "keep the right one, and take the others out"
            }
            Self::Extras(BucketProblem::OverFull { .. }) => "push them again and delete it",
            Self::Extras(BucketProblem::ForeignId { .. }) => {
                "moves its items to documents of this library's, and deletes it"
            }
            Self::Extras(problem) => return problem.remedy(),
        };
        remedy.to_owned()
    }
}

impl fmt::Display for OutlierProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.ids().first().map(shell).unwrap_or_default();
        match self {
            Self::UnreadableItem { place, error, .. } => write!(
                f,
                "O1: item {place} (from 0) of parent {id} cannot be read: {error}"
            ),
            Self::UnreadableParent { error, .. } => {
                write!(f, "O1: parent {id} cannot be read: {error}")
            }
            Self::TooLarge { items, .. } => write!(
                f,
                "O2: parent {id} with {} exceeds the threshold or `max_bytes`",
                count(*items, "item")
            ),
            Self::NoFlag { .. } => write!(f, "O3: parent {id} has extras but no flag"),
            Self::NoParent {
                documents, items, ..
            } => write!(
                f,
                "O3: parent {id} does not exist, but has {} in {}",
                count(*items, "item"),
                count(*documents, "extras document")
            ),
            Self::WrongTotal { total, items, .. } => write!(
                f,
                "O1: the total of parent {id} is {}, but it has {}",
                shell(total),
                count(*items, "item")
            ),
            Self::Twins {
                identity,
                places,
                extras,
                ..
            } => {
                let own = places.iter().map(|place| format!("item {place} (from 0)"));
                let extras = extras
                    .iter()
                    .map(|id| format!("extras document {}", shell(id)));
                let places = own.chain(extras).collect::<Vec<_>>().join(", ");
                let identity = shell(identity);
                write!(
                    f,
                    "O1: several items of parent {id} have the identity {identity}: {places}"
                )
            }
            Self::Extras(BucketProblem::Twins { .. }) => write!(
                f,
                "O1: several items of extras document {id} have the same identity"
            ),
            Self::Extras(BucketProblem::OverFull { items, .. }) => write!(
                f,
                "O4: extras document {id} holds {}, more than extras_capacity",
                count(*items, "item")
            ),
            Self::Extras(BucketProblem::Unreadable { place, error, .. }) => write!(
                f,
                "O1: item {place} (from 0) of extras document {id} cannot be read: {error}"
            ),
            Self::Extras(BucketProblem::ForeignId { .. }) => write!(
                f,
                "O4: another program stored extras document {id}, so reads of its parent fail"
            ),
            // The inner problem says what to do.
            Self::Extras(problem) => return write!(f, "O4, in the extras: {problem}"),
        }?;
        match self.is_repairable() {
            true => write!(f, "; `repair` {}", self.remedy()),
            false => write!(f, "; {}", self.remedy()),
        }
    }
}

/// An id as readable text, as keys of extras are shown.
pub(super) fn text(id: &Bson) -> String {
    match id {
        Bson::String(text) => text.clone(),
        Bson::Int32(number) => number.to_string(),
        Bson::Int64(number) => number.to_string(),
        Bson::ObjectId(id) => id.to_hex(),
        Bson::Binary(binary) => match binary.to_uuid() {
            Ok(uuid) => uuid.to_string(),
            Err(_) => shell(id),
        },
        other => shell(other),
    }
}
