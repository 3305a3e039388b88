//! Parents as a read gives them: whole, or a part of each.

use std::marker::PhantomData;

use mongodb::bson::{Document, RawDocument};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, MapAccess},
};

use super::unreadable::{SiftedParent, sift};
use crate::{
    Result,
    outlier::{Outlier, OutlierPart},
    protocol::command::each_one,
    read::part::{PartReader, ReadPart, read_part},
    schema::spec::KeyName,
    server::{
        cursor::{CursorError, DocumentCursor},
        target::Target,
    },
    value::unreadable::{OnUnreadable, report},
};

/// A parent as it is stored.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Parent<T> {
    /// The struct, with the items that the parent itself holds.
    pub document: T,
    /// Whether there may be more items, in extras.
    pub has_extras: bool,
}

/// The form in which a read gives parents: whole, or as a part.
pub(super) trait ParentForm: 'static {
    /// The struct of the parents.
    type Of: Outlier;

    /// The type that a stored parent is deserialized into.
    type Stored: DeserializeOwned + Send + 'static;

    type Document: Send + 'static;

    /// The fields of a parent to read, if not all.
    fn projection() -> Option<Document> {
        None
    }

    fn document(stored: Self::Stored) -> Self::Document;

    /// Reads a parent without its unreadable items, and lists these; `None` if this form has no items.
    fn sift(row: &RawDocument) -> Option<SiftedParent<Self::Document>> {
        let _ = row;
        None
    }
}

/// Whole parents.
pub(super) struct WholeParent<T>(PhantomData<T>);

impl<T: Outlier> ParentForm for WholeParent<T> {
    type Of = T;
    type Stored = T;
    type Document = T;

    fn document(stored: T) -> T {
        stored
    }

    fn sift(row: &RawDocument) -> Option<SiftedParent<T>> {
        Some(sift(row))
    }
}

/// Parts of parents.
pub(super) struct PartOfParent<P>(P);

impl<P: OutlierPart> ParentForm for PartOfParent<P> {
    type Of = P::Of;
    type Stored = Self;
    type Document = P;

    fn projection() -> Option<Document> {
        let names = P::NAMES.concat().into_iter().chain([P::Of::SPEC.flag]);
        Some(each_one(names))
    }

    fn document(stored: Self) -> P {
        stored.0
    }
}

impl<P: OutlierPart> ReadPart for PartOfParent<P> {
    const NAMES: &'static [&'static [&'static str]] = P::NAMES;
    const KEYS: &'static [KeyName] = &[];

    fn read<'de, A: MapAccess<'de>>(fields: &mut PartReader<A>) -> Result<Self, A::Error> {
        P::read(fields).map(Self)
    }
}

impl<'de, P: OutlierPart> Deserialize<'de> for PartOfParent<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_part(deserializer)
    }
}

/// Reads the next parent of a find, and whether it is flagged. Unreadable items are an error, unless a callback
/// takes them; other unreadable fields always are.
pub(super) async fn next_parent<F: ParentForm>(
    target: Target<'_>,
    rows: &mut DocumentCursor<'_, F::Stored>,
    on_unreadable: Option<&mut OnUnreadable<'_>>,
) -> Result<Option<Parent<F::Document>>> {
    let flag = |row: &RawDocument| row.get_bool(F::Of::SPEC.flag).unwrap_or(false);
    match rows.next_and(flag).await {
        Ok(found) => Ok(found.map(|(stored, has_extras)| Parent {
            document: F::document(stored),
            has_extras,
        })),
        Err(CursorError::Decode(row, error)) => {
            let fail = |error| target.unreadable_parent(&row, error);
            let sifted = on_unreadable.and_then(|callback| Some((callback, F::sift(&row)?)));
            let Some((callback, (document, unreadable))) = sifted else {
                return Err(fail(error));
            };
            let document = document.map_err(fail)?;
            report(F::Of::SPEC.items, unreadable, callback, fail);
            Ok(Some(Parent {
                document,
                has_extras: flag(&row),
            }))
        }
        Err(error) => Err(target.row_error(error)),
    }
}
