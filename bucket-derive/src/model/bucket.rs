//! A struct that derives `Bucket`.

use syn::{DeriveInput, LitStr};

use super::{Field, named, of_struct};
use crate::{
    errors::Errors,
    parse::{
        attr::{BUCKET, BucketAttr, Spanned},
        id_format::{IdFormat, Ordinal, Suffix, SyntaxError},
        serde_attr,
    },
};

/// A struct that derives `Bucket`, with its syntax nodes for their spans.
pub(crate) struct BucketModel<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) attr: BucketAttr,
    pub(crate) serde: serde_attr::Container,
    pub(crate) format: IdFormat,
    /// The parts of the id format that could not be read.
    pub(crate) format_errors: Vec<SyntaxError>,
    /// Empty unless the input is a struct with named fields.
    pub(crate) fields: Vec<Field<'a, Role>>,
}

/// The part of a field in its bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Stands once, at the top of the document.
    Key,
    /// Stands in the elements, and gives the ordinal.
    Time,
    /// Stands in the elements.
    Element,
}

impl<'a> BucketModel<'a> {
    pub(crate) fn read(input: &'a DeriveInput, errors: &mut Errors) -> Self {
        let attr = BucketAttr::parse(input, errors);
        let serde = serde_attr::Container::read(&input.attrs);
        let id = attr.id.as_ref().map(|id| id.value.value());
        let (format, format_errors) = IdFormat::parse(&id.unwrap_or_default());
        let fields = named(of_struct(input), &BUCKET, &serde, errors, |name, _| {
            Role::of(name, &format)
        });
        Self {
            input,
            attr,
            serde,
            format,
            format_errors,
            fields,
        }
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Field<'a, Role>> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The key fields, in the order in which the id format names them.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Field<'a, Role>> {
        self.format.keys().filter_map(|name| self.field(name))
    }

    /// The fields that elements hold, in the struct's order.
    pub(crate) fn elements(&self) -> impl Iterator<Item = &Field<'a, Role>> {
        self.fields.iter().filter(|field| field.part != Role::Key)
    }

    /// The field that gives the ordinal, unless buckets are numbered.
    pub(crate) fn time(&self) -> Option<&Field<'a, Role>> {
        self.fields.iter().find(|field| field.part == Role::Time)
    }

    /// The fields marked with `sum`, `min` or `max`.
    pub(crate) fn marked(&self) -> impl Iterator<Item = &Field<'a, Role>> {
        let fields = self.fields.iter();
        fields.filter(|field| field.attr.rollups().next().is_some())
    }

    /// The marked fields that a bucket can have a rollup of: those that elements store.
    pub(crate) fn rollups(&self) -> impl Iterator<Item = &Field<'a, Role>> {
        self.marked()
            .filter(|field| field.part != Role::Key && field.serde.write.is_some())
    }

    /// The `unique` field, which identifies an item within its key, if there is one.
    pub(crate) fn unique(&self) -> Option<&Field<'a, Role>> {
        let mut fields = self.fields.iter();
        fields.find(|field| field.attr.word("unique").is_some())
    }

    /// The name of the rollup field, if a field of the struct is marked.
    pub(crate) fn rollup_name(&self) -> Option<String> {
        self.marked().next()?;
        Some(name_or(&self.attr.rollup, "rollup"))
    }

    /// The name of the array of elements.
    pub(crate) fn items_name(&self) -> String {
        name_or(&self.attr.items, "items")
    }

    /// The name of the field that holds the array's length.
    pub(crate) fn count_name(&self) -> String {
        name_or(&self.attr.count, "count")
    }

    /// The name of the field that holds the window's start, if buckets have one.
    pub(crate) fn window_name(&self) -> Option<String> {
        let Some(Ordinal::Time {
            suffix: Some(Suffix::Window(_)),
            ..
        }) = self.format.ordinal()
        else {
            return None;
        };
        Some(name_or(&self.attr.window, "window"))
    }
}

/// The name that the struct's attribute gives, or its default.
fn name_or(given: &Option<Spanned<LitStr>>, default: &str) -> String {
    let given = given.as_ref().map(|given| given.value.value());
    given.unwrap_or_else(|| default.to_owned())
}

impl Field<'_, Role> {
    /// Whether the field is the time, stored as a BSON date: no function of the user's stores it.
    pub(crate) fn is_date(&self) -> bool {
        self.part == Role::Time && !self.has_own_format()
    }
}

impl Role {
    fn of(name: &str, format: &IdFormat) -> Self {
        if format.keys().any(|key| key == name) {
            Self::Key
        } else if matches!(format.ordinal(), Some(Ordinal::Time { field, .. }) if field == name) {
            Self::Time
        } else {
            Self::Element
        }
    }
}
