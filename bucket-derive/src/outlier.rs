//! Writes what `#[derive(Outlier)]` stands for.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{DeriveInput, spanned::Spanned};

use crate::{
    bounds,
    check::outlier::{Checked, check},
    errors::Errors,
    fallback,
    fields::{self, Fields, Form},
    generics, limit,
    model::outlier::Model,
    size,
};

pub(crate) fn derive(input: TokenStream) -> TokenStream {
    match syn::parse2::<DeriveInput>(input) {
        Ok(input) => try_expand(&input),
        Err(error) => error.into_compile_error(),
    }
}

fn try_expand(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::new();
    let model = Model::read(input, &mut errors);
    let checked = check(&model, errors);
    match checked {
        Ok(checked) => expand(&checked),
        Err(error) => fallback::outlier(&model, error),
    }
}

fn expand(checked: &Checked<'_>) -> TokenStream {
    let krate = checked.model.attr.krate();
    let threshold = limit::constant(checked.threshold, &krate);
    let extras_capacity = checked.model.attr.extras_capacity.as_ref();
    let extras_capacity = extras_capacity.map(|limit| limit::constant(limit, &krate));
    let max_bytes = checked.model.attr.max_bytes.as_ref();
    let max_bytes = max_bytes.map(|limit| limit::constant(limit, &krate));
    let lengths = size::constants(&checked.model.fields, &krate);
    let fields = fields(checked.model);
    let definition = &fields.definition;
    let spec = spec(checked);
    let outlier = outlier_impl(checked, &fields);
    let import = checked.model.attr.import();
    quote! {
        #[allow(deprecated, non_snake_case)]
        const _: () = {
            #import
            #threshold
            #extras_capacity
            #max_bytes
            #(#lengths)*
            const __SPEC: #krate::OutlierSpec = { #spec };
            #definition
            #outlier
        };
    }
}

/// The typed fields.
pub(crate) fn fields(model: &Model<'_>) -> Fields {
    let krate = model.attr.krate();
    fields::fields(model.input, &krate, &model.fields, |_| Form::Serde)
}

fn outlier_impl(checked: &Checked<'_>, fields: &Fields) -> TokenStream {
    let krate = checked.model.attr.krate();
    let input = checked.model.input;
    let ident = &input.ident;
    let (parameters, arguments, _) = input.generics.split_for_impl();
    let clause = generics::where_clause(&predicates(checked));
    let too_long = size::outlier::too_long(checked);
    let fields = &fields.members;
    let (id, id_type) = (checked.id.ident, &checked.id.node.ty);
    let (items, items_type) = (checked.items.ident, &checked.items.node.ty);
    let id_type = quote_spanned!(id_type.span()=> type Id = #id_type;);
    let item = generics::item_of(items_type, &krate);
    let item_type = quote_spanned!(items_type.span()=> type Item = #item;);
    quote! {
        #[automatically_derived]
        impl #parameters #krate::Outlier for #ident #arguments #clause {
            const SPEC: #krate::OutlierSpec = __SPEC;
            #id_type
            #item_type
            #fields
            #too_long
            fn id(&self) -> #krate::IdRef<'_, Self> {
                #krate::KeyField::borrowed(&self.#id)
            }
            fn items_mut(&mut self) -> &mut #krate::__private::Vec<Self::Item> {
                #krate::__private::ItemsField::items_mut(&mut self.#items)
            }
        }
    }
}

/// What the implementation requires: fields of fit types, and a struct that can be stored.
fn predicates(checked: &Checked<'_>) -> Vec<TokenStream> {
    let (model, input) = (checked.model, checked.model.input);
    let krate = model.attr.krate();
    let fit = |ty, name| generics::is_fit(input, &krate, ty, name);
    let mut predicates = generics::of_struct(input);
    predicates.push(fit(&checked.id.node.ty, &["KeyField"]));
    predicates.push(fit(&checked.items.node.ty, &["__private", "ItemsField"]));
    if let Some(flag) = model.flag() {
        predicates.push(fit(&flag.node.ty, &["__private", "FlagField"]));
    }
    predicates.push(generics::is_stored(input, &krate));
    predicates.extend(size::outlier::lens_are_fit(checked));
    let fields = model.fields.iter();
    predicates.extend(bounds::left_out_is_fit(input, &krate, &model.serde, fields));
    predicates.extend(fields::predicates(input, &krate, &model.fields));
    predicates
}

fn spec(checked: &Checked<'_>) -> TokenStream {
    let attr = &checked.model.attr;
    let krate = attr.krate();
    let (collection, reference) = (checked.collection, checked.reference);
    let (extras, items, extra_items) = (&checked.extras, checked.items_name, &checked.extra_items);
    let threshold = limit::value(checked.threshold);
    let flag = checked.model.own_flag_name();
    let flag = flag.map(|name| quote!(.flag(#name)));
    let extras_capacity = attr.extras_capacity.as_ref().map(limit::value);
    let extras_capacity = extras_capacity.map(|limit| quote!(.extras_capacity(#limit)));
    let max_bytes = attr.max_bytes.as_ref().map(limit::value);
    let max_bytes = max_bytes.map(|bytes| quote!(.max_bytes(#bytes)));
    let indexes = fields::indexed(&checked.model.fields);
    let indexes = (!indexes.is_empty()).then(|| quote!(.indexes(&[#(#indexes),*])));
    let spec = quote! {
        #krate::OutlierSpec::new(
            #collection,
            #extras,
            #reference,
            #items,
            #extra_items,
            #threshold,
        ) #flag #extras_capacity #max_bytes #indexes
    };
    size::outlier::proved(checked, spec)
}
