//! A bucket as it is stored, read straight into the caller's types.

#[cfg(test)]
mod tests;

use mongodb::{
    bson::{Bson, Document, RawArray, RawBsonRef, RawDocument, spec::ElementType},
    error::Error as DriverError,
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};

use crate::{
    Bucket,
    schema::{key::Key, names::SEALED, spec::BucketSpec},
    value::{
        bytes, direct,
        raw_field::{Malformed, RawField, RawFields},
        rollup::Totals,
        shell::shell,
        unreadable::{OfElement, ReadAttempt, Unreadable, read_only_value},
    },
};

/// The part of a stored bucket that a read needs, with elements read as `E`.
pub(crate) struct StoredBucket<T: Bucket, E = <T as Bucket>::Element> {
    pub(crate) id: String,
    pub(crate) key: T::Key,
    pub(crate) elements: Vec<E>,
    /// The elements that could not be read and were left out: the number of elements before each.
    pub(crate) left_out: Vec<u64>,
    pub(crate) sealed: bool,
    /// The totals of the bucket's rollup, if they cover all its items.
    pub(crate) totals: Option<Totals>,
}

impl<T: Bucket> StoredBucket<T> {
    /// The items, with their key fields.
    pub(crate) fn into_items(self) -> Vec<T> {
        let Self { key, elements, .. } = self;
        let items = elements.into_iter();
        items
            .map(|element| T::from_parts(key.clone(), element))
            .collect()
    }
}

impl<T: Bucket, E> StoredBucket<T, ReadAttempt<E>> {
    /// Splits the elements into those that can be read and the others.
    pub(crate) fn sifted(self) -> (StoredBucket<T, E>, Vec<Unreadable>) {
        let (mut elements, mut unreadable) = (Vec::new(), Vec::new());
        for (place, ReadAttempt(element)) in (0..).zip(self.elements) {
            match element {
                Ok(element) => elements.push(element),
                Err(error) => unreadable.push(Unreadable { place, error }),
            }
        }
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

/// The fields of a bucket except its items; the same code for all structs.
struct BucketFields {
    id: Option<String>,
    key: Vec<Option<Bson>>,
    sealed: bool,
    rollup: Option<Document>,
}

impl BucketFields {
    /// Reads all fields, and finds the items.
    fn of<'r>(spec: &BucketSpec, row: &'r RawDocument) -> Result<(Self, &'r RawArray), String> {
        let mut fields = Self {
            id: None,
            key: vec![None; spec.key.len()],
            sealed: false,
            rollup: None,
        };
        let mut items = None;
        for field in row {
            let (name, value) = field.map_err(|error| error.to_string())?;
            // Text in bson 2, and text without a NUL in bson 3.
            let name = AsRef::<str>::as_ref(name);
            if name == spec.items {
                items = Some(array(value, name)?);
            } else {
                fields.read(spec, name, value)?;
            }
        }
        let items = items.ok_or_else(|| missing(spec.items))?;
        Ok((fields, items))
    }

    fn read(&mut self, spec: &BucketSpec, name: &str, value: RawBsonRef<'_>) -> Result<(), String> {
        let of_key = spec
            .key
            .iter()
            .position(|key| key.name == name || key.aliases.contains(&name));
        let owned = |value| Bson::try_from(value).map_err(|error| format!("{name}: {error}"));
        if let Some(index) = of_key {
            self.key[index] = Some(owned(value)?);
        } else if name == "_id" {
            // In the manual's example, extras have an `ObjectId`.
            self.id = Some(match owned(value)? {
                Bson::String(id) => id,
                other => shell(&other),
            });
        } else if !spec.rollups.is_empty() && name == spec.rollup {
            self.rollup = match owned(value)? {
                Bson::Document(rollup) => Some(rollup),
                _ => None,
            };
        } else {
            self.sealed |= name == SEALED;
        }
        Ok(())
    }

    fn finish(self, spec: &BucketSpec) -> Result<(String, Vec<Bson>, bool), String> {
        let id = self.id.ok_or_else(|| missing("_id"))?;
        let key = self.key.into_iter().zip(spec.key);
        let key = key
            .map(|(value, key)| value.ok_or_else(|| missing(key.name)))
            .collect::<Result<_, _>>()?;
        Ok((id, key, self.sealed))
    }
}

fn array<'r>(value: RawBsonRef<'r>, name: &str) -> Result<&'r RawArray, String> {
    match value {
        RawBsonRef::Array(items) => Ok(items),
        other => {
            let found = other.element_type();
            Err(format!("`{name}` is not an array: its type is {found:?}"))
        }
    }
}

fn missing(name: &str) -> String {
    format!("there is no field `{name}`")
}
