//! Parts of items and of parents: their fields, each read as the whole struct reads it.

use std::{any::Any, borrow::Cow, fmt, marker::PhantomData};

use mongodb::bson::RawBson;
use serde::{
    Deserializer,
    de::{DeserializeOwned, Error as _, IgnoredAny, MapAccess, Visitor},
};

use crate::{
    Bucket,
    protocol::field::{Field, FieldReading, ReadForm},
    schema::{key::Key, spec::KeyName},
    value::{field_name::FieldName, missing_field::MissingField, unreadable::read_value},
};

/// A type that a stored document is read into, field by field.
pub(crate) trait ReadPart: Sized {
    /// The stored names of each field.
    const NAMES: &'static [&'static [&'static str]];

    /// The key fields, whose values are not in the document.
    const KEYS: &'static [KeyName];

    fn read<'de, A: MapAccess<'de>>(fields: &mut PartReader<A>) -> Result<Self, A::Error>;
}

/// Reads a document into a part.
pub(crate) fn read_part<'de, R: ReadPart, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<R, D::Error> {
    deserializer.deserialize_map(PartVisitor(PhantomData))
}

struct PartVisitor<R>(PhantomData<R>);

impl<'de, R: ReadPart> Visitor<'de> for PartVisitor<R> {
    type Value = R;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<R, A::Error> {
        let mut fields = PartReader {
            map,
            is_read: false,
            ahead: Vec::new(),
            names: R::NAMES,
        };
        let part = R::read(&mut fields)?;
        fields.finish(R::KEYS)?;
        Ok(part)
    }
}

/// The fields of a stored document, for a part of an item or a parent.
pub struct PartReader<A> {
    map: A,
    /// Whether the document has come to its end.
    is_read: bool,
    /// Fields of the part that stand before one that is read earlier.
    ahead: Vec<(&'static str, RawBson)>,
    names: &'static [&'static [&'static str]],
}

impl<A> fmt::Debug for PartReader<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartReader").finish_non_exhaustive()
    }
}

/// Where a field's value comes from.
pub struct PartSource<'r, A>(Found<'r, A>);

enum Found<'r, A> {
    /// The next value in the document.
    Next(&'r mut A),
    /// A value that was read before.
    Ahead(RawBson),
    /// The document has no field of this name.
    Missing(&'static str),
}

impl<A> fmt::Debug for PartSource<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartSource").finish_non_exhaustive()
    }
}

impl<'de, A: MapAccess<'de>> PartSource<'_, A> {
    /// The value, as serde reads it.
    pub fn value<V: DeserializeOwned>(self) -> Result<V, A::Error> {
        match self.0 {
            Found::Next(map) => map.next_value(),
            Found::Ahead(value) => read_value(value).map_err(A::Error::custom),
            Found::Missing(name) => V::deserialize(MissingField::new(name)),
        }
    }
}

/// A field of a part of an item: its value, unless that is in the bucket's key.
#[derive(Debug)]
pub struct PartValue<V>(Result<V, &'static str>);

impl<V: 'static> PartValue<V> {
    /// The value, from the element or from the key.
    pub fn or_of_key<T: Bucket>(self, key: &T::Key) -> V {
        self.0.unwrap_or_else(|name| {
            let mut value: Option<V> = None;
            let at = T::SPEC.key.iter().position(|key| key.name == name);
            if let Some(at) = at {
                key.copy(at, &mut value as &mut dyn Any);
            }
            value.unwrap_or_else(|| unreachable!("a key field has the type that the key has"))
        })
    }
}

/// A field of the whole struct that is about to be read.
pub struct PartField<'r, A, F> {
    reader: &'r mut PartReader<A>,
    name: &'static str,
    names: &'r [&'static str],
    is_key: bool,
    reading: FieldReading<F>,
}

impl<A, F> fmt::Debug for PartField<'_, A, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PartField").field(&self.name).finish()
    }
}

impl<'de, A: MapAccess<'de>, F> PartField<'_, A, F> {
    /// The field of a part of an item. `serde` reads the value if no function of the user's does.
    ///
    /// # Errors
    ///
    /// If the value is missing, or cannot be read.
    pub fn of_item<V: SameAs<F>>(
        self,
        serde: impl FnOnce(PartSource<'_, A>) -> Result<V, A::Error>,
    ) -> Result<PartValue<V>, A::Error> {
        match self.is_key {
            true => Ok(PartValue(Err(self.name))),
            false => self.of_parent(serde).map(|value| PartValue(Ok(value))),
        }
    }

    /// The field of a part of a parent. `serde` reads the value if no function of the user's does.
    ///
    /// # Errors
    ///
    /// If the value is missing, or cannot be read.
    pub fn of_parent<V: SameAs<F>>(
        self,
        serde: impl FnOnce(PartSource<'_, A>) -> Result<V, A::Error>,
    ) -> Result<V, A::Error> {
        let found = self.reader.find(self.names, self.name)?;
        let value = match (&found, self.reading.default, self.reading.form) {
            (Found::Missing(_), Some(default), _) => default(),
            (_, _, ReadForm::Serde) => return serde(PartSource(found)),
            (_, _, ReadForm::Date(of_date)) => {
                of_date(PartSource(found).value()?).map_err(A::Error::custom)?
            }
            (_, _, ReadForm::Custom(read)) => {
                read(PartSource(found).value()?).map_err(A::Error::custom)?
            }
        };
        Ok(V::same(value))
    }
}

impl<A> PartReader<A> {
    /// A field of the whole struct, by its typed field.
    pub fn field<'r, T, F, S, P>(
        &'r mut self,
        field: &'r Field<T, F, S, P>,
    ) -> PartField<'r, A, F> {
        PartField {
            reader: self,
            name: field.name(),
            names: field.names(),
            is_key: field.is_key(),
            reading: field.reading,
        }
    }
}

impl<'de, A: MapAccess<'de>> PartReader<A> {
    /// Where the value under one of these names is.
    fn find(
        &mut self,
        names: &[&'static str],
        main: &'static str,
    ) -> Result<Found<'_, A>, A::Error> {
        let at = self.ahead.iter().position(|(name, _)| names.contains(name));
        if let Some(at) = at {
            return Ok(Found::Ahead(self.ahead.swap_remove(at).1));
        }
        while let Some(name) = self.next_name()? {
            if names.contains(&&*name) {
                return Ok(Found::Next(&mut self.map));
            }
            self.keep(&name)?;
        }
        Ok(Found::Missing(names.first().copied().unwrap_or(main)))
    }

    /// The name of the next field in the document.
    fn next_name(&mut self) -> Result<Option<Cow<'de, str>>, A::Error> {
        if self.is_read {
            return Ok(None);
        }
        let name = self.map.next_key_seed(FieldName)?;
        self.is_read = name.is_none();
        Ok(name)
    }

    /// Keeps the next value, if it is one of the part.
    fn keep(&mut self, name: &str) -> Result<(), A::Error> {
        let known = self.names.iter().copied().flatten();
        match known.copied().find(|known| *known == name) {
            Some(known) => self.ahead.push((known, self.map.next_value()?)),
            None => drop(self.map.next_value::<IgnoredAny>()?),
        }
        Ok(())
    }

    /// Reads to the end: serde refuses a document with two names of one field. The names of key fields
    /// mean nothing here.
    fn finish(mut self, keys: &[KeyName]) -> Result<(), A::Error> {
        while let Some(name) = self.next_name()? {
            self.keep(&name)?;
        }
        let of_key = |name| {
            let mut keys = keys.iter();
            keys.any(|key| key.name == name || key.aliases.contains(&name))
        };
        match self.ahead.into_iter().find(|(name, _)| !of_key(*name)) {
            Some((name, _)) => Err(A::Error::duplicate_field(name)),
            None => Ok(()),
        }
    }
}

/// The type of a field in the whole struct.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "this field has another type in the whole struct",
    label = "`{Self}` here, and `{F}` there",
    note = "help: write `{F}`"
)]
pub trait SameAs<F>: Sized {
    /// The value.
    fn same(value: F) -> Self;
}

#[diagnostic::do_not_recommend]
impl<F> SameAs<F> for F {
    fn same(value: F) -> F {
        value
    }
}
