//! `key(…)`, `by` and `numbered` mean the id format that stands beside them here.

use proc_macro2::{LineColumn, TokenStream, TokenTree};
use quote::quote;

use crate::{bucket, fuzz::expand};

fn with(format: &TokenStream) -> TokenStream {
    quote! {
        #[bucket(collection = "trades", capacity = 10, #format)]
        struct Trade { customer_id: i64, r#type: String, date: DateTime, quantity: i32 }
    }
}

#[test]
fn both_spellings_expand_to_the_same_code() {
    for (words, id) in [
        (quote!(key(customer_id), by = date), "{customer_id}_{date}"),
        (quote!(key(customer_id), by(date)), "{customer_id}_{date}"),
        (
            quote!(by(date, millis), key(customer_id, r#type)),
            "{customer_id}_{type}_{date:millis}",
        ),
        (
            quote!(key(type, customer_id), by(date, 1h)),
            "{type}_{customer_id}_{date/1h}",
        ),
        (quote!(key(customer_id,), numbered), "{customer_id}_{#}"),
    ] {
        let expanded = expand(with(&words));
        assert!(!expanded.contains("compile_error"), "{expanded}");
        assert_eq!(expanded, expand(with(&quote!(id = #id))), "{words}");
    }
}

/// Where identifiers of this name stand in the source.
fn places(tokens: TokenStream, name: &str) -> Vec<LineColumn> {
    let places = tokens.into_iter().flat_map(|tree| match tree {
        TokenTree::Group(group) => places(group.stream(), name),
        TokenTree::Ident(ident) if ident == name => vec![ident.span().start()],
        _ => Vec::new(),
    });
    places.collect()
}

/// An editor renames what the generated code has from a place.
#[test]
fn the_code_names_each_field_at_its_place_in_the_attribute() {
    let source = r#"
        #[bucket(collection = "trades", capacity = 10, key(customer_id), by(date, 1h))]
        struct Trade { customer_id: i64, date: DateTime, #[bucket(index(city))] venue: Venue }
    "#;
    let input: TokenStream = source.parse().unwrap();
    let output = bucket(input.clone());
    for name in ["customer_id", "date", "city"] {
        let written = places(input.clone(), name);
        let generated = places(output.clone(), name);
        assert!(
            written.iter().all(|place| generated.contains(place)),
            "{name}"
        );
    }
}
