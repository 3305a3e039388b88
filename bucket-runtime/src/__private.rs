//! The names for generated code. Not part of the public interface: it changes without notice.

pub use std::vec::Vec;

pub use bucket_core::value::read_back::{Flattened, add_names};
use bucket_core::{
    protocol::field::Field,
    schema::{key::KeyField, size::TooLong},
};
pub use mongodb::bson::{Bson, DateTime};
pub use serde;
use serde::{Serialize, Serializer, de::DeserializeOwned};

pub use self::{
    date::Date,
    fit::Fit,
    maybe_size::{MaybeSize, NoSize, len_size},
    optional::{OptionalField, OptionalParts},
    own_date::{MaybeDate, NoDate, refuse_if},
    part::{MaybeRead, NotRead, ReadField, read_field},
    reader::{ElementReader, OrDefault, ReadElement, ReadError, ReadFields, filled},
    writer::ElementWriter,
};

mod date;
pub mod fit;
mod maybe_size;
mod optional;
mod own_date;
mod part;
mod reader;
mod writer;

macro_rules! limits {
    ($($name:ident $least:literal..=$greatest:literal)+) => {$(
        /// Checks the limit of this name, given as the path of a constant of any integer type.
        ///
        /// # Panics
        ///
        /// At compile time, if it is out of bounds.
        #[track_caller]
        pub const fn $name(value: i128) -> u32 {
            assert!(
                value >= $least && value <= $greatest,
                concat!(
                    stringify!($name), " must be between ", $least, " and ", $greatest
                )
            );
            value as u32
        }
    )+};
}

limits! {
    capacity 1..=1000000
    threshold 1..=1000000
    extras_capacity 1..=1000000
    max_bytes 1024..=15728640
    max_len 1..=15728640
}

/// The type of a parent's array: `Vec`, under any name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the items of a parent",
    label = "this type is not `Vec`",
    note = "help: use `Vec<…>` for the field marked `#[outlier(items)]`"
)]
pub trait ItemsField {
    /// The type of the items.
    type Item: Serialize + DeserializeOwned + Send + Sync + Unpin + 'static;

    /// The array.
    fn items_mut(&mut self) -> &mut Vec<Self::Item>;
}

impl<T: Serialize + DeserializeOwned + Send + Sync + Unpin + 'static> ItemsField for Vec<T> {
    type Item = T;

    fn items_mut(&mut self) -> &mut Self {
        self
    }
}

/// The result of a serializer.
pub type Serialized<S> = Result<<S as Serializer>::Ok, <S as Serializer>::Error>;

/// Stands for a field after a mistake, so that conditions on it cause no further messages.
pub const fn no_field<T, V, S, P>() -> Field<T, V, S, P> {
    Field::nothing()
}

/// The first of the items that is too long.
pub fn first_too_long<I>(items: &[I], check: fn(&I) -> Option<TooLong>) -> Option<TooLong> {
    items.iter().find_map(check)
}

/// A type that serde writes and reads. Both have one message: a type that lacks one usually lacks
/// the other.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored: serde has to write it, and to read it again",
    label = "this type, or one inside it, is not both `Serialize` and `Deserialize`",
    note = "help: put `#[derive(serde::Serialize, serde::Deserialize)]` on a type of yours, and look for the feature `serde` of another crate"
)]
pub trait StoredField {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> StoredField for T {}

/// A type whose values can identify an item within its key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be `unique`",
    label = "values of this type cannot identify items",
    note = "help: use an integer, `String`, `bool`, `ObjectId` or `Uuid`, or implement `bucket_runtime::KeyField` for a newtype of yours"
)]
pub trait UniqueField {}

#[diagnostic::do_not_recommend]
impl<T: KeyField> UniqueField for T {}

/// The stored name of a field that identifies items.
pub const fn unique_name<T, V: UniqueField, S, P>(field: &Field<T, V, S, P>) -> &'static str {
    field.index_name()
}

/// The type of a parent's flag: `bool`, under any name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the flag of a parent",
    label = "this type is not `bool`",
    note = "help: use `bool` for the field marked `#[outlier(flag)]`"
)]
pub trait FlagField {}

impl FlagField for bool {}

/// The type of a parent's total: `i64` or `u64`, under any name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the total of a parent",
    label = "this type is neither `u64` nor `i64`",
    note = "help: use `u64` for the field marked `#[outlier(total)]`"
)]
pub trait TotalField {}

impl TotalField for i64 {}
impl TotalField for u64 {}
