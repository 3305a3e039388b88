//! The property that must hold for any attributes: the body of the target in `fuzz/`, which `cargo test`
//! runs, too.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{bucket, nested, outlier, part};

/// Puts each line of the input in the place of an attribute: the derives write items and never panic.
pub fn derives(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut lines = text.lines();
    // A text that is not tokens never reaches a derive.
    let mut tokens = || lines.next().unwrap_or_default().parse::<TokenStream>();
    let (Ok(list), Ok(serde), Ok(word), Ok(field)) = (tokens(), tokens(), tokens(), tokens())
    else {
        return;
    };
    expand(quote! {
        #[bucket(#list)]
        #[serde(#serde)]
        struct Item<T> { #[serde(#field)] a: i64, #[bucket(#word)] b: T, at: DateTime }
    });
    expand(quote! {
        #[bucket(#list, collection = "c", id = "{a}_{at}", capacity = 10)]
        #[serde(#serde)]
        struct Item<T> {
            #[bucket(#word)] #[serde(#field)] a: i64,
            #[bucket(sum, #word)] b: T,
            #[serde(#field)] at: DateTime,
        }
    });
    expand_outlier(quote! {
        #[outlier(#list)]
        #[serde(#serde)]
        struct Parent<T> { #[serde(#field)] id: i64, #[outlier(#word)] items: Vec<T> }
    });
    expand_outlier(quote! {
        #[outlier(#list, collection = "c", reference = "r", threshold = 10)]
        #[serde(#serde)]
        struct Parent<T> {
            #[serde(rename = "_id", #field)] id: i64,
            #[outlier(items, #word)] items: Vec<T>,
            #[serde(default, #field)] #[outlier(flag)] r#more: bool,
        }
    });
    items(part(quote! {
        #[part(#list, of = Item)]
        #[serde(#serde)]
        struct Part { #[serde(#field)] a: i64, #[part(#word)] r#b: String }
    }));
    items(nested(quote! {
        #[fields(#list)]
        #[serde(#serde)]
        struct Inside { #[serde(#field)] a: i64, #[fields(#word)] r#b: Option<Other> }
    }));
    items(nested(quote! {
        #[fields(#list)]
        #[serde(#serde)]
        enum Inside {
            #[serde(#field)] One { #[serde(#field)] a: i64 },
            #[serde(#field)] Two(#[fields(#word)] Other),
            Three,
        }
    }));
}

/// The output of `Bucket`.
pub(crate) fn expand(input: TokenStream) -> String {
    items(bucket(input))
}

/// The output of `Outlier`.
pub(crate) fn expand_outlier(input: TokenStream) -> String {
    items(outlier(input))
}

/// The text of a derive's output, which must be items.
fn items(output: TokenStream) -> String {
    syn::parse2::<syn::File>(output.clone()).expect("the derive writes items");
    output.to_string()
}
