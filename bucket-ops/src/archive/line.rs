//! A line of an import as a bucket: what is wrong is found, and what can be computed is corrected.

use std::collections::BTreeSet;

use bucket_core::{
    protocol::command::{IndexedScope, KeyScope, identity},
    schema::{id, key::Key, names::SEALED, open_index::OpenIndex},
    value::{
        bytes,
        element::Refusal,
        number::{comparable, whole},
    },
};
use bucket_runtime::{
    __ops::{StoredBucket, is_single},
    Bucket,
};
use mongodb::bson::{Bson, DateTime, Document};

use super::{
    json,
    put_back::LineOutcome,
    refused_line::{RefusedLine, RefusedReason},
    stored_fields,
};

/// The bucket of a line.
#[derive(Debug, Clone)]
pub(super) struct Archived {
    pub(super) line: u64,
    pub(super) id: String,
    /// The key, or its time window.
    pub(super) scope: IndexedScope,
    pub(super) document: Document,
    /// The number of its items.
    pub(super) items: usize,
}

impl Archived {
    /// Reads a line. Buckets whose items were to be removed before `expired` are refused.
    pub(super) fn read<T: Bucket>(
        number: u64,
        line: &str,
        open: OpenIndex,
        expired: Option<DateTime>,
    ) -> Result<Self, RefusedLine> {
        let refused = |bucket, items, reason| RefusedLine {
            line: number,
            bucket,
            items,
            reason,
        };
        let not_a_bucket = |why: Refusal| RefusedReason::NotABucket(why.to_string());
        let document = json::read(line).map_err(|why| refused(None, 0, not_a_bucket(why)))?;
        let id = document
            .get("_id")
            .and_then(Bson::as_str)
            .map(str::to_owned);
        let elements = stored_fields::elements(const { &T::SPEC }, &document).len() as u64;
        let (read, newest) = Self::check::<T>(number, document, open)
            .map_err(|why| refused(id.clone(), elements, not_a_bucket(why)))?;
        match (expired, newest) {
            (Some(expired), Some(newest)) if newest < expired => {
                Err(refused(id, elements, RefusedReason::Expired))
            }
            _ => Ok(read),
        }
    }

    /// Checks that the document is sound. Returns the bucket, and the time of its newest item.
    fn check<T: Bucket>(
        line: u64,
        mut document: Document,
        open: OpenIndex,
    ) -> Result<(Self, Option<DateTime>), Refusal> {
        let stored: StoredBucket<T> = bytes::read(&bytes::write(&document)?)?;
        let key = KeyScope::new(const { &T::SPEC }, T::Key::parts(stored.key.borrowed()));
        let id = stored.id.clone();
        let scope = key.at(read_window::<T>(&document)?).by(open);
        if !stored.is_of(&scope) || !scope.owns(&id) || document.get_str("_id").is_err() {
            return Err(format!("no bucket of its key or window has the _id {id:?}").into());
        }
        let items = stored.into_items();
        if document.get(T::SPEC.count).and_then(whole) != i64::try_from(items.len()).ok() {
            return Err(
                format!("its count is not the number of its items, {}", items.len()).into(),
            );
        }
        if items.len() > open.capacity as usize {
            return Err(format!("it holds {} items, more than the capacity", items.len()).into());
        }
        check_windows(&scope, &items)?;
        check_identities::<T>(stored_fields::elements(scope.spec, &document))?;
        if document.contains_key(SEALED) {
            stored_fields::seal(&mut document);
        }
        stored_fields::summarize(&scope, &mut document, &items)?;
        let archived = Self {
            line,
            id,
            scope,
            document,
            items: items.len(),
        };
        Ok((archived, items.iter().filter_map(T::time).max()))
    }

    /// The archived items as they are stored.
    pub(super) fn elements(&self) -> &[Bson] {
        stored_fields::elements(self.scope.spec, &self.document)
    }

    /// Whether it takes further items.
    pub(super) fn has_room(&self) -> bool {
        !self.document.contains_key(SEALED) && self.items < self.scope.open.capacity as usize
    }

    /// Whether only one of the two may be open.
    pub(super) fn shares_open_bucket(&self, other: &Self) -> bool {
        self.scope.prefix == other.scope.prefix
    }

    /// The line as a refused one.
    pub(super) fn refused(&self, reason: RefusedReason) -> LineOutcome {
        LineOutcome::Refused(RefusedLine {
            line: self.line,
            bucket: Some(self.id.clone()),
            items: self.items as u64,
            reason,
        })
    }
}

/// Reads the start of the bucket's window, if buckets have windows.
fn read_window<T: Bucket>(document: &Document) -> Result<Option<DateTime>, Refusal> {
    let Some(name) = T::SPEC.window_name() else {
        return Ok(None);
    };
    let start = document.get_datetime(name).ok().copied();
    let is_start = |start: DateTime| {
        let millis = start.timestamp_millis();
        id::window_start(T::SPEC.id.ordinal, millis) == Some(millis)
    };
    match start.filter(|start| is_start(*start)) {
        None => Err(format!("its field `{name}` is not the start of a time window").into()),
        start => Ok(start),
    }
}

fn check_windows<T: Bucket>(scope: &IndexedScope, items: &[T]) -> Result<(), Refusal> {
    let Some(window) = scope.window else {
        return Ok(());
    };
    let starts_then = |time: DateTime| {
        let start = id::window_start(scope.spec.id.ordinal, time.timestamp_millis());
        start == Some(window.timestamp_millis())
    };
    let is_outside = |item: &T| !item.time().is_some_and(starts_then);
    match items.iter().position(is_outside) {
        None => Ok(()),
        Some(place) => Err(format!("item {place} (from 0) lies outside of its time window").into()),
    }
}

fn check_identities<T: Bucket>(elements: &[Bson]) -> Result<(), Refusal> {
    let Some(field) = T::SPEC.unique else {
        return Ok(());
    };
    let mut seen = BTreeSet::new();
    for (place, element) in elements.iter().enumerate() {
        let identity = identity(field, element).filter(|value| is_single(value));
        let Some(identity) = identity else {
            return Err(format!("item {place} (from 0) has no single value in `{field}`").into());
        };
        if !seen.insert(comparable(identity)) {
            return Err(format!("item {place} (from 0) has the `{field}` of another one").into());
        }
    }
    Ok(())
}
