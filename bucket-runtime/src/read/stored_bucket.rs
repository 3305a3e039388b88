//! A bucket as it is stored, read straight into the caller's types.

#[cfg(test)]
mod tests;

use bucket_core::{
    protocol::command::KeyScope,
    schema::key::Key,
    server::{read::cursor::DocumentCursor, target::Target},
    value::{
        bucket_fields::BucketFields,
        bytes, direct,
        raw_field::{Malformed, RawField, RawFields},
        rollup::Totals,
        unreadable::{OnUnreadable, Unreadable, read_only_value, report},
    },
};
use mongodb::{
    bson::{RawDocument, spec::ElementType},
    error::Error as DriverError,
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};

use crate::{Bucket, Result};

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
        let mut refuse = |Unreadable { place, error }| {
            let reason = bytes::reason(&error);
            Err(format!("{}.{place}: {reason}", T::SPEC.items))
        };
        Self::read(row, &mut refuse).map_err(D::Error::custom)
    }
}

impl<T: Bucket, E: OfElement<T>> StoredBucket<T, E> {
    /// Reads a bucket without the elements that cannot be read, and these.
    pub fn sifted(row: &RawDocument) -> Result<(Self, Vec<Unreadable>), String> {
        let mut unreadable = Vec::new();
        let mut leave_out = |element| {
            unreadable.push(element);
            Ok(())
        };
        let bucket = Self::read(row, &mut leave_out)?;
        Ok((bucket, unreadable))
    }

    /// Reads a bucket; the function leaves an unreadable element out, or refuses the bucket.
    fn read(
        row: &RawDocument,
        leave_out: &mut dyn FnMut(Unreadable) -> Result<(), String>,
    ) -> Result<Self, String> {
        let fields = BucketFields::of(&T::SPEC, row)?;
        let key = T::Key::from_values(fields.key).map_err(|field| {
            let name = T::SPEC.key[field].name;
            format!("the key field `{name}` has a value of another type")
        })?;
        let malformed = |Malformed| format!("`{}` is malformed", T::SPEC.items);
        let items = RawFields::of(fields.items.as_bytes()).map_err(malformed)?;
        let (mut elements, mut left_out) = (Vec::new(), Vec::new());
        for (place, item) in (0..).zip(items) {
            match E::read(&item.map_err(malformed)?, &key) {
                Ok(element) => elements.push(element),
                Err(error) => {
                    leave_out(Unreadable { place, error })?;
                    left_out.push(place);
                }
            }
        }
        let length = (elements.len() + left_out.len()) as u64;
        let totals = Totals::read(&T::SPEC, &fields.rollup, length);
        Ok(Self {
            id: fields.id,
            key,
            elements,
            left_out,
            sealed: fields.sealed,
            totals,
        })
    }
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

/// The next bucket, and its bytes. Unreadable elements are an error, unless a callback takes them.
pub async fn next_bucket<'c, T: Bucket, E: OfElement<T>>(
    rows: &'c mut DocumentCursor<'_>,
    on_unreadable: Option<&mut OnUnreadable<'_>>,
) -> Result<Option<(StoredBucket<T, E>, &'c RawDocument)>> {
    let Some((target, row)) = rows.next_raw().await? else {
        return Ok(None);
    };
    let bucket = match bytes::read(row.as_bytes()) {
        Ok(bucket) => bucket,
        Err(error) => {
            let fail = |error| target.borrow().unreadable(row, error);
            let sifted = on_unreadable.zip(StoredBucket::sifted(row).ok());
            let (on_unreadable, (bucket, unreadable)) = sifted.ok_or_else(|| fail(error))?;
            report(T::SPEC.items, unreadable, on_unreadable, fail);
            bucket
        }
    };
    Ok(Some((bucket, row)))
}
