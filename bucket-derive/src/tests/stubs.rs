//! The stubs of structs that cannot go from one task to another have all calls of the traits.

use std::{fs, path::Path};

use syn::{FnArg, Item, TraitItem};

use crate::fallback::{BUCKET_CALLS, OUTLIER_CALLS, names};

/// The functions of a trait that the trait itself implements, and that take no item: each with the number of its
/// arguments, in the order of their names.
fn calls(file: &str, name: &str) -> Vec<(String, usize)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bucket-runtime/src");
    let file = syn::parse_file(&fs::read_to_string(path.join(file)).unwrap()).unwrap();
    let found = file.items.into_iter().find_map(|item| match item {
        Item::Trait(found) if found.ident == name => Some(found),
        _ => None,
    });
    let functions = found
        .unwrap()
        .items
        .into_iter()
        .filter_map(|item| match item {
            TraitItem::Fn(function) if function.default.is_some() => Some(function.sig),
            _ => None,
        });
    let of_no_item =
        functions.filter(|sig| !matches!(sig.inputs.first(), Some(FnArg::Receiver(_))));
    let mut calls = Vec::from_iter(of_no_item.map(|sig| (sig.ident.to_string(), sig.inputs.len())));
    calls.sort();
    calls
}

#[test]
fn stubs_have_all_calls_of_the_traits() {
    let owned = |calls: [&str; 3]| {
        let calls = names(calls).map(|(name, count)| (name.to_owned(), count));
        let mut calls = Vec::from_iter(calls);
        calls.sort();
        calls
    };
    assert_eq!(owned(BUCKET_CALLS), calls("bucket.rs", "Bucket"));
    assert_eq!(owned(OUTLIER_CALLS), calls("outlier/outlier.rs", "Outlier"));
}
