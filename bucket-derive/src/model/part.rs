//! A struct that derives `BucketPart`, `OutlierPart` or `ItemPart`.

use syn::{DeriveInput, TypePath};

use super::{Field, fields};
use crate::{
    errors::Errors,
    parse::{
        attr::{BUCKET_PART, Derive, ITEM_PART, OUTLIER_PART, PartAttr},
        serde_attr,
    },
};

/// What the whole struct is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whole {
    Bucket,
    /// A parent.
    Outlier,
    /// An item of a parent.
    Item,
}

impl Whole {
    pub(crate) fn derive(self) -> &'static Derive {
        match self {
            Self::Bucket => &BUCKET_PART,
            Self::Outlier => &OUTLIER_PART,
            Self::Item => &ITEM_PART,
        }
    }
}

/// A struct that derives one of these, with its syntax nodes for their spans.
pub(crate) struct PartModel<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) whole: Whole,
    pub(crate) attr: PartAttr,
    pub(crate) serde: serde_attr::Container,
    /// Empty unless the input is a struct with named fields.
    pub(crate) fields: Vec<Field<'a, ()>>,
}

impl<'a> PartModel<'a> {
    pub(crate) fn read(input: &'a DeriveInput, whole: Whole, errors: &mut Errors) -> Self {
        let attr = PartAttr::parse(input, errors);
        let serde = serde_attr::Container::read(&input.attrs);
        let fields = fields(input, whole.derive(), &serde, errors, |_, _| ());
        Self {
            input,
            whole,
            attr,
            serde,
            fields,
        }
    }

    /// The struct that it is a part of.
    pub(crate) fn of(&self) -> Option<&TypePath> {
        Some(&self.attr.of.as_ref()?.value)
    }
}
