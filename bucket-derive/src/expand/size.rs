//! Writes the sizes of fields, as far as they are known, and the checks of `max_len`.

pub(crate) mod bucket;
pub(crate) mod outlier;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{DeriveInput, Path};

use crate::{
    expand::{
        fit::Types,
        limit,
        spans::{last_span, located_at},
    },
    model::Field,
    parse::attr::{Limit, Spanned},
};

/// The spec of a struct, and the constant that holds it where the compiler has something to prove: it
/// evaluates that one even if nothing uses it, and names it if the proof fails.
pub(crate) struct Spec {
    pub(crate) value: TokenStream,
    pub(crate) proof: Option<TokenStream>,
}

impl Spec {
    pub(crate) fn new(ty: &TokenStream, plain: TokenStream, proved: Option<TokenStream>) -> Self {
        match proved {
            Some(proved) => Self {
                value: quote!(__SPEC_THAT_FITS),
                proof: Some(quote!(const __SPEC_THAT_FITS: #ty = { #proved };)),
            },
            None => Self {
                value: plain,
                proof: None,
            },
        }
    }
}

/// The constants of the limits of fields.
pub(crate) fn constants<P>(fields: &[Field<'_, P>], krate: &Path) -> Vec<TokenStream> {
    let constants = bounded(fields);
    constants
        .filter_map(|(field, max)| limit::constant(max, Some(&field.name), krate))
        .collect()
}

/// The fields that have a `max_len`.
fn bounded<'f, 'a, P>(
    fields: &'f [Field<'a, P>],
) -> impl Iterator<Item = (&'f Field<'a, P>, &'f Spanned<Limit>)> {
    fields
        .iter()
        .filter_map(|field| Some((field, field.attr.limit("max_len")?)))
}

/// Whether the field holds texts without a `max_len`: then no size can be proved. A type of the user's
/// with such a name is not proved either, so it is checked when it is stored.
fn is_unbounded_text<P>(field: &Field<'_, P>) -> bool {
    // The compiler and `proc-macro2` put other spaces between tokens.
    let ty = field.node.ty.to_token_stream().to_string().replace(' ', "");
    let is_text = ["String", "Option<String>", "Vec<String>"].contains(&ty.as_str());
    is_text && field.attr.limit("max_len").is_none()
}

/// Asks the compiler about types of fields.
struct Prober<'m> {
    input: &'m DeriveInput,
    krate: &'m Path,
    types: &'m Types,
}

impl Prober<'_> {
    /// The maximum size of a value in bytes, if its type or its `max_len` implies one.
    fn size<P>(&self, field: &Field<'_, P>) -> TokenStream {
        self.size_by(field, "__SIZE", "__LEN")
    }

    /// The maximum size in bytes of an array's item, if its type or the field's `max_len` implies one.
    fn item_size<P>(&self, field: &Field<'_, P>) -> TokenStream {
        self.size_by(field, "__ITEM_SIZE", "__ITEM_LEN")
    }

    fn size_by<P>(&self, field: &Field<'_, P>, size: &str, len: &str) -> TokenStream {
        let Some(max) = field.attr.limit("max_len") else {
            return self.probe(field, size);
        };
        let krate = self.krate;
        let len = self.probe(field, len);
        let max = limit::value(max, Some(&field.name));
        quote!(#krate::__private::len_size(#len, #max))
    }

    /// The maximum length of a key field's text in bytes, if it is known.
    fn text<P>(&self, field: &Field<'_, P>) -> TokenStream {
        match field.attr.limit("max_len") {
            Some(max) => {
                let max = limit::value(max, Some(&field.name));
                quote!(::core::option::Option::Some(#max))
            }
            None => self.probe(field, "__TEXT"),
        }
    }

    fn probe<P>(&self, field: &Field<'_, P>, what: &str) -> TokenStream {
        let krate = self.krate;
        let ty = self.types.of(self.input, field);
        let what = Ident::new(what, Span::call_site());
        quote!(#krate::__private::MaybeSize::<#ty>::#what)
    }
}

/// A call that makes the compiler prove, if it can, that full documents fit. If they do not, it reports
/// that at this limit. The spec is the first of the arguments.
fn proved(
    krate: &Path,
    [spec, prove]: [&str; 2],
    arguments: TokenStream,
    limit: &Spanned<Limit>,
) -> TokenStream {
    let at = match &limit.value {
        Limit::Literal { node, .. } => last_span(node),
        Limit::Const(path) => last_span(path),
    };
    let (spec, prove) = (Ident::new(spec, at), Ident::new(prove, at));
    let krate = located_at(krate, at);
    quote_spanned!(at=> #krate::#spec::#prove(#arguments))
}

/// The import that gives types without a known size the size `None`.
fn probing(krate: &Path) -> TokenStream {
    quote! {
        #[allow(unused_imports)]
        use #krate::__private::NoSize as _;
    }
}
