//! Turns an item into an entry.

use bucket_core::{
    error::Kind,
    protocol::{
        budget::Budget,
        command::{self, IndexedScope, KeyScope},
    },
    schema::{
        id,
        key::Key,
        names::WHOLE_ITEM,
        spec::{BucketSpec, Ordinal},
    },
    value::{
        element::{Element, Refusal, value_size},
        raw_field::RawField,
        read_back,
    },
};
use mongodb::bson::{Bson, DateTime};
use serde::{Serialize, Serializer};

use crate::{Bucket, Error, read::stored_bucket::read_element, write::engine::Engine};

/// An item in the form in which it is sent.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The item as it is stored.
    pub element: Bson,
    /// The size of the element in bytes.
    pub size: usize,
    /// With a time ordinal, the id of a bucket that this item opens.
    pub opening_id: Option<String>,
    /// Where buckets expire, the item's time.
    pub time: Option<DateTime>,
    /// The item's values for the bucket's rollup.
    pub rolled: Vec<Option<Bson>>,
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

/// An item of any struct, so that whatever stores items is compiled once for all structs.
pub trait UntypedItem: Send + Sync {
    /// The facts about its struct.
    fn spec(&self) -> &'static BucketSpec;

    /// The item's key, or its window of the key.
    fn scope(&self) -> KeyScope;

    /// Writes [`KeyScope::prefix`] of the item's scope, but faster than by making the scope.
    fn write_prefix(&self, out: &mut String);

    /// The time of the item.
    fn time(&self) -> Option<DateTime>;

    /// An error if the value of some field is longer than its `max_len`, or no bucket can start at
    /// the item's time.
    fn check(&self) -> Result<(), Kind>;

    /// The values of the fields that its rollup covers.
    fn rollup_values(&self) -> Vec<Option<Bson>>;

    /// The item's fields other than key fields, as they are written.
    fn element(&self) -> Result<Element, Refusal>;

    /// An error if the item would not be read from this element as it is.
    fn check_read_back(&self, element: RawField<'_>) -> Result<(), Refusal>;
}

impl<T: Bucket> UntypedItem for T {
    fn spec(&self) -> &'static BucketSpec {
        const { &T::SPEC }
    }

    fn scope(&self) -> KeyScope {
        KeyScope::new(self.spec(), T::Key::parts(self.key())).at(Bucket::time(self))
    }

    fn write_prefix(&self, out: &mut String) {
        id::write_prefix(&T::SPEC.id, out, |each| T::Key::texts(self.key(), each));
        let time = Bucket::time(self);
        if let (ordinal @ Ordinal::Window { .. }, Some(time)) = (T::SPEC.id.ordinal, time) {
            out.extend(id::time(ordinal, time.timestamp_millis()));
        }
    }

    fn time(&self) -> Option<DateTime> {
        Bucket::time(self)
    }

    fn check(&self) -> Result<(), Kind> {
        if let Some(field) = self.too_long() {
            return Err(Kind::TooLong(field));
        }
        let (ordinal, time) = (T::SPEC.id.ordinal, Bucket::time(self));
        match time.filter(|time| !id::fits(ordinal, time.timestamp_millis())) {
            Some(time) if ordinal != Ordinal::Number => Err(Kind::TimeOutOfRange(time.to_string())),
            _ => Ok(()),
        }
    }

    fn rollup_values(&self) -> Vec<Option<Bson>> {
        Bucket::rollup_values(self)
    }

    fn element(&self) -> Result<Element, Refusal> {
        Element::of(&ItemElements::One(self))
    }

    fn check_read_back(&self, element: RawField<'_>) -> Result<(), Refusal> {
        let has_distinct_names = const { T::SPEC.fields.is_some() };
        if let Some(flattened) = T::FLATTENED {
            flattened.check(self, None)?;
        }
        let is_flat = const { T::FLATTENED.is_some() };
        read_back::check(element, has_distinct_names, is_flat, || {
            let key = T::Key::parts(self.key()).into_iter();
            let key = T::Key::from_values(key.map(|part| part.value).collect());
            let key = key.map_err(|_| "a key field has another value")?;
            T::from_parts(key, read_element::<T, T::Element>(&element)?).element()
        })
    }
}

/// Items of any struct, by index.
pub(crate) trait UntypedItems: Send + Sync {
    fn item(&self, index: usize) -> &dyn UntypedItem;

    /// The elements of these items, as an array.
    fn elements(&self, indexes: &[usize]) -> Result<Element, Refusal>;
}

impl<T: Bucket> UntypedItems for Vec<T> {
    fn item(&self, index: usize) -> &dyn UntypedItem {
        &self[index]
    }

    fn elements(&self, indexes: &[usize]) -> Result<Element, Refusal> {
        Element::of(&ItemElements::Array(self, indexes))
    }
}

/// Items that are written as their elements. One type, since the compiler writes much code for each
/// type that is written as BSON.
enum ItemElements<'i, T> {
    One(&'i T),
    /// Those of these items that have these indexes.
    Array(&'i [T], &'i [usize]),
}

impl<T: Bucket> Serialize for ItemElements<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(item) => item.serialize_element(serializer),
            Self::Array(items, indexes) => {
                serializer.collect_seq(indexes.iter().map(|index| Self::One(&items[*index])))
            }
        }
    }
}

impl Engine {
    /// The entry of an item, with its key or its window of the key; an error if it may not be
    /// stored.
    pub fn entry(&self, item: &dyn UntypedItem) -> Result<(IndexedScope, Entry), Error> {
        let scope = item.scope().by(self.open);
        let entry = entry(item, &scope, &|kind| self.target_of(&scope).error(kind))?;
        Ok((scope, entry))
    }
}

/// The entry of an item.
pub(crate) fn entry(
    item: &dyn UntypedItem,
    scope: &IndexedScope,
    fail: &dyn Fn(Kind) -> Error,
) -> Result<Entry, Error> {
    let entry = Entry::from(stored_element(item, scope, fail)?);
    Ok(Entry {
        opening_id: opening_id(scope, item.time()),
        time: item.time().filter(|_| scope.spec.expire_after.is_some()),
        rolled: item.rollup_values(),
        ..entry
    })
}

/// The element as it is stored, or an error if it may not be stored.
pub fn stored_element(
    item: &dyn UntypedItem,
    scope: &IndexedScope,
    fail: &dyn Fn(Kind) -> Error,
) -> Result<Bson, Error> {
    item.check().map_err(fail)?;
    let refuse = |refusal: Refusal| fail(Kind::of_unwritten(&*refusal)).with_source(refusal);
    let element = item.element().map_err(refuse)?;
    if let Some(budget) = Budget::of(scope) {
        budget.check(element.value_size()).map_err(fail)?;
    }
    let checked = element
        .field()
        .and_then(|field| item.check_read_back(field));
    checked.map_err(refuse)?;
    let element = Bson::try_from(element.value()).map_err(|error| refuse(error.into()))?;
    check_identity(scope.spec, &element).map_err(refuse)?;
    Ok(element)
}

/// An error if a field is `unique`, and has no single value in this element.
pub(crate) fn check_identity(spec: &BucketSpec, element: &Bson) -> Result<(), Refusal> {
    match spec.unique {
        Some(field) if !command::identity(field, element).is_some_and(is_single) => {
            Err(match field {
                WHOLE_ITEM => "the item is `unique`, and is not a single value".into(),
                field => format!("the `unique` field `{field}` has no single value").into(),
            })
        }
        _ => Ok(()),
    }
}

/// The identity of the item within its key, as it is stored.
pub(crate) fn identity(item: &dyn UntypedItem, field: &str) -> Option<Bson> {
    let element = item.element().ok()?;
    let value = match field {
        WHOLE_ITEM => element.value(),
        field => element.value().as_document()?.get(field).ok()??,
    };
    Bson::try_from(value).ok()
}

/// Whether the server compares the value as a whole: it compares each element of an array, and
/// treats a null like a missing field.
pub fn is_single(identity: &Bson) -> bool {
    !matches!(
        identity,
        Bson::Null
            | Bson::Undefined
            | Bson::Array(_)
            | Bson::Document(_)
            | Bson::RegularExpression(_)
    )
}

/// With a time ordinal, the id of a bucket that starts at this time, which was checked; with
/// windows, the id of the window's first bucket.
pub(crate) fn opening_id(scope: &KeyScope, time: Option<DateTime>) -> Option<String> {
    match (scope.spec.id.ordinal, time?) {
        (Ordinal::Number, _) => None,
        _ if scope.window.is_some() => Some(scope.prefix.clone()),
        (ordinal, time) => Some(scope.id(&id::time(ordinal, time.timestamp_millis())?)),
    }
}
