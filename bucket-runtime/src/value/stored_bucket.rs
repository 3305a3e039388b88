//! A bucket as it is stored, read straight into the caller's types.

use std::{borrow::Cow, fmt, marker::PhantomData};

use mongodb::bson::{Bson, Document};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::{
    Bucket,
    schema::{key::Key, names::SEALED, spec::BucketSpec},
    value::{
        rollup::Totals,
        unreadable::{ReadAttempt, Unreadable},
    },
};

/// The part of a stored bucket that a read needs, with elements read as `E`.
pub(crate) struct StoredBucket<T: Bucket, E = <T as Bucket>::Element> {
    pub(crate) id: String,
    pub(crate) key: T::Key,
    /// The stored values of the key fields, converted to the form that this library writes.
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

impl<'de, T: Bucket, E: Deserialize<'de>> Deserialize<'de> for StoredBucket<T, E> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BucketVisitor(PhantomData))
    }
}

struct BucketVisitor<T, E>(PhantomData<fn() -> (T, E)>);

impl<'de, T: Bucket, E: Deserialize<'de>> Visitor<'de> for BucketVisitor<T, E> {
    type Value = StoredBucket<T, E>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bucket")
    }

    // bson has a dozen kinds of maps, and the compiler makes this function for each of them and each struct.
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<StoredBucket<T, E>, A::Error> {
        let mut elements = None;
        let fields = BucketFields::of_map(&T::SPEC, map, &mut |map| {
            elements = Some(map.next_value_seed(ElementArray(T::SPEC.items, PhantomData))?);
            Ok(())
        })?;
        StoredBucket::of(fields, elements)
    }
}

impl<T: Bucket, E> StoredBucket<T, E> {
    fn of<Error: serde::de::Error>(
        mut fields: BucketFields,
        elements: Option<Vec<E>>,
    ) -> Result<Self, Error> {
        let elements = elements.ok_or_else(|| Error::missing_field(T::SPEC.items))?;
        let stored = fields.rollup.take();
        let totals =
            stored.and_then(|stored| Totals::read(&T::SPEC, &stored, elements.len() as u64));
        let (id, key, sealed) = fields.finish::<Error>(&T::SPEC)?;
        let key = T::Key::from_values(key).map_err(|field| {
            Error::custom(format_args!(
                "the key field `{}` has a value of another type",
                T::SPEC.key[field].name
            ))
        })?;
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

/// The fields of a bucket except its items; the same code for all structs.
struct BucketFields {
    id: Option<String>,
    key: Vec<Option<Bson>>,
    sealed: bool,
    rollup: Option<Document>,
}

impl BucketFields {
    /// Reads all fields; `read_items` takes the value of the items.
    fn of_map<'de, A: MapAccess<'de>>(
        spec: &BucketSpec,
        mut map: A,
        read_items: &mut dyn FnMut(&mut A) -> Result<(), A::Error>,
    ) -> Result<Self, A::Error> {
        let mut fields = Self {
            id: None,
            key: vec![None; spec.key.len()],
            sealed: false,
            rollup: None,
        };
        while let Some(name) = map.next_key_seed(FieldName)? {
            if name == spec.items {
                read_items(&mut map)?;
            } else {
                fields.read(spec, &name, &mut map)?;
            }
        }
        Ok(fields)
    }

    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        spec: &BucketSpec,
        name: &str,
        map: &mut A,
    ) -> Result<(), A::Error> {
        let of_key = spec
            .key
            .iter()
            .position(|key| key.name == name || key.aliases.contains(&name));
        if let Some(index) = of_key {
            self.key[index] = Some(map.next_value()?);
        } else if name == "_id" {
            // In the manual's example, extras have an `ObjectId`.
            self.id = Some(match map.next_value()? {
                Bson::String(id) => id,
                other => other.to_string(),
            });
        } else if !spec.rollups.is_empty() && name == spec.rollup {
            self.rollup = match map.next_value()? {
                Bson::Document(rollup) => Some(rollup),
                _ => None,
            };
        } else {
            self.sealed |= name == SEALED;
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }

    fn finish<E: serde::de::Error>(
        self,
        spec: &BucketSpec,
    ) -> Result<(String, Vec<Bson>, bool), E> {
        let id = self.id.ok_or_else(|| E::missing_field("_id"))?;
        let key = self.key.into_iter().zip(spec.key);
        let key = key
            .map(|(value, key)| value.ok_or_else(|| E::missing_field(key.name)))
            .collect::<Result<_, E>>()?;
        Ok((id, key, self.sealed))
    }
}

/// A field name, borrowed from the batch if the format allows it.
pub(crate) struct FieldName;

impl<'de> DeserializeSeed<'de> for FieldName {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for FieldName {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }

    fn visit_string<E>(self, name: String) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name))
    }
}

/// The items array under this name; its errors say which element they are about.
struct ElementArray<E>(&'static str, PhantomData<E>);

impl<'de, E: Deserialize<'de>> DeserializeSeed<'de> for ElementArray<E> {
    type Value = Vec<E>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<E>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, E: Deserialize<'de>> Visitor<'de> for ElementArray<E> {
    type Value = Vec<E>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array `{}`", self.0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<E>, A::Error> {
        let mut elements = Vec::new();
        loop {
            match seq.next_element() {
                Ok(Some(element)) => elements.push(element),
                Ok(None) => return Ok(elements),
                Err(error) => {
                    return Err(A::Error::custom(format_args!(
                        "{}.{}: {error}",
                        self.0,
                        elements.len()
                    )));
                }
            }
        }
    }
}
