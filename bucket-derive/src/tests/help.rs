//! Every help line with code works when it is pasted: in each invalid fixture the mistake is then gone,
//! and there is no new one. The structs without a mistake go into a file, which `tests/valid.rs` compiles.

mod pasted;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{LineColumn, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Attribute, Field, Ident, ItemStruct, Meta, MetaNameValue, Token, parse::Parser, parse_quote,
    punctuated::Punctuated, spanned::Spanned, visit::Visit,
};

use crate::{bucket, nested, outlier, part};

/// A derive, by the name of its attribute.
#[derive(Clone, Copy)]
pub(super) struct Derive(&'static str, pub(super) fn(TokenStream) -> TokenStream);

/// A mistake: where it begins, and its message.
pub(super) struct Mistake {
    pub(super) at: LineColumn,
    pub(super) message: String,
    pub(super) help: String,
}

#[derive(Default)]
struct Structs(Vec<ItemStruct>);

impl<'ast> Visit<'ast> for Structs {
    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.0.push(item.clone());
    }
}

#[test]
fn help_lines_hold_when_pasted() {
    let (mut pasted, mut wrong) = (0, Vec::new());
    for (path, file) in fixtures("invalid") {
        let mut structs = Structs::default();
        structs.visit_file(&file);
        for item in &structs.0 {
            for derive in derives(&item.attrs) {
                let before = mistakes(item, derive);
                for mistake in &before {
                    let Some(item) = paste(item, mistake, derive) else {
                        continue;
                    };
                    pasted += 1;
                    let after = mistakes(&item, derive);
                    let is_new = |after: &Mistake| {
                        before.iter().all(|before| before.message != after.message)
                    };
                    if after.len() >= before.len() || after.iter().any(is_new) {
                        let left = Vec::from_iter(after.iter().map(|after| after.message.as_str()));
                        wrong.push(format!(
                            "{path}: {}\n  help: {}\n  left: {left:#?}",
                            mistake.message, mistake.help
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(pasted > 100, "{pasted} help lines hold code");
}

/// The fixtures of a kind, `valid` or `invalid`, by their names.
pub(super) fn fixtures(kind: &str) -> BTreeMap<String, syn::File> {
    let paths = fixture_paths(kind).into_iter();
    let files = paths.map(|(name, path)| {
        let file = fs::read_to_string(path).unwrap();
        (name, syn::parse_file(&file).unwrap())
    });
    files.collect()
}

/// The files of the fixtures of a kind, by their names; those of `Outlier` begin with the pattern.
pub(super) fn fixture_paths(kind: &str) -> BTreeMap<String, PathBuf> {
    let mut paths = BTreeMap::new();
    for (pattern, prefix) in [("bucket", ""), ("outlier", "outlier_")] {
        let folder = format!("../tests/fixtures/{pattern}/{kind}");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                let name = format!("{prefix}{}", path.file_stem().unwrap().to_string_lossy());
                paths.insert(name, path);
            }
        }
    }
    paths
}

pub(super) fn derives(attrs: &[Attribute]) -> Vec<Derive> {
    let names = attrs.iter().filter(|attr| attr.path().is_ident("derive"));
    let names = names
        .map(|attr| attr.to_token_stream().to_string())
        .collect::<String>();
    let names = names.split(|c: char| !c.is_alphanumeric());
    let known = [
        ("Bucket", Derive("bucket", bucket)),
        ("Outlier", Derive("outlier", outlier)),
        ("Part", Derive("part", part)),
        ("Fields", Derive("fields", nested)),
    ];
    let named = known.into_iter();
    let named = named.filter(|(known, _)| names.clone().any(|name| name == *known));
    named.map(|(_, derive)| derive).collect()
}

fn mistakes(item: &ItemStruct, derive: Derive) -> Vec<Mistake> {
    let mut bare = item.clone();
    bare.attrs.retain(|attr| !attr.path().is_ident("derive"));
    mistakes_in((derive.1)(bare.to_token_stream()))
}

/// `:: core :: compile_error ! { "…" }`, wherever it stands; its first token is where the mistake begins.
pub(super) fn mistakes_in(output: TokenStream) -> Vec<Mistake> {
    let output = Vec::from_iter(output);
    let mut found = Vec::from_iter(output.windows(8).filter_map(|trees| match trees {
        [first, .., TokenTree::Ident(name), _, TokenTree::Group(text)]
            if name == "compile_error" =>
        {
            let text: syn::LitStr = syn::parse2(text.stream()).ok()?;
            let text = text.value();
            let (message, help) = text.split_once("\nhelp: ")?;
            Some(Mistake {
                at: first.span().start(),
                message: message.to_owned(),
                help: help.to_owned(),
            })
        }
        _ => None,
    }));
    for tree in output {
        if let TokenTree::Group(group) = tree {
            found.extend(mistakes_in(group.stream()));
        }
    }
    found
}

/// The struct with the help line in it; `None` if that is prose.
fn paste(item: &ItemStruct, mistake: &Mistake, derive: Derive) -> Option<ItemStruct> {
    let mut item = item.clone();
    if let Ok(typed) = Field::parse_named.parse_str(&mistake.help) {
        let mut fields = item.fields.iter_mut();
        fields.find(|field| field.ident == typed.ident)?.ty = typed.ty;
        return Some(item);
    }
    let field = item
        .fields
        .iter_mut()
        .find(|field| holds(field, mistake.at));
    let is_on_field = field.is_some();
    let onto = field.map_or(&mut item.attrs, |field| &mut field.attrs);
    let attrs = match Attribute::parse_outer.parse_str(&mistake.help) {
        Ok(attrs) => attrs,
        Err(_) => {
            let parser = Punctuated::<MetaNameValue, Token![,]>::parse_terminated;
            let values = parser.parse_str(&mistake.help).ok()?;
            let path = Ident::new(derive.0, Span::call_site());
            vec![parse_quote!(#[#path(#values)])]
        }
    };
    // An attribute for some field cannot be pasted on the struct.
    let own = attrs.first()?.path().is_ident(derive.0);
    if !own && !is_on_field {
        return None;
    }
    for attr in attrs {
        replace(onto, attr)?;
    }
    Some(item)
}

fn holds(field: &Field, at: LineColumn) -> bool {
    let first = field.attrs.first().map_or(field.span(), Spanned::span);
    (first.start()..=field.ty.span().end()).contains(&at)
}

/// Puts an attribute in the place of those that say the same, or nothing that can be read.
fn replace(attrs: &mut Vec<Attribute>, new: Attribute) -> Option<()> {
    let added = entries(&new)?;
    let name = new.path().get_ident()?.clone();
    let others = std::mem::take(attrs).into_iter().filter_map(|attr| {
        if !attr.path().is_ident(&name) {
            return Some(attr);
        }
        let left = entries(&attr)?.into_iter().filter(|entry| {
            let key = entry.path().get_ident();
            // A field may have several.
            key.is_some_and(|key| key == "alias")
                || added.iter().all(|added| added.path().get_ident() != key)
        });
        let left = Vec::from_iter(left);
        (!left.is_empty()).then(|| parse_quote!(#[#name(#(#left),*)]))
    });
    *attrs = others.collect();
    attrs.push(new);
    Some(())
}

fn entries(attr: &Attribute) -> Option<Vec<Meta>> {
    let parser = Punctuated::<Meta, Token![,]>::parse_terminated;
    Some(attr.parse_args_with(parser).ok()?.into_iter().collect())
}
