//! The structs of the invalid fixtures with all help lines in them, in a file that is compiled.

use std::{env, fs, path::Path};

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{Item, ItemStruct, visit::Visit};

use super::{Derive, Structs, derives, fixtures, mistakes, paste};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/pasted.rs");

const HEAD: &str = "// Each struct of the invalid fixtures that is right once its help lines are pasted.\n\
                    //\n\
                    // `INSTA_UPDATE=always cargo test -p bucket-derive` writes this file; read the diff.\n";

/// More than the mistakes of any fixture.
const MOST: usize = 40;

#[test]
fn pasted_help_lines_are_written_down() {
    let mut modules = TokenStream::new();
    for (name, file) in fixtures("invalid") {
        let mut structs = Structs::default();
        structs.visit_file(&file);
        let idents = Vec::from_iter(
            structs
                .0
                .iter()
                .filter(|item| !derives(&item.attrs).is_empty()),
        );
        let idents = Vec::from_iter(idents.iter().map(|item| &item.ident));
        for item in &structs.0 {
            // A part cannot be compiled without the struct that it is a part of, and `Fields` not without
            // serde's derives.
            let mut whole = derives(&item.attrs)
                .into_iter()
                .filter(|derive| !["part", "fields"].contains(&derive.0));
            let Some(mended) = whole.find_map(|derive| mend(item, derive)) else {
                continue;
            };
            let module = format_ident!("{name}_{}", item.ident.to_string().to_lowercase());
            let is_other = |ident: &&&syn::Ident| **ident != &item.ident;
            let other_structs = Vec::from_iter(idents.iter().filter(is_other).copied());
            let is_itself =
                |other: &Item| matches!(other, Item::Struct(other) if other.ident == item.ident);
            let others = file.items.iter().filter(|item| {
                let is_needed = !matches!(item, Item::Fn(_)) && !is_itself(item);
                is_needed && !names_any(item.to_token_stream(), &other_structs)
            });
            modules.extend(quote!(mod #module { #(#others)* #mended }));
        }
    }
    let written = HEAD.to_owned() + "\n" + &prettyplease::unparse(&syn::parse2(modules).unwrap());
    if env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(FILE, &written).unwrap();
    }
    let kept = fs::read_to_string(Path::new(FILE)).unwrap_or_default();
    assert!(
        kept == written,
        "{FILE} is not what the help lines give: bless it by INSTA_UPDATE=always"
    );
}

/// The struct with help lines in it until no mistake is left; `None` if it has none, or if a help line
/// is prose.
fn mend(item: &ItemStruct, derive: Derive) -> Option<ItemStruct> {
    let mut mended = item.clone();
    for pasted in 0..MOST {
        let left = mistakes(&mended, derive);
        if left.is_empty() {
            return (pasted > 0).then_some(mended);
        }
        mended = left
            .iter()
            .find_map(|mistake| paste(&mended, mistake, derive))?;
    }
    None
}

/// Whether the tokens contain one of the names.
fn names_any(tokens: TokenStream, names: &[&syn::Ident]) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => names.contains(&&ident),
        TokenTree::Group(group) => names_any(group.stream(), names),
        _ => false,
    })
}
