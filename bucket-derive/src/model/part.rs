//! A struct that derives `BucketPart` or `OutlierPart`.

use syn::{DeriveInput, Path};

use super::{Field, fields};
use crate::{
    errors::Errors,
    parse::{
        attr::{Derive, PartAttr},
        serde_attr,
    },
};

/// A struct that derives `BucketPart` or `OutlierPart`, with its syntax nodes for their spans.
pub(crate) struct Model<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) derive: &'static Derive,
    pub(crate) attr: PartAttr,
    pub(crate) serde: serde_attr::Container,
    /// Empty unless the input is a struct with named fields.
    pub(crate) fields: Vec<Field<'a, ()>>,
}

impl<'a> Model<'a> {
    pub(crate) fn read(
        input: &'a DeriveInput,
        derive: &'static Derive,
        errors: &mut Errors,
    ) -> Self {
        let attr = PartAttr::parse(input, errors);
        let serde = serde_attr::Container::read(&input.attrs);
        let fields = fields(input, derive, &serde, errors, |_, _| ());
        Self {
            input,
            derive,
            attr,
            serde,
            fields,
        }
    }

    /// The struct that it is a part of.
    pub(crate) fn of(&self) -> Option<&Path> {
        Some(&self.attr.of.as_ref()?.value)
    }
}
