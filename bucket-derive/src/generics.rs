//! Where clauses of the generated items: what is required of type parameters, and of field types.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Path, Type, WherePredicate, punctuated::Punctuated, token::Comma};

use crate::{
    list::{Entry, Value},
    model::{Field, Model, Role},
};

/// `where` and the predicates, or nothing.
pub(crate) fn where_clause(predicates: &[TokenStream]) -> TokenStream {
    if predicates.is_empty() {
        return TokenStream::new();
    }
    quote!(where #(#predicates),*)
}

/// What the struct itself requires.
pub(crate) fn of_struct(model: &Model<'_>) -> Vec<TokenStream> {
    let clause = model.input.generics.where_clause.iter();
    clause
        .flat_map(|clause| &clause.predicates)
        .map(|predicate| without_self(quote!(#predicate), &self_type(model)))
        .collect()
}

/// What the generated structs require.
///
/// That the time field is fit is said here, and in the same words for the trait's implementation:
/// the compiler then reports an unfit type once, and takes it for fit everywhere else.
pub(crate) fn of_elements(model: &Model<'_>) -> Vec<TokenStream> {
    let mut predicates = of_struct(model);
    predicates.extend(time_is_fit(model));
    predicates
}

/// What the implementation of `Bucket` requires.
pub(crate) fn of_bucket(model: &Model<'_>) -> Vec<TokenStream> {
    let krate = model.attr.krate();
    let serde = quote!(#krate::__private::serde);
    let mut predicates = of_struct(model);
    predicates.extend(keys_are_fit(model));
    predicates.extend(time_is_fit(model));
    for param in model.input.generics.type_params().map(|param| &param.ident) {
        predicates.push(quote!(#param: ::core::marker::Send + ::core::marker::Sync + 'static));
    }
    for (serialize, bound) in [
        (true, quote!(#serde::Serialize)),
        (false, quote!(#serde::de::DeserializeOwned)),
    ] {
        match bound_of(&model.serde.entries, serialize) {
            Some(written) => predicates.extend(written),
            None => predicates.extend(serde_bounds(model, serialize, &bound)),
        }
    }
    if model.input.generics.type_params().next().is_some() {
        let default = quote!(::core::default::Default);
        let made_up = |field: &&Field<'_>| field.serde.read.is_empty() && field.serde.has("skip");
        predicates.extend(bounds(model, model.elements().filter(made_up), &default));
        if model
            .serde
            .find("default")
            .is_some_and(|entry| matches!(entry.value, Value::None))
        {
            predicates.push(quote!(Self: #default));
        }
    }
    predicates
}

/// The type parameters that no element holds: `__Element` has to name them all the same.
pub(crate) fn not_in_elements<'a>(model: &'a Model<'_>) -> Vec<&'a Ident> {
    let params = model.input.generics.type_params().map(|param| &param.ident);
    params
        .filter(|param| {
            !model
                .elements()
                .any(|field| mentions(field.node.ty.to_token_stream(), param, false))
        })
        .collect()
}

/// The struct with its parameters.
pub(crate) fn self_type(model: &Model<'_>) -> TokenStream {
    let ident = &model.input.ident;
    let (_, parameters, _) = model.input.generics.split_for_impl();
    quote!(#ident #parameters)
}

/// The tokens with another type in the place of `Self`, which means something else in the
/// generated structs.
pub(crate) fn without_self(tokens: TokenStream, this: &TokenStream) -> TokenStream {
    let mut trees = tokens.into_iter().peekable();
    let mut out = TokenStream::new();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Ident(ident) if ident == "Self" => {
                let is_path =
                    matches!(trees.peek(), Some(TokenTree::Punct(colon)) if colon.as_char() == ':');
                out.extend(if is_path {
                    quote!(<#this>)
                } else {
                    this.clone()
                });
            }
            TokenTree::Group(group) => {
                let inside = without_self(group.stream(), this);
                let mut replaced = proc_macro2::Group::new(group.delimiter(), inside);
                replaced.set_span(group.span());
                out.extend([TokenTree::Group(replaced)]);
            }
            other => out.extend([other]),
        }
    }
    out
}

fn keys_are_fit(model: &Model<'_>) -> Vec<TokenStream> {
    model
        .keys()
        .map(|key| is_fit(model, key, "KeyField"))
        .collect()
}

fn time_is_fit(model: &Model<'_>) -> Option<TokenStream> {
    model.time().map(|time| is_fit(model, time, "TimeField"))
}

/// `Type: Trait`, from the type's first token to its last: there the compiler shall point.
fn is_fit(model: &Model<'_>, field: &Field<'_>, name: &str) -> TokenStream {
    let ty = without_self(field.node.ty.to_token_stream(), &self_type(model));
    let end = last_span(&field.node.ty);
    let name = Ident::new(name, end);
    let krate = located_at(&model.attr.krate(), end);
    quote_spanned!(end=> #ty: #krate::#name)
}

fn serde_bounds(model: &Model<'_>, serialize: bool, bound: &TokenStream) -> Vec<TokenStream> {
    let (with, skip) = match serialize {
        true => ("serialize_with", "skip_serializing"),
        false => ("deserialize_with", "skip_deserializing"),
    };
    let mut predicates = Vec::new();
    let mut by_serde = Vec::new();
    for field in model.elements() {
        match bound_of(&field.serde.entries, serialize) {
            Some(written) => predicates.extend(written),
            None if ["with", with, "skip", skip]
                .iter()
                .any(|key| field.serde.has(key)) => {}
            None if field.role == Role::Time && !field.has_own_format() => {}
            None => by_serde.push(field),
        }
    }
    predicates.extend(bounds(model, by_serde.into_iter(), bound));
    predicates
}

/// What serde's derives require for fields: each type parameter in them, and each type that begins
/// with one (`T::Item`), has the trait.
fn bounds<'m, 'a: 'm>(
    model: &Model<'_>,
    fields: impl Iterator<Item = &'m Field<'a>>,
    bound: &TokenStream,
) -> Vec<TokenStream> {
    let types: Vec<_> = fields.map(|field| &field.node.ty).collect();
    let params = model.input.generics.type_params().map(|param| &param.ident);
    let mut predicates = Vec::new();
    for param in params {
        if types
            .iter()
            .any(|ty| mentions(ty.to_token_stream(), param, true))
        {
            predicates.push(quote!(#param: #bound));
        }
        for ty in types.iter().filter(|ty| begins_with(ty, param)) {
            predicates.push(quote!(#ty: #bound));
        }
    }
    predicates
}

fn begins_with(ty: &Type, param: &Ident) -> bool {
    match ty {
        Type::Group(group) => begins_with(&group.elem, param),
        Type::Path(ty) => {
            ty.qself.is_none() && ty.path.segments.len() > 1 && ty.path.segments[0].ident == *param
        }
        _ => false,
    }
}

/// Whether a type parameter stands in a type. `by_value` passes over `PhantomData<T>` and
/// `T::Item`, as serde's derives do.
fn mentions(ty: TokenStream, param: &Ident, by_value: bool) -> bool {
    let trees: Vec<TokenTree> = ty.into_iter().collect();
    let is_colon =
        |tree: Option<&TokenTree>| matches!(tree, Some(TokenTree::Punct(p)) if p.as_char() == ':');
    trees.iter().enumerate().any(|(n, tree)| match tree {
        TokenTree::Group(group) => mentions(group.stream(), param, by_value),
        TokenTree::Ident(ident) if ident == param => {
            let in_path = n > 0 && is_colon(trees.get(n - 1));
            let phantom =
                n > 1 && matches!(&trees[n - 2], TokenTree::Ident(i) if i == "PhantomData");
            !in_path && !(by_value && (phantom || is_colon(trees.get(n + 1))))
        }
        _ => false,
    })
}

/// The predicates of `#[serde(bound = "…")]` for one side.
fn bound_of(entries: &[Entry], serialize: bool) -> Option<Vec<TokenStream>> {
    let side = if serialize {
        "serialize"
    } else {
        "deserialize"
    };
    let entry = entries.iter().find(|entry| entry.is("bound"))?;
    let text = match &entry.value {
        Value::List(sides) => sides.iter().find(|entry| entry.is(side))?.string(),
        _ => entry.string(),
    }?;
    let predicates = text.parse_with(Punctuated::<WherePredicate, Comma>::parse_terminated);
    // serde reports what cannot be read.
    let predicates = predicates.unwrap_or_default();
    Some(predicates.iter().map(for_any_lifetime).collect())
}

/// In serde's implementation `'de` is in scope; here it stands for every lifetime.
fn for_any_lifetime(predicate: &WherePredicate) -> TokenStream {
    let tokens = quote!(#predicate);
    let names_de = tokens.to_string().contains("'de");
    if names_de {
        quote!(for<'de> #tokens)
    } else {
        tokens
    }
}

/// The span of the last token.
pub(crate) fn last_span(tokens: &impl ToTokens) -> Span {
    let last = tokens.to_token_stream().into_iter().last();
    last.map_or_else(Span::call_site, |tree| tree.span())
}

/// The path, placed where errors about it belong. Names are looked up as before.
pub(crate) fn located_at(path: &Path, span: Span) -> TokenStream {
    let trees = path.to_token_stream().into_iter();
    trees
        .map(|mut tree| {
            tree.set_span(tree.span().located_at(span));
            tree
        })
        .collect()
}

/// The path as serde wants it: in a string.
pub(crate) fn path_text(path: &Path) -> String {
    quote!(#path).to_string().replace(' ', "")
}
