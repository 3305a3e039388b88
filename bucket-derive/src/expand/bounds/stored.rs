//! The predicates that the fields that serde stores require.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{TypeParam, WherePredicate, spanned::Spanned};

use super::mentions;
use crate::{
    expand::fit::{Asked, Rule},
    model::{
        Field,
        bucket::{BucketModel, Role},
    },
    parse::serde_attr::Container,
};

/// The `bound` for serde, where the struct requires some parameters to be `DeserializeOwned`: with that
/// and the `Deserialize` that serde infers, calls of `deserialize` would be ambiguous.
pub(crate) fn of_owned(model: &BucketModel<'_>) -> Option<String> {
    if model.serde.has("bound") {
        return None;
    }
    let is_owned = |param: &TypeParam| {
        let bounds = param.bounds.to_token_stream();
        let clause = model.input.generics.where_clause.iter();
        let predicates = clause.flat_map(|clause| &clause.predicates);
        let of_param = predicates.filter_map(|predicate| match predicate {
            WherePredicate::Type(of) => {
                let of_it = param.ident == of.bounded_ty.to_token_stream().to_string();
                of_it.then(|| of.bounds.to_token_stream())
            }
            _ => None,
        });
        std::iter::once(bounds).chain(of_param).any(names_owned)
    };
    let (owned, others): (Vec<_>, Vec<_>) =
        (model.input.generics.type_params()).partition(|param| is_owned(param));
    if owned.is_empty() {
        return None;
    }
    let read = model
        .elements()
        .filter(|field| !field.serde.read.is_empty() || field.serde.has("flatten"));
    let read = Vec::from_iter(read.filter(|field| field.reader().is_none()));
    let others = others.into_iter().filter(|param| {
        read.iter()
            .any(|field| mentions(field.node.ty.to_token_stream(), &param.ident, true))
    });
    let krate = model.attr.krate();
    let bounds = others.map(|param| {
        let param = &param.ident;
        quote!(#param: #krate::__private::serde::Deserialize<'de>).to_string()
    });
    Some(Vec::from_iter(bounds).join(", "))
}

fn names_owned(bounds: TokenStream) -> bool {
    bounds
        .into_iter()
        .any(|tree| matches!(tree, TokenTree::Ident(ident) if ident == "DeserializeOwned"))
}

/// Whether serde writes and reads the field by the traits of its type, and not by the user's functions.
pub(crate) fn is_stored_by_serde(field: &Field<'_, Role>) -> bool {
    let serde = &field.serde;
    let stored = serde.write.is_some() && !serde.read.is_empty();
    field.part == Role::Element && stored && !field.has_own_format()
}

/// The rule that a value which may be left out can be read where it is missing. The compiler reports a
/// violation at the attribute that leaves it out.
pub(crate) fn of_left_out<Part>(container: &Container, field: &Field<'_, Part>) -> Option<Asked> {
    let entry = field.left_out(container)?;
    // `check` has already judged a field that the user's function reads, by its attributes.
    field.reader().is_none().then(|| Asked {
        rule: match field.serde.has("flatten") {
            true => Rule::OptionalParts,
            false => Rule::Optional,
        },
        at: Some(entry.tokens.span()),
    })
}
