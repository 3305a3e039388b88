//! How the values of a field are read back: a part of the struct reads them as the whole struct
//! does.

use mongodb::{
    bson::{DateTime, RawBson},
    error::Error as DriverError,
};

use super::Field;

/// Who reads a stored value.
pub enum ReadForm<V> {
    /// serde, by the type of the field.
    Serde,
    /// Our `bson_date`.
    Date(fn(DateTime) -> Result<V, String>),
    /// The user's function.
    Custom(fn(RawBson) -> Result<V, DriverError>),
}

impl<V> Clone for ReadForm<V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for ReadForm<V> {}

/// Setters for the derives, for fields whose serde attributes change how they are read.
impl<T, V, S, P> Field<T, V, S, P> {
    /// Sets the names that the field is read from, such as an `alias` beside its own.
    #[doc(hidden)]
    #[must_use]
    pub const fn read_under(mut self, names: &'static [&'static str]) -> Self {
        self.read_names = Some(names);
        self
    }

    /// Sets what a missing value is read as (`default`).
    #[doc(hidden)]
    #[must_use]
    pub const fn or_default(mut self, default: fn() -> V) -> Self {
        self.default = Some(default);
        self
    }

    /// Sets the user's function that reads the values (`with`, `deserialize_with`).
    #[doc(hidden)]
    #[must_use]
    pub const fn read_by(mut self, read: fn(RawBson) -> Result<V, DriverError>) -> Self {
        self.read_form = ReadForm::Custom(read);
        self
    }

    /// serde reads the values by their type, though a function of the user's writes them
    /// (`serialize_with`).
    #[doc(hidden)]
    #[must_use]
    pub const fn read_by_serde(mut self) -> Self {
        self.read_form = ReadForm::Serde;
        self
    }

    /// Who reads a stored value. A public field of this struct would hide one inside of its name.
    #[doc(hidden)]
    pub const fn read_form(&self) -> ReadForm<V> {
        self.read_form
    }

    /// The value to use where the stored one is missing.
    #[doc(hidden)]
    pub const fn default_value(&self) -> Option<fn() -> V> {
        self.default
    }

    /// The names that the field is read from.
    #[doc(hidden)]
    pub const fn names(&self) -> &[&'static str] {
        match self.read_names {
            Some(names) => names,
            None => std::slice::from_ref(&self.name),
        }
    }
}

/// Reads nothing: the field was made by hand, without a function that reads it.
pub(super) fn unknown<V>(_: RawBson) -> Result<V, DriverError> {
    Err(DriverError::custom(
        "it is not known how this field is read\nhelp: call `read_by` on it in `FIELDS`",
    ))
}
