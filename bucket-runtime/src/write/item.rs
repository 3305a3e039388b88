//! Turns an item into an entry.

use mongodb::bson::{Bson, DateTime};
use serde::{Serialize, Serializer};

use crate::{
    Bucket, Error,
    error::Kind,
    protocol::{
        budget::Budget,
        command::{self, IndexedScope, KeyScope},
    },
    schema::{id, key::Key, spec::Ordinal},
    value::element::{Element, Refusal, value_size},
};

/// An item in the form in which it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) element: Bson,
    /// The size of the element in bytes.
    pub(crate) size: usize,
    /// With a time ordinal, the id of a bucket that this item opens.
    pub(crate) opening_id: Option<String>,
    /// Where buckets expire, the item's time.
    pub(crate) time: Option<DateTime>,
    /// The item's values for the bucket's rollup.
    pub(crate) rolled: Vec<Option<Bson>>,
}

/// An item that opens no bucket, never expires, and has no part in a rollup, such as an extra.
impl From<Bson> for Entry {
    fn from(element: Bson) -> Self {
        Self {
            size: value_size(&element),
            element,
            opening_id: None,
            time: None,
            rolled: Vec::new(),
        }
    }
}

/// The item's fields other than key fields, as they are stored.
pub(crate) fn element<T: Bucket>(item: &T) -> Result<Element, Refusal> {
    Element::of(&ItemElement(item))
}

/// An item that is written as its element.
pub(crate) struct ItemElement<'i, T>(pub(crate) &'i T);

impl<T: Bucket> Serialize for ItemElement<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_element(serializer)
    }
}

/// The item's key, or its window of the key.
pub(crate) fn scope<T: Bucket>(item: &T) -> KeyScope {
    KeyScope::new(const { &T::SPEC }, T::Key::parts(item.key())).at(item.time())
}

/// Writes [`KeyScope::prefix`] of the item's [`scope`], but faster than by making the scope.
pub(crate) fn write_prefix<T: Bucket>(item: &T, out: &mut String) {
    id::write_prefix(&T::SPEC.id, out, |each| T::Key::texts(item.key(), each));
    if let (ordinal @ Ordinal::Window { .. }, Some(time)) = (T::SPEC.id.ordinal, item.time()) {
        out.extend(id::time(ordinal, time.timestamp_millis()));
    }
}

/// The entry of an item.
pub(crate) fn entry<T: Bucket>(
    item: &T,
    scope: &IndexedScope,
    fail: impl Fn(Kind) -> Error,
) -> Result<Entry, Error> {
    let entry = Entry::from(stored_element(item, scope, &fail)?);
    Ok(Entry {
        opening_id: opening_id(scope, item.time()).map_err(fail)?,
        time: item.time().filter(|_| scope.spec.expire_after.is_some()),
        rolled: item.rollup_values(),
        ..entry
    })
}

/// The element as it is stored, or an error if it may not be stored.
pub(crate) fn stored_element<T: Bucket>(
    item: &T,
    scope: &IndexedScope,
    fail: impl Fn(Kind) -> Error,
) -> Result<Bson, Error> {
    check_lengths(item).map_err(&fail)?;
    let element = element(item);
    if let (Ok(element), Some(budget)) = (&element, Budget::of(scope)) {
        budget.check(element.value_size()).map_err(&fail)?;
    }
    let element = element.and_then(|element| Ok(Bson::try_from(element.value())?));
    let element = element.and_then(|element| match T::SPEC.unique {
        Some(field) if !command::identity(field, &element).is_some_and(is_single) => {
            Err(format!("the `unique` field `{field}` has no single value").into())
        }
        _ => Ok(element),
    });
    element.map_err(|refusal| fail(Kind::Serialize).with_source(refusal))
}

/// An error if the value of some field is longer than its `max_len`.
pub(crate) fn check_lengths<T: Bucket>(item: &T) -> Result<(), Kind> {
    item.too_long()
        .map_or(Ok(()), |field| Err(Kind::TooLong(field)))
}

/// The identity of the item within its key, as it is stored.
pub(crate) fn identity<T: Bucket>(item: &T, field: &str) -> Option<Bson> {
    let element = element(item).ok()?;
    let value = element.value().as_document()?.get(field).ok()??;
    Bson::try_from(value).ok()
}

/// Whether the server compares the value as a whole: it compares each element of an array, and treats a
/// null like a missing field.
pub(crate) fn is_single(identity: &Bson) -> bool {
    !matches!(
        identity,
        Bson::Null
            | Bson::Undefined
            | Bson::Array(_)
            | Bson::Document(_)
            | Bson::RegularExpression(_)
    )
}

/// With a time ordinal, the id of a bucket that starts at this time; with windows, the id of the
/// window's first bucket.
pub(crate) fn opening_id(scope: &KeyScope, time: Option<DateTime>) -> Result<Option<String>, Kind> {
    match (scope.spec.id.ordinal, time) {
        (Ordinal::Number, _) | (_, None) => Ok(None),
        _ if scope.window.is_some() => Ok(Some(scope.prefix.clone())),
        (ordinal, Some(time)) => match id::time(ordinal, time.timestamp_millis()) {
            Some(text) => Ok(Some(scope.id(&text))),
            None => Err(Kind::TimeOutOfRange(time.to_string())),
        },
    }
}
