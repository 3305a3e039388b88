//! Reads size constants from the traits of any type. An inherent constant takes precedence over a
//! trait's, so a type without such a trait gives `None`. The names are unlikely in a user's blanket
//! trait: between two traits there is no precedence.

use std::marker::PhantomData;

use bucket_core::schema::{
    key::KeyField,
    size::{BsonSize, LenField},
};

use super::ItemsField;

/// `MaybeSize::<T>::__SIZE`, with [`NoSize`] in scope.
#[derive(Debug)]
pub struct MaybeSize<T: ?Sized>(PhantomData<T>);

impl<T: BsonSize + ?Sized> MaybeSize<T> {
    /// [`BsonSize::MAX`]
    pub const __SIZE: Option<u64> = Some(T::MAX);
}

impl<T: KeyField> MaybeSize<T> {
    /// [`KeyField::MAX_TEXT`]
    pub const __TEXT: Option<u32> = T::MAX_TEXT;
}

impl<T: LenField> MaybeSize<T> {
    /// [`LenField::FIXED`] and [`LenField::PER_BYTE`]
    pub const __LEN: Option<[u64; 2]> = Some([T::FIXED, T::PER_BYTE]);
}

impl<A: ItemsField> MaybeSize<A>
where
    A::Item: BsonSize,
{
    /// [`BsonSize::MAX`] of an item
    pub const __ITEM_SIZE: Option<u64> = Some(<A::Item as BsonSize>::MAX);
}

impl<A: ItemsField> MaybeSize<A>
where
    A::Item: LenField,
{
    /// [`LenField::FIXED`] and [`LenField::PER_BYTE`] of an item
    pub const __ITEM_LEN: Option<[u64; 2]> = Some([A::Item::FIXED, A::Item::PER_BYTE]);
}

/// The answer for a type with unknown sizes.
pub trait NoSize {
    /// Always `None`.
    const __SIZE: Option<u64> = None;
    /// Always `None`.
    const __TEXT: Option<u32> = None;
    /// Always `None`.
    const __LEN: Option<[u64; 2]> = None;
    /// Always `None`.
    const __ITEM_SIZE: Option<u64> = None;
    /// Always `None`.
    const __ITEM_LEN: Option<[u64; 2]> = None;
}

impl<T: ?Sized> NoSize for MaybeSize<T> {}

/// The maximum size in bytes of a value whose length is bounded.
pub const fn len_size(of: Option<[u64; 2]>, max: u32) -> Option<u64> {
    match of {
        Some([fixed, per_byte]) => Some(fixed + per_byte * max as u64),
        None => None,
    }
}
