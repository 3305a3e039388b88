//! The code that the derives write, in readable form: one fixture for each concept. What they write for the other
//! fixtures, the compile tests compile and run.
//!
//! `INSTA_UPDATE=always cargo test -p bucket-derive` blesses; read the diff.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::visit::Visit;

use crate::tests::help::{derives, fixtures};

/// The fixtures whose code is kept, to be read when it changes.
const READ: [&str; 19] = [
    "fields",
    "generics",
    "max_bytes",
    "minimal",
    "nested_lists",
    "optional_times",
    "outlier_book",
    "outlier_every_key",
    "outlier_part",
    "outlier_serde",
    "outlier_total",
    "outlier_unique",
    "own_dates",
    "rollup",
    "serde",
    "several_keys",
    "trade",
    "unique",
    "window",
];

/// Collects what the derives write, for every struct with one of them, wherever it stands.
#[derive(Default)]
struct Expansions(Vec<String>);

impl<'ast> Visit<'ast> for Expansions {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let mut bare = item.clone();
        bare.attrs.retain(|attr| !attr.path().is_ident("derive"));
        self.add(&item.attrs, &bare.to_token_stream());
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        let mut bare = item.clone();
        bare.attrs.retain(|attr| !attr.path().is_ident("derive"));
        self.add(&item.attrs, &bare.to_token_stream());
    }
}

impl Expansions {
    /// `bare` lacks the `derive`, since the compiler removes it before it calls one.
    fn add(&mut self, attrs: &[syn::Attribute], bare: &TokenStream) {
        for derive in derives(attrs) {
            self.0.push(pretty((derive.1)(bare.clone())));
        }
    }
}

fn pretty(tokens: TokenStream) -> String {
    let file = syn::parse2(tokens).expect("the derive writes items");
    prettyplease::unparse(&file)
}

#[test]
fn one_fixture_for_each_concept() {
    let fixtures = fixtures("valid");
    for name in READ {
        let mut expansions = Expansions::default();
        expansions.visit_file(&fixtures[name]);
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, expansions.0.join("\n"));
        });
    }
}
