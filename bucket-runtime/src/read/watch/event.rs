//! Which new items an event of the server contains.
//!
//! A change stream shows how a document changed, and not which command changed it. An append
//! changes `count` and sets places of the array (`items.7`), an edit leaves the count, and a
//! removal shows a truncation, the whole array, or the whole document. An append to an empty array
//! would show the whole array, too, so nothing is appended to an empty bucket: a removal that would
//! leave an open one empty deletes it, and a writer seals one that another program has left.
//! `tests/live/server_claims/watch.rs` proves this.
//!
//! A push to the empty array of a parent shows the whole array. An edit of a parent that is not an
//! outlier, or a removal from it, changes the flag between missing and `false`. A flag that is
//! `true` must stay, so in the own array of an outlier both can look like an append. The extras
//! documents that a split inserts have numbers below zero.

use bucket_core::{
    error::Kind,
    protocol::command::KeyScope,
    schema::{
        id,
        key::Key,
        spec::{BucketSpec, OutlierSpec},
    },
    server::{target::Target, watch::Event},
    value::{bytes, shell::shell},
};
use mongodb::bson::{Bson, Document};

use crate::{Bucket, Result, read::stored_bucket::StoredBucket};

/// The fields by which an event shows an append.
#[derive(Clone, Copy)]
pub struct AppendMarks {
    items: &'static str,
    /// The count of a bucket, which an append changes, or the flag of a parent, which a push leaves
    /// alone.
    mark: &'static str,
    is_of_bucket: bool,
}

impl AppendMarks {
    /// Those of a struct that derives `Bucket`.
    pub const fn of_buckets(spec: &BucketSpec) -> Self {
        Self {
            items: spec.items,
            mark: spec.count,
            is_of_bucket: true,
        }
    }

    pub(crate) const fn of_parents(spec: &OutlierSpec) -> Self {
        Self {
            items: spec.items,
            mark: spec.flag,
            is_of_bucket: false,
        }
    }

    /// Whether an update appended what it shows of the array.
    fn is_append(self, event: &Event, updated: &Document) -> bool {
        let is_unset = event.removed().any(|name| name == self.mark);
        let is_marked = (is_unset || updated.contains_key(self.mark)) == self.is_of_bucket;
        let may_be_rest = self.is_of_bucket && updated.contains_key(self.items);
        !event.has_cut() && is_marked && !may_be_rest
    }
}

/// The elements that an event appended, in order, and the index of the first of them in the array;
/// none if it did something else.
///
/// An append is either an insert, or an update that sets elements of the array and has the mark. A
/// removal shortens the array; the event shows it as the whole array, as a truncation, or as the
/// whole document (`replace`), depending on which is the shortest.
pub fn appended(marks: AppendMarks, event: &Event) -> (usize, Vec<Bson>) {
    match (event.operation(), event.inserted(), event.updated()) {
        ("insert", Some(document), _) => (0, array(document, marks.items)),
        ("update", _, Some(updated)) if marks.is_append(event, updated) => {
            match updated.contains_key(marks.items) {
                true => (0, array(updated, marks.items)),
                false => set_elements(updated, marks.items),
            }
        }
        _ => (0, Vec::new()),
    }
}

/// The items that an event appended to a bucket, read as those of a bucket that holds no others.
pub(crate) fn appended_items<T: Bucket>(target: Target<'_>, event: &Event) -> Result<Vec<T>> {
    let id = event.document_id();
    let (_, elements) = appended(AppendMarks::of_buckets(&T::SPEC), event);
    if elements.is_empty() {
        return Ok(Vec::new());
    }
    // The event of an update repeats no field of the key.
    let known = event
        .inserted()
        .cloned()
        .or_else(|| target.scope.map(KeyScope::document));
    let known = known.or_else(|| {
        let key = T::Key::from_texts(id::key_texts(&T::SPEC.id, id.as_str()?)?)?;
        Some(KeyScope::new(const { &T::SPEC }, T::Key::parts(key.borrowed())).document())
    });
    let mut fields = known.ok_or_else(|| target.error(Kind::NoKeyInId(shell(&id))))?;
    fields.insert("_id", id);
    let bucket = bucket::<T>(target, fields, elements)?;
    Ok(bucket.expect_key(target)?.into_items())
}

/// A bucket that holds just these elements; `bucket` has its other fields.
pub fn bucket<T: Bucket>(
    target: Target<'_>,
    mut bucket: Document,
    elements: Vec<Bson>,
) -> Result<StoredBucket<T>> {
    bucket.insert(T::SPEC.items, elements);
    let unreadable = || {
        let id = bucket.get("_id").unwrap_or(&Bson::Null);
        target.error(Kind::Deserialize(shell(id)))
    };
    let bytes = bytes::write(&bucket).map_err(|error| unreadable().with_source(error))?;
    bytes::read(&bytes).map_err(|error| unreadable().with_driver(error))
}

fn array(document: &Document, name: &str) -> Vec<Bson> {
    document.get_array(name).cloned().unwrap_or_default()
}

/// The values that an update set at `items.7`, `items.8` …, and the index of the first.
fn set_elements(updated: &Document, name: &str) -> (usize, Vec<Bson>) {
    let index = |path: &str| -> Option<usize> {
        let index = path.strip_prefix(name)?.strip_prefix('.')?;
        index.parse().ok()
    };
    let updated = updated.into_iter();
    let mut set = Vec::from_iter(updated.filter_map(|(path, item)| Some((index(path)?, item))));
    set.sort_unstable_by_key(|(index, _)| *index);
    let first = set.first().map_or(0, |(index, _)| *index);
    (
        first,
        set.into_iter().map(|(_, item)| item.clone()).collect(),
    )
}
