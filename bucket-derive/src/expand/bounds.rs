//! The bounds of generated items: what they require of type parameters and of field types.

mod stored;

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Type, WherePredicate, punctuated::Punctuated, token::Comma};

use self::stored::is_stored_by_serde;
pub(crate) use self::stored::{of_left_out, of_owned};
use crate::{
    expand::{
        fit::{Rule, Types},
        generics::of_struct,
    },
    model::{
        Field,
        bucket::{BucketModel, Role},
    },
    parse::list::{Entry, Value},
};

/// The types of the fields, each with the rules for its part.
pub(crate) fn types(model: &BucketModel<'_>) -> Types {
    let fields = &model.fields;
    Types::new(model.input, &model.attr.krate(), fields, |field| {
        let has_sum = field.attr.word("sum").is_some();
        let is_kept = field.part != Role::Key && field.serde.write.is_some();
        let rules = [
            (field.part == Role::Key, Rule::Key),
            (field.part == Role::Time, Rule::Time),
            (is_stored_by_serde(field), Rule::Stored),
            (is_kept && has_sum, Rule::Sum),
            (
                is_kept && !has_sum && field.attr.rollups().next().is_some(),
                Rule::Rollup,
            ),
            (field.attr.word("unique").is_some(), Rule::Unique),
            (field.attr.limit("max_len").is_some(), Rule::Len),
        ];
        let rules = rules.into_iter().filter(|(is_asked, _)| *is_asked);
        let left_out = (field.part == Role::Element)
            .then(|| of_left_out(&model.serde, field))
            .flatten();
        rules.map(|(_, rule)| rule.into()).chain(left_out).collect()
    })
}

/// The predicates of the generated structs.
///
/// The predicate of the time field stands here and, in the same words, on the trait's implementation:
/// the compiler then reports an unfit type once, and accepts it everywhere else.
pub(crate) fn of_elements(model: &BucketModel<'_>, types: &Types) -> Vec<TokenStream> {
    let mut predicates = of_struct(model.input);
    predicates.extend(types.predicates(|rule| rule == Rule::Time));
    predicates
}

/// The predicates of the implementation of `Bucket`.
pub(crate) fn of_bucket(model: &BucketModel<'_>, types: &Types) -> Vec<TokenStream> {
    let krate = model.attr.krate();
    let serde = quote!(#krate::__private::serde);
    let mut predicates = of_struct(model.input);
    predicates.extend(types.predicates(|_| true));
    predicates.extend(params_are_shared(model));
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
        let in_all = model.serde.has("default");
        let made_up = |field: &&Field<'_, Role>| match field.serde.find("default") {
            Some(entry) => matches!(entry.value, Value::None),
            None => !in_all && (field.serde.has("skip") || field.serde.has("skip_deserializing")),
        };
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

/// Each type parameter must be `Send + Sync`: tasks share items.
pub(crate) fn params_are_shared(model: &BucketModel<'_>) -> Vec<TokenStream> {
    let params = model.input.generics.type_params().map(|param| &param.ident);
    params
        .map(|param| quote!(#param: ::core::marker::Send + ::core::marker::Sync + 'static))
        .collect()
}

/// The type parameters that no field of an element mentions: `__Element` must still use them.
pub(crate) fn not_in_elements<'a>(model: &'a BucketModel<'_>) -> Vec<&'a Ident> {
    let params = model.input.generics.type_params().map(|param| &param.ident);
    params
        .filter(|param| {
            !model
                .elements()
                .any(|field| mentions(field.node.ty.to_token_stream(), param, false))
        })
        .collect()
}

fn serde_bounds(model: &BucketModel<'_>, serialize: bool, bound: &TokenStream) -> Vec<TokenStream> {
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
            None if field.is_date() => {}
            None => by_serde.push(field),
        }
    }
    predicates.extend(bounds(model, by_serde.into_iter(), bound));
    predicates
}

/// The bounds that serde's derives infer from fields: each type parameter in them, and each type that
/// begins with one (`T::Item`), implements the trait.
fn bounds<'m, 'a: 'm>(
    model: &BucketModel<'_>,
    fields: impl Iterator<Item = &'m Field<'a, Role>>,
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

/// Whether a type mentions a type parameter. `by_value` ignores `PhantomData<T>` and `T::Item`, as
/// serde's derives do.
pub(crate) fn mentions(ty: TokenStream, param: &Ident, by_value: bool) -> bool {
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
pub(crate) fn bound_of(entries: &[Entry], serialize: bool) -> Option<Vec<TokenStream>> {
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

/// In serde's implementation `'de` is in scope; here the predicate must hold for every lifetime.
fn for_any_lifetime(predicate: &WherePredicate) -> TokenStream {
    let tokens = quote!(#predicate);
    let names_de = tokens.to_string().contains("'de");
    if names_de {
        quote!(for<'de> #tokens)
    } else {
        tokens
    }
}
