//! A struct that derives `BucketPart` or `OutlierPart`.

use syn::{DeriveInput, TypePath};

use super::{Field, fields};
use crate::{
    errors::Errors,
    parse::{
        attr::{BUCKET_PART, Derive, OUTLIER_PART, PartAttr},
        serde_attr,
    },
};

/// How the whole struct is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    Bucket,
    Outlier,
}

impl Pattern {
    pub(crate) fn derive(self) -> &'static Derive {
        match self {
            Self::Bucket => &BUCKET_PART,
            Self::Outlier => &OUTLIER_PART,
        }
    }
}

/// A struct that derives `BucketPart` or `OutlierPart`, with its syntax nodes for their spans.
pub(crate) struct PartModel<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) pattern: Pattern,
    pub(crate) attr: PartAttr,
    pub(crate) serde: serde_attr::Container,
    /// Empty unless the input is a struct with named fields.
    pub(crate) fields: Vec<Field<'a, ()>>,
}

impl<'a> PartModel<'a> {
    pub(crate) fn read(input: &'a DeriveInput, pattern: Pattern, errors: &mut Errors) -> Self {
        let attr = PartAttr::parse(input, errors);
        let serde = serde_attr::Container::read(&input.attrs);
        let fields = fields(input, pattern.derive(), &serde, errors, |_, _| ());
        Self {
            input,
            pattern,
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
