//! Whether the types of fields are fit. If one is not, the compiler reports it once, at a constant,
//! and accepts everything that is made of its type.

use super::{
    FlagField, ItemsField, OptionalField, OptionalParts, StoredField, TotalField, UniqueField,
};
use crate::{KeyField, LenField, RollupField, SumField, TimeField, field::StructFields};

/// `T`, if the check of its type compiles.
pub type Fit<T, const FIT: bool> = <Judged<FIT> as Of<T>>::Type;

/// The result of a check.
#[derive(Debug)]
pub struct Judged<const FIT: bool>;

/// Gives back the type that was checked.
pub trait Of<T> {
    /// `T`
    type Type;
}

impl<T> Of<T> for Judged<true> {
    type Type = T;
}

// Not written by a macro, since the macro's name would be in the messages.

/// Requires [`StructFields`].
pub const fn whole<T: StructFields>() -> bool {
    true
}

/// Requires [`KeyField`].
pub const fn key_field<T: KeyField>() -> bool {
    true
}

/// Requires [`TimeField`].
pub const fn time_field<T: TimeField>() -> bool {
    true
}

/// Requires [`StoredField`].
pub const fn stored_field<T: StoredField>() -> bool {
    true
}

/// Requires [`SumField`].
pub const fn sum_field<T: SumField>() -> bool {
    true
}

/// Requires [`RollupField`].
pub const fn rollup_field<T: RollupField>() -> bool {
    true
}

/// Requires [`UniqueField`].
pub const fn unique_field<T: UniqueField>() -> bool {
    true
}

/// Requires [`LenField`].
pub const fn len_field<T: LenField>() -> bool {
    true
}

/// Requires [`OptionalField`].
pub const fn optional_field<T: OptionalField>() -> bool {
    true
}

/// Requires [`OptionalParts`].
pub const fn optional_parts<T: OptionalParts>() -> bool {
    true
}

/// Requires [`ItemsField`].
pub const fn items_field<T: ItemsField>() -> bool {
    true
}

/// Requires [`FlagField`].
pub const fn flag_field<T: FlagField>() -> bool {
    true
}

/// Requires [`TotalField`].
pub const fn total_field<T: TotalField>() -> bool {
    true
}

/// Requires items that are [`UniqueField`]s.
pub const fn item_unique_field<T: ItemsField>() -> bool
where
    T::Item: UniqueField,
{
    true
}

/// Requires items that are [`LenField`]s.
pub const fn item_len_field<T: ItemsField>() -> bool
where
    T::Item: LenField,
{
    true
}
