//! Reads the fields of parts whose types serde knows. An inherent function takes precedence over a
//! trait's, so a type that serde does not know, such as that of a key field, compiles, too.

use std::marker::PhantomData;

use bucket_core::value::unreadable::read_value;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, value::Error},
};

use crate::{bson::RawBson, mongodb::error::Error as DriverError, read::part::PartSource};

/// `MaybeRead::<V>::__read`, with [`NotRead`] in scope.
#[derive(Debug)]
pub struct MaybeRead<V>(PhantomData<V>);

impl<V: DeserializeOwned + 'static> MaybeRead<V> {
    /// Reads a value.
    pub fn __read(source: PartSource<'_>) -> Result<V, Error> {
        source.value()
    }
}

/// The answer for a type that serde does not know.
pub trait NotRead<V> {
    /// Fails: the value of such a field is in the key, or is read by a function of the user's.
    fn __read(_: PartSource<'_>) -> Result<V, Error> {
        Err(Error::custom("serde cannot read this type"))
    }
}

impl<V> NotRead<V> for MaybeRead<V> {}

/// The user's function that reads the `N`th field of a struct.
pub trait ReadField<V, const N: usize> {
    /// Calls it.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<V, D::Error>;
}

/// Reads a value by the user's function.
pub fn read_field<T: ReadField<V, N>, V, const N: usize>(value: RawBson) -> Result<V, DriverError> {
    struct ReadAs<T, V, const N: usize>(V, PhantomData<fn() -> T>);

    impl<'de, T: ReadField<V, N>, V, const N: usize> Deserialize<'de> for ReadAs<T, V, N> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            T::read(deserializer).map(|value| Self(value, PhantomData))
        }
    }

    read_value::<ReadAs<T, V, N>>(value).map(|read| read.0)
}
