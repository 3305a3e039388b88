//! How fields are read, for parts of the struct: what its serde attributes say beyond the field's name.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{DeriveInput, ExprPath, Path, spanned::Spanned};

use crate::{
    expand::{
        bounds,
        fields::{path, writer},
        fit::is_fixed,
        generics,
        spans::located_at,
    },
    model::Field,
    parse::{
        list::{Entry, Value},
        serde_attr::Container,
    },
};

/// The typed field, with what it says about how it is read. `readers` is the type that calls the user's functions.
pub(crate) fn read<Part>(
    krate: &Path,
    input: &DeriveInput,
    readers: &TokenStream,
    container: &Container,
    fields: &[Field<'_, Part>],
    field: &Field<'_, Part>,
    value: TokenStream,
) -> TokenStream {
    let value = match (reader(field), writer(field)) {
        (Some(_), _) => {
            let n = fields.iter().position(|one| one.ident == field.ident);
            let read = quote!(#krate::__private::read_field::<#readers, _, #n>);
            quote!(#krate::Field::read_by(#value, #read))
        }
        (None, Some(_)) => quote!(#krate::Field::read_by_serde(#value)),
        (None, None) => value,
    };
    let names = &field.serde.read;
    let is_plain = field.serde.write.as_ref() == names.first() && names.len() == 1;
    let value = match is_plain {
        true => value,
        false => quote!(#krate::Field::read_under(#value, &[#(#names),*])),
    };
    match default(input, container, field) {
        Some(default) => quote!(#krate::Field::or_default(#value, || #default)),
        None => value,
    }
}

/// The `impl`s for this type that call the user's functions. `types` names the fields' types, and `clause` is
/// that of the trait that has `FIELDS`.
pub(crate) fn readers<Part>(
    krate: &Path,
    input: &DeriveInput,
    readers: &TokenStream,
    fields: &[Field<'_, Part>],
    types: impl Fn(&Field<'_, Part>) -> TokenStream,
    clause: &TokenStream,
) -> TokenStream {
    let (parameters, _, _) = input.generics.split_for_impl();
    let fields = fields.iter().enumerate();
    let read = fields.filter_map(|(n, field)| {
        field.serde.write.as_ref()?;
        let (function, ty) = (reader(field)?, types(field));
        let argument = located_at(&quote!(__deserializer), function.span());
        let call = quote_spanned!(function.span()=> #function(#argument));
        Some(quote! {
            #[automatically_derived]
            impl #parameters #krate::__private::ReadField<#ty, #n> for #readers #clause {
                fn read<'__de, __D: #krate::__private::serde::Deserializer<'__de>>(
                    __deserializer: __D,
                ) -> ::core::result::Result<#ty, __D::Error> {
                    #call
                }
            }
        })
    });
    read.collect()
}

/// The predicates that the defaults and the user's functions of a struct with parameters require. serde's own
/// derive infers them, so a struct that is `DeserializeOwned` does not show them.
pub(crate) fn predicates<Part>(
    input: &DeriveInput,
    container: &Container,
    fields: &[Field<'_, Part>],
) -> Vec<TokenStream> {
    if input.generics.type_params().next().is_none() {
        return Vec::new();
    }
    let is_made = |entry: &Entry| matches!(entry.value, Value::None);
    let required = quote!(::core::default::Default);
    let entries = fields.iter().map(|field| &field.serde.entries);
    let written = std::iter::once(&container.entries).chain(entries);
    let written = written.filter_map(|entries| bounds::bound_of(entries, false));
    let whole = container.find("default").filter(|entry| is_made(entry));
    let whole = whole.map(|_| quote!(Self: #required));
    let made = fields.iter().filter(|field| {
        let is_made = match field.serde.find("default") {
            Some(entry) => is_made(entry),
            None => field.serde.has("skip_deserializing") && !container.has("default"),
        };
        field.serde.write.is_some() && is_made && !is_fixed(input, &field.node.ty)
    });
    let made = made.map(|field| {
        let ty = field.node.ty.to_token_stream();
        let ty = generics::without_self(ty, &generics::self_type(input));
        quote!(#ty: #required)
    });
    written.flatten().chain(whole).chain(made).collect()
}

/// The user's function that reads the values, if the field has one.
fn reader<Part>(field: &Field<'_, Part>) -> Option<ExprPath> {
    let entry = field.reader()?;
    let mut function = path(entry)?;
    if entry.is("with") {
        let name = syn::Ident::new("deserialize", function.span());
        function.path.segments.push(name.into());
    }
    Some(function)
}

/// The value of a field that a document lacks, if it has one.
pub(crate) fn default<Part>(
    input: &DeriveInput,
    container: &Container,
    field: &Field<'_, Part>,
) -> Option<TokenStream> {
    // As serde writes it: the compiler then reports a type without a default once.
    let of_type = quote!(::core::default::Default::default());
    if let Some(entry) = field.serde.find("default") {
        return made(entry, &of_type);
    }
    if let Some(entry) = container.find("default") {
        // In these words the compiler has it from the element's `Default`, and reports it once.
        let default = quote_spanned!(entry.tokens.span()=> ::core::default::Default::default());
        let made = made(entry, &default)?;
        let (this, ident) = (generics::self_type(input), field.ident);
        return Some(quote!({
            let __whole: #this = #made;
            __whole.#ident
        }));
    }
    let is_read = !field.serde.has("skip") && !field.serde.has("skip_deserializing");
    (!is_read).then_some(of_type)
}

/// The value of `default = "path"`, or of `default`.
fn made(entry: &Entry, default: &TokenStream) -> Option<TokenStream> {
    match entry.value {
        Value::None => Some(default.clone()),
        _ => path(entry).map(|path| located_at(&quote!(#path()), path.span())),
    }
}
