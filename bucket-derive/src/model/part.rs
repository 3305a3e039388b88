//! A struct that derives `Part`.

use syn::{DeriveInput, TypePath};

use super::{Field, named, of_struct};
use crate::{
    errors::Errors,
    parse::{
        attr::{PART, PartAttr},
        serde_attr,
    },
};

/// A struct that derives `Part`, with its syntax nodes for their spans.
pub(crate) struct PartModel<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) attr: PartAttr,
    pub(crate) serde: serde_attr::Container,
    /// Empty unless the input is a struct with named fields.
    pub(crate) fields: Vec<Field<'a, ()>>,
}

impl<'a> PartModel<'a> {
    pub(crate) fn read(input: &'a DeriveInput, errors: &mut Errors) -> Self {
        let attr = PartAttr::parse(input, errors);
        let serde = serde_attr::Container::read(&input.attrs);
        let fields = named(of_struct(input), &PART, &serde, errors, |_, _| ());
        Self {
            input,
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
