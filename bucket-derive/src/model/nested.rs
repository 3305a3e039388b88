//! A struct or an enum that derives `Fields`.

use proc_macro2::{Ident, Span};
use quote::format_ident;
use syn::{Data, DeriveInput, Fields, Type, Variant as Node, ext::IdentExt};

use super::{Field, named};
use crate::{
    errors::Errors,
    parse::{
        attr::{FIELDS, FieldsAttr, check_no_attribute},
        ident::field_ident,
        rename, serde_attr,
    },
};

/// A struct or an enum, with its syntax nodes for their spans.
pub(crate) struct NestedModel<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) attr: FieldsAttr,
    pub(crate) serde: serde_attr::Container,
    pub(crate) kind: NestedKind<'a>,
}

pub(crate) enum NestedKind<'a> {
    /// Empty unless the struct's fields have names.
    Struct(Vec<Field<'a, ()>>),
    Enum(Vec<Variant<'a>>),
    Union,
}

/// A variant of an enum.
pub(crate) struct Variant<'a> {
    pub(crate) node: &'a Node,
    /// The name in Rust as that of a field: `over_the_counter`.
    pub(crate) ident: Ident,
    pub(crate) serde: serde_attr::SerdeVariant,
    pub(crate) content: Content<'a>,
}

/// The fields of a variant.
pub(crate) enum Content<'a> {
    Named(Vec<Field<'a, ()>>),
    /// One value without a name.
    One(&'a Type),
    /// Several values without names, or the unknown output of a user's function.
    Unknown,
    Nothing,
}

impl<'a> Variant<'a> {
    /// Whether serde writes its values.
    pub(crate) fn is_written(&self) -> bool {
        self.serde.write.is_some() || self.serde.fields.has("untagged")
    }

    /// The fields with names.
    pub(crate) fn fields(&self) -> &[Field<'a, ()>] {
        match &self.content {
            Content::Named(fields) => fields,
            Content::One(_) | Content::Unknown | Content::Nothing => &[],
        }
    }

    /// The variant's name, and the type of its one value without a name.
    pub(crate) fn value(&self) -> Option<(String, &'a Type)> {
        match self.content {
            Content::One(ty) => Some((self.node.ident.unraw().to_string(), ty)),
            Content::Named(_) | Content::Unknown | Content::Nothing => None,
        }
    }
}

impl<'a> NestedModel<'a> {
    pub(crate) fn read(input: &'a DeriveInput, errors: &mut Errors) -> Self {
        let attr = FieldsAttr::parse(input, errors);
        let serde = serde_attr::Container::read(&input.attrs);
        let kind = match &input.data {
            Data::Struct(data) => {
                NestedKind::Struct(named([&data.fields], &FIELDS, &serde, errors, |_, _| ()))
            }
            Data::Enum(data) => {
                let variants = data.variants.iter();
                let variants = variants.map(|node| variant(node, &serde, errors));
                NestedKind::Enum(with_distinct_names(variants.collect()))
            }
            Data::Union(_) => NestedKind::Union,
        };
        Self {
            input,
            attr,
            serde,
            kind,
        }
    }
}

fn variant<'a>(node: &'a Node, of: &serde_attr::Container, errors: &mut Errors) -> Variant<'a> {
    check_no_attribute(&node.attrs, &FIELDS, "the enum", errors);
    let text = node.ident.unraw().to_string();
    let serde = serde_attr::SerdeVariant::read(&node.attrs, &text, of);
    let content = match &node.fields {
        Fields::Named(_) => {
            let fields = named([&node.fields], &FIELDS, &serde.fields, errors, |_, _| ());
            match serde.has_own_format {
                true => Content::Unknown,
                false => Content::Named(fields),
            }
        }
        Fields::Unnamed(fields) => {
            for field in &fields.unnamed {
                check_no_attribute(&field.attrs, &FIELDS, "the enum", errors);
            }
            match fields.unnamed.first() {
                Some(one) if fields.unnamed.len() == 1 && !serde.has_own_format => one_value(one),
                Some(_) => Content::Unknown,
                None => Content::Nothing,
            }
        }
        Fields::Unit => Content::Nothing,
    };
    Variant {
        node,
        ident: as_field(&text, node.ident.span()),
        serde,
        content,
    }
}

fn one_value(field: &syn::Field) -> Content<'_> {
    let serde = serde_attr::Container::read(&field.attrs);
    let is_any = |words: &[&str]| words.iter().any(|word| serde.has(word));
    if is_any(&["skip", "skip_serializing"]) {
        Content::Nothing
    } else if is_any(&["with", "serialize_with"]) {
        Content::Unknown
    } else {
        Content::One(&field.ty)
    }
}

/// Where two variants would have one name, both keep their own: `AB` and `A_b` are `a_b` as fields.
fn with_distinct_names(mut variants: Vec<Variant<'_>>) -> Vec<Variant<'_>> {
    let names = Vec::from_iter(variants.iter().map(|variant| variant.ident.clone()));
    for variant in &mut variants {
        let node = &variant.node.ident;
        if names.iter().filter(|name| **name == variant.ident).count() > 1 {
            let own = field_ident(&node.unraw().to_string(), node.span());
            variant.ident = own.unwrap_or_else(|| node.clone());
        }
    }
    variants
}

/// `OverTheCounter` as `over_the_counter`. A variant can have the name of a keyword: `Loop`.
fn as_field(variant: &str, span: Span) -> Ident {
    let name = rename::snake(variant);
    field_ident(&name, span).unwrap_or_else(|| format_ident!("{name}_", span = span))
}
