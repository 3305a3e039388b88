//! Writes the code of `#[derive(Outlier)]`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::{
    check::outlier::OutlierChecked,
    expand::{
        bounds,
        fields::{self, Fields, Form},
        fit::{Rule, Types},
        flattened, generics, indexes, limit, own_dates, reading,
        size::{self, Spec},
        spans::located_at,
    },
    model::{
        Field,
        outlier::{Marks, OutlierModel},
    },
    parse::attr::OUTLIER,
};

pub(crate) fn expand(checked: &OutlierChecked<'_>) -> TokenStream {
    let krate = checked.model.attr.krate();
    let attr = &checked.model.attr;
    let limits = [
        Some(checked.threshold),
        attr.extras_capacity.as_ref(),
        attr.max_bytes.as_ref(),
    ];
    let limits = limits.into_iter().flatten();
    let limits = limits.filter_map(|limit| limit::constant(limit, None, &krate));
    let lengths = size::constants(&checked.model.fields, &krate);
    let types = types(checked.model);
    let aliases = &types.definitions;
    let fields = fields(checked.model, &types);
    let definition = &fields.definition;
    let spec = spec(checked, &types);
    let proof = &spec.proof;
    let outlier = outlier_impl(checked, &types, &spec.value, &fields);
    let (input, items) = (checked.model.input, checked.items);
    let own_dates = [
        own_dates::of_fields(input, &krate, &checked.model.fields, |field| {
            types.of(input, field)
        }),
        own_dates::of_items(input, &krate, items, &types.of(input, items)),
    ];
    let own_dates = own_dates::probing(&krate, own_dates.into_iter().collect());
    let import = checked.model.attr.import();
    quote! {
        #[allow(deprecated, non_camel_case_types, non_snake_case)]
        const _: () = {
            #import
            #(#aliases)*
            #(#limits)*
            #(#lengths)*
            #proof
            #definition
            #own_dates
            #outlier
        };
    }
}

/// The typed fields.
pub(crate) fn fields(model: &OutlierModel<'_>, types: &Types) -> Fields {
    let krate = model.attr.krate();
    let (input, serde) = (model.input, &model.serde);
    let form = |_: &Field<'_, Marks>| Form::Serde;
    fields::fields(input, &OUTLIER, serde, &krate, &model.fields, types, form)
}

/// The types of the fields, each with the rules for its part.
fn types(model: &OutlierModel<'_>) -> Types {
    let fields = &model.fields;
    Types::new(model.input, &model.attr.krate(), fields, |field| {
        let is_items = field.attr.word("items").is_some();
        let is_bounded = field.attr.limit("max_len").is_some();
        let rules = [
            (field.part.is_id, Rule::Key),
            (is_items, Rule::Items),
            (field.attr.word("flag").is_some(), Rule::Flag),
            (field.attr.word("total").is_some(), Rule::Total),
            (is_bounded && is_items, Rule::ItemLen),
            (is_items && is_identity(field), Rule::ItemUnique),
            (is_bounded && !is_items, Rule::Len),
        ];
        let rules = rules.into_iter().filter(|(is_asked, _)| *is_asked);
        let left_out = bounds::of_left_out(&model.serde, field);
        rules.map(|(_, rule)| rule.into()).chain(left_out).collect()
    })
}

fn outlier_impl(
    checked: &OutlierChecked<'_>,
    types: &Types,
    spec: &TokenStream,
    fields: &Fields,
) -> TokenStream {
    let krate = checked.model.attr.krate();
    let input = checked.model.input;
    let ident = &input.ident;
    let (parameters, arguments, _) = input.generics.split_for_impl();
    let clause = generics::where_clause(&predicates(checked, types));
    let too_long = size::outlier::too_long(checked, types);
    let flag = quote!(<Self as #krate::Outlier>::SPEC.flag);
    let flattened = flattened::flattened(&krate, &checked.model.fields, Some(flag));
    let fields = &fields.members;
    let (id, items) = (checked.id.ident, checked.items.ident);
    // A type through `Self::Id` would repeat the error of a struct that is not `Send`.
    let id_type = types.of(input, checked.id);
    let id_member = quote_spanned!(checked.id.node.ty.span()=> type Id = #id_type;);
    let item = generics::item_of(&types.of(input, checked.items), &krate);
    let item_member = quote_spanned!(checked.items.node.ty.span()=> type Item = #item;);
    let borrowed = types.call(checked.id, &krate, "KeyField", "borrowed");
    let items_type = types.of(input, checked.items);
    let this = generics::self_type(input);
    let ty = |field: &Field<'_, Marks>| types.of(input, field);
    let readers = reading::readers(&krate, input, &this, &checked.model.fields, ty, &clause);
    let identified = identified(checked.model, &clause);
    quote! {
        #readers
        #identified
        #[automatically_derived]
        impl #parameters #krate::Outlier for #ident #arguments #clause {
            const SPEC: #krate::OutlierSpec = #spec;
            #id_member
            #item_member
            #fields
            #flattened
            #too_long
            fn id(&self) -> &<#id_type as #krate::KeyField>::Borrowed {
                #borrowed(&self.#id)
            }
            fn items_mut(&mut self) -> &mut #krate::__private::Vec<#item> {
                <#items_type as #krate::__private::ItemsField>::items_mut(&mut self.#items)
            }
        }
    }
}

/// Whether the items themselves are their identities.
fn is_identity(field: &Field<'_, Marks>) -> bool {
    field.attr.word("unique").is_some() && field.attr.unique.is_none()
}

/// The `impl` of the trait that says that items have an identity.
pub(crate) fn identified(model: &OutlierModel<'_>, clause: &TokenStream) -> Option<TokenStream> {
    model.items()?.attr.word("unique")?;
    let krate = model.attr.krate();
    let ident = &model.input.ident;
    let (parameters, arguments, _) = model.input.generics.split_for_impl();
    Some(quote! {
        #[automatically_derived]
        impl #parameters #krate::IdentifiedItems for #ident #arguments #clause {}
    })
}

/// The call that names the identity of the items in a spec, if they have one: the stored name of a field of
/// theirs, or no name for the whole item.
fn unique(checked: &OutlierChecked<'_>, types: &Types) -> Option<TokenStream> {
    let (items, krate) = (checked.items, checked.model.attr.krate());
    items.attr.word("unique")?;
    let Some(field) = &items.attr.unique else {
        return Some(quote!(.unique("")));
    };
    let item = generics::item_of(&types.of(checked.model.input, items), &krate);
    let span = field.span();
    let krate = located_at(&krate, span);
    let fields = quote_spanned!(span=> <#item as #krate::Fields>::FIELDS);
    let name = quote_spanned!(span=> #krate::__private::unique_name(&#fields.#field));
    // The compiler keeps the value of a constant, and not that of a call.
    Some(quote!(.unique(const { #name })))
}

/// The predicates of the implementation: fields of fit types, and a struct that can be stored.
fn predicates(checked: &OutlierChecked<'_>, types: &Types) -> Vec<TokenStream> {
    let (model, input) = (checked.model, checked.model.input);
    let krate = model.attr.krate();
    let mut predicates = generics::of_struct(input);
    predicates.push(generics::is_stored(input, &krate));
    // One message where both derives are forgotten, and none where serde has reported why it writes no code.
    if !checked.serde_refuses {
        let at = input.ident.span();
        let krate = located_at(&krate, at);
        predicates.push(quote_spanned!(at=> Self: #krate::__private::StoredField));
    }
    // The trait asks for it anyway, but of a type with parameters the compiler cannot know it.
    if !input.generics.params.is_empty() {
        predicates.push(generics::is_shared());
    }
    // If the items are unfit, so is the struct in most cases: one of the two messages is enough.
    if types.alias(checked.items).is_some() {
        let items = types.of(input, checked.items);
        predicates.push(quote!(#items: #krate::__private::ItemsField));
    }
    predicates.extend(types.predicates(|_| true));
    predicates.extend(fields::predicates(input, &krate, &model.fields));
    predicates.extend(reading::predicates(input, &model.serde, &model.fields));
    predicates
}

fn spec(checked: &OutlierChecked<'_>, types: &Types) -> Spec {
    let attr = &checked.model.attr;
    let krate = attr.krate();
    let (collection, reference) = (checked.collection, checked.reference);
    let (extras, items, extra_items) = (&checked.extras, checked.items_name, &checked.extra_items);
    let value = |limit| limit::value(limit, None);
    let threshold = value(checked.threshold);
    let flag = checked.model.own_flag_name();
    let flag = flag.map(|name| quote!(.flag(#name)));
    let total = checked.model.total();
    let total = total.and_then(|field| field.serde.write.as_ref());
    let total = total.map(|name| quote!(.total(#name)));
    let extras_capacity = attr.extras_capacity.as_ref().map(value);
    let extras_capacity = extras_capacity.map(|limit| quote!(.extras_capacity(#limit)));
    let max_bytes = attr.max_bytes.as_ref().map(value);
    let max_bytes = max_bytes.map(|bytes| quote!(.max_bytes(#bytes)));
    let unique = unique(checked, types);
    let this = generics::self_type(checked.model.input);
    let indexes = indexes::indexes(&checked.model.fields, &quote!(<#this as #krate::Outlier>));
    let spec = quote! {
        #krate::OutlierSpec::new(
            #collection,
            #extras,
            #reference,
            #items,
            #extra_items,
            #threshold,
        ) #flag #total #unique #extras_capacity #max_bytes #indexes
    };
    let proved = size::outlier::proved(checked, types, &spec);
    Spec::new(&quote!(#krate::OutlierSpec), spec, proved)
}
