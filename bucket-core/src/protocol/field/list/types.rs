//! The types that serde stores as arrays.

use std::{
    array,
    collections::{BTreeSet, HashSet, LinkedList, VecDeque},
    hash::{BuildHasher, Hash},
};

use crate::protocol::field::{Fields, FieldsInside, Path};

/// The type of a field that is stored as an array: [`Vec`], a slice in a [`Box`], an array,
/// [`VecDeque`], [`LinkedList`], [`HashSet`], [`BTreeSet`], or an [`Option`] of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is stored as one value, which contains no others",
    label = "this condition is for arrays",
    note = "help: use `eq` or `is_in`; of a struct, name the field inside: `FIELDS.venue.city`"
)]
pub trait List {
    /// The type of its items.
    type Item;
}

/// A list that can be made of one item, to see how that is stored.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is stored as one value, which contains no others",
    label = "this condition is for arrays",
    note = "help: use `eq` or `is_in`; of a struct, name the field inside: `FIELDS.venue.city`"
)]
pub trait OneItem {
    /// The type of its items.
    type Item;

    /// A list of this item alone, or of nothing else.
    fn of(item: Self::Item) -> Self;
}

impl<V, const N: usize> List for [V; N] {
    type Item = V;
}

impl<V: Clone, const N: usize> OneItem for [V; N] {
    type Item = V;

    fn of(item: V) -> Self {
        array::from_fn(|_| item.clone())
    }
}

impl<V: Fields, const N: usize> FieldsInside for [V; N] {
    type At<T: 'static, P: Path> = V::At<T, P>;
}

impl<V: Fields> FieldsInside for [V] {
    type At<T: 'static, P: Path> = V::At<T, P>;
}

impl<V> List for Box<[V]> {
    type Item = V;
}

impl<V> OneItem for Box<[V]> {
    type Item = V;

    fn of(item: V) -> Self {
        [item].into()
    }
}

impl<L: List> List for Option<L> {
    type Item = L::Item;
}

impl<L: OneItem> OneItem for Option<L> {
    type Item = L::Item;

    fn of(item: L::Item) -> Self {
        Some(L::of(item))
    }
}

macro_rules! lists {
    ($($list:ident<V $(, $hasher:ident)?> $([$($bound:tt)+])?;)+) => {$(
        impl<V $(, $hasher)?> List for $list<V $(, $hasher)?> {
            type Item = V;
        }

        impl<V $(, $hasher)?> OneItem for $list<V $(, $hasher)?> $(where $($bound)+)? {
            type Item = V;

            fn of(item: V) -> Self {
                [item].into_iter().collect()
            }
        }

        impl<V: Fields $(, $hasher: 'static)?> FieldsInside for $list<V $(, $hasher)?> {
            type At<T: 'static, P: Path> = V::At<T, P>;
        }
    )+};
}

lists! {
    Vec<V>;
    VecDeque<V>;
    LinkedList<V>;
    BTreeSet<V> [V: Ord];
    HashSet<V, S> [V: Eq + Hash, S: BuildHasher + Default];
}
