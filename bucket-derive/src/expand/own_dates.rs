//! Refuses times of other crates that serde would not store as dates. Most are stored as text, which does
//! not sort by time ("00.5Z" comes before "00Z").
//!
//! Only the compiler knows whether a type is such a time, so a constant asks for each field whose type may
//! be one.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{DeriveInput, Path, Type, spanned::Spanned};

use crate::{
    expand::{
        fit::is_fixed,
        generics::{self_type, without_self},
        spans::located_at,
    },
    model::{Field, guess},
};

/// A constant for each of these fields that serde stores by its type.
pub(crate) fn of_fields<'f, 'a: 'f, Part: 'f>(
    input: &DeriveInput,
    krate: &Path,
    fields: impl IntoIterator<Item = &'f Field<'a, Part>>,
) -> TokenStream {
    let stored = fields.into_iter().filter(|field| {
        let is_stored = field.serde.write.is_some() && !field.serde.read.is_empty();
        is_stored && !field.has_own_format()
    });
    let refused = stored.map(|field| {
        let help = "#[serde(with = \"bucket_runtime::bson_date\")]; or, to keep the form of its crate, \
                    #[serde(with = \"bucket_runtime::own_date\")]";
        refused(input, krate, &field.node.ty, &field.name, help)
    });
    probing(krate, refused.collect())
}

/// A constant for the items of a parent.
pub(crate) fn of_items<Part>(
    input: &DeriveInput,
    krate: &Path,
    items: &Field<'_, Part>,
) -> TokenStream {
    let item = guess::item_of_vec(&items.node.ty).filter(|_| !items.has_own_format());
    let help = "use `bson::DateTime`, or a struct with such a field";
    let refused = item.map(|item| refused(input, krate, item, &items.name, help));
    probing(krate, refused.unwrap_or_default())
}

/// The constant, unless the type surely is no such time.
fn refused(input: &DeriveInput, krate: &Path, ty: &Type, field: &str, help: &str) -> TokenStream {
    if !guess::may_be_own_date(ty) || !is_fixed(input, ty) {
        return TokenStream::new();
    }
    let message = format!("`{field}` is a time that serde would not store as a date\nhelp: {help}");
    let at = ty.span();
    let krate = located_at(krate, at);
    let ty = without_self(ty.to_token_stream(), &self_type(input));
    quote_spanned! {at=>
        const _: () = #krate::__private::refuse_if(
            #krate::__private::MaybeDate::<#ty>::__IS_OWN,
            #message,
        );
    }
}

/// The constants, with the import that answers for all other types.
fn probing(krate: &Path, constants: TokenStream) -> TokenStream {
    if constants.is_empty() {
        return constants;
    }
    quote! {
        #[allow(unused_imports)]
        use #krate::__private::NoDate as _;
        #constants
    }
}
