//! Whatever a user writes, the derive answers with items; it never panics.

use proc_macro2::TokenStream;
use proptest::prelude::*;
use quote::quote;

use crate::{bucket, id_format::IdFormat};

/// The derive's answer, which must be items.
fn expand(input: TokenStream) -> String {
    let output = bucket::derive(input);
    syn::parse2::<syn::File>(output.clone()).expect("the derive writes items");
    output.to_string()
}

fn id_format() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("{a}"),
        Just("{b}"),
        Just("{at}"),
        Just("{at:millis}"),
        Just("{at/1h}"),
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
fn attribute() -> impl Strategy<Value = TokenStream> {
    let token = prop_oneof![
        "collection|id|capacity|items|count|crate|rename|alias|skip|with|default|bound|rename_all|flatten",
        "=|,|, |::|-|\\(|\\)|\\[\\]",
        "\"[a-z{}_#$.]{0,8}\"|[0-9]{1,50}|1\\.5|'a|self|Self|Self::X|a::b|\"T: Clone\"",
    ];
    prop::collection::vec(token, 0..12).prop_filter_map("no tokens", |tokens| {
        tokens.join(" ").parse::<TokenStream>().ok()
    })
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
    fn any_attributes_expand(bucket in attribute(), serde in attribute(), field in attribute()) {
        expand(quote! {
            #[bucket(#bucket)]
            #[serde(#serde)]
            struct Item<T> { a: i64, #[serde(#field)] b: T, at: DateTime }
        });
        expand(quote! {
            #[bucket(#bucket, collection = "c", id = "{a}_{at}", capacity = 10)]
            #[serde(#serde)]
            struct Item<T> { #[serde(#field)] a: i64, b: T, #[serde(#field)] at: DateTime }
        });
    }

    #[test]
    fn any_names_expand(name in any::<String>(), alias in any::<String>(), rule in any::<String>()) {
        expand(quote! {
            #[bucket(collection = #name, id = "{a}_{#}", capacity = 10, items = #alias, count = #rule)]
            #[serde(rename_all = #rule)]
            struct Item { #[serde(rename = #name, alias = #alias)] a: i64, b: String }
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
}
