//! Writes the code of `#[derive(Bucket)]`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::{
    check::bucket::{BucketChecked, CheckedOrdinal},
    expand::{
        bounds, element,
        fields::{self, Fields, Form},
        fit::Types,
        flattened, generics, indexes, limit, own_dates,
        reader::{self, Reader},
        reading,
        rollup::{self, Rollups},
        size::{self, Spec},
        writer::{self, Writer},
    },
    model::{
        Field,
        bucket::{BucketModel, Role},
    },
    parse::attr::BUCKET,
};

pub(crate) fn expand(checked: &BucketChecked<'_>) -> TokenStream {
    let (attr, krate) = (&checked.model.attr, checked.model.attr.krate());
    let limits = [Some(checked.capacity), attr.max_bytes.as_ref()];
    let limits = limits.into_iter().flatten();
    let limits = limits.filter_map(|given| limit::constant(given, None, &krate));
    let lengths = size::constants(&checked.model.fields, &krate);
    let import = attr.import();
    let types = bounds::types(checked.model);
    let aliases = &types.definitions;
    let writer = writer::writer(checked.model, &types);
    let write = &writer.definition;
    let reader = reader::reader(checked.model, &types);
    let element = &reader.definition;
    let fields = fields(checked.model, &types);
    let rollups = rollup::rollups(checked.model, &types);
    let definitions = [&fields.definition, &rollups.definition];
    let elements = checked.model.elements();
    let elements = elements.filter(|field| field.part == Role::Element);
    let own_dates = own_dates::of_fields(checked.model.input, &krate, elements, |field| {
        types.of(checked.model.input, field)
    });
    let own_dates = own_dates::probing(&krate, own_dates);
    let spec = spec(checked, &types, &rollups);
    let (spec, proof) = (&spec.value, &spec.proof);
    let bucket = bucket_impl(checked, &types, spec, &reader, &writer, &fields, &rollups);
    quote! {
        #[allow(deprecated, non_camel_case_types, non_snake_case)]
        const _: () = {
            #import
            #(#aliases)*
            #(#limits)*
            #(#lengths)*
            #proof
            #write
            #element
            #(#definitions)*
            #own_dates
            #bucket
        };
    }
}

/// The typed fields.
pub(crate) fn fields(model: &BucketModel<'_>, types: &Types) -> Fields {
    let form = |field: &Field<'_, Role>| match field.part {
        Role::Key => Form::Key,
        Role::Time => Form::Date,
        Role::Element => Form::Serde,
    };
    let (krate, input, serde) = (model.attr.krate(), model.input, &model.serde);
    fields::fields(input, &BUCKET, serde, &krate, &model.fields, types, form)
}

fn bucket_impl(
    checked: &BucketChecked<'_>,
    types: &Types,
    spec: &TokenStream,
    reader: &Reader,
    writer: &Writer,
    fields: &Fields,
    rollups: &Rollups,
) -> TokenStream {
    let model = checked.model;
    let krate = model.attr.krate();
    let ident = &model.input.ident;
    let (parameters, arguments, _) = model.input.generics.split_for_impl();
    let clause = generics::where_clause(&bounds::of_bucket(model, types));
    let too_long = size::bucket::too_long(model, types);
    let flattened = flattened::flattened(&krate, &model.fields, None);
    let (key_type, key_member) = key_type(model, types);
    let key = key(model, types);
    let time = time(model, types);
    let construction = construction(model);
    let write = &writer.body;
    let (element, pattern) = (&reader.ty, &reader.pattern);
    let (fields, rollup_members) = (&fields.members, &rollups.members);
    let markers = markers(model, &clause);
    let (input, this) = (model.input, generics::self_type(model.input));
    let ty = |field: &Field<'_, Role>| types.of(input, field);
    let readers = reading::readers(&krate, input, &this, &model.fields, ty, &clause);
    quote! {
        #markers
        #readers
        #[automatically_derived]
        impl #parameters #krate::Bucket for #ident #arguments #clause {
            const SPEC: #krate::BucketSpec = #spec;
            #key_member
            type Element = #element;
            #fields
            #rollup_members
            #flattened
            #too_long
            fn key(&self) -> <#key_type as #krate::Key>::Ref<'_> {
                #key
            }
            fn time(&self) -> ::core::option::Option<#krate::__private::DateTime> {
                #time
            }
            fn serialize_element<__S: #krate::__private::serde::Serializer>(
                &self,
                __serializer: __S,
            ) -> #krate::__private::Serialized<__S> {
                #write
            }
            fn from_parts(__key: #key_type, #pattern: #element) -> Self {
                #construction
            }
        }
    }
}

/// The struct, made of its key and its element.
fn construction(model: &BucketModel<'_>) -> TokenStream {
    let keys = model.keys().enumerate().map(|(n, field)| {
        let (ident, n) = (field.ident, syn::Index::from(n));
        quote!(#ident: __key.#n)
    });
    let elements = model.elements().map(|field| {
        let ident = field.ident;
        let inner = element::holds_date(model, field).then(|| quote!(.0));
        quote!(#ident: __element.#ident #inner)
    });
    quote!(Self { #(#keys,)* #(#elements),* })
}

/// The type of the key, and the trait's member. A type through `Self::Key` would repeat the error of a struct
/// that is not `Send`.
fn key_type(model: &BucketModel<'_>, types: &Types) -> (TokenStream, TokenStream) {
    let each = model.keys().map(|field| types.of(model.input, field));
    let first = model.keys().next();
    let span = first.map_or_else(Span::call_site, |field| field.node.ty.span());
    let key_type = quote_spanned!(span=> (#(#each,)*));
    let member = quote_spanned!(span=> type Key = #key_type;);
    (key_type, member)
}

/// The borrowed key: a tuple, if there are several fields.
fn key(model: &BucketModel<'_>, types: &Types) -> TokenStream {
    let fields = model.keys().map(|field| borrowed(model, types, field));
    match Vec::from_iter(fields).as_slice() {
        [one] => one.clone(),
        several => quote!((#(#several),*)),
    }
}

/// The item's time, if the ordinal needs one.
fn time(model: &BucketModel<'_>, types: &Types) -> TokenStream {
    let Some(time) = model.time() else {
        return quote!(::core::option::Option::None);
    };
    let ident = time.ident;
    let to_datetime = types.call(time, &model.attr.krate(), "TimeField", "to_datetime");
    quote!(::core::option::Option::Some(#to_datetime(&self.#ident)))
}

/// The `impl`s of the traits that say what the struct has: time windows, and an identity of its items.
pub(crate) fn markers(model: &BucketModel<'_>, clause: &TokenStream) -> TokenStream {
    let krate = model.attr.krate();
    let ident = &model.input.ident;
    let (parameters, arguments, _) = model.input.generics.split_for_impl();
    let windowed = model.window_name().map(|_| quote!(Windowed));
    let identified = model.unique().map(|_| quote!(Identified));
    let implemented = windowed.into_iter().chain(identified).map(|name| {
        quote! {
            #[automatically_derived]
            impl #parameters #krate::#name for #ident #arguments #clause {}
        }
    });
    implemented.collect()
}

fn spec(checked: &BucketChecked<'_>, types: &Types, rollups: &Rollups) -> Spec {
    let model = checked.model;
    let krate = model.attr.krate();
    let collection = checked.collection;
    let head = model.format.head();
    let after_key = model.format.after_key();
    let ordinal = match checked.ordinal {
        CheckedOrdinal::Number => quote!(Number),
        CheckedOrdinal::Seconds => quote!(Seconds),
        CheckedOrdinal::Millis => quote!(Millis),
        CheckedOrdinal::Window { seconds } => quote!(Window { seconds: #seconds }),
    };
    let capacity = limit::value(checked.capacity, None);
    let names = model.keys().map(|key| {
        let (name, aliases) = (
            &key.serde.write,
            key.serde.read.get(1..).unwrap_or_default(),
        );
        let aliases = (!aliases.is_empty()).then(|| quote!(.aliases(&[#(#aliases),*])));
        quote!(#krate::KeyName::new(#name) #aliases)
    });
    let attr = &model.attr;
    let given = [&attr.items, &attr.count, &attr.window, &attr.rollup];
    let given = given.into_iter().flatten();
    let given = given.map(|given| {
        let (key, name) = (&given.key, &given.value);
        quote!(.#key(#name))
    });
    let rollups = &rollups.spec;
    let time = model.time().map(|time| &time.serde.write);
    let time = time.map(|name| quote!(.time(#name)));
    let this = generics::self_type(model.input);
    let indexes = indexes::indexes(&model.fields, &quote!(<#this as #krate::Bucket>));
    let unique = model
        .unique()
        .and_then(|unique| unique.serde.write.as_ref());
    let unique = unique.map(|name| quote!(.unique(#name)));
    let expire_after = checked.expire_after;
    let expire_after = expire_after.map(|seconds| quote!(.expire_after(#seconds)));
    let max_bytes = attr.max_bytes.as_ref().map(|max| limit::value(max, None));
    let max_bytes = max_bytes.map(|bytes| quote!(.max_bytes(#bytes)));
    let fields = fields::all_names(model.elements());
    let fields = fields.map(|names| quote!(.fields(&[#(#names),*])));
    let spec = quote! {
        #krate::BucketSpec::new(
            #collection,
            #krate::IdFormat::new(#head, &[#(#after_key),*], #krate::Ordinal::#ordinal),
            #capacity,
            &[#(#names),*],
        ) #(#given)* #rollups #time #fields #indexes #unique #expire_after #max_bytes
    };
    let proved = size::bucket::proved(model, types, checked.capacity, &spec);
    Spec::new(&quote!(#krate::BucketSpec), spec, proved)
}

fn borrowed(model: &BucketModel<'_>, types: &Types, key: &Field<'_, Role>) -> TokenStream {
    let ident = key.ident;
    let borrowed = types.call(key, &model.attr.krate(), "KeyField", "borrowed");
    quote!(#borrowed(&self.#ident))
}
