//! Whether the types of fields are fit, which only the compiler knows.
//!
//! Generated code names such a type by an alias, and a constant in the alias requires the traits. If one
//! is missing, the compiler reports it there, once, and accepts everything that uses the alias. With a
//! `where` clause, every call on the struct would be an error as well.
//!
//! A constant cannot name a type parameter: a type with one gets a `where` clause.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{DeriveInput, GenericParam, Path, Type};

use crate::{
    expand::{
        bounds::mentions,
        generics::{self_type, without_self},
        spans::{last_span, located_at},
    },
    model::{Field, guess},
};

const INTEGERS: &str = "i8 i16 i32 i64 u8 u16 u32 u64";

/// A requirement on a field's type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    Key,
    Time,
    Stored,
    Sum,
    Rollup,
    Unique,
    Len,
    Optional,
    OptionalParts,
    Items,
    ItemLen,
    ItemUnique,
    Flag,
    Total,
}

impl Rule {
    /// The trait, and the function that requires it.
    fn names(self) -> (&'static [&'static str], &'static str) {
        match self {
            Self::Key => (&["KeyField"], "key_field"),
            Self::Time => (&["TimeField"], "time_field"),
            Self::Stored => (&["__private", "StoredField"], "stored_field"),
            Self::Sum => (&["SumField"], "sum_field"),
            Self::Rollup => (&["RollupField"], "rollup_field"),
            Self::Unique => (&["__private", "UniqueField"], "unique_field"),
            Self::Len => (&["LenField"], "len_field"),
            Self::Optional => (&["__private", "OptionalField"], "optional_field"),
            Self::OptionalParts => (&["__private", "OptionalParts"], "optional_parts"),
            Self::Items => (&["__private", "ItemsField"], "items_field"),
            Self::ItemLen => (&["LenField"], "item_len_field"),
            Self::ItemUnique => (&["__private", "UniqueField"], "item_unique_field"),
            Self::Flag => (&["__private", "FlagField"], "flag_field"),
            Self::Total => (&["__private", "TotalField"], "total_field"),
        }
    }

    /// Whether a type with this spelling surely keeps the rule, so that the compiler need not check it. If
    /// another type has such a name, the compiler still reports it, though more than once.
    fn is_kept_by(self, ty: &Type) -> bool {
        match self {
            Self::Items => guess::item_of_vec(ty).is_some_and(|item| Self::Stored.is_kept_by(item)),
            Self::ItemLen => guess::item_of_vec(ty).is_some_and(|item| Self::Len.is_kept_by(item)),
            Self::ItemUnique => {
                guess::item_of_vec(ty).is_some_and(|item| Self::Unique.is_kept_by(item))
            }
            _ => name_of(ty).is_some_and(|name| self.is_kept_by_name(name)),
        }
    }

    fn is_kept_by_name(self, name: &Ident) -> bool {
        let (integers, others) = match self {
            Self::Key | Self::Unique => (INTEGERS, "String bool"),
            Self::Time => ("", "DateTime"),
            Self::Stored => (INTEGERS, "f32 f64 bool char String DateTime ObjectId Uuid"),
            Self::Sum => (INTEGERS, "f32 f64"),
            Self::Rollup => (INTEGERS, "f32 f64 DateTime"),
            Self::Len => ("", "String"),
            Self::Flag => ("", "bool"),
            Self::Total => ("", "i64 u64"),
            Self::Optional
            | Self::OptionalParts
            | Self::Items
            | Self::ItemLen
            | Self::ItemUnique => return false,
        };
        let mut kept = integers.split(' ').chain(others.split(' '));
        kept.any(|known| name == known)
    }
}

/// A rule for the type of a field, and where the compiler reports a violation: `None` is at the type.
pub(crate) struct Asked {
    pub(crate) rule: Rule,
    pub(crate) at: Option<Span>,
}

impl Asked {
    /// The expression that does not compile unless this type keeps the rule.
    pub(crate) fn question(&self, krate: &Path, ty: &TokenStream) -> TokenStream {
        let at = self.at.unwrap_or_else(|| last_span(ty));
        let (krate, function) = (located_at(krate, at), Ident::new(self.rule.names().1, at));
        let ty = match self.at {
            Some(at) => located_at(ty, at),
            None => ty.clone(),
        };
        quote_spanned!(at=> #krate::__private::fit::#function::<#ty>())
    }
}

impl From<Rule> for Asked {
    fn from(rule: Rule) -> Self {
        Self { rule, at: None }
    }
}

/// The types of a struct's fields, as generated code names them.
#[derive(Default)]
pub(crate) struct Types {
    /// The identifiers of fields, each with the alias for its type.
    aliases: Vec<(Ident, Ident)>,
    /// The definitions of the aliases.
    pub(crate) definitions: Vec<TokenStream>,
    /// The predicates of types with parameters.
    predicates: Vec<(Rule, TokenStream)>,
}

impl Types {
    /// `rules` says what the type of each field must be.
    pub(crate) fn new<P>(
        input: &DeriveInput,
        krate: &Path,
        fields: &[Field<'_, P>],
        rules: impl Fn(&Field<'_, P>) -> Vec<Asked>,
    ) -> Self {
        let mut types = Self::default();
        for field in fields {
            let ty = &field.node.ty;
            let mut asked = rules(field);
            asked.retain(|asked| !asked.rule.is_kept_by(ty));
            if asked.is_empty() {
                continue;
            }
            if is_fixed(input, ty) {
                types.define(input, krate, field, &asked);
            } else {
                // serde's own bounds speak for parameters.
                asked.retain(|asked| asked.rule != Rule::Stored);
                let predicates = asked
                    .iter()
                    .map(|asked| (asked.rule, predicate(input, krate, ty, asked)));
                types.predicates.extend(predicates);
            }
        }
        types
    }

    fn define<P>(
        &mut self,
        input: &DeriveInput,
        krate: &Path,
        field: &Field<'_, P>,
        asked: &[Asked],
    ) {
        let ty = without_self(field.node.ty.to_token_stream(), &self_type(input));
        // If a type in the angle brackets is unknown, the compiler suggests a parameter for the item around
        // it. With this span that is the struct, and the suggestion comes once.
        let span = match has_arguments(&ty) {
            true => input.ident.span(),
            false => Span::call_site(),
        };
        let alias = format_ident!("__{}", field.name, span = span);
        let questions = asked.iter().map(|asked| asked.question(krate, &ty));
        self.definitions.push(quote! {
            type #alias = #krate::__private::Fit<#ty, { #(#questions)&* }>;
        });
        self.aliases.push((field.ident.clone(), alias));
    }

    /// The type of a field, for use outside of the struct.
    pub(crate) fn of<P>(&self, input: &DeriveInput, field: &Field<'_, P>) -> TokenStream {
        match self.alias(field) {
            Some(alias) => located_at(alias, last_span(&field.node.ty)),
            None => without_self(field.node.ty.to_token_stream(), &self_type(input)),
        }
    }

    /// The predicates of these rules for types with parameters.
    pub(crate) fn predicates(&self, of: impl Fn(Rule) -> bool) -> Vec<TokenStream> {
        let predicates = self.predicates.iter().filter(|(rule, _)| of(*rule));
        predicates.map(|(_, tokens)| tokens.clone()).collect()
    }

    /// The alias for the type of a field, if there is one.
    pub(crate) fn alias<P>(&self, field: &Field<'_, P>) -> Option<&Ident> {
        let mut aliases = self.aliases.iter();
        let found = aliases.find(|(ident, _)| ident == field.ident);
        found.map(|(_, alias)| alias)
    }

    /// The path of a trait's method, for a call on the value of a field.
    pub(crate) fn call<P>(
        &self,
        field: &Field<'_, P>,
        krate: &Path,
        name: &str,
        method: &str,
    ) -> TokenStream {
        let [name, method] = [name, method].map(|name| Ident::new(name, Span::call_site()));
        match self.alias(field) {
            Some(alias) => quote!(<#alias as #krate::#name>::#method),
            None => quote!(#krate::#name::#method),
        }
    }
}

/// The type's name, if the type is a single identifier.
fn name_of(ty: &Type) -> Option<&Ident> {
    match ty {
        Type::Group(group) => name_of(&group.elem),
        Type::Path(ty) => ty.path.get_ident(),
        _ => None,
    }
}

fn has_arguments(ty: &TokenStream) -> bool {
    let mut trees = ty.clone().into_iter();
    trees.any(|tree| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == '<'))
}

/// Whether the type mentions no parameter of the struct.
pub(crate) fn is_fixed(input: &DeriveInput, ty: &Type) -> bool {
    if input.generics.params.is_empty() {
        return true;
    }
    let ty = without_self(ty.to_token_stream(), &self_type(input));
    !input.generics.params.iter().any(|param| match param {
        GenericParam::Type(param) => mentions(ty.clone(), &param.ident, false),
        GenericParam::Const(param) => mentions(ty.clone(), &param.ident, false),
        GenericParam::Lifetime(_) => true,
    })
}

/// `Type: Trait`, whose span is the whole type, so that the compiler points there.
fn predicate(input: &DeriveInput, krate: &Path, ty: &Type, asked: &Asked) -> TokenStream {
    let bounded = without_self(ty.to_token_stream(), &self_type(input));
    let at = asked.at.unwrap_or_else(|| last_span(ty));
    let bounded = match asked.at {
        Some(at) => located_at(&bounded, at),
        None => bounded,
    };
    let krate = located_at(krate, at);
    let bounded = match asked.rule {
        Rule::ItemLen | Rule::ItemUnique => {
            quote_spanned!(at=> <#bounded as #krate::__private::ItemsField>::Item)
        }
        _ => bounded,
    };
    let name = asked.rule.names().0.iter();
    let name = name.map(|name| Ident::new(name, at));
    quote_spanned!(at=> #bounded: #krate #(::#name)*)
}
