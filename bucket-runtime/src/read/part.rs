//! Parts of items and of parents: their fields, each read as the whole struct reads it.

use std::{any::Any, fmt, marker::PhantomData};

use bucket_core::{
    protocol::field::{Field, ReadForm},
    schema::{key::Key, spec::KeyName},
    value::{
        bytes, direct,
        missing_field::MissingField,
        raw_field::{Malformed, RawField, RawFields},
    },
};
use mongodb::{
    bson::{RawDocument, spec::ElementType},
    error::Error as DriverError,
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, value::Error},
};

use crate::{
    Bucket, Part,
    read::stored_bucket::{OfElement, not_a_document},
};

/// The form of a read that gives whole items or parents.
#[derive(Debug)]
pub struct Whole<T>(PhantomData<fn() -> T>);

/// The form of a read that gives parts.
#[derive(Debug)]
pub struct PartOf<P>(pub(crate) P);

impl<T: Bucket, P: Part<Of = T>> OfElement<T> for PartOf<P> {
    fn read(element: &RawField<'_>, key: &T::Key) -> Result<Self, DriverError> {
        if element.ty != ElementType::EmbeddedDocument {
            return Err(not_a_document(element));
        }
        let copy = |at: usize, place: &mut dyn Any| key.copy(at, place);
        read(element.value, Some((T::SPEC.key, &copy))).map(Self)
    }
}

/// A part of a document that holds all fields, as those of parents and of their items do.
#[derive(Debug)]
pub struct StoredPart<P>(pub(crate) P);

impl<'de, P: Part> Deserialize<'de> for StoredPart<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let document = <&RawDocument>::deserialize(deserializer)?;
        let part = read(document.as_bytes(), None);
        part.map(Self)
            .map_err(|error| D::Error::custom(bytes::reason(&error)))
    }
}

/// The key fields of a bucket, and a function that copies the one at an index into an `Option` of
/// its type.
type CopyKey<'r> = (&'static [KeyName], &'r dyn Fn(usize, &mut dyn Any));

/// Reads a part of a document.
pub(crate) fn read<P: Part>(document: &[u8], key: Option<CopyKey<'_>>) -> Result<P, DriverError> {
    let fields = RawFields::of(document).map_err(malformed);
    let part = fields.and_then(|fields| P::read(&PartReader { fields, key }));
    part.map_err(|error| DriverError::custom(error.to_string()))
}

fn malformed(Malformed: Malformed) -> Error {
    Error::custom("malformed document")
}

/// The fields of a stored document, for a part of it.
pub struct PartReader<'r> {
    fields: RawFields<'r>,
    /// The key, if the document is an element of a bucket.
    key: Option<CopyKey<'r>>,
}

impl fmt::Debug for PartReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartReader").finish_non_exhaustive()
    }
}

impl<'r> PartReader<'r> {
    /// A field of the whole struct, by its typed field.
    ///
    /// # Errors
    ///
    /// If the document has it twice.
    pub fn field<T, F: 'static, S, P>(
        &self,
        field: &Field<T, F, S, P>,
    ) -> Result<PartField<'r, F>, Error> {
        let names = field.names();
        let in_key = self.key.filter(|_| field.is_key());
        let in_key = in_key.and_then(|key| copied(key, field.name()));
        let found = in_key.is_none().then(|| self.find(names)).transpose()?;
        let source = PartSource {
            name: names.first().copied().unwrap_or(field.name()),
            found: found.flatten(),
        };
        Ok(PartField {
            in_key,
            source,
            read_form: field.read_form(),
            default: field.default_value(),
        })
    }

    /// The field with one of these names. As with serde, there may be only one.
    fn find(&self, names: &[&'static str]) -> Result<Option<RawField<'r>>, Error> {
        let mut found = None;
        for field in self.fields.clone() {
            let field = field.map_err(malformed)?;
            let name = names.iter().find(|name| name.as_bytes() == field.name);
            if let Some(name) = name
                && found.replace(field).is_some()
            {
                return Err(Error::duplicate_field(name));
            }
        }
        Ok(found)
    }
}

/// The value of this key field.
fn copied<F: 'static>((names, copy): CopyKey<'_>, name: &str) -> Option<F> {
    let mut value: Option<F> = None;
    copy(names.iter().position(|key| key.name == name)?, &mut value);
    value
}

/// A field of the whole struct that is about to be read.
pub struct PartField<'r, F> {
    in_key: Option<F>,
    source: PartSource<'r>,
    read_form: ReadForm<F>,
    default: Option<fn() -> F>,
}

impl<F> fmt::Debug for PartField<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PartField").field(&self.source.name).finish()
    }
}

impl<'r, F> PartField<'r, F> {
    /// The value. `serde` reads it if it is not in the bucket's key, and no function of the user's
    /// reads it.
    ///
    /// # Errors
    ///
    /// If the value is missing, or cannot be read.
    pub fn read<V: SameAs<F>>(
        self,
        serde: impl FnOnce(PartSource<'r>) -> Result<V, Error>,
    ) -> Result<V, Error> {
        let source = self.source;
        let value = match (self.in_key, self.default, self.read_form) {
            (Some(value), ..) => value,
            (_, Some(default), _) if source.found.is_none() => default(),
            (_, _, ReadForm::Serde) => return serde(source),
            (_, _, ReadForm::Date(of_date)) => of_date(source.value()?).map_err(Error::custom)?,
            (_, _, ReadForm::Custom(read)) => {
                let value = read(source.value()?);
                value.map_err(|error| Error::custom(bytes::reason(&error)))?
            }
        };
        Ok(V::same(value))
    }
}

/// Where a field's value comes from.
#[derive(Debug)]
pub struct PartSource<'r> {
    name: &'static str,
    found: Option<RawField<'r>>,
}

impl PartSource<'_> {
    /// The value, as serde reads it.
    ///
    /// # Errors
    ///
    /// If it is missing, or cannot be read.
    pub fn value<V: DeserializeOwned + 'static>(self) -> Result<V, Error> {
        match self.found {
            Some(field) => direct::read(field).map_err(Error::custom),
            None => V::deserialize(MissingField::new(self.name)),
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
