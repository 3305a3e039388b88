//! `FIELDS` has the doc comments of the struct's fields, for editors, and no other attribute.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{ItemStruct, parse_quote, visit::Visit};

use crate::{bucket, outlier};

/// The struct behind `FIELDS`.
struct FieldsOf(Option<ItemStruct>);

impl<'ast> Visit<'ast> for FieldsOf {
    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        if item.ident.to_string().ends_with("Fields") {
            self.0 = Some(item.clone());
        }
    }
}

/// Each field with its attributes.
fn attributes(output: TokenStream) -> Vec<(String, Vec<String>)> {
    let mut fields = FieldsOf(None);
    fields.visit_file(&syn::parse2(output).unwrap());
    let fields = fields.0.unwrap().fields.into_iter();
    let fields = fields.map(|field| {
        let attrs = field.attrs.iter();
        let attrs = attrs.map(|attr| attr.to_token_stream().to_string());
        (field.ident.unwrap().to_string(), attrs.collect())
    });
    fields.collect()
}

fn documented(name: &str, docs: &[&str]) -> (String, Vec<String>) {
    let docs = docs.iter().map(|doc| (*doc).to_owned());
    (name.to_owned(), docs.collect())
}

#[test]
fn typed_fields_have_the_docs_of_the_fields() {
    let item: ItemStruct = parse_quote! {
        #[bucket(collection = "notes", id = "{author}_{#}", capacity = 10)]
        struct Note {
            /// Who wrote it.
            ///
            /// A user's name.
            author: String,
            #[doc = include_str!("text.md")]
            #[serde(rename = "words")]
            #[bucket(max_len = 100)]
            text: String,
            stars: i32,
        }
    };
    assert_eq!(
        attributes(bucket(item.to_token_stream())),
        [
            documented(
                "author",
                &[
                    "# [doc = r\" Who wrote it.\"]",
                    "# [doc = r\"\"]",
                    "# [doc = r\" A user's name.\"]",
                ]
            ),
            documented("text", &["# [doc = include_str ! (\"text.md\")]"]),
            documented("stars", &[]),
        ]
    );
}

#[test]
fn so_have_those_of_a_parent() {
    let item: ItemStruct = parse_quote! {
        #[outlier(collection = "sales", reference = "book_id", threshold = 50)]
        struct Book {
            #[serde(rename = "_id")]
            id: i64,
            /// Who bought it.
            #[outlier(items)]
            buyers: Vec<String>,
        }
    };
    assert_eq!(
        attributes(outlier(item.to_token_stream())),
        [
            documented("id", &[]),
            documented("buyers", &["# [doc = r\" Who bought it.\"]"]),
        ]
    );
}
