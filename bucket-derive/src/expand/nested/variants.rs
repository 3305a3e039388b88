//! The variants of an enum, as typed fields of a struct.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::ext::IdentExt;

use super::{FieldsStruct, NestedWriter, named};
use crate::{
    check::names::not_a_field_name,
    expand::{fields::docs, type_name::type_name},
    model::nested::{Content, Variant},
};

/// How an enum is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    External,
    Internal,
    Adjacent,
}

/// A variant in the struct of its enum.
struct Member {
    /// The struct with the variant's fields, if they have names.
    definition: Option<TokenStream>,
    ty: TokenStream,
    value: TokenStream,
}

impl NestedWriter<'_> {
    pub(super) fn of_enum(&self, variants: &[Variant<'_>]) -> FieldsStruct {
        let krate = self.model.attr.krate();
        let shape = self.shape();
        let variants = variants.iter();
        let variants = variants.filter_map(|variant| Some((variant, path_name(variant, shape)?)));
        let variants = Vec::from_iter(variants);
        if variants.is_empty() {
            return FieldsStruct {
                definition: TokenStream::new(),
                ty: quote!(#krate::field::NoFields<__T, __P>),
            };
        }
        let ident = type_name(self.model.input, "Fields");
        let names = self.names(&ident, variants.iter().map(|(_, name)| *name));
        let stored = self.stored_as(&ident, shape);
        let members = variants.iter().enumerate().map(|(n, (variant, _))| {
            let path = quote!(#krate::field::AtVariant<__P, #ident, #n>);
            self.member(variant, shape, &path)
        });
        let members = Vec::from_iter(members);
        let structs = members.iter().map(|member| &member.definition);
        let (visibility, parameters) = (&self.model.input.vis, self.parameters());
        let typed = variants.iter().zip(&members).map(|((variant, _), member)| {
            let (docs, ident, ty) = (docs(&variant.node.attrs), &variant.ident, &member.ty);
            quote!(#(#docs)* #visibility #ident: #krate::field::Variant<__T, #ty>)
        });
        let values = variants.iter().zip(&members).map(|((variant, _), member)| {
            let (ident, value) = (&variant.ident, &member.value);
            quote!(#ident: #value)
        });
        let located = self.located(&ident, &quote!(#ident { #(#values),* }));
        FieldsStruct {
            definition: quote! {
                #(#structs)*
                #visibility struct #ident #parameters {
                    #(#typed),*
                }
                #names
                #stored
                #located
            },
            ty: quote!(#ident<__T, __P>),
        }
    }

    /// A variant, whose content is at this path.
    fn member(&self, variant: &Variant<'_>, shape: Shape, path: &TokenStream) -> Member {
        let krate = self.model.attr.krate();
        let new = quote!(#krate::field::Variant::new::<#path>);
        match (&variant.content, shape) {
            (Content::Named(fields), _) if named(fields).next().is_some() => {
                let suffix = format!("{}Fields", variant.node.ident.unraw());
                let ident = type_name(self.model.input, &suffix);
                let value = self.value(&ident, fields, path);
                let definition = self.definition(&ident, fields);
                Member {
                    definition: Some(quote! {
                        #definition
                        #[automatically_derived]
                        impl<__T, __P: #krate::field::Path> #krate::field::VariantFields
                            for #ident<__T, __P> {}
                    }),
                    ty: quote!(#ident<__T, #path>),
                    value: quote!(#new(#value)),
                }
            }
            (Content::One(ty), Shape::Internal) => {
                let ty = self.without_self(ty);
                Member {
                    definition: None,
                    ty: quote!(#krate::field::Inlined<__T, #ty, #path>),
                    value: quote!(#new(#krate::field::Inlined::here())),
                }
            }
            (Content::One(ty), Shape::External | Shape::Adjacent) => {
                let ty = self.without_self(ty);
                let field = quote!(#krate::Field::at::<#path>());
                Member {
                    definition: None,
                    ty: quote!(#krate::Field<__T, #ty, #krate::field::Plain, #path>),
                    value: quote!(#krate::field::Variant::of_value::<#path>(#field)),
                }
            }
            (Content::Named(_) | Content::Unknown | Content::Nothing, _) => Member {
                definition: None,
                ty: quote!(#krate::field::NoFields<__T, #path>),
                value: quote!(#new(#krate::field::NoFields::NONE)),
            },
        }
    }

    /// How the enum with these names is stored.
    fn stored_as(&self, ident: &Ident, shape: Shape) -> TokenStream {
        let krate = self.model.attr.krate();
        let text = |key| self.model.serde.find(key)?.string();
        let (tag, content) = (text("tag"), text("content"));
        let shape = match shape {
            Shape::External => quote!(External),
            Shape::Internal => quote!(Internal { tag: #tag }),
            Shape::Adjacent => quote!(Adjacent { tag: #tag, content: #content }),
        };
        quote! {
            #[automatically_derived]
            impl #krate::field::Variants for #ident {
                const SHAPE: #krate::field::Shape = #krate::field::Shape::#shape;
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
}

/// The stored name, if conditions can be about the variant. Without a tag it is a step of a path, and a
/// variant that holds nothing is a text, which has no names.
fn path_name<'v>(variant: &'v Variant<'_>, shape: Shape) -> Option<&'v str> {
    let name = variant.serde.write.as_deref()?;
    let is_text = || matches!(variant.content, Content::Nothing);
    match shape {
        Shape::External if is_text() || not_a_field_name(name).is_some() => None,
        Shape::External | Shape::Internal | Shape::Adjacent => Some(name),
    }
}
