//! Writes the code of `#[derive(Fields)]`.

mod variants;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};

use crate::{
    expand::{
        bounds::of_left_out,
        fields::{Form, Place, has_attribute, is_plain, name, value},
        generics, own_dates, reading,
        type_name::type_name,
    },
    model::{
        Field,
        nested::{NestedKind, NestedModel, Variant},
    },
};

pub(crate) fn expand(model: &NestedModel<'_>) -> TokenStream {
    let (krate, import) = (model.attr.krate(), model.attr.import());
    let writer = NestedWriter { model };
    let ident = &model.input.ident;
    let own_dates = |fields| {
        own_dates::of_fields(model.input, &krate, fields, |field: &Field<'_, ()>| {
            writer.ty(field)
        })
    };
    let (written, fields, values) = match &model.kind {
        NestedKind::Struct(fields) => (
            writer.of_struct(fields),
            Vec::from_iter(fields),
            TokenStream::new(),
        ),
        NestedKind::Enum(variants) => {
            let fields = variants.iter().flat_map(Variant::fields);
            let values = variants.iter().filter_map(Variant::value);
            let ty = |ty: &syn::Type| writer.without_self(ty);
            let values = own_dates::of_values(model.input, &krate, values, ty);
            (writer.of_enum(variants), fields.collect(), values)
        }
        NestedKind::Union => return TokenStream::new(),
    };
    let (definition, of) = (written.definition, written.ty);
    let left_out = writer.left_out(&fields);
    let own_dates = own_dates(fields);
    let own_dates = own_dates::probing(&krate, quote!(#own_dates #values));
    quote! {
        #[allow(dead_code, deprecated, non_camel_case_types, non_snake_case)]
        const _: () = {
            #import
            #definition
            #left_out
            #own_dates
            #[automatically_derived]
            impl #krate::field::FieldsInside for #ident {
                type At<__T: 'static, __P: #krate::field::Path> = #of;
            }
            #[automatically_derived]
            impl #krate::Fields for #ident {}
        };
    }
}

struct NestedWriter<'m> {
    model: &'m NestedModel<'m>,
}

/// The fields of a struct or of a variant, or the variants of an enum.
struct FieldsStruct {
    /// The struct with the typed fields, if there are any.
    definition: TokenStream,
    /// The type at the path `__P`.
    ty: TokenStream,
}

impl NestedWriter<'_> {
    fn of_struct(&self, fields: &[Field<'_, ()>]) -> FieldsStruct {
        let krate = self.model.attr.krate();
        if named(fields).next().is_none() {
            return FieldsStruct {
                definition: TokenStream::new(),
                ty: quote!(#krate::field::NoFields<__T, __P>),
            };
        }
        let ident = type_name(self.model.input, "Fields");
        let definition = self.definition(&ident, fields);
        let value = self.value(&ident, fields, &quote!(__P));
        let located = self.located(&ident, &value);
        let (krate, readers) = (self.model.attr.krate(), ident.to_token_stream());
        let ty = |field: &Field<'_, ()>| self.ty(field);
        let no_clause = TokenStream::new();
        let readers = reading::readers(&krate, self.model.input, &readers, fields, ty, &no_clause);
        // Parts of a struct that is stored by itself name the fields that it has there.
        let is_whole = ["bucket", "outlier"].map(|other| has_attribute(self.model.input, other));
        let whole = (is_whole == [false; 2]).then(|| {
            let this = &self.model.input.ident;
            quote! {
                #[automatically_derived]
                impl #krate::field::StructFields for #this {
                    type Fields = #ident<Self>;
                    const FIELDS: &'static #ident<Self> = <Self as #krate::Fields>::FIELDS;
                }
            }
        });
        FieldsStruct {
            definition: quote! {
                #definition
                #located
                #readers
                #whole
            },
            ty: quote!(#ident<__T, __P>),
        }
    }

    /// The struct with the typed fields, and their names.
    fn definition(&self, ident: &Ident, fields: &[Field<'_, ()>]) -> TokenStream {
        let krate = self.model.attr.krate();
        let place = self.place(&krate, ident, &quote!(__P));
        let definitions = named(fields).enumerate().map(|(n, (field, _))| {
            // The fields of a variant are as visible as the enum.
            let visibility = match self.model.kind {
                NestedKind::Enum(_) => &self.model.input.vis,
                NestedKind::Struct(_) | NestedKind::Union => &field.node.vis,
            };
            place.definition(field, visibility, &self.ty(field), Form::Serde, n)
        });
        let names = self.names(ident, named(fields).map(|(_, name)| name));
        let (visibility, parameters) = (&self.model.input.vis, self.parameters());
        quote! {
            #visibility struct #ident #parameters {
                #(#definitions),*
            }
            #names
        }
    }

    /// The typed fields in a document at this path.
    fn value(&self, ident: &Ident, fields: &[Field<'_, ()>], within: &TokenStream) -> TokenStream {
        let krate = self.model.attr.krate();
        let place = self.place(&krate, ident, within);
        let values = named(fields).enumerate().map(|(n, (field, _))| {
            let path = place.path(n);
            let value = match is_plain(field) {
                true => quote!(#krate::Field::at::<#path>()),
                false => {
                    let at = quote!(<#path as #krate::field::Path>);
                    let value = value(&krate, field, &quote!(#at::PATH), Form::Serde);
                    quote!(#krate::Field::of_variant(#value, #at::VARIANT))
                }
            };
            let (name, value) = (field.ident, self.read(ident, fields, field, value));
            quote!(#name: #value)
        });
        quote!(#ident { #(#values),* })
    }

    /// The typed field, with what it says about how it is read. There are no parts of variants.
    fn read(
        &self,
        readers: &Ident,
        fields: &[Field<'_, ()>],
        field: &Field<'_, ()>,
        value: TokenStream,
    ) -> TokenStream {
        let NestedModel { input, serde, .. } = self.model;
        let (krate, readers) = (self.model.attr.krate(), readers.to_token_stream());
        match self.model.kind {
            NestedKind::Struct(_) => {
                reading::read(&krate, input, &readers, serde, fields, field, value)
            }
            NestedKind::Enum(_) | NestedKind::Union => value,
        }
    }

    /// The parameters of a struct with typed fields. With the defaults, the struct stands for its names alone:
    /// a path that named the whole type would hold the path around it twice.
    fn parameters(&self) -> TokenStream {
        let krate = self.model.attr.krate();
        quote!(<__T = (), __P: #krate::field::Path = #krate::field::Root>)
    }

    /// Where the fields with the names of this struct stand.
    fn place<'k>(&self, krate: &'k syn::Path, names: &Ident, within: &TokenStream) -> Place<'k> {
        Place {
            krate,
            of: quote!(__T),
            within: within.clone(),
            names: names.to_token_stream(),
            is_root: false,
        }
    }

    fn names<'n>(
        &self,
        ident: &Ident,
        names: impl Iterator<Item = impl ToTokens + 'n>,
    ) -> TokenStream {
        let krate = self.model.attr.krate();
        quote! {
            #[automatically_derived]
            impl #krate::field::Names for #ident {
                const NAMES: &'static [&'static ::core::primitive::str] = &[#(#names),*];
            }
        }
    }

    fn located(&self, ident: &Ident, value: &TokenStream) -> TokenStream {
        let krate = self.model.attr.krate();
        quote! {
            #[automatically_derived]
            impl<__T: 'static, __P: #krate::field::Path> #krate::field::Located for #ident<__T, __P> {
                const FIELDS: &'static Self = &#value;
            }
        }
    }

    /// A constant for each field that serde may leave out: whether its type can be read where it is missing.
    fn left_out(&self, fields: &[&Field<'_, ()>]) -> TokenStream {
        let krate = self.model.attr.krate();
        let asked = fields.iter().filter_map(|field| {
            let asked = of_left_out(&self.model.serde, field)?;
            let question = asked.question(&krate, &self.ty(field));
            Some(quote!(const _: ::core::primitive::bool = #question;))
        });
        asked.collect()
    }

    fn ty(&self, field: &Field<'_, ()>) -> TokenStream {
        self.without_self(&field.node.ty)
    }

    fn without_self(&self, ty: &syn::Type) -> TokenStream {
        let this = generics::self_type(self.model.input);
        generics::without_self(ty.to_token_stream(), &this)
    }
}

/// The fields that have stored names.
fn named<'f, 'a>(
    fields: &'f [Field<'a, ()>],
) -> impl Iterator<Item = (&'f Field<'a, ()>, &'f str)> {
    fields
        .iter()
        .filter_map(|field| Some((field, name(field)?)))
}
