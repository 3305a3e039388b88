//! Writes limits: literals as they are, constants by a constant of our own, which checks them.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::spanned::Spanned as _;

use crate::{
    expand::spans::{last_span, located_at},
    parse::attr::{Limit, Spanned},
};

/// The limit of the struct, or of a field, as generated code uses it.
pub(crate) fn value(limit: &Spanned<Limit>, field: Option<&str>) -> TokenStream {
    match &limit.value {
        // Without the suffix that it may have.
        Limit::Literal {
            node,
            number: Some(number),
        } => {
            let mut literal = Literal::i128_unsuffixed(*number);
            literal.set_span(last_span(node));
            literal.into_token_stream()
        }
        Limit::Literal { node, .. } => node.to_token_stream(),
        Limit::Const(_) => constant_name(limit, field).into_token_stream(),
    }
}

/// Checks the value of a constant, which only the compiler knows, and reports at its path. The function
/// that checks it in the runtime has the key's name.
///
/// `& !0` accepts integers only and leaves them as they are; a cast alone would accept a float, too. Both
/// have the span of the user's tokens, where clippy would complain.
pub(crate) fn constant(
    limit: &Spanned<Limit>,
    field: Option<&str>,
    krate: &syn::Path,
) -> Option<TokenStream> {
    let Limit::Const(path) = &limit.value else {
        return None;
    };
    let krate = located_at(krate, path.span());
    let (name, check) = (
        constant_name(limit, field),
        format_ident!("{}", limit.key, span = last_span(path)),
    );
    Some(quote_spanned! {last_span(path)=>
        #[allow(clippy::all, clippy::pedantic, clippy::restriction)]
        const #name: ::core::primitive::u32 =
            #krate::__private::#check((#path & !0) as ::core::primitive::i128);
    })
}

/// `__CAPACITY_WITHIN_LIMITS`, or `__MAX_LEN_TICKER_WITHIN_LIMITS` for a field: the compiler names the constant if
/// it is not.
fn constant_name(limit: &Spanned<Limit>, field: Option<&str>) -> Ident {
    let field = field.map(|field| format!("_{field}")).unwrap_or_default();
    let name = format!("{}{field}", limit.key).to_uppercase();
    format_ident!("__{name}_WITHIN_LIMITS")
}
