//! Stage 3: the rules for a struct, one function for each, with the reason for it.
//!
//! Rules of several derives stand here and in `names`, `serde`, `readback` and `values`; the others
//! stand with each derive.

pub(crate) mod bucket;
pub(crate) mod names;
pub(crate) mod nested;
pub(crate) mod outlier;
pub(crate) mod part;
mod readback;
mod serde;
mod serde_words;
mod values;

use quote::ToTokens;
use syn::{Data, DeriveInput, Fields, GenericParam, Type};

use crate::{
    errors::Errors,
    model::{Field, guess},
    parse::attr::Derive,
};

/// A document's fields have names, so the struct's fields need some.
fn check_is_struct(input: &DeriveInput, derive: &Derive, errors: &mut Errors) -> bool {
    let name = derive.name;
    let help = format!("struct {} {{ … }}", input.ident);
    let message = |what| format!("`{name}` cannot be derived for {what}");
    match &input.data {
        Data::Enum(data) => errors.push(data.enum_token, message("an enum"), help),
        Data::Union(data) => errors.push(data.union_token, message("a union"), help),
        Data::Struct(data) => match &data.fields {
            Fields::Named(_) => return true,
            Fields::Unnamed(fields) => {
                errors.push(fields, message("a struct whose fields have no names"), help);
            }
            Fields::Unit => {
                errors.push(&input.ident, message("a struct without fields"), help);
            }
        },
    }
    false
}

/// A struct that is read from the database has nothing to borrow from, so it has no lifetime
/// parameters.
fn check_lifetimes(input: &DeriveInput, derive: &Derive, errors: &mut Errors) {
    for param in &input.generics.params {
        if let GenericParam::Lifetime(lifetime) = param {
            let help = "use owned types, such as `String` for `&str`";
            errors.push(lifetime, borrows(derive), help);
        }
    }
}

fn borrows(derive: &Derive) -> String {
    let name = derive.name;
    format!("`{name}` cannot be derived for a struct that borrows: it is read back as owned values")
}

/// A field cannot borrow either, unless serde skips it.
fn check_references<Part>(fields: &[Field<'_, Part>], derive: &Derive, errors: &mut Errors) {
    let read = fields.iter().filter(|field| {
        let is_read = !field.serde.read.is_empty() || field.serde.has("flatten");
        is_read && field.reader().is_none()
    });
    for field in read {
        let mut ty = &field.node.ty;
        while let Type::Group(group) = ty {
            ty = &group.elem;
        }
        // `&'a` is reported at the struct's own lifetime.
        if let Type::Reference(reference) = ty
            && reference
                .lifetime
                .as_ref()
                .is_none_or(|lifetime| lifetime.ident == "static")
        {
            errors.push(ty, borrows(derive), owned_field(field));
        }
    }
}

/// Items and parents go from one task to another, and an `Rc` cannot. Without this rule the
/// compiler would report it at every call.
fn check_shared<Part>(fields: &[Field<'_, Part>], derive: &Derive, errors: &mut Errors) {
    for field in fields.iter().filter(|field| guess::has_rc(&field.node.ty)) {
        let message = format!(
            "`{}` cannot be derived for a struct with an `Rc`: tasks send it to one another",
            derive.name
        );
        errors.push(&field.node.ty, message, owned_field(field));
    }
}

/// The field with an owned type.
fn owned_field<Part>(field: &Field<'_, Part>) -> String {
    let ty = guess::owned(&field.node.ty).to_token_stream().to_string();
    // `Vec < String >` becomes `Vec<String>`.
    let ty = [" < ", " <", "< "]
        .iter()
        .fold(ty, |ty, spaced| ty.replace(spaced, "<"));
    let ty = [" > ", " >", "> "]
        .iter()
        .fold(ty, |ty, spaced| ty.replace(spaced, ">"));
    format!(
        "{}: {}",
        field.name,
        ty.replace(" :: ", "::").replace(" ,", ",")
    )
}
