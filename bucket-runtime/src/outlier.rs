//! The outlier pattern: the trait behind `#[derive(Outlier)]`, its handle, and a room for each kind
//! of call. As in the house, `read` comes before `write`, and `maintain` uses both.
//!
//! The filter of the push requires room in the array and, by `$bsonSize`, in the document. If
//! nothing matches, the next update flags the parent, on the condition that it has no room for the
//! item. The engine then appends the item to the extras: numbered buckets whose key is the parent's
//! id. The flag comes before the first extra, and an inserted parent before its extras, so extras
//! without a flag never exist. A handle remembers which parents it found to be outliers
//! (`outlier/known.rs`); before it appends to the extras of one, it looks whether the parent is
//! there, with its flag. The extras do not show that: a push that a deletion overtakes leaves some,
//! and so does a deletion that is cut short. A look that begins with the push is enough, since
//! whoever deletes the parent after it does so beside the push. Pushes to one parent that wait in a
//! handle are sent together, as one push of several items (`outlier/write/combine_pushes.rs`).
//! `repair` moves what a parent has no room for in one transaction. If the parent has extras
//! already, its items are older, and take lower numbers, if necessary below zero.
//!
//! Other programs store extras under ids of their own. Reads match extras by the reference alone,
//! so they come across such a document, and refuse it by its id (`KeyScope::all`,
//! `KeyScope::holds`). `repair` moves its items like those of the parent.
//!
//! With `unique` items, the filter of the push also excludes the identity, and so does that of the
//! update that flags the parent, which every push to an outlier sends first
//! (`outlier/write/push.rs`). Nothing pushes into the array of a flagged parent, so what it
//! does not hold then it never holds, and the extras' own index decides the rest.
//!
//! The field marked `total` counts a parent's items, extras included. In the parent's own array it
//! changes by the same update. An append to the extras (`outlier/write/append_extras.rs`) changes
//! parent and extras in one transaction, the parent first, so that of two such transactions one
//! fails before it has done any work; a removal from them (`outlier/write/edit/protocol.rs`)
//! does so in one transaction, too.

pub(crate) mod collections;
pub(crate) mod command;
pub(crate) mod extra;
mod known;
pub(crate) mod open;
#[expect(
    clippy::module_inception,
    reason = "the file bears the name of its trait"
)]
mod outlier;
mod outliers;
pub(crate) mod parent_handle;
pub(crate) mod read;
pub(crate) mod write;

pub use self::{
    outlier::{IdRef, IdentifiedItems, Outlier},
    outliers::Outliers,
};
