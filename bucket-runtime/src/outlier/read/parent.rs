//! Parents as a read gives them: whole, or a part of each.

use bucket_core::{
    protocol::{command::each_one, range::Range},
    server::read::cursor::DocumentCursor,
    value::{
        bytes,
        unreadable::{OnUnreadable, report},
    },
};
use mongodb::{
    bson::{Document, RawDocument},
    error::Error as DriverError,
};

use super::unreadable::{SiftedParent, sift};
use crate::{
    Part, Result,
    outlier::{Outlier, parent_handle::ParentHandle},
    read::{
        part::{self, PartOf, Whole},
        settings::{DocumentSettings, ReadSettings},
    },
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
pub trait ParentForm: 'static {
    /// The struct of the parents.
    type Of: Outlier;

    /// The parent in this form.
    type Document: Send + 'static;

    /// The fields of a parent to read, if not all.
    fn projection() -> Option<Document> {
        None
    }

    /// Reads a parent.
    fn read(row: &RawDocument) -> Result<Self::Document, DriverError>;

    /// Reads a parent without its unreadable items, and lists these; `None` if this form has no
    /// items.
    fn sift(row: &RawDocument) -> Option<SiftedParent<Self::Document>> {
        let _ = row;
        None
    }
}

impl<T: Outlier> ParentForm for Whole<T> {
    type Of = T;
    type Document = T;

    fn read(row: &RawDocument) -> Result<T, DriverError> {
        bytes::read(row.as_bytes())
    }

    fn sift(row: &RawDocument) -> Option<SiftedParent<T>> {
        Some(sift(row))
    }
}

impl<P: Part<Of: Outlier>> ParentForm for PartOf<P> {
    type Of = P::Of;
    type Document = P;

    fn projection() -> Option<Document> {
        let names = P::NAMES.concat().into_iter().chain([P::Of::SPEC.flag]);
        Some(each_one(names))
    }

    fn read(row: &RawDocument) -> Result<P, DriverError> {
        part::read(row.as_bytes(), None)
    }
}

impl ParentHandle {
    /// Reads of the parent and its extras, as the settings say.
    pub(super) fn read_with<M>(mut self, settings: &ReadSettings<'_, M>) -> Self {
        settings.apply_to(&mut self.collections.parents);
        settings.apply_to(&mut self.collections.extras.server);
        self
    }

    /// Reads the parent itself.
    pub(super) async fn get<F: ParentForm>(
        &self,
        settings: &mut DocumentSettings<'_>,
    ) -> Result<Option<Parent<F::Document>>> {
        let range = Range {
            projection: F::projection(),
            limit: Some(1),
            ..Range::unordered()
        };
        let found = self.parent().find(self.scope.parent(), range);
        let mut rows = found.cursor(settings.session.as_deref_mut()).await?;
        next_parent::<F>(&mut rows, settings.more.0.as_mut()).await
    }
}

/// Reads the next parent of a find, and whether it is flagged. Unreadable items are an error,
/// unless a callback takes them; other unreadable fields always are.
pub(super) async fn next_parent<F: ParentForm>(
    rows: &mut DocumentCursor<'_>,
    on_unreadable: Option<&mut OnUnreadable<'_>>,
) -> Result<Option<Parent<F::Document>>> {
    let Some((target, row)) = rows.next_raw().await? else {
        return Ok(None);
    };
    let fail = |error| target.borrow().unreadable_parent(row, error);
    let document = match F::read(row) {
        Ok(document) => document,
        Err(error) => {
            let sifted = on_unreadable.and_then(|callback| Some((callback, F::sift(row)?)));
            let Some((callback, (document, unreadable))) = sifted else {
                return Err(fail(error));
            };
            let document = document.map_err(fail)?;
            report(F::Of::SPEC.items, unreadable, callback, fail);
            document
        }
    };
    let has_extras = row.get_bool(F::Of::SPEC.flag).unwrap_or(false);
    Ok(Some(Parent {
        document,
        has_extras,
    }))
}
