//! The items of a parent as a read gives them: whole, or a part of each.

use std::marker::PhantomData;

use bucket_core::{
    protocol::command::each_one,
    value::{
        bytes,
        unreadable::{Unreadable, read_value},
    },
};
use mongodb::{
    bson::{Document, RawDocument},
    error::Error as DriverError,
};
use serde::de::DeserializeOwned;

use super::{
    parent::ParentForm,
    unreadable::{SiftedParent, array},
};
use crate::{
    Part,
    outlier::Outlier,
    read::{
        part::{StoredPart, Whole},
        stored_bucket::sift_each,
    },
};

/// The form in which a read gives the items of a parent: whole, or as parts.
pub trait ParentItemForm: ParentForm {
    /// The type that a stored item is deserialized into.
    type StoredItem: DeserializeOwned + Send + 'static;

    /// The item that the read gives.
    type Item: Send + 'static;

    /// The stored names of the fields to read, if not all.
    fn names() -> Option<Vec<&'static str>>;

    /// The items that the parent itself holds.
    fn own_items(document: Self::Document) -> Vec<Self::Item>;

    /// Unwraps what is read.
    fn item(stored: Self::StoredItem) -> Self::Item;
}

impl<T: Outlier> ParentItemForm for Whole<T> {
    type StoredItem = T::Item;
    type Item = T::Item;

    fn names() -> Option<Vec<&'static str>> {
        None
    }

    fn own_items(mut document: T) -> Vec<T::Item> {
        std::mem::take(document.items_mut())
    }

    fn item(stored: T::Item) -> T::Item {
        stored
    }
}

/// The form of a read that gives parts of a parent's items.
#[derive(Debug)]
pub struct PartsOfItems<T, P>(PhantomData<fn() -> (T, P)>);

impl<T: Outlier, P: Part> ParentForm for PartsOfItems<T, P> {
    type Of = T;
    type Document = Vec<P>;

    fn projection() -> Option<Document> {
        let names = Self::names()?.into_iter();
        let paths = names.map(|name| format!("{}.{name}", T::SPEC.items));
        let paths = Vec::from_iter(paths.chain([T::SPEC.flag.to_owned()]));
        Some(each_one(paths.iter().map(String::as_str)))
    }

    fn read(row: &RawDocument) -> Result<Vec<P>, DriverError> {
        let (parts, unreadable) = sift_parts::<T, P>(row);
        match unreadable.first() {
            None => parts,
            Some(Unreadable { place, error }) => {
                let (items, reason) = (T::SPEC.items, bytes::reason(error));
                Err(DriverError::custom(format!("{items}.{place}: {reason}")))
            }
        }
    }

    fn sift(row: &RawDocument) -> Option<SiftedParent<Vec<P>>> {
        Some(sift_parts::<T, P>(row))
    }
}

impl<T: Outlier, P: Part> ParentItemForm for PartsOfItems<T, P> {
    type StoredItem = StoredPart<P>;
    type Item = P;

    fn names() -> Option<Vec<&'static str>> {
        // Without a name no item would be sent.
        Some(P::NAMES.concat()).filter(|names| !names.is_empty())
    }

    fn own_items(document: Vec<P>) -> Vec<P> {
        document
    }

    fn item(stored: StoredPart<P>) -> P {
        stored.0
    }
}

/// Reads the items of a parent that can be read as parts, and lists the others.
fn sift_parts<T: Outlier, P: Part>(row: &RawDocument) -> SiftedParent<Vec<P>> {
    let name = T::SPEC.items;
    let items = match row.get(name) {
        Ok(None) => Some(Vec::new()),
        _ => array(row, name),
    };
    let Some(items) = items else {
        let error = DriverError::custom(format!("`{name}` is not an array"));
        return (Err(error), Vec::new());
    };
    let attempts = items.into_iter().map(read_value::<StoredPart<P>>);
    let (parts, unreadable) = sift_each(attempts.map(|part| Ok(part?.0)));
    (Ok(parts), unreadable)
}
