//! The rules that a struct has to keep: one function for each, and each says why it exists.

mod id_format;
mod names;
mod serde;

use syn::{Data, DeriveInput, Error, Fields, GenericParam, LitStr};

use crate::{
    attr::{Capacity, KEYS},
    errors::Errors,
    id_format::Ordinal,
    model::Model,
};

/// A model that keeps all rules, so that nothing in it is missing.
pub(crate) struct Checked<'a> {
    pub(crate) model: &'a Model<'a>,
    pub(crate) collection: &'a LitStr,
    pub(crate) capacity: &'a Capacity,
    pub(crate) ordinal: Ordinal<'a>,
}

/// As in `bucket_runtime::MAX_CAPACITY`.
const MAX_CAPACITY: i128 = 1_000_000;

/// Checks all rules, and hands on the model or every error found until now.
pub(crate) fn check<'a>(model: &'a Model<'a>, mut errors: Errors) -> Result<Checked<'a>, Error> {
    let is_struct = check_is_struct(model.input, &mut errors);
    check_lifetimes(model.input, &mut errors);
    check_required_keys(model, &mut errors);
    check_collection(model, &mut errors);
    check_capacity(model, &mut errors);
    check_bucket_on_fields(model, &mut errors);
    id_format::check(model, is_struct, &mut errors);
    names::check(model, &mut errors);
    serde::check(model, &mut errors);
    errors.finish(())?;
    complete(model)
        .ok_or_else(|| Error::new_spanned(&model.input.ident, "`#[bucket(…)]` is incomplete"))
}

fn complete<'a>(model: &'a Model<'a>) -> Option<Checked<'a>> {
    Some(Checked {
        model,
        collection: &model.attr.collection.as_ref()?.value,
        capacity: &model.attr.capacity.as_ref()?.value,
        ordinal: model.format.ordinal()?,
    })
}

/// A key has to be told from the rest by name, and an element is a document: both need fields that
/// have names.
fn check_is_struct(input: &DeriveInput, errors: &mut Errors) -> bool {
    let help = format!("struct {} {{ … }}", input.ident);
    match &input.data {
        Data::Enum(data) => {
            errors.push(data.enum_token, "an enum cannot be stored in buckets", help)
        }
        Data::Union(data) => errors.push(
            data.union_token,
            "a union cannot be stored in buckets",
            help,
        ),
        Data::Struct(data) => match &data.fields {
            Fields::Named(_) => return true,
            Fields::Unnamed(fields) => {
                errors.push(
                    fields,
                    "the fields of a bucket's items must have names",
                    help,
                );
            }
            Fields::Unit => errors.push(
                &input.ident,
                "a struct without fields cannot be stored in buckets",
                help,
            ),
        },
    }
    false
}

/// Items are read back from the database, where there is nothing to borrow from.
fn check_lifetimes(input: &DeriveInput, errors: &mut Errors) {
    for param in &input.generics.params {
        if let GenericParam::Lifetime(lifetime) = param {
            errors.push(
                lifetime,
                "a bucket's items cannot borrow: they are read back as owned values",
                "use owned types, such as `String` for `&str`",
            );
        }
    }
}

/// Without these three nothing can be stored, and no default would be right for everybody.
fn check_required_keys(model: &Model<'_>, errors: &mut Errors) {
    let ident = &model.input.ident;
    let collection = format!("collection = \"{}s\"", ident.to_string().to_lowercase());
    let first = model
        .fields
        .first()
        .map_or("field", |field| field.name.as_str());
    let id = format!("id = \"{{{first}}}_{{#}}\"");
    let capacity = "capacity = 100";
    let Some(attr) = &model.attr.name else {
        errors.push(
            ident,
            format_args!("`{ident}` has no `#[bucket(…)]`"),
            format_args!("#[bucket({collection}, {id}, {capacity})]"),
        );
        return;
    };
    for (key, help) in [
        ("collection", &*collection),
        ("id", &id),
        ("capacity", capacity),
    ] {
        if !model.attr.has(key) {
            errors.push(attr, format_args!("`{key}` is missing"), help);
        }
    }
}

/// The server refuses these names (MongoDB manual, "Naming Restrictions"), or keeps them for
/// itself; better here than at the first write.
fn check_collection(model: &Model<'_>, errors: &mut Errors) {
    let Some(collection) = &model.attr.collection else {
        return;
    };
    let name = collection.value.value();
    let wrong = if name.is_empty() {
        "be empty"
    } else if name.contains('$') {
        "contain `$`"
    } else if name.contains('\0') {
        "contain NUL"
    } else if name.starts_with("system.") {
        "begin with `system.`"
    } else {
        return;
    };
    errors.push(
        &collection.value,
        format_args!("a collection's name cannot {wrong}"),
        KEYS[0].1,
    );
}

/// A bucket has room for one item at least, and for no more than a document can hold.
///
/// The value of a constant is not known here: the generated code checks it.
fn check_capacity(model: &Model<'_>, errors: &mut Errors) {
    let Some(Capacity::Literal { node, number }) =
        model.attr.capacity.as_ref().map(|capacity| &capacity.value)
    else {
        return check_capacity_path(model, errors);
    };
    let help = "capacity = 100";
    match number {
        Some(1..=MAX_CAPACITY) => {}
        Some(0) => errors.push(
            node,
            "a capacity of zero: a bucket must hold at least one item",
            help,
        ),
        Some(..0) => errors.push(
            node,
            "a negative capacity: a bucket must hold at least one item",
            help,
        ),
        _ => errors.push(
            node,
            format_args!(
                "the capacity is too large: a bucket can hold at most {MAX_CAPACITY} items"
            ),
            help,
        ),
    }
}

/// `Self` means nothing in an attribute, and the compiler's message would point elsewhere.
fn check_capacity_path(model: &Model<'_>, errors: &mut Errors) {
    if let Some(Capacity::Const(path)) =
        model.attr.capacity.as_ref().map(|capacity| &capacity.value)
        && path
            .path
            .segments
            .first()
            .is_some_and(|first| first.ident == "Self")
    {
        let ident = &model.input.ident;
        let rest = path
            .path
            .segments
            .iter()
            .skip(1)
            .map(|segment| segment.ident.to_string());
        let named = Vec::from_iter(std::iter::once(ident.to_string()).chain(rest)).join("::");
        errors.push(
            path,
            "`Self` cannot be used in `capacity`",
            format_args!("capacity = {named}"),
        );
    }
}

/// Everything is said on the struct, so an attribute on a field can only be a mistake.
fn check_bucket_on_fields(model: &Model<'_>, errors: &mut Errors) {
    for field in &model.fields {
        for attr in field
            .node
            .attrs
            .iter()
            .filter(|attr| attr.path().is_ident("bucket"))
        {
            errors.push(
                attr,
                "`#[bucket(…)]` belongs on the struct, not on a field",
                format_args!(
                    "name a key field in the format: id = \"{{{}}}_{{#}}\"",
                    field.name
                ),
            );
        }
    }
}
