//! Writes the code of `#[derive(Fields)]`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Path, Type, ext::IdentExt};

use crate::{
    expand::{
        fields::{Form, Place, docs, name, value},
        generics, own_dates,
    },
    model::{
        Field,
        nested::{Content, Kind, Model, Variant},
    },
};

/// How an enum is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    External,
    Internal,
    Adjacent,
}

pub(crate) fn expand(model: &Model<'_>) -> TokenStream {
    let (krate, import) = (model.attr.krate(), model.attr.import());
    let writer = Writer { model };
    let ident = &model.input.ident;
    let fields = writer.ident("Fields");
    let ty = |ty: &Type| generics::without_self(ty.to_token_stream(), &writer.this());
    let own_dates = |fields| {
        own_dates::of_fields(model.input, &krate, fields, |field: &Field<'_, ()>| {
            ty(&field.node.ty)
        })
    };
    let (definitions, own_dates) = match &model.kind {
        Kind::Struct(fields) => (writer.of_struct(fields), own_dates(Vec::from_iter(fields))),
        Kind::Enum(variants) => {
            let fields = variants.iter().flat_map(Variant::fields);
            let values = variants.iter().filter_map(Variant::value);
            let mut refused = own_dates(fields.collect());
            refused.extend(own_dates::of_values(model.input, &krate, values, ty));
            (writer.of_enum(variants), refused)
        }
        Kind::Union => return TokenStream::new(),
    };
    quote! {
        #[allow(dead_code, deprecated, non_camel_case_types, non_snake_case)]
        const _: () = {
            #import
            #definitions
            #own_dates
            #[automatically_derived]
            impl #krate::Fields for #ident {
                type At<__T: 'static, __P: #krate::field::Path> = #fields<__T, __P>;
            }
        };
    }
}

struct Writer<'m> {
    model: &'m Model<'m>,
}

impl Writer<'_> {
    fn of_struct(&self, fields: &[Field<'_, ()>]) -> TokenStream {
        let ident = self.ident("Fields");
        let definition = self.definition(&ident, fields);
        let value = self.value(&ident, fields, &quote!(__P));
        let located = self.located(&ident, &value);
        quote!(#definition #located)
    }

    fn of_enum(&self, variants: &[Variant<'_>]) -> TokenStream {
        let krate = self.model.attr.krate();
        let visibility = &self.model.input.vis;
        let ident = self.ident("Fields");
        let shape = self.shape();
        // A unit variant without a tag is a text, which has no names.
        let variants = variants.iter().filter(|variant| {
            shape != Shape::External || !matches!(variant.content, Content::Nothing)
        });
        let variants = Vec::from_iter(variants);
        let names = variants.iter().map(|variant| &variant.name);
        let names = self.names(&ident, names, self.shape_value());
        let place = self.place(&krate, &ident, &quote!(__P));
        let written = variants.iter().enumerate().map(|(n, variant)| {
            let path = place.path(n);
            self.variant(variant, shape, &path)
        });
        let written = Vec::from_iter(written);
        let structs = written.iter().map(|variant| &variant.definition);
        let idents = Vec::from_iter(variants.iter().map(|variant| &variant.ident));
        let members = variants.iter().zip(&written).map(|(variant, written)| {
            let (docs, ident, ty) = (docs(variant.attrs), &variant.ident, &written.ty);
            quote!(#(#docs)* #visibility #ident: #krate::field::Variant<__T, #ty>)
        });
        let values = written.iter().enumerate().map(|(n, written)| {
            let (path, value) = (place.path(n), &written.value);
            quote!(#krate::field::Variant::new::<#path>(#value))
        });
        let value = quote! {
            #ident { #(#idents: #values,)* __of: ::core::marker::PhantomData }
        };
        let located = self.located(&ident, &value);
        quote! {
            #(#structs)*
            #visibility struct #ident<__T, __P> {
                #(#members,)*
                __of: ::core::marker::PhantomData<fn() -> (__T, __P)>,
            }
            #names
            #located
        }
    }

    /// A variant, whose fields are at this path.
    fn variant(&self, variant: &Variant<'_>, shape: Shape, path: &TokenStream) -> Written {
        let krate = self.model.attr.krate();
        match &variant.content {
            Content::Named(fields) if !fields.is_empty() => {
                let ident = self.ident(&format!("_{}", variant.ident.unraw()));
                Written {
                    definition: Some(self.definition(&ident, fields)),
                    value: self.value(&ident, fields, path),
                    ty: quote!(#ident<__T, #path>),
                }
            }
            Content::One(ty) => {
                let ty = generics::without_self(ty.to_token_stream(), &self.this());
                match shape {
                    Shape::Internal => Written {
                        definition: None,
                        value: quote!(#krate::field::Inlined::here()),
                        ty: quote!(#krate::field::Inlined<__T, #ty, #path>),
                    },
                    Shape::External | Shape::Adjacent => Written {
                        definition: None,
                        value: quote! {
                            #krate::Field::of_variant(
                                #krate::Field::new(<#path as #krate::field::Path>::PATH),
                                <#path as #krate::field::Path>::VARIANT,
                            )
                        },
                        ty: quote!(#krate::Field<__T, #ty, #krate::field::Plain, #path>),
                    },
                }
            }
            Content::Named(_) | Content::Several | Content::Nothing => Written {
                definition: None,
                value: quote!(()),
                ty: quote!(()),
            },
        }
    }

    /// The struct with the typed fields, and their names.
    fn definition(&self, ident: &Ident, fields: &[Field<'_, ()>]) -> TokenStream {
        let krate = self.model.attr.krate();
        let place = self.place(&krate, ident, &quote!(__P));
        let definitions = named(fields).enumerate().map(|(n, (field, _))| {
            let ty = generics::without_self(field.node.ty.to_token_stream(), &self.this());
            // The fields of a variant are as visible as the enum.
            let visibility = match self.model.kind {
                Kind::Enum(_) => &self.model.input.vis,
                Kind::Struct(_) | Kind::Union => &field.node.vis,
            };
            place.definition(field, visibility, &ty, Form::Serde, n)
        });
        let names = self.names(ident, named(fields).map(|(_, name)| name), None);
        let visibility = &self.model.input.vis;
        quote! {
            #visibility struct #ident<__T, __P> {
                #(#definitions,)*
                __of: ::core::marker::PhantomData<fn() -> (__T, __P)>,
            }
            #names
        }
    }

    /// The typed fields in a document at this path.
    fn value(&self, ident: &Ident, fields: &[Field<'_, ()>], within: &TokenStream) -> TokenStream {
        let krate = self.model.attr.krate();
        let place = self.place(&krate, ident, within);
        let values = named(fields).enumerate().map(|(n, (field, _))| {
            let (ident, path) = (field.ident, place.path(n));
            let name = quote!(<#path as #krate::field::Path>::PATH);
            let value = value(&krate, field, &name, Form::Serde);
            let variant = quote!(<#within as #krate::field::Path>::VARIANT);
            quote!(#ident: #krate::Field::of_variant(#value, #variant))
        });
        quote!(#ident { #(#values,)* __of: ::core::marker::PhantomData })
    }

    /// Where the fields with the names of this struct stand.
    fn place<'k>(&self, krate: &'k Path, names: &Ident, within: &TokenStream) -> Place<'k> {
        Place {
            krate,
            of: quote!(__T),
            within: within.clone(),
            names: quote!(#names<__T, #within>),
        }
    }

    fn names<'n>(
        &self,
        ident: &Ident,
        names: impl Iterator<Item = impl ToTokens + 'n>,
        shape: Option<TokenStream>,
    ) -> TokenStream {
        let krate = self.model.attr.krate();
        let shape = shape.map(|shape| quote!(const SHAPE: #krate::field::Shape = #shape;));
        quote! {
            #[automatically_derived]
            impl<__T, __P> #krate::field::Names for #ident<__T, __P> {
                const NAMES: &'static [&'static ::core::primitive::str] = &[#(#names),*];
                #shape
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

    fn shape(&self) -> Shape {
        let serde = &self.model.serde;
        match (serde.has("tag"), serde.has("content")) {
            (true, false) => Shape::Internal,
            (true, true) => Shape::Adjacent,
            (false, _) => Shape::External,
        }
    }

    fn shape_value(&self) -> Option<TokenStream> {
        let krate = self.model.attr.krate();
        let text = |key| self.model.serde.find(key)?.string();
        let (tag, content) = (text("tag"), text("content"));
        Some(match self.shape() {
            Shape::External => quote!(#krate::field::Shape::External),
            Shape::Internal => quote!(#krate::field::Shape::Internal { tag: #tag }),
            Shape::Adjacent => {
                quote!(#krate::field::Shape::Adjacent { tag: #tag, content: #content })
            }
        })
    }

    fn ident(&self, suffix: &str) -> Ident {
        let of = self.model.input.ident.unraw();
        format_ident!("__{of}{suffix}", span = Span::call_site())
    }

    fn this(&self) -> TokenStream {
        generics::self_type(self.model.input)
    }
}

/// A variant in the struct of its enum.
struct Written {
    /// The struct with the variant's fields, if they have names.
    definition: Option<TokenStream>,
    /// What stands for the content.
    value: TokenStream,
    ty: TokenStream,
}

/// The fields that have stored names.
fn named<'f, 'a>(
    fields: &'f [Field<'a, ()>],
) -> impl Iterator<Item = (&'f Field<'a, ()>, &'f str)> {
    fields
        .iter()
        .filter_map(|field| Some((field, name(field)?)))
}
