//! Refuses times of other crates that serde would not store as dates. Most are stored as text, which does
//! not sort by time ("00.5Z" comes before "00Z").
//!
//! Only the compiler knows whether a type is such a time, so a constant asks for each field whose type may
//! be one.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{DeriveInput, Path, Type, spanned::Spanned};

use crate::{
    expand::{fit::is_fixed, generics::item_of, spans::located_at},
    model::{Field, guess},
};

/// The text to paste before a field.
const WITH: &str = "#[serde(with = \"bucket_runtime::bson_date\")]; or, to keep the form of its crate, \
                    #[serde(with = \"bucket_runtime::own_date\")]";

/// A constant for each of these fields that serde stores by its type. `ty` names the types.
pub(crate) fn of_fields<'f, 'a: 'f, Part: 'f>(
    input: &DeriveInput,
    krate: &Path,
    fields: impl IntoIterator<Item = &'f Field<'a, Part>>,
    ty: impl Fn(&Field<'_, Part>) -> TokenStream,
) -> TokenStream {
    let stored = fields.into_iter().filter(|field| {
        let is_stored = field.serde.write.is_some() && !field.serde.read.is_empty();
        is_stored && !field.has_own_format()
    });
    let asked = stored.filter(|field| is_asked(input, &field.node.ty));
    let refused = asked.map(|field| refused(krate, &field.node.ty, &ty(field), &field.name, WITH));
    refused.collect()
}

/// A constant for each of these values of variants, which have no names of their own.
pub(crate) fn of_values<'t>(
    input: &DeriveInput,
    krate: &Path,
    values: impl Iterator<Item = (String, &'t Type)>,
    ty: impl Fn(&Type) -> TokenStream,
) -> TokenStream {
    let asked = values.filter(|(_, written)| is_asked(input, written));
    let refused = asked.map(|(name, written)| refused(krate, written, &ty(written), &name, WITH));
    refused.collect()
}

/// A constant for the items of a parent, whose array has this type.
pub(crate) fn of_items<Part>(
    input: &DeriveInput,
    krate: &Path,
    items: &Field<'_, Part>,
    ty: &TokenStream,
) -> TokenStream {
    let item = guess::item_of_vec(&items.node.ty);
    let Some(item) = item.filter(|item| !items.has_own_format() && is_asked(input, item)) else {
        return TokenStream::new();
    };
    let help = "use `bson::DateTime`, or a struct with such a field";
    let ty = item_of(ty, krate);
    refused(krate, item, &ty, &items.name, help)
}

/// Whether the compiler is to say whether a type is such a time.
fn is_asked(input: &DeriveInput, ty: &Type) -> bool {
    guess::may_be_own_date(ty) && is_fixed(input, ty)
}

/// The constant, which the compiler reports at the type as it is written.
fn refused(krate: &Path, written: &Type, ty: &TokenStream, field: &str, help: &str) -> TokenStream {
    let message = format!("`{field}` is a time that serde would not store as a date\nhelp: {help}");
    let at = written.span();
    let krate = located_at(krate, at);
    // For an unknown type in angle brackets, the compiler would suggest a parameter once more.
    quote_spanned! {at=>
        const _: () = {
            type __Written = #ty;
            #krate::__private::refuse_if(
                #krate::__private::MaybeDate::<__Written>::__IS_OWN,
                #message,
            )
        };
    }
}

/// The constants of a struct, with the import that answers for all other types.
pub(crate) fn probing(krate: &Path, constants: TokenStream) -> TokenStream {
    if constants.is_empty() {
        return constants;
    }
    quote! {
        #[allow(unused_imports)]
        use #krate::__private::NoDate as _;
        #constants
    }
}
