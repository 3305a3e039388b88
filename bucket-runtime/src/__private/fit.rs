//! Whether the types of fields are fit. Where one is not, the compiler says so at a constant that asks,
//! and takes for right whatever is made of its type.

use super::{FlagField, ItemsField, OptionalField, OptionalParts, StoredField, UniqueField};
use crate::{KeyField, LenField, RollupField, SumField, TimeField};

/// `T`, if the constant has a value.
pub type Fit<T, const FIT: bool> = <Judged<FIT> as Of<T>>::Type;

/// The verdict on a type.
#[derive(Debug)]
pub struct Judged<const FIT: bool>;

/// The type that was judged.
pub trait Of<T> {
    /// `T`
    type Type;
}

impl<T> Of<T> for Judged<true> {
    type Type = T;
}

// No macro writes these: its name would be in the messages.

/// Asks for [`KeyField`].
pub const fn key_field<T: KeyField>() -> bool {
    true
}

/// Asks for [`TimeField`].
pub const fn time_field<T: TimeField>() -> bool {
    true
}

/// Asks for [`StoredField`].
pub const fn stored_field<T: StoredField>() -> bool {
    true
}

/// Asks for [`SumField`].
pub const fn sum_field<T: SumField>() -> bool {
    true
}

/// Asks for [`RollupField`].
pub const fn rollup_field<T: RollupField>() -> bool {
    true
}

/// Asks for [`UniqueField`].
pub const fn unique_field<T: UniqueField>() -> bool {
    true
}

/// Asks for [`LenField`].
pub const fn len_field<T: LenField>() -> bool {
    true
}

/// Asks for [`OptionalField`].
pub const fn optional_field<T: OptionalField>() -> bool {
    true
}

/// Asks for [`OptionalParts`].
pub const fn optional_parts<T: OptionalParts>() -> bool {
    true
}

/// Asks for [`ItemsField`].
pub const fn items_field<T: ItemsField>() -> bool {
    true
}

/// Asks for [`FlagField`].
pub const fn flag_field<T: FlagField>() -> bool {
    true
}

/// Asks for items that are [`LenField`]s.
pub const fn item_len_field<T: ItemsField>() -> bool
where
    T::Item: LenField,
{
    true
}
