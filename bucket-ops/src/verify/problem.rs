//! Problems that break a guarantee, and how to solve them.

use std::fmt;

use bucket_core::{
    error::error_text,
    value::{shell::shell, unreadable::Unreadable},
};
use mongodb::bson::Bson;

use self::Remedy::{Advice, Repair};

/// A problem that breaks a guarantee; see [`Ops::verify`](crate::Ops::verify)(crate::Ops::verify)
/// and [`OutlierOps::verify`](crate::OutlierOps::verify).
///
/// Its text says which guarantee it breaks, where, and what to do:
///
/// ```
/// use bucket_ops::Problem;
///
/// fn report(problem: &Problem) {
///     if problem.is_repairable() {
///         println!("{:?}: `repair` {}", problem.kind, problem.remedy());
///     } else {
///         println!("{problem}");
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Problem {
    /// Which rule is broken.
    pub kind: ProblemKind,
    /// The `_id`s of the documents that it concerns: buckets, or a parent.
    pub ids: Vec<Bson>,
    /// The key as readable text: its fields, separated by commas; of outliers the parent's `_id`.
    /// `None` where no key can be read, or where the whole collection is concerned.
    pub key: Option<String>,
    text: String,
    place: Place,
}

/// Where a problem was found.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Buckets,
    Extras,
    Parents,
}

/// The way out of a problem.
enum Remedy {
    Repair(&'static str),
    Advice(&'static str),
}

/// A table of the kinds: the guarantee and the remedy of each, and others for outliers if they
/// differ.
macro_rules! kinds {
    ($($(#[$doc:meta])+ $kind:ident: $of_buckets:expr $(, of outliers $of_outliers:expr)?;)+) => {
        /// The rule that a [`Problem`] breaks.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ProblemKind {
            $($(#[$doc])+ $kind,)+
        }

        impl ProblemKind {
            /// The guarantee that is broken, and the remedy.
            fn facts(self, place: Place) -> (&'static str, Remedy) {
                match self {
                    $(Self::$kind => {
                        $(if place != Place::Buckets {
                            return $of_outliers;
                        })?
                        $of_buckets
                    })+
                }
            }
        }
    };
}

kinds! {
    /// G3: a key, or one of its time windows, has several open buckets. The newest is the last of
    /// the [ids](Problem::ids).
    SeveralOpen: ("G3", Repair("seals all but the newest"));
    /// G2: the count of a bucket is not the length of its array.
    WrongCount: ("G2", Repair("corrects it"));
    /// G2: a bucket holds more items than the capacity, which has never changed.
    OverFull: ("G2", Advice("`migrate_from` divides its items again, in another collection")),
        of outliers ("O4", Advice("push them again and delete it"));
    /// G4, G5: no bucket of this key (and window) can have this `_id`. No read of the key finds it;
    /// of extras, reads of the parent fail.
    ForeignId: ("G4", Advice(
        "append its items again and delete it, or move it to another collection (`import_flat` reads items of \
         buckets by hand)"
    )), of outliers ("O4", Repair("moves its items to documents of this library's, and deletes it"));
    /// G3: `sealed` is not the bucket's own `_id`, and may take the open bucket's place in the
    /// index.
    WrongSeal: ("G3", Repair("sets it"));
    /// G2: there is no array of items.
    NoArray: ("G2", Advice("move the document to another collection"));
    /// G4: a key field or the time window is missing, or has a value of another type.
    NoKey: ("G4", Advice("set the field, or move the document to another collection"));
    /// The bucket's rollup of a field does not cover all its items: they were stored before the
    /// field was marked, or by another program. Reads of the rollup fail.
    IncompleteRollup: ("", Repair("computes it from the items"));
    /// A part of the bucket's rollup of a field is not that of its items, or has another type than
    /// the field: another program changed it, or the items.
    FalseRollup: ("", Repair("computes it from the items"));
    /// The bucket's rollup holds a value to which the server cannot add, so it refuses each further
    /// append to the bucket.
    BlockedRollup: ("", Repair("computes it from the items"));
    /// The bucket's rollup of a field is not that of its items, and cannot be computed from them: a
    /// sum would exceed 64 bits or 34 digits, or a decimal is not a number.
    NoRollup: ("", Advice("correct its items, or remove some with `remove_item`"));
    /// An item lies outside its bucket's time window, so reads by time miss it.
    OutsideWindow: ("", Advice("remove the item with `remove_item`, and append it again: it finds its window"));
    /// G5: the numbers of a key's buckets (`{#}`) have a gap, so
    /// [`page`](bucket_runtime::Buckets::page) gives `None` for a page that others follow. Another
    /// program removed some buckets, or a primary failed with a bucket that a writer had read and
    /// no majority had, in which no acknowledged item was. The numbers of a key may begin after 0,
    /// since [`remove_key`](bucket_runtime::Buckets::remove_key) beside writers leaves the later
    /// ones. The [ids](Problem::ids) are those of the two buckets beside the gap.
    Gap: ("G5", Advice(
        "import the missing buckets from an archive or a backup; until then read with `pages` or `items`, which \
         pass the gap"
    ));
    /// G1, O1: the struct cannot read an item. Reads of its document fail, unless they
    /// [skip](bucket_runtime::action::Items::skip_unreadable) it. The rollup of its bucket is not
    /// judged.
    Unreadable: ("G1", Advice("correct the item, or remove it with `remove_stored`")),
        of outliers ("O1", Advice("correct it, or take it out"));
    /// G5, of the extras of a parent: a page is open, although later ones are not. The next item
    /// would go into it, and so come before theirs. Another program took items out of it.
    OpenBeforeLast: ("G5", Repair("seals it"));
    /// G1, O1: two items of a bucket, or of a parent with its extras, have the same value in the
    /// `unique` field. Another program wrote one, or it was there before the struct asked for it.
    Twins: ("G1", Advice("`remove_item` removes one of them")),
        of outliers ("O1", Advice("keep the right one, and take the others out"));
    /// An index that the struct needs is missing. Without `bucket_open`, nothing keeps a key from
    /// having several open buckets (G3).
    MissingIndex: ("", Advice("open the collection, which creates it, or run this command"));
    /// O1: the struct cannot read a parent, whatever its items are: the array or another field is
    /// missing, or has another type. If that is the `_id`, no other problem of the parent is
    /// listed.
    UnreadableParent: ("O1", Advice("correct it, or move it to another collection"));
    /// O2: a parent holds more items than the threshold, or takes more bytes than `max_bytes`
    /// although some items could move.
    TooLarge: ("O2", Repair("splits it"));
    /// O3: a parent without a flag has extras, so no read returns them.
    NoFlag: ("O3", Repair("sets it"));
    /// O3: there are extras of a parent that does not exist: a delete raced with a push.
    NoParent: ("O3", Advice(
        "insert the parent and repair again to keep them, or delete them with the option `delete_orphans` of `repair`"
    ));
    /// O1: the total of a parent (`#[outlier(total)]`) is not the number of its items, extras
    /// included: another program wrote some.
    WrongTotal: ("O1", Repair("corrects it"));
    /// A bucket without items, which breaks nothing: `verify` does not list it, and `repair`
    /// deletes it.
    Empty: ("", Repair("deletes it"));
}

impl Problem {
    /// A problem of some buckets, or of the whole collection.
    pub(crate) fn new(
        kind: ProblemKind,
        ids: impl Into<Vec<Bson>>,
        key: Option<String>,
        text: String,
    ) -> Self {
        Self {
            kind,
            ids: ids.into(),
            key,
            text,
            place: Place::Buckets,
        }
    }

    /// A problem of a bucket of this key, whose text names it.
    pub(crate) fn of(
        kind: ProblemKind,
        bucket: &Bson,
        key: String,
        text: impl FnOnce(String) -> String,
    ) -> Self {
        Self::new(kind, [bucket.clone()], Some(key), text(shell(bucket)))
    }

    /// A document whose key cannot be read, because of this field.
    pub(crate) fn no_key(id: &Bson, field: &str) -> Self {
        let text = format!(
            "the document with _id {} has no readable `{field}`",
            shell(id)
        );
        Self::new(ProblemKind::NoKey, [id.clone()], None, text)
    }

    /// A document without this array of items.
    pub(crate) fn no_array(id: &Bson, key: String, array: &str) -> Self {
        Self::of(ProblemKind::NoArray, id, key, |id| {
            format!("`{array}` of the document with _id {id} is not an array of items")
        })
    }

    /// A bucket with an `_id` that none of its key can have.
    pub(crate) fn foreign_id(bucket: &Bson, key: String, are_extras: bool) -> Self {
        let so = match are_extras {
            true => "reads of the parent fail",
            false => "no read of the key finds it",
        };
        let text = format!(
            "no bucket of key {key:?} can have the _id {}, so {so}",
            shell(bucket)
        );
        Self::new(ProblemKind::ForeignId, [bucket.clone()], Some(key), text)
    }

    /// A bucket with an item that cannot be read.
    pub(crate) fn unreadable(bucket: &Bson, key: String, item: &Unreadable) -> Self {
        let (place, error) = (item.place, error_text(&item.error));
        Self::of(ProblemKind::Unreadable, bucket, key, |bucket| {
            format!("item {place} (from 0) of bucket {bucket} cannot be read: {error}")
        })
    }

    /// This problem, of an extras document.
    pub(crate) fn in_extras(self) -> Self {
        let place = Place::Extras;
        Self { place, ..self }
    }

    /// This problem, of a parent.
    pub(crate) fn in_parents(self) -> Self {
        let place = Place::Parents;
        Self { place, ..self }
    }

    /// Whether `repair` solves it without an option.
    pub fn is_repairable(&self) -> bool {
        matches!(self.kind.facts(self.place).1, Repair(_))
    }

    /// The way in which `repair` solves the problem, such as "seals all but the newest"; otherwise
    /// advice, such as "move the document to another collection".
    pub fn remedy(&self) -> &'static str {
        let (Repair(remedy) | Advice(remedy)) = self.kind.facts(self.place).1;
        remedy
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (guarantee, remedy) = self.kind.facts(self.place);
        let is_extras = self.place == Place::Extras;
        let guarantee = match guarantee {
            "" => "",
            _ if is_extras && guarantee.starts_with('G') => "O4: ",
            _ => &format!("{guarantee}: "),
        };
        let place = if is_extras { "in the extras, " } else { "" };
        write!(f, "{guarantee}{place}{}; ", self.text)?;
        match remedy {
            Repair(remedy) => write!(f, "`repair` {remedy}"),
            Advice(advice) => f.write_str(advice),
        }
    }
}
