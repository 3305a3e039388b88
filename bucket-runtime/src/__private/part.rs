//! Fields of a `BucketPart`: compared with the bucket's struct at compile time, and read.

use std::{any::Any, marker::PhantomData};

use serde::{Deserialize, Deserializer};

use crate::{
    Bucket,
    protocol::field::Field,
    schema::{
        key::Key,
        names::is_same,
        time::{TimeField, bson_date},
    },
};

/// The field is read as serde does.
pub const PLAIN: u8 = 0;

/// The field is read from a BSON date.
pub const DATE: u8 = 1;

/// The field is read from the bucket's key.
pub const KEY: u8 = 2;

/// A field of the struct that a part belongs to.
#[derive(Debug)]
pub struct Original<F> {
    name: &'static str,
    form: u8,
    of: PhantomData<fn() -> F>,
}

/// What is to be compared with a field of a part.
pub const fn original<T, F, S, P>(field: &Field<T, F, S, P>) -> Original<F> {
    Original {
        name: field.name(),
        form: match (field.is_key(), field.is_date()) {
            (true, _) => KEY,
            (false, true) => DATE,
            (false, false) => PLAIN,
        },
        of: PhantomData,
    }
}

impl<F> Original<F> {
    /// How a field of this type and this stored name is read.
    ///
    /// # Panics
    ///
    /// At compile time, if the stored name differs.
    #[track_caller]
    pub const fn form<V: SameAs<F>>(&self, name: &str) -> u8 {
        assert!(
            is_same(self.name, name),
            "the whole struct stores this field under another name\n\
             help: repeat its `#[serde(rename = …)]` or `rename_all` here"
        );
        self.form
    }

    /// The same for a field that serde attributes read.
    ///
    /// # Panics
    ///
    /// At compile time, if the stored name differs, or if it is a key field.
    #[track_caller]
    pub const fn own_form<V: SameAs<F>>(&self, name: &str) -> u8 {
        let form = self.form::<V>(name);
        assert!(
            form != KEY,
            "a key field is read from the bucket's key\n\
             help: remove `default` and `with`"
        );
        form
    }
}

/// The type of a field in the whole struct.
#[diagnostic::on_unimplemented(
    message = "this field has another type in the whole struct",
    label = "`{Self}` here, and `{F}` there",
    note = "help: write `{F}`"
)]
pub trait SameAs<F> {}

#[diagnostic::do_not_recommend]
impl<F> SameAs<F> for F {}

/// A field of an element that is read in this form; a key field is not in the element.
#[derive(Debug)]
pub struct PartField<V, const FORM: u8>(Option<V>);

impl<V: 'static, const FORM: u8> PartField<V, FORM> {
    /// The value, from the element or, of a key field with this stored name, from the key.
    pub fn or_of_key<T: Bucket>(self, key: &T::Key, name: &str) -> V {
        let of_key = || {
            let at = T::SPEC.key.iter().position(|key| key.name == name)?;
            let mut value = None;
            key.copy(at, &mut value as &mut dyn Any);
            value
        };
        match self.0.or_else(of_key) {
            Some(value) => value,
            None => {
                unreachable!("the compiler has compared name and type with those of the key field")
            }
        }
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for PartField<V, PLAIN> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        V::deserialize(deserializer).map(|value| Self(Some(value)))
    }
}

impl<'de, V: TimeField> Deserialize<'de> for PartField<V, DATE> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        bson_date::deserialize(deserializer).map(|value| Self(Some(value)))
    }
}

impl<'de, V> Deserialize<'de> for PartField<V, KEY> {
    /// Reads nothing: serde asks a missing field for an `Option`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::<serde::de::IgnoredAny>::deserialize(deserializer).map(|_| Self(None))
    }
}
