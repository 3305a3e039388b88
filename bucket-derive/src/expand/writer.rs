//! How elements are written: straight from the user's struct, field by field.
//!
//! Some serde attributes say more than whether and under which name a field is written. For these,
//! serde's own derive writes elements, from a struct that borrows the user's (serde's `remote`).

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Ident, LitInt, ext::IdentExt, spanned::Spanned};

use crate::{
    expand::{
        element, fields,
        fit::Types,
        spans::{last_span, located_at},
    },
    model::{
        Field,
        bucket::{BucketModel, Role},
    },
};

/// The serde attributes of a field that this module can follow, or that do not concern writing.
const FIELD: &str = "rename alias default skip skip_serializing skip_serializing_if skip_deserializing \
                     deserialize_with bound";

/// The serde attributes of a struct that this module can follow, or that do not concern writing.
const CONTAINER: &str = "rename rename_all default deny_unknown_fields bound crate expecting";

/// The code that writes elements, and the struct that it may need.
pub(crate) struct Writer {
    pub(crate) definition: Option<TokenStream>,
    /// The body of `serialize_element`.
    pub(crate) body: TokenStream,
}

pub(crate) fn writer(model: &BucketModel<'_>, types: &Types) -> Writer {
    if is_plain(model) {
        return Writer {
            definition: None,
            body: by_field(model, types),
        };
    }
    let (_, arguments, _) = model.input.generics.split_for_impl();
    let turbofish = arguments.as_turbofish();
    Writer {
        definition: Some(element::write_struct(model, types)),
        body: quote!(__Write #turbofish::serialize(self, __serializer)),
    }
}

fn is_plain(model: &BucketModel<'_>) -> bool {
    let mut elements = model.elements();
    model.serde.has_only(CONTAINER) && elements.all(|field| field.serde.has_only(FIELD))
}

fn by_field(model: &BucketModel<'_>, types: &Types) -> TokenStream {
    let krate = model.attr.krate();
    let name = model.input.ident.unraw().to_string();
    let written = Vec::from_iter(model.elements().filter(|field| field.serde.write.is_some()));
    let count = LitInt::new(&written.len().to_string(), model.input.ident.span());
    let fields = written.iter().map(|field| write_field(field, types));
    quote! {
        #krate::__private::ElementWriter::new(__serializer, #name, #count)
            #(#fields)*
            .end()
    }
}

/// `.field("qty", &self.quantity)`: if the type cannot be written, the error points at it.
fn write_field(field: &Field<'_, Role>, types: &Types) -> TokenStream {
    let (ident, name) = (field.ident, &field.serde.write);
    let end = last_span(&field.node.ty);
    let this = located_at(&quote!(self), end);
    let method = |name: &str| Ident::new(name, end);
    let alias = types.alias(field).map(|alias| quote!(::<#alias>));
    if field.is_date() {
        let method = method("date");
        return quote_spanned!(end=> .#method #alias(#name, &#this.#ident));
    }
    match fields::left_out_if(field) {
        Some(path) => {
            let tested = located_at(&quote!(&self.#ident), path.span());
            let method = method("field_unless");
            let test = quote_spanned!(path.span()=> #path(#tested));
            quote_spanned!(end=> .#method #alias(#test, #name, &#this.#ident))
        }
        None => {
            let method = method("field");
            quote_spanned!(end=> .#method #alias(#name, &#this.#ident))
        }
    }
}
