//! A bucket as it is stored, read straight into the caller's types.

#[cfg(test)]
mod tests;

use bucket_core::{
    protocol::command::KeyScope,
    schema::key::Key,
    server::{
        read::cursor::{CursorError, DocumentCursor},
        target::Target,
    },
    value::{
        bucket_fields::BucketFields,
        bytes, direct,
        raw_field::{Malformed, RawField, RawFields},
        rollup::Totals,
        unreadable::{OnUnreadable, Unreadable, read_only_value, report},
    },
};
use mongodb::{
    bson::{RawArray, RawDocument, spec::ElementType},
    error::Error as DriverError,
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};

use crate::{Bucket, Error, Result};

/// The part of a stored bucket that a read needs, with elements read as `E`.
pub struct StoredBucket<T: Bucket, E = <T as Bucket>::Element> {
    /// Its `_id`.
    pub id: String,
    /// The values of its key fields.
    pub key: T::Key,
    /// Its items without their key fields.
    pub elements: Vec<E>,
    /// The elements that could not be read and were left out: the number of elements before each.
    pub left_out: Vec<u64>,
    pub(crate) sealed: bool,
    /// The totals of the bucket's rollup, if they cover all its items.
    pub(crate) totals: Option<Totals>,
}

impl<T: Bucket> StoredBucket<T> {
    /// The items, with their key fields.
    pub fn into_items(self) -> Vec<T> {
        let Self { key, elements, .. } = self;
        let items = elements.into_iter();
        items
            .map(|element| T::from_parts(key.clone(), element))
            .collect()
    }
}

/// What is made of an element in a bucket with this key: the element alone, or a part with fields
/// of the key.
pub trait OfElement<T: Bucket>: Sized {
    /// Reads it.
    fn read(element: &RawField<'_>, key: &T::Key) -> Result<Self, DriverError>;
}

impl<T: Bucket, E: DeserializeOwned> OfElement<T> for E {
    fn read(element: &RawField<'_>, _: &T::Key) -> Result<E, DriverError> {
        read_element::<T, E>(element)
    }
}

impl<T: Bucket, E: OfElement<T>> OfElement<T> for ReadAttempt<E> {
    fn read(element: &RawField<'_>, key: &T::Key) -> Result<Self, DriverError> {
        Ok(Self(E::read(element, key)))
    }
}

/// An element, or why it cannot be read.
pub struct ReadAttempt<E>(pub(crate) Result<E, DriverError>);

impl<T: Bucket, E> StoredBucket<T, E> {
    /// Whether the bucket belongs to the key. A bucket among the key's ids that does not was stored
    /// by a program that does not know the format.
    pub fn is_of(&self, key: &KeyScope) -> bool {
        let is_own = match key.spec.are_extras {
            true => key.owns(&self.id),
            false => self.id.starts_with(&key.prefix),
        };
        is_own && T::Key::parts(self.key.borrowed()) == key.parts
    }

    /// The bucket, if it has the key of the target.
    pub(crate) fn expect_key(self, target: Target<'_>) -> Result<Self> {
        match target.scope {
            Some(key) if !self.is_of(key) => Err(target.error(key.foreign(&self.id.into()))),
            _ => Ok(self),
        }
    }
}

impl<T: Bucket, E> StoredBucket<T, ReadAttempt<E>> {
    /// Splits the elements into those that can be read and the others.
    pub fn sifted(self) -> (StoredBucket<T, E>, Vec<Unreadable>) {
        let attempts = self.elements.into_iter();
        let (elements, unreadable) = sift_each(attempts.map(|ReadAttempt(element)| element));
        let bucket = StoredBucket {
            elements,
            left_out: unreadable.iter().map(|element| element.place).collect(),
            id: self.id,
            key: self.key,
            sealed: self.sealed,
            totals: self.totals,
        };
        (bucket, unreadable)
    }
}

/// Separates the elements of an array that could be read from those that could not.
pub(crate) fn sift_each<E>(
    attempts: impl Iterator<Item = Result<E, DriverError>>,
) -> (Vec<E>, Vec<Unreadable>) {
    let (mut elements, mut unreadable) = (Vec::new(), Vec::new());
    for (place, element) in (0..).zip(attempts) {
        match element {
            Ok(element) => elements.push(element),
            Err(error) => unreadable.push(Unreadable { place, error }),
        }
    }
    (elements, unreadable)
}

impl<'de, T: Bucket, E: OfElement<T>> Deserialize<'de> for StoredBucket<T, E> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let row = <&RawDocument>::deserialize(deserializer)?;
        Self::of(row).map_err(D::Error::custom)
    }
}

impl<T: Bucket, E: OfElement<T>> StoredBucket<T, E> {
    fn of(row: &RawDocument) -> Result<Self, String> {
        let (mut fields, items) = BucketFields::of(&T::SPEC, row)?;
        let rollup = fields.rollup.take();
        let (id, key, sealed) = fields.finish(&T::SPEC)?;
        let key = T::Key::from_values(key).map_err(|field| {
            let name = T::SPEC.key[field].name;
            format!("the key field `{name}` has a value of another type")
        })?;
        let elements = elements::<T, E>(items, &key)?;
        let length = elements.len() as u64;
        let totals = rollup.and_then(|rollup| Totals::read(&T::SPEC, &rollup, length));
        Ok(Self {
            id,
            key,
            elements,
            left_out: Vec::new(),
            sealed,
            totals,
        })
    }
}

/// The elements of the array; an error says which element it is about.
fn elements<T: Bucket, E: OfElement<T>>(items: &RawArray, key: &T::Key) -> Result<Vec<E>, String> {
    let mut elements = Vec::new();
    let malformed = |Malformed| format!("`{}` is malformed", T::SPEC.items);
    for item in RawFields::of(items.as_bytes()).map_err(malformed)? {
        let item = item.map_err(malformed)?;
        let element = E::read(&item, key);
        let element = element.map_err(|error| unreadable(T::SPEC.items, elements.len(), &error))?;
        elements.push(element);
    }
    Ok(elements)
}

fn unreadable(items: &str, place: usize, error: &DriverError) -> String {
    format!("{items}.{place}: {}", bytes::reason(error))
}

/// Reads one element.
///
/// A document is read as it is: within another one, `bson` would have the compiler make the
/// struct's reader once more for each type of BSON. The elements of a struct with named fields are
/// always documents, so these structs need no other way.
pub(crate) fn read_element<T: Bucket, E: DeserializeOwned>(
    item: &RawField<'_>,
) -> Result<E, DriverError> {
    match item.ty {
        ElementType::EmbeddedDocument => {
            direct::element(*item).map_or_else(|| bytes::read(item.value), Ok)
        }
        _ if const { T::SPEC.fields.is_none() } => read_only_value(&item.document()),
        _ => Err(not_a_document(item)),
    }
}

pub(crate) fn not_a_document(item: &RawField<'_>) -> DriverError {
    DriverError::custom(format!("invalid type: {:?}, expected a document", item.ty))
}

/// A bucket whose elements are read one by one.
pub type Attempted<T, E = <T as Bucket>::Element> = StoredBucket<T, ReadAttempt<E>>;

/// Reads the bucket without its unreadable elements and reports each of them; `error` says why the
/// bucket could not be read as a whole.
fn sift<T: Bucket, E: OfElement<T>>(
    row: &RawDocument,
    error: DriverError,
    on_unreadable: Option<&mut OnUnreadable<'_>>,
    fail: impl Fn(DriverError) -> Error,
) -> Result<StoredBucket<T, E>> {
    let bucket = bytes::read::<Attempted<T, E>>(row.as_bytes());
    let (Some(on_unreadable), Ok(bucket)) = (on_unreadable, bucket) else {
        return Err(fail(error));
    };
    let (bucket, unreadable) = bucket.sifted();
    report(T::SPEC.items, unreadable, on_unreadable, fail);
    Ok(bucket)
}

/// The next bucket. Unreadable elements are an error, unless a callback takes them.
pub async fn next_bucket<T: Bucket, E: OfElement<T>>(
    rows: &mut DocumentCursor<'_, StoredBucket<T, E>>,
    on_unreadable: Option<&mut OnUnreadable<'_>>,
) -> Result<Option<StoredBucket<T, E>>> {
    let next = next_bucket_and(rows, on_unreadable, |_| ()).await?;
    Ok(next.map(|(bucket, ())| bucket))
}

/// The next bucket, and what a function takes of its bytes. Unreadable elements are an error,
/// unless a callback takes them.
pub async fn next_bucket_and<T: Bucket, E: OfElement<T>, X>(
    rows: &mut DocumentCursor<'_, StoredBucket<T, E>>,
    on_unreadable: Option<&mut OnUnreadable<'_>>,
    take: impl Fn(&RawDocument) -> X,
) -> Result<Option<(StoredBucket<T, E>, X)>> {
    match rows.next_and(&take).await {
        Err(CursorError::Decode(row, error)) => {
            let fail = |error| rows.target().unreadable(&row, error);
            let bucket = sift(&row, error, on_unreadable, fail)?;
            Ok(Some((bucket, take(&row))))
        }
        found => found.map_err(|error| rows.target().row_error(error)),
    }
}
