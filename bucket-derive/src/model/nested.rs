//! A struct or an enum that derives `Fields`.

use proc_macro2::{Ident, Span};
use quote::format_ident;
use syn::{Attribute, Data, DeriveInput, Fields, Type, ext::IdentExt};

use super::{Field, fields, named};
use crate::{
    errors::Errors,
    parse::{
        attr::{FIELDS, FieldsAttr},
        rename, serde_attr,
    },
};

/// A struct or an enum, with its syntax nodes for their spans.
pub(crate) struct Model<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) attr: FieldsAttr,
    pub(crate) serde: serde_attr::Container,
    pub(crate) kind: Kind<'a>,
}

pub(crate) enum Kind<'a> {
    /// Empty unless the struct's fields have names.
    Struct(Vec<Field<'a, ()>>),
    /// Without the variants that serde does not write.
    Enum(Vec<Variant<'a>>),
    Union,
}

/// A variant of an enum.
pub(crate) struct Variant<'a> {
    /// The name in Rust as that of a field: `over_the_counter`.
    pub(crate) ident: Ident,
    /// The name that serde writes.
    pub(crate) name: String,
    /// The attributes, for their docs.
    pub(crate) attrs: &'a [Attribute],
    pub(crate) content: Content<'a>,
}

/// What a variant holds.
pub(crate) enum Content<'a> {
    Named(Vec<Field<'a, ()>>),
    /// One value without a name.
    One(&'a Type),
    /// Several values without names, or one that a function of the user's writes.
    Several,
    Nothing,
}

impl<'a> Variant<'a> {
    /// The fields with names.
    pub(crate) fn fields(&self) -> &[Field<'a, ()>] {
        match &self.content {
            Content::Named(fields) => fields,
            Content::One(_) | Content::Several | Content::Nothing => &[],
        }
    }

    /// The variant's name, and the type of its one value without a name.
    pub(crate) fn value(&self) -> Option<(&str, &'a Type)> {
        match self.content {
            Content::One(ty) => Some((&self.name, ty)),
            Content::Named(_) | Content::Several | Content::Nothing => None,
        }
    }
}

impl<'a> Model<'a> {
    pub(crate) fn read(input: &'a DeriveInput, errors: &mut Errors) -> Self {
        let attr = FieldsAttr::parse(input, errors);
        let serde = serde_attr::Container::read(&input.attrs);
        let kind = match &input.data {
            Data::Struct(_) => Kind::Struct(fields(input, &FIELDS, &serde, errors, |_, _| ())),
            Data::Enum(data) => {
                let variants = data.variants.iter();
                let variants = variants.filter_map(|node| variant(node, &serde, errors));
                Kind::Enum(variants.collect())
            }
            Data::Union(_) => Kind::Union,
        };
        Self {
            input,
            attr,
            serde,
            kind,
        }
    }
}

fn variant<'a>(
    node: &'a syn::Variant,
    of: &serde_attr::Container,
    errors: &mut Errors,
) -> Option<Variant<'a>> {
    let text = node.ident.unraw().to_string();
    let serde = serde_attr::Variant::read(&node.attrs, &text, of);
    let content = match &node.fields {
        Fields::Named(_) => Content::Named(named(
            &node.fields,
            &FIELDS,
            &serde.fields,
            errors,
            |_, _| (),
        )),
        Fields::Unnamed(fields) => match fields.unnamed.first() {
            Some(one) if fields.unnamed.len() == 1 => {
                let of_one = serde_attr::Variant::read(&one.attrs, "", &serde.fields);
                match serde.has_own_format || of_one.has_own_format {
                    true => Content::Several,
                    false => Content::One(&one.ty),
                }
            }
            Some(_) => Content::Several,
            None => Content::Nothing,
        },
        Fields::Unit => Content::Nothing,
    };
    Some(Variant {
        ident: as_field(&text, node.ident.span()),
        name: serde.name?,
        attrs: &node.attrs,
        content,
    })
}

/// `OverTheCounter` as `over_the_counter`.
fn as_field(variant: &str, span: Span) -> Ident {
    let name = rename::snake(variant);
    // A variant can have the name of a keyword: `Loop`.
    match syn::parse_str::<Ident>(&name) {
        Ok(_) => Ident::new(&name, span),
        Err(_) if ["self", "super", "crate", "_"].contains(&name.as_str()) => {
            format_ident!("{name}_", span = span)
        }
        Err(_) => Ident::new_raw(&name, span),
    }
}
