//! What is required of the fields that serde stores.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{DeriveInput, GenericParam, Path, Type, TypeParam, WherePredicate, spanned::Spanned};

use super::mentions;
use crate::{
    generics::{is_fit, self_type, without_self},
    model::{
        Field,
        bucket::{Model, Role},
    },
    serde_attr::Container,
    spans::located_at,
};

/// What serde is to require of parameters, where the struct requires some to be `DeserializeOwned`:
/// beside that, its own `Deserialize` would be ambiguous.
pub(crate) fn of_owned(model: &Model<'_>) -> Option<String> {
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

/// Types that serde certainly writes and reads. To leave them out saves the compiler time, and should
/// another type have such a name, the compiler reports it as well, if more than once.
const PLAIN: [&str; 16] = [
    "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "bool", "char", "String",
    "DateTime", "ObjectId", "Uuid",
];

/// That serde can write and read the other fields of an element. What a parameter stands for is serde's
/// business, and so is what functions of the user's write and read.
pub(super) fn elements_are_fit(model: &Model<'_>) -> Vec<TokenStream> {
    let krate = model.attr.krate();
    let in_both = |field: &&Field<'_, Role>| {
        let serde = &field.serde;
        let stored = serde.write.is_some() && !serde.read.is_empty();
        field.part == Role::Element && stored && !field.has_own_format()
    };
    let is_fixed = |field: &&Field<'_, Role>| {
        let ty = field.node.ty.to_token_stream();
        let mut params = model.input.generics.params.iter();
        !params.any(|param| match param {
            GenericParam::Type(param) => mentions(ty.clone(), &param.ident, false),
            GenericParam::Const(param) => mentions(ty.clone(), &param.ident, false),
            GenericParam::Lifetime(_) => true,
        })
    };
    let is_plain = |field: &&Field<'_, Role>| match &field.node.ty {
        Type::Path(ty) => PLAIN.iter().any(|name| ty.path.is_ident(name)),
        _ => false,
    };
    let fields = model.elements().filter(in_both).filter(is_fixed);
    fields
        .filter(|field| !is_plain(field))
        .map(|field| {
            is_fit(
                model.input,
                &krate,
                &field.node.ty,
                &["__private", "StoredField"],
            )
        })
        .collect()
}

/// That a value which may be left out can be read where it is missing. The compiler shall say so at
/// what leaves it out.
pub(crate) fn left_out_is_fit<'f, 'a: 'f, Part: 'f>(
    input: &DeriveInput,
    krate: &Path,
    container: &Container,
    fields: impl Iterator<Item = &'f Field<'a, Part>>,
) -> Vec<TokenStream> {
    let left_out = fields.filter_map(|field| {
        let entry = field.left_out(container)?;
        // What a function of the user's reads is judged by the attributes alone.
        field.reader().is_none().then_some((field, entry))
    });
    let predicates = left_out.map(|(field, entry)| {
        let span = entry.tokens.span();
        let ty = &field.node.ty;
        let ty = without_self(located_at(ty, span), &self_type(input));
        let krate = located_at(krate, span);
        let name = match field.serde.has("flatten") {
            true => "OptionalParts",
            false => "OptionalField",
        };
        let name = Ident::new(name, span);
        quote_spanned!(span=> #ty: #krate::__private::#name)
    });
    predicates.collect()
}
