//! A struct that derives `Bucket`.

use syn::DeriveInput;

use super::{Field, fields};
use crate::{
    attr::{BUCKET, BucketAttr},
    errors::Errors,
    id_format::{IdFormat, Ordinal, SyntaxError},
    serde_attr,
};

/// A struct that derives `Bucket`. Keeps the nodes that it was read from, for their spans.
pub(crate) struct Model<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) attr: BucketAttr,
    pub(crate) serde: serde_attr::Container,
    pub(crate) format: IdFormat,
    /// What of the id format could not be read.
    pub(crate) format_errors: Vec<SyntaxError>,
    /// Empty unless the input is a struct with named fields.
    pub(crate) fields: Vec<Field<'a, Role>>,
}

/// What a field is for its bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Stands once, at the top of the document.
    Key,
    /// Stands in the elements, and the ordinal is taken from it.
    Time,
    /// Stands in the elements.
    Element,
}

impl<'a> Model<'a> {
    pub(crate) fn read(input: &'a DeriveInput, errors: &mut Errors) -> Self {
        let attr = BucketAttr::parse(input, errors);
        let serde = serde_attr::Container::read(&input.attrs);
        let text = attr
            .id
            .as_ref()
            .map(|id| id.value.value())
            .unwrap_or_default();
        let (format, format_errors) = IdFormat::parse(&text);
        let fields = fields(input, &BUCKET, &serde, errors, |name, _| {
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

    /// The field that the ordinal is taken from, unless buckets are numbered.
    pub(crate) fn time(&self) -> Option<&Field<'a, Role>> {
        self.fields.iter().find(|field| field.part == Role::Time)
    }

    /// The name of the array of elements.
    pub(crate) fn items_name(&self) -> String {
        self.attr
            .items
            .as_ref()
            .map_or_else(|| "items".to_owned(), |items| items.value.value())
    }

    /// The name of the field that holds the array's length.
    pub(crate) fn count_name(&self) -> String {
        self.attr
            .count
            .as_ref()
            .map_or_else(|| "count".to_owned(), |count| count.value.value())
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

impl Field<'_, Role> {
    /// Whether serde is told how to write or read the value.
    pub(crate) fn has_own_format(&self) -> bool {
        ["with", "serialize_with", "deserialize_with"]
            .iter()
            .any(|key| self.serde.has(key))
    }
}
