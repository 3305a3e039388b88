//! `sum`, `min` and `max` on a field.

use proc_macro2::Ident;

use super::FieldAttr;

/// The words on a field that ask for rollups.
pub(crate) struct RollupAttr<'a> {
    pub(crate) sum: Option<&'a Ident>,
    pub(crate) min: Option<&'a Ident>,
    pub(crate) max: Option<&'a Ident>,
}

impl<'a> RollupAttr<'a> {
    pub(crate) fn of(field: &'a FieldAttr) -> Self {
        Self {
            sum: field.word("sum"),
            min: field.word("min"),
            max: field.word("max"),
        }
    }

    /// The first word.
    pub(crate) fn first(&self) -> Option<&'a Ident> {
        [self.sum, self.min, self.max].into_iter().flatten().next()
    }
}
