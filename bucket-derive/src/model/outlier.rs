//! A struct that derives `Outlier`.

use syn::DeriveInput;

use super::{Field, named, of_struct};
use crate::{
    errors::Errors,
    parse::{
        attr::{OUTLIER, OutlierAttr},
        serde_attr,
    },
};

/// A struct that derives `Outlier`, with its syntax nodes for their spans.
pub(crate) struct OutlierModel<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) attr: OutlierAttr,
    pub(crate) serde: serde_attr::Container,
    /// Empty unless the input is a struct with named fields.
    pub(crate) fields: Vec<Field<'a, Marks>>,
}

/// The part of a field in its parent, as far as its attribute does not say it.
pub(crate) struct Marks {
    /// Whether the field is stored as `_id`.
    pub(crate) is_id: bool,
}

impl<'a> OutlierModel<'a> {
    pub(crate) fn read(input: &'a DeriveInput, errors: &mut Errors) -> Self {
        let attr = OutlierAttr::parse(input, errors);
        let serde = serde_attr::Container::read(&input.attrs);
        let fields = named(of_struct(input), &OUTLIER, &serde, errors, |_, serde| {
            Marks {
                is_id: serde.is_named("_id"),
            }
        });
        Self {
            input,
            attr,
            serde,
            fields,
        }
    }

    /// The field that is stored as `_id`.
    pub(crate) fn id(&self) -> Option<&Field<'a, Marks>> {
        self.fields.iter().find(|field| field.part.is_id)
    }

    /// The array that may grow.
    pub(crate) fn items(&self) -> Option<&Field<'a, Marks>> {
        self.marked("items")
    }

    /// The field that carries the flag, if the struct has one.
    pub(crate) fn flag(&self) -> Option<&Field<'a, Marks>> {
        self.marked("flag")
    }

    /// The field that keeps the number of all items, if the struct has one.
    pub(crate) fn total(&self) -> Option<&Field<'a, Marks>> {
        self.marked("total")
    }

    fn marked(&self, word: &str) -> Option<&Field<'a, Marks>> {
        let mut fields = self.fields.iter();
        fields.find(|field| field.attr.word(word).is_some())
    }

    /// The fields that the runtime itself writes, each with its word.
    pub(crate) fn written(&self) -> impl Iterator<Item = (&Field<'a, Marks>, &'static str)> {
        let written = [
            (self.items(), "items"),
            (self.flag(), "flag"),
            (self.total(), "total"),
        ];
        let present = |(field, word): (Option<_>, _)| Some((field?, word));
        written.into_iter().filter_map(present)
    }

    /// The name of the array in the parent, if there is one.
    pub(crate) fn items_name(&self) -> Option<&str> {
        self.items()?.serde.write.as_deref()
    }

    /// The name of the array in an extras document.
    pub(crate) fn extra_items_name(&self) -> Option<String> {
        match &self.attr.extra_items {
            Some(name) => Some(name.value.value()),
            None => Some(format!("{}_extra", self.items_name()?)),
        }
    }

    /// The name of the extras' collection.
    pub(crate) fn extras_name(&self) -> Option<String> {
        match &self.attr.extras {
            Some(name) => Some(name.value.value()),
            None => Some(format!(
                "extra_{}",
                self.attr.collection.as_ref()?.value.value()
            )),
        }
    }

    /// The name of the flag, unless it is the default one.
    pub(crate) fn own_flag_name(&self) -> Option<String> {
        match self.flag() {
            Some(field) => field.serde.write.clone(),
            None => Some(self.attr.flag.as_ref()?.value.value()),
        }
    }
}
