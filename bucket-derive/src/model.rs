//! The struct as the derive sees it: its attributes read, and each field's part in a bucket told.

use proc_macro2::Ident;
use syn::{Data, DeriveInput, Fields, ext::IdentExt};

use crate::{
    attr::BucketAttr,
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
    pub(crate) fields: Vec<Field<'a>>,
}

pub(crate) struct Field<'a> {
    pub(crate) node: &'a syn::Field,
    pub(crate) ident: &'a Ident,
    /// The identifier without `r#`.
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) serde: serde_attr::Field,
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
        let fields = named_fields(input)
            .filter_map(|node| Field::read(node, &serde, &format))
            .collect();
        Self {
            input,
            attr,
            serde,
            format,
            format_errors,
            fields,
        }
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Field<'a>> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The key fields, in the order in which the id format names them.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Field<'a>> {
        self.format.keys().filter_map(|name| self.field(name))
    }

    /// The fields that elements hold, in the struct's order.
    pub(crate) fn elements(&self) -> impl Iterator<Item = &Field<'a>> {
        self.fields.iter().filter(|field| field.role != Role::Key)
    }

    /// The field that the ordinal is taken from, unless buckets are numbered.
    pub(crate) fn time(&self) -> Option<&Field<'a>> {
        self.fields.iter().find(|field| field.role == Role::Time)
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

impl<'a> Field<'a> {
    fn read(
        node: &'a syn::Field,
        serde: &serde_attr::Container,
        format: &IdFormat,
    ) -> Option<Self> {
        let ident = node.ident.as_ref()?;
        let name = ident.unraw().to_string();
        let role = if format.keys().any(|key| key == name) {
            Role::Key
        } else if matches!(format.ordinal(), Some(Ordinal::Time { field, .. }) if field == name) {
            Role::Time
        } else {
            Role::Element
        };
        Some(Self {
            serde: serde_attr::Field::read(&node.attrs, &name, serde),
            node,
            ident,
            name,
            role,
        })
    }

    /// Whether serde is told how to write or read the value.
    pub(crate) fn has_own_format(&self) -> bool {
        ["with", "serialize_with", "deserialize_with"]
            .iter()
            .any(|key| self.serde.has(key))
    }
}

fn named_fields(input: &DeriveInput) -> impl Iterator<Item = &syn::Field> {
    let fields = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => Some(&fields.named),
            _ => None,
        },
        _ => None,
    };
    fields.into_iter().flatten()
}
