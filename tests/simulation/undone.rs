//! Safeguards that can be undone, to show that the simulation finds what follows.

use bucket_runtime::bson::{Bson, Document, doc};

use crate::{repair::Inspection, scenario::Transfer, transaction::is_part};

macro_rules! safeguards {
    ($($(#[$doc:meta])+ $name:ident,)+) => {
        /// A condition of the guarantees. The first four are the server's; the others are parts of our commands,
        /// and are taken out of them on their way.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Safeguard {
            $($(#[$doc])+ $name,)+
        }

        impl Safeguard {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];
        }
    };
}

safeguards! {
    /// Indexes refuse a second entry.
    UniqueIndexes,
    /// The server remembers which statements of a number it has carried out.
    Numbers,
    /// A transaction is refused what another write has changed since it began, and others wait for it.
    Conflicts,
    /// An answer waits until a majority has what was written.
    Majority,
    /// A filter leaves out buckets without room.
    Capacity,
    /// An update sets an `_id` that the server refuses, where it must not insert.
    ImpossibleId,
    /// A command ends with the first statement that is refused.
    Order,
    /// A filter leaves out buckets that hold the item.
    Identity,
    /// A filter leaves out buckets that hold no item.
    EmptyBuckets,
    /// An edit changes a bucket whose items are as they were read.
    Unchanged,
    /// An edit changes a parent whose own items are as they were read.
    UnchangedParent,
    /// The removal of an item from a full bucket seals it.
    SealedByRemoval,
    /// A push requires that the parent has room.
    Threshold,
    /// The parent is flagged before the first extra.
    Flag,
    /// A parent is flagged only while its array holds none of the items that go to its extras.
    Absence,
    /// The array of a flagged parent takes no items again.
    Closed,
    /// A parent's total changes with its items.
    Total,
    /// A push to a parent that the handle knows to be an outlier looks whether the parent is there.
    Look,
    /// A push or an edit of unique items of an outlier looks for extras of other programs, which our index lacks.
    OtherExtras,
    /// A call in a transaction sends each of its commands there.
    OwnTransaction,
    /// A repair that corrects the count of a bucket that seemed to be full seals it.
    CorrectedCount,
    /// A verification looks once more for the open buckets of a key that seems to have several.
    SecondLook,
    /// A change of the capacity seals what a handle of the former capacity may remember.
    SealedByChange,
    /// A statement names the open index, whose name tells its capacity.
    IndexName,
    /// A statement that fills a bucket which the handle has only read names it, too.
    OwnBucket,
    /// The record of an import advances from the step that was read.
    Step,
    /// A transaction of an import looks for buckets of the keys that it begins.
    NewKeys,
    /// The first transaction of a migration that stores items looks for buckets.
    FirstItems,
    /// No command arrives after its repetition was answered: of this the driver and the engine cannot be sure, and
    /// they assume it.
    NoLateCopies,
}

impl Safeguard {
    /// Whether only a change of capacity needs it.
    pub(crate) fn is_of_change(self) -> bool {
        [Self::SealedByChange, Self::IndexName, Self::OwnBucket].contains(&self)
    }

    /// Whether only buckets need it, and no parents.
    pub(crate) fn is_of_buckets(self) -> bool {
        self.is_of_change() || self.transfer().is_some() || self == Self::EmptyBuckets
    }

    /// Whether only parents whose items are unique need it, and writers who have the same ones.
    pub(crate) fn is_of_unique_parents(self) -> bool {
        [Self::Absence, Self::Closed, Self::OtherExtras].contains(&self)
    }

    /// The transfer that alone needs it.
    pub(crate) fn transfer(self) -> Option<Transfer> {
        match self {
            Self::Step | Self::NewKeys => Some(Transfer::Flat),
            Self::FirstItems => Some(Transfer::Migration),
            _ => None,
        }
    }

    /// The inspection that alone needs it.
    pub(crate) fn inspection(self) -> Option<Inspection> {
        match self {
            Self::CorrectedCount => Some(Inspection::Repair),
            Self::SecondLook => Some(Inspection::Verify),
            _ => None,
        }
    }

    /// Takes the safeguard out of a command.
    pub(crate) fn undo(self, command: &mut Document) {
        if self == Self::Order && command.contains_key("ordered") {
            command.insert("ordered", false);
        }
        match self {
            Self::OwnTransaction
                if is_part(command)
                    && command.contains_key("updates")
                    && !command.contains_key("startTransaction") =>
            {
                remove(command, &["autocommit"]);
                remove(command, &["txnNumber"]);
            }
            Self::NewKeys => find_nothing(command, |filter| filter.contains_key("$or")),
            Self::FirstItems => find_nothing(command, Document::is_empty),
            Self::OtherExtras => {
                if let Some(filter) = part(command, &["filter"])
                    && part(filter, &["_id"]).is_some_and(|ids| ids.contains_key("$not"))
                {
                    *filter = doc! { "_id": "none" };
                }
            }
            Self::SecondLook => find_all_of_ids(command),
            Self::Unchanged if changes(command, "buckets") => remove(command, &["query", "$expr"]),
            Self::UnchangedParent if changes(command, "parents") => {
                remove(command, &["query", "$expr"]);
            }
            Self::Look => {
                if let Some(filter) = part(command, &["filter"])
                    && filter.contains_key("has_extras")
                {
                    filter.clear();
                }
            }
            Self::SealedByRemoval => {
                if let Some(fields) = last_set(command, "update") {
                    fields.remove("sealed");
                }
            }
            _ => {}
        }
        let Ok(statements) = command.get_array_mut("updates") else {
            return;
        };
        for statement in statements.iter_mut().filter_map(Bson::as_document_mut) {
            self.undo_in(statement);
        }
    }

    fn undo_in(self, statement: &mut Document) {
        match self {
            Self::Capacity => remove(statement, &["q", "count"]),
            Self::SealedByChange => {
                let is_seal = |set: &mut Document| set.get_str("sealed") == Ok("$_id");
                if statement.get_bool("multi") == Ok(true)
                    && last_set(statement, "u").is_some_and(is_seal)
                {
                    statement.insert("q", doc! { "_id": "none" });
                }
            }
            Self::OwnBucket if is_of_id(statement) => drop(statement.insert("hint", "_id_")),
            Self::IndexName if statement.get_str("hint") != Ok("_id_") => {
                remove(statement, &["hint"]);
            }
            Self::Threshold => remove(statement, &["q", "$expr"]),
            Self::Step => remove(statement, &["q", "step"]),
            Self::Identity => remove(statement, &["q", "items.n"]),
            Self::EmptyBuckets => remove(statement, &["q", "items"]),
            Self::CorrectedCount => {
                if let Some(fields) = last_set(statement, "u")
                    && fields.contains_key("count")
                {
                    fields.remove("sealed");
                }
            }
            Self::Total => remove(statement, &["u", "$inc", "total"]),
            Self::Flag => {
                if let Some(fields) = part(statement, &["u", "$set"])
                    && fields.contains_key("has_extras")
                {
                    fields.insert("has_extras", false);
                }
            }
            Self::Absence if part(statement, &["u", "$set"]).is_some() => {
                remove(statement, &["q", "items.n"]);
            }
            Self::Closed if part(statement, &["u", "$push"]).is_some() => {
                remove(statement, &["q", "has_extras"]);
            }
            Self::ImpossibleId if is_of_id(statement) => {
                remove(statement, &["u", "$setOnInsert", "_id"]);
            }
            _ => {}
        }
    }
}

/// Whether the command changes a document of this collection by what was read.
fn changes(command: &Document, collection: &str) -> bool {
    command.get_str("findAndModify") == Ok(collection)
}

/// Lets a read of a transaction find nothing, if its filter is one of these.
fn find_nothing(command: &mut Document, is_one: impl Fn(&Document) -> bool) {
    if is_part(command)
        && let Some(filter) = part(command, &["filter"])
        && is_one(filter)
    {
        *filter = doc! { "_id": "none" };
    }
}

/// Lets a read of open buckets by their ids find the others, too.
fn find_all_of_ids(command: &mut Document) {
    let stages = command.get_array_mut("pipeline").into_iter().flatten();
    for stage in stages.filter_map(Bson::as_document_mut) {
        if let Some(filter) = part(stage, &["$match"])
            && part(filter, &["_id"]).is_some_and(|ids| ids.contains_key("$in"))
        {
            filter.remove("count");
            filter.remove("$expr");
        }
    }
}

/// Whether the statement must not insert, since it is for a bucket that is known to be open.
fn is_of_id(statement: &mut Document) -> bool {
    let new = part(statement, &["u", "$setOnInsert"]);
    new.is_some_and(|new| matches!(new.get("_id"), Some(Bson::Array(_))))
}

/// The fields that the last stage of an update sets, if it is a pipeline.
fn last_set<'d>(update: &'d mut Document, name: &str) -> Option<&'d mut Document> {
    let last = update.get_array_mut(name).ok()?.last_mut()?;
    part(last.as_document_mut()?, &["$set"])
}

/// The document inside another under these names, if it is there.
fn part<'d>(document: &'d mut Document, names: &[&str]) -> Option<&'d mut Document> {
    (names.iter()).try_fold(document, |part, name| part.get_document_mut(name).ok())
}

/// Removes the field under these names, if it is there.
fn remove(document: &mut Document, names: &[&str]) {
    if let [outer @ .., name] = names
        && let Some(part) = part(document, outer)
    {
        part.remove(name);
    }
}
