//! The conditions that parents can be searched by.

use bucket_core::protocol::filter::Filter;
use mongodb::bson::Document;

/// A condition on parents: a [`Filter`] of typed fields, or a filter document of the driver.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a condition on `{T}`",
    label = "a `Filter<{T}>` or a `Document` belongs here",
    note = "help: write it with the fields of the struct: `{T}::FIELDS`"
)]
pub trait ParentFilter<T> {
    /// The condition as the driver takes it.
    fn into_document(self) -> Document;
}

impl<T> ParentFilter<T> for Document {
    fn into_document(self) -> Document {
        self
    }
}

impl<T> ParentFilter<T> for Filter<T> {
    fn into_document(self) -> Document {
        self.into()
    }
}
