//! The paths of the indexes that a struct asks for.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};

use crate::{expand::fields::name, model::Field};

/// The call that names the indexed fields in a spec, if there are any. `whole` is the struct as one of the
/// trait that has `FIELDS`.
pub(crate) fn indexes<Part>(
    fields: &[Field<'_, Part>],
    whole: &TokenStream,
) -> Option<TokenStream> {
    let marked = fields
        .iter()
        .filter(|field| field.attr.word("index").is_some());
    let names = marked.flat_map(|field| {
        let whole_field = name(field).filter(|_| field.attr.indexes.is_empty());
        let whole_field = whole_field.map(|name| quote!(#name));
        let paths = field.attr.indexes.iter();
        let paths = paths.map(|path| index_path(field.ident, path, whole));
        whole_field.into_iter().chain(paths).collect::<Vec<_>>()
    });
    let names = Vec::from_iter(names);
    (!names.is_empty()).then(|| quote!(.indexes(&[#(#names),*])))
}

/// The stored path of a field inside of this one. Each block has the span of a step, where the compiler then
/// reports that the step leads nowhere.
fn index_path(field: &Ident, path: &[Ident], whole: &TokenStream) -> TokenStream {
    let whole_field = quote!(&#whole::FIELDS.#field);
    let (end, path) = path
        .iter()
        .fold((field.span(), whole_field), |(_, at), step| {
            let span = step.span();
            (span, quote_spanned!(span=> &{ #at }.index_step().#step))
        });
    let name = quote_spanned!(end=> { #path }.index_name());
    // The compiler keeps the value of a constant, and not that of a call.
    quote!(const { #name })
}
