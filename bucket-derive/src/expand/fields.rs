//! The struct behind `FIELDS`: a typed field for each field that a stored document has by name.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Attribute, DeriveInput, ExprPath, Path, Type, Visibility, spanned::Spanned};

use crate::{
    check::names::not_a_field_name,
    expand::{bounds, fit::Types, generics, reading, spans::located_at, type_name::type_name},
    model::{Field, guess},
    parse::{attr::Derive, list::Entry, serde_attr::Container},
};

/// How values of a field are stored, unless its serde attributes say otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Key,
    Date,
    Serde,
}

/// The struct with the typed fields, and the trait's members that use it.
pub(crate) struct Fields {
    pub(crate) definition: TokenStream,
    pub(crate) members: TokenStream,
    /// The members for a stub.
    pub(crate) stubs: TokenStream,
}

/// `types` names the fields' types, and `form` says how a field is stored unless its serde attributes do.
pub(crate) fn fields<Part>(
    input: &DeriveInput,
    derive: &Derive,
    container: &Container,
    krate: &Path,
    fields: &[Field<'_, Part>],
    types: &Types,
    form: impl Fn(&Field<'_, Part>) -> Form,
) -> Fields {
    let named = (fields.iter()).filter_map(|field| Some((field, name(field)?)));
    let named = Vec::from_iter(named);
    if named.is_empty() {
        return no_fields();
    }
    let ident = type_name(input, "Fields");
    let this = generics::self_type(input);
    let (parameters, arguments, _) = input.generics.split_for_impl();
    let mut predicates = generics::of_struct(input);
    let clause = generics::where_clause(&predicates);
    // Parts of a struct that derives both are parts of its items.
    let is_whole = derive.name == "Bucket" || !has_attribute(input, "bucket");
    let whole = is_whole.then(|| {
        let (this, name) = (&input.ident, format_ident!("{}", derive.name));
        // With a lifetime of its own, a predicate that does not hold is not an error here.
        predicates.push(quote!(for<'__a> Self: #krate::#name<Fields = #ident #arguments>));
        let clause = generics::where_clause(&predicates);
        quote! {
            #[automatically_derived]
            impl #parameters #krate::field::StructFields for #this #arguments #clause {
                type Fields = #ident #arguments;
                const FIELDS: &'static Self::Fields = &<Self as #krate::#name>::FIELDS;
            }
        }
    });
    let visibility = &input.vis;
    let place = Place {
        krate,
        of: this.clone(),
        within: quote!(#krate::field::Root),
        names: quote!(#ident #arguments),
        is_root: true,
    };
    let definitions = named.iter().enumerate().map(|(n, (field, _))| {
        let ty = types.of(input, field);
        place.definition(field, &field.node.vis, &ty, form(field), n)
    });
    let values = named.iter().map(|(field, name)| {
        let ident = field.ident;
        let value = value(krate, field, &quote!(#name), form(field));
        let value = match form(field) {
            Form::Key => value,
            _ => reading::read(krate, input, &this, container, fields, field, value),
        };
        quote!(#ident: #value)
    });
    let nothing = named.iter().map(|(field, _)| no_field(krate, field.ident));
    let has_path = named.iter().any(|(field, _)| has_path(field, form(field)));
    let stored = named.iter().map(|(_, name)| *name);
    let nested = has_path.then(|| names_impl(input, krate, &ident, &clause, stored));
    Fields {
        definition: quote! {
            #[allow(dead_code, non_camel_case_types, non_snake_case)]
            #visibility struct #ident #parameters #clause {
                #(#definitions),*
            }
            #nested
            #whole
        },
        members: quote! {
            type Fields = #ident #arguments;
            const FIELDS: Self::Fields = #ident { #(#values),* };
        },
        stubs: quote! {
            type Fields = #ident #arguments;
            const FIELDS: Self::Fields = #ident { #(#nothing),* };
        },
    }
}

/// Whether a struct has an attribute of this name.
pub(crate) fn has_attribute(input: &DeriveInput, name: &str) -> bool {
    input.attrs.iter().any(|attr| attr.path().is_ident(name))
}

/// The typed field of a stub.
fn no_field(krate: &Path, ident: &Ident) -> TokenStream {
    quote!(#ident: #krate::__private::no_field())
}

/// The members of a struct none of whose fields has a name.
fn no_fields() -> Fields {
    let members = quote! {
        type Fields = ();
        const FIELDS: () = ();
    };
    Fields {
        definition: TokenStream::new(),
        stubs: members.clone(),
        members,
    }
}

/// The names of the typed fields, for the paths to fields inside of them.
fn names_impl<'n>(
    input: &DeriveInput,
    krate: &Path,
    ident: &Ident,
    clause: &TokenStream,
    names: impl Iterator<Item = &'n str>,
) -> TokenStream {
    let (parameters, arguments, _) = input.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #parameters #krate::field::Names for #ident #arguments #clause {
            const NAMES: &'static [&'static ::core::primitive::str] = &[#(#names),*];
        }
    }
}

/// Where fields stand.
pub(crate) struct Place<'t> {
    pub(crate) krate: &'t Path,
    /// The struct that conditions on them are for.
    pub(crate) of: TokenStream,
    /// The path of the document that they are in.
    pub(crate) within: TokenStream,
    /// The type that has their names.
    pub(crate) names: TokenStream,
    /// Whether that document is the item or the parent itself.
    pub(crate) is_root: bool,
}

impl Place<'_> {
    /// The typed field, as a field of the struct behind `FIELDS`; its name is the `n`th.
    pub(crate) fn definition<Part>(
        &self,
        field: &Field<'_, Part>,
        visibility: &Visibility,
        ty: &TokenStream,
        form: Form,
        n: usize,
    ) -> TokenStream {
        let (krate, of, ident) = (self.krate, &self.of, field.ident);
        let path = match has_path(field, form) {
            true => Some(self.path(n)),
            false => self.leaf(),
        };
        let stored = match (stored(field, form), &path) {
            (Some(marker), _) => Some(quote!(, #krate::field::#marker)),
            (None, Some(_)) => Some(quote!(, #krate::field::Plain)),
            (None, None) => None,
        };
        let (docs, path) = (docs(&field.node.attrs), path.iter());
        quote!(#(#docs)* #visibility #ident: #krate::Field<#of, #ty #stored #(, #path)*>)
    }

    /// The path of a field that leads no further, if that is not `()`. Inside of a document it names the path
    /// around it, since the compiler refuses a struct that uses none of its parameters.
    fn leaf(&self) -> Option<TokenStream> {
        let (krate, within) = (self.krate, &self.within);
        (!self.is_root).then(|| quote!(<#within as #krate::field::Path>::Leaf))
    }

    /// The path of the field, whose name is the `n`th.
    pub(crate) fn path(&self, n: usize) -> TokenStream {
        let (krate, within, names) = (self.krate, &self.within, &self.names);
        quote!(#krate::field::At<#within, #names, #n>)
    }
}

/// The attributes that hold docs.
pub(crate) fn docs(attrs: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attrs.iter().filter(|attr| attr.path().is_ident("doc"))
}

/// Whether the typed field leads to fields inside.
fn has_path<Part>(field: &Field<'_, Part>, form: Form) -> bool {
    form == Form::Serde && writer(field).is_none() && guess::may_have_fields(&field.node.ty)
}

/// The stored names of these fields; `None` if there may be others, too.
pub(crate) fn all_names<'f, Part: 'f>(
    fields: impl Iterator<Item = &'f Field<'f, Part>>,
) -> Option<Vec<&'f str>> {
    let stored = fields.filter(|field| field.serde.write.is_some() || field.serde.has("flatten"));
    stored.map(name).collect()
}

/// The stored name, if the field has one that a query can spell.
pub(crate) fn name<'f, Part>(field: &'f Field<'_, Part>) -> Option<&'f str> {
    let name = field.serde.write.as_deref()?;
    not_a_field_name(name).is_none().then_some(name)
}

/// The predicates of fields with generic types: from a struct that is `Serialize` the compiler does not
/// conclude that its fields are.
pub(crate) fn predicates<Part>(
    input: &DeriveInput,
    krate: &Path,
    fields: &[Field<'_, Part>],
) -> Vec<TokenStream> {
    let is_generic = |ty: &Type| {
        let mut params = input.generics.type_params();
        params.any(|param| bounds::mentions(quote!(#ty), &param.ident, false))
    };
    let written = fields.iter().filter(|field| {
        field.serde.write.is_some() && writer(field).is_none() && is_generic(&field.node.ty)
    });
    let types = written.map(|field| &field.node.ty);
    types
        .map(|ty| generics::without_self(quote!(#ty), &generics::self_type(input)))
        .map(|ty| quote!(#ty: #krate::__private::serde::Serialize))
        .collect()
}

/// The marker type, unless values are stored plainly.
fn stored<Part>(field: &Field<'_, Part>, form: Form) -> Option<Ident> {
    match (writer(field), form) {
        // Our `bson_date` stores dates; what another function stores is not known.
        (Some(path), _) if path_ends_in(&path, "bson_date") => Some(format_ident!("Date")),
        (Some(_), _) => Some(format_ident!("Custom")),
        (None, Form::Date) => Some(format_ident!("Date")),
        (None, Form::Key | Form::Serde) => None,
    }
}

/// Whether serde always writes the field, by its type alone.
pub(crate) fn is_plain<Part>(field: &Field<'_, Part>) -> bool {
    writer(field).is_none() && left_out_if(field).is_none()
}

/// The typed field of this name.
pub(crate) fn value<Part>(
    krate: &Path,
    field: &Field<'_, Part>,
    name: &TokenStream,
    form: Form,
) -> TokenStream {
    let value = match (writer(field), form) {
        (Some(write), _) => {
            // A closure, since the function may take a slice where the field is a `Vec`.
            let arguments = located_at(&quote!(__value, __serializer), write.span());
            let write = quote_spanned!(write.span()=> #write(#arguments));
            quote!(#krate::Field::with(#name, |__value, __serializer| #write))
        }
        (None, Form::Key) => quote!(#krate::Field::key(#name)),
        (None, Form::Date) => quote!(#krate::Field::date(#name)),
        (None, Form::Serde) => quote!(#krate::Field::new(#name)),
    };
    // Not as a method: the compiler would look for fields inside before it knows the types.
    match left_out_if(field) {
        Some(path) => {
            let argument = located_at(&quote!(__value), path.span());
            let test = quote_spanned!(path.span()=> #path(#argument));
            quote!(#krate::Field::left_out_if(#value, |__value| #test))
        }
        None => value,
    }
}

/// The function that says whether a value is left out, if there is one.
pub(crate) fn left_out_if<Part>(field: &Field<'_, Part>) -> Option<ExprPath> {
    path(field.serde.find("skip_serializing_if")?)
}

/// The user's function that writes the values, if the field has one.
pub(crate) fn writer<Part>(field: &Field<'_, Part>) -> Option<ExprPath> {
    if let Some(entry) = field.serde.find("serialize_with") {
        return path(entry);
    }
    let mut module = path(field.serde.find("with")?)?;
    module.path.segments.push(format_ident!("serialize").into());
    Some(module)
}

pub(crate) fn path(entry: &Entry) -> Option<ExprPath> {
    entry.string()?.parse().ok()
}

/// Whether the last module of a function's path has this name.
fn path_ends_in(function: &ExprPath, module: &str) -> bool {
    let modules = function.path.segments.iter().rev().skip(1);
    modules
        .map(|segment| &segment.ident)
        .next()
        .is_some_and(|last| last == module)
}
