//! The table of keys that each derive has, and how their values are read.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{
    LitStr, Path, Result, TypePath,
    parse::{Parse, ParseStream, Parser},
    spanned::Spanned as _,
};

use super::{Given, Limit, Spanned};
use crate::{
    errors::Errors,
    parse::{list::Value, runtime},
};

/// Writes the `Derive` and the struct that its attribute is read into, from one list of keys, so
/// that no key is in one of them alone. Each derive has the key `crate`, too.
macro_rules! attribute {
    (
        $(#[$docs:meta])*
        $attr:ident,
        $derive:ident { $($fact:ident: $what:expr,)+ }
        $($key:ident: $value:ty = $usage:literal,)*
    ) => {
        pub(crate) const $derive: $crate::parse::attr::Derive = $crate::parse::attr::Derive {
            $($fact: $what,)+
            keys: &[
                $((stringify!($key), $usage),)*
                ("crate", "crate = ::bucket_runtime"),
            ],
        };

        $(#[$docs])*
        #[derive(Default)]
        pub(crate) struct $attr {
            pub(crate) written: $crate::parse::attr::Written,
            $(pub(crate) $key: Option<$crate::parse::attr::Spanned<$value>>,)*
            runtime: Option<$crate::parse::attr::Spanned<syn::Path>>,
        }

        impl $attr {
            pub(crate) fn parse(
                input: &syn::DeriveInput,
                errors: &mut $crate::errors::Errors,
            ) -> Self {
                let mut parsed = Self::default();
                parsed.written = $derive.read(&input.attrs, errors, |given, errors| {
                    match given.key.to_string().as_str() {
                        $(stringify!($key) => parsed.$key = given.read(errors),)*
                        "crate" => parsed.runtime = given.read(errors),
                        // `Derive::read` hands on the keys of the table alone.
                        _ => {}
                    }
                });
                parsed
            }

            /// The import with which generated code begins.
            pub(crate) fn import(&self) -> proc_macro2::TokenStream {
                let attribute = self.written.name.as_ref();
                $crate::parse::attr::table::import(self.runtime.as_ref(), attribute)
            }

            /// The name of the runtime in generated code.
            pub(crate) fn krate(&self) -> syn::Path {
                $crate::parse::attr::table::krate()
            }
        }
    };
}

pub(super) use attribute;

/// A type that the value of a key is read into.
pub(super) trait KeyValue: Sized {
    /// Reads the value, or says what it must be.
    fn of(given: &Given, errors: &mut Errors) -> Option<Self>;
}

impl KeyValue for LitStr {
    fn of(given: &Given, errors: &mut Errors) -> Option<Self> {
        given.parsed(syn::parse2, "a string literal", errors)
    }
}

/// `crate = path`, or the path in a string as for serde.
impl KeyValue for Path {
    fn of(given: &Given, errors: &mut Errors) -> Option<Self> {
        let parse = |tokens| unquoted(tokens, Self::parse_mod_style);
        given.parsed(parse, "a path", errors)
    }
}

/// The path of a struct, with the arguments of its parameters.
impl KeyValue for TypePath {
    fn of(given: &Given, errors: &mut Errors) -> Option<Self> {
        given.parsed(|tokens| unquoted(tokens, Self::parse), "a path", errors)
    }
}

impl KeyValue for Limit {
    fn of(given: &Given, errors: &mut Errors) -> Option<Self> {
        given.parsed(Self::parse, "an integer or the path of a constant", errors)
    }
}

/// Reads tokens, or the text in them.
fn unquoted<T>(tokens: TokenStream, parse: fn(ParseStream<'_>) -> Result<T>) -> Result<T> {
    match syn::parse2::<LitStr>(tokens.clone()) {
        Ok(text) => text.parse_with(parse),
        Err(_) => parse.parse2(tokens),
    }
}

impl Given {
    pub(super) fn read<T: KeyValue>(self, errors: &mut Errors) -> Option<Spanned<T>> {
        let value = T::of(&self, errors)?;
        Some(Spanned {
            key: self.key,
            value,
            usage: self.usage,
        })
    }

    /// The value behind `=`.
    fn parsed<T>(
        &self,
        parse: impl Fn(TokenStream) -> Result<T>,
        what: &str,
        errors: &mut Errors,
    ) -> Option<T> {
        let key = &self.key;
        let tokens = match &self.entry.value {
            Value::Assigned(tokens) if !tokens.is_empty() => tokens,
            _ => {
                errors.push(
                    &self.entry.tokens,
                    format_args!("`{key}` needs a value"),
                    self.usage,
                );
                return None;
            }
        };
        let value = parse(tokens.clone()).ok();
        if value.is_none() {
            errors.push(tokens, format_args!("`{key}` must be {what}"), self.usage);
        }
        value
    }
}

/// Imports the runtime under the name by which generated code knows it. If there is no such crate,
/// the compiler says so once, at the derive's attribute.
pub(super) fn import(written: Option<&Spanned<Path>>, attribute: Option<&Path>) -> TokenStream {
    let at = attribute.map_or_else(Span::call_site, |path| path.span());
    let path = match written {
        Some(krate) => krate.value.to_token_stream(),
        None => {
            let name = runtime::other_name().unwrap_or_else(|| "bucket_runtime".to_owned());
            let name = Ident::new(&name, at);
            quote_spanned!(at=> ::#name)
        }
    };
    quote! {
        #[allow(unused_imports)]
        use #path as __runtime;
    }
}

/// The name of the runtime in generated code.
pub(super) fn krate() -> Path {
    Ident::new("__runtime", Span::call_site()).into()
}
