//! Stage 2: the struct with its attributes, and the part of each field.

pub(crate) mod bucket;
pub(crate) mod guess;
pub(crate) mod nested;
pub(crate) mod outlier;
pub(crate) mod part;

use proc_macro2::Ident;
use syn::{Data, DeriveInput, Fields, ext::IdentExt};

use crate::{
    errors::Errors,
    parse::{
        attr::{Derive, FieldAttr},
        list::Entry,
        serde_attr,
    },
};

/// A named field, and its part in the stored document.
pub(crate) struct Field<'a, Part> {
    pub(crate) node: &'a syn::Field,
    pub(crate) ident: &'a Ident,
    /// The identifier without `r#`.
    pub(crate) name: String,
    pub(crate) part: Part,
    pub(crate) attr: FieldAttr,
    pub(crate) serde: serde_attr::SerdeField,
}

/// The fields of a struct; none of an enum or a union.
fn of_struct(input: &DeriveInput) -> Option<&Fields> {
    match &input.data {
        Data::Struct(data) => Some(&data.fields),
        _ => None,
    }
}

/// The fields that have names. `part` derives a field's part from its name and its serde
/// attributes.
fn named<'a, Part>(
    fields: impl IntoIterator<Item = &'a Fields>,
    derive: &Derive,
    container: &serde_attr::Container,
    errors: &mut Errors,
    part: impl Fn(&str, &serde_attr::SerdeField) -> Part,
) -> Vec<Field<'a, Part>> {
    let nodes = fields.into_iter().flatten();
    let fields = nodes.filter_map(|node| {
        let ident = node.ident.as_ref()?;
        let name = ident.unraw().to_string();
        let serde = serde_attr::SerdeField::read(&node.attrs, &name, container);
        Some(Field {
            part: part(&name, &serde),
            attr: FieldAttr::parse(node, derive, errors),
            node,
            ident,
            name,
            serde,
        })
    });
    fields.collect()
}

impl<Part> Field<'_, Part> {
    /// Whether the user's own functions write or read the value.
    pub(crate) fn has_own_format(&self) -> bool {
        ["with", "serialize_with", "deserialize_with"]
            .iter()
            .any(|key| self.serde.has(key))
    }

    /// The attribute that leaves the value out, always or at times, if the value is read
    /// nevertheless and has no default.
    pub(crate) fn left_out(&self, container: &serde_attr::Container) -> Option<&Entry> {
        // A flattened field has no default, and a field that is not read needs none.
        let is_flat = self.serde.has("flatten");
        let has_default = self.has_default(container) && !is_flat;
        if has_default || (self.serde.read.is_empty() && !is_flat) {
            return None;
        }
        let entry = self.serde.find("skip_serializing");
        entry.or_else(|| self.serde.find("skip_serializing_if"))
    }

    /// Whether a missing value is read as a default.
    pub(crate) fn has_default(&self, container: &serde_attr::Container) -> bool {
        self.serde.has("default") || container.find("default").is_some()
    }

    /// The attribute that names the user's own function for reading the value.
    pub(crate) fn reader(&self) -> Option<&Entry> {
        let entry = self.serde.find("deserialize_with");
        entry.or_else(|| self.serde.find("with"))
    }

    /// Whether the value is never stored.
    pub(crate) fn is_left_out(&self) -> bool {
        self.serde.has("skip") || self.serde.has("skip_serializing")
    }
}
