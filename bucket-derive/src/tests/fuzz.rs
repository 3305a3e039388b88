//! Whatever a user writes, the derive writes items and never panics.

use std::{fs, path::Path};

use proc_macro2::TokenStream;
use proptest::prelude::*;
use quote::quote;

use crate::{
    fuzz::{derives, expand, expand_outlier},
    parse::id_format::IdFormat,
};

fn id_format() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("{a}"),
        Just("{b}"),
        Just("{at}"),
        Just("{at:millis}"),
        Just("{at/1h}"),
        Just("{at/0x}"),
        Just("{#}"),
        Just("{"),
        Just("}"),
        Just("_"),
        Just("%"),
        Just("x"),
        Just("é"),
        Just(":"),
        Just("{r#b}"),
        Just("{}"),
        Just("\0"),
        Just("\"")
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

/// Tokens as they may stand in an attribute, in any order.
fn attribute() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        "collection|id|capacity|items|count|window|rollup|sum|min|max|crate|rename|alias|skip|with|default|bound|rename_all|flatten",
        "extras|reference|threshold|extras_capacity|flag|extra_items|transparent|deny_unknown_fields",
        "=|,|, |::|-|\\(|\\)|\\[\\]",
        "\"[a-z{}_#$.]{0,8}\"|[0-9]{1,50}|1\\.5|'a|self|Self|Self::X|a::b|\"T: Clone\"",
    ];
    prop::collection::vec(token, 0..12).prop_map(|tokens| tokens.join(" "))
}

proptest! {
    #[test]
    fn any_text_is_an_id_format_or_an_error(text in any::<String>()) {
        let (format, _) = IdFormat::parse(&text);
        prop_assert!(format.parts.iter().all(|part| text.get(part.at.clone()).is_some()));
    }

    #[test]
    fn any_id_format_expands(id in prop_oneof![id_format(), any::<String>()]) {
        expand(quote! {
            #[bucket(collection = "c", id = #id, capacity = 10)]
            struct Item { a: i64, r#b: String, at: DateTime }
        });
    }

    #[test]
    fn any_attributes_expand(lines in [attribute(), attribute(), attribute(), attribute()]) {
        derives(lines.join("\n").as_bytes());
    }

    #[test]
    fn any_names_expand(name in any::<String>(), alias in any::<String>(), rule in any::<String>()) {
        expand(quote! {
            #[bucket(collection = #name, id = "{a}_{#}", capacity = 10, items = #alias, count = #rule)]
            #[serde(rename_all = #rule)]
            struct Item { #[serde(rename = #name, alias = #alias)] a: i64, b: String }
        });
        expand(quote! {
            #[bucket(collection = "c", id = "{a}_{at/1h}", capacity = 10, window = #name)]
            struct Item { #[serde(rename = #name, alias = #alias)] a: i64, at: DateTime }
        });
    }

    #[test]
    fn any_capacity_expands(capacity in any::<i128>()) {
        let capacity: TokenStream = capacity.to_string().parse().unwrap();
        let output = expand(quote! {
            #[bucket(collection = "c", id = "{a}_{#}", capacity = #capacity)]
            struct Item { a: i64 }
        });
        prop_assert!(output.contains("compile_error"));
    }

    #[test]
    fn any_outlier_names_expand(name in any::<String>(), other in any::<String>()) {
        expand_outlier(quote! {
            #[outlier(
                collection = #name, extras = #other, reference = #other, threshold = 10,
                flag = #name, extra_items = #other
            )]
            #[serde(rename_all = #other)]
            struct Parent {
                _id: i64,
                #[outlier(items)] #[serde(rename = #name, alias = #other)] items: Vec<String>,
            }
        });
    }

    #[test]
    fn any_threshold_expands(threshold in any::<i128>()) {
        let threshold: TokenStream = threshold.to_string().parse().unwrap();
        let output = expand_outlier(quote! {
            #[outlier(
                collection = "c", reference = "r",
                threshold = #threshold, extras_capacity = #threshold
            )]
            struct Parent { _id: i64, #[outlier(items)] items: Vec<String> }
        });
        prop_assert!(output.contains("compile_error"));
    }
}

#[test]
fn the_corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/derives");
    let inputs: Vec<_> = fs::read_dir(folder).expect("the corpus").collect();
    assert!(!inputs.is_empty());
    for input in inputs {
        derives(&fs::read(input.expect("an entry").path()).expect("a file"));
    }
}
