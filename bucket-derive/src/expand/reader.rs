//! How elements are read: field by field, into a struct of their own.
//!
//! The code that serde's derive writes for a struct takes the compiler ten times as long. It reads elements where
//! some serde attribute says more than under which names a field is read, and what replaces it if it is missing.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::{
    expand::{element, fit::Types, reading},
    model::{
        Field,
        bucket::{BucketModel, Role},
    },
};

/// The serde attributes of a field that this module can follow, or that do not concern reading.
const FIELD: &str = "rename alias default skip skip_serializing skip_serializing_if skip_deserializing \
                     serialize_with";

/// The serde attributes of a struct that this module can follow, or that do not concern reading.
const CONTAINER: &str = "rename rename_all";

/// The struct of an element, and how it is named.
pub(crate) struct Reader {
    pub(crate) definition: TokenStream,
    /// The type that serde reads.
    pub(crate) ty: TokenStream,
    /// The pattern for a value of this type that binds the struct to `__element`.
    pub(crate) pattern: TokenStream,
}

pub(crate) fn reader(model: &BucketModel<'_>, types: &Types) -> Reader {
    let krate = model.attr.krate();
    let (_, arguments, _) = model.input.generics.split_for_impl();
    if !is_plain(model) {
        let (element, default) = (
            element::derived_struct(model, types),
            element::default_impl(model, types),
        );
        return Reader {
            definition: quote!(#element #default),
            ty: quote!(__Element #arguments),
            pattern: quote!(__element),
        };
    }
    let (element, read) = (element::plain_struct(model, types), by_field(model, types));
    Reader {
        definition: quote!(#element #read),
        ty: quote!(#krate::__private::ReadElement<__Element>),
        pattern: quote!(#krate::__private::ReadElement(__element)),
    }
}

fn is_plain(model: &BucketModel<'_>) -> bool {
    let is_plain = |field: &Field<'_, Role>| {
        field.serde.has_only(FIELD) && (!field.is_date() || element::holds_date(model, field))
    };
    model.input.generics.params.is_empty()
        && model.serde.has_only(CONTAINER)
        && model.elements().all(is_plain)
}

fn by_field(model: &BucketModel<'_>, types: &Types) -> TokenStream {
    let krate = model.attr.krate();
    let (mut slots, mut empty, mut names, mut values) = (vec![], vec![], vec![], vec![]);
    for (n, field) in model.elements().enumerate() {
        let (ident, slot) = (field.ident, format_ident!("__field{n}"));
        let default = reading::default(model.input, &model.serde, field);
        if field.serde.read.is_empty() {
            values.push(quote!(#ident: #default));
            continue;
        }
        let (empty_slot, value) = match default {
            // The default has to be of this type.
            Some(default) => {
                let ty = types.of(model.input, field);
                let empty_slot =
                    quote!(#krate::__private::OrDefault::<#ty>(::core::option::Option::None));
                (empty_slot, quote!(#slot.0.unwrap_or_else(|| #default)))
            }
            None => (
                quote!(::core::option::Option::None),
                quote!(#krate::__private::filled(#slot)),
            ),
        };
        values.push(quote!(#ident: #value));
        names.push(&field.serde.read);
        empty.push(empty_slot);
        slots.push(slot);
    }
    quote! {
        #[automatically_derived]
        impl #krate::__private::ReadFields for __Element {
            fn read(
                __reader: #krate::__private::ElementReader<'_>,
            ) -> ::core::result::Result<Self, #krate::__private::ReadError> {
                #(let mut #slots = #empty;)*
                __reader.fill(&[#(&[#(#names),*]),*], &mut [#(&mut #slots),*])?;
                ::core::result::Result::Ok(Self { #(#values),* })
            }
        }
    }
}
