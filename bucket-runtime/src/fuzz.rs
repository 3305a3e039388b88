//! Properties that hold for any input: the bodies of the targets in `fuzz/`, which `cargo test` also
//! runs, over their corpus and over random input. Each panics if its property does not hold.
#![allow(missing_docs, reason = "no part of the public interface")]

#[cfg(test)]
mod tests;

use bucket_core::{
    protocol::command::KeyScope,
    schema::{
        id,
        key::{Key, KeyPart},
        open_index::OpenIndex,
        spec::{IdFormat, Ordinal},
    },
    value::bytes,
};
use mongodb::bson::{Bson, DateTime};

use crate::{
    Bucket,
    read::{items::ItemToken, page::Page, stored_bucket::StoredBucket, watch::WatchToken},
};

/// Separates the texts of an input.
const SEPARATOR: char = '\n';

const FORMATS: [(&str, &[&str]); 6] = [
    ("", &["_"]),
    ("t/", &["-", "_x"]),
    ("", &[".", "__"]),
    ("é", &["|é", "|"]),
    ("_", &["_", "_", "_"]),
    ("%", &["\"", "$"]),
];

const ORDINALS: [Ordinal; 6] = [
    Ordinal::Seconds,
    Ordinal::Millis,
    Ordinal::Number,
    Ordinal::Window { seconds: 1 },
    Ordinal::Window { seconds: 3600 },
    Ordinal::Window { seconds: u32::MAX },
];

/// Two keys: each key's ids can be read back into it, and none is in the other's range.
pub fn keys(input: &[u8]) {
    let (choice, texts) = choose(input);
    let (head, after_key) = FORMATS[choice % FORMATS.len()];
    let format = IdFormat::new(head, after_key, Ordinal::Seconds);
    let mut texts = texts.split(SEPARATOR).map(str::to_owned);
    let mut key = || -> Vec<String> {
        let text = after_key.iter().map(|_| texts.next().unwrap_or_default());
        text.collect()
    };
    let (a, b) = (key(), key());
    let prefix = |key: &[String]| {
        let part = |text: &String| KeyPart::of::<String>(text);
        id::prefix(&format, &Vec::from_iter(key.iter().map(part)))
    };
    let (of_a, of_b) = (prefix(&a), prefix(&b));
    assert_eq!(decoded(&of_a, head, after_key), a, "{of_a:?}");
    for ordinal in ["0000000000", "-9999999999", "9999999999_999999"] {
        let id = format!("{of_a}{ordinal}");
        let in_range = of_b <= id && id < id::successor(&of_b);
        assert_eq!(in_range, a == b, "{id:?} in the range of {of_b:?}");
    }
}

/// The key that a prefix was made from, read from the left: an oracle that knows only the format.
fn decoded(prefix: &str, head: &str, after_key: &[&str]) -> Vec<String> {
    let mut rest = prefix.strip_prefix(head).expect("the head");
    let mut key = Vec::new();
    for literal in after_key {
        let first = literal.chars().next().expect("a literal");
        let (text, _) = rest.split_once(first).expect("the literal");
        rest = rest[text.len()..]
            .strip_prefix(literal)
            .expect("the whole literal");
        key.push(unescaped(text).expect("the key's text"));
    }
    assert_eq!(rest, "");
    key
}

fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(rest.bytes());
    }
    String::from_utf8(bytes).ok()
}

/// Two times: their texts sort as they do.
pub fn times(input: &[u8]) {
    let (choice, rest) = (usize::from(*input.first().unwrap_or(&0)), input.get(1..));
    let ordinal = ORDINALS[choice % ORDINALS.len()];
    let unit = match ordinal {
        Ordinal::Millis => 1,
        Ordinal::Window { seconds } => i64::from(seconds) * 1000,
        _ => 1000,
    };
    let mut eights = rest.unwrap_or_default().chunks(8).map(|bytes| {
        let mut eight = [0; 8];
        eight[..bytes.len()].copy_from_slice(bytes);
        i64::from_le_bytes(eight)
    });
    let (a, b) = (eights.next().unwrap_or(0), eights.next().unwrap_or(0));
    // Close to each other, and close to the limits.
    let width = 10_i64.pow(13);
    for (a, b) in [
        (a, b),
        (a, a.wrapping_add(b % 3000)),
        (a % width, b % width),
    ] {
        if let (Some(of_a), Some(of_b)) = (id::time(ordinal, a), id::time(ordinal, b)) {
            let times = a.div_euclid(unit).cmp(&b.div_euclid(unit));
            assert_eq!(of_a.cmp(&of_b), times, "{a} and {b}: {of_a} and {of_b}");
            assert!(id::is_ordinal_of(ordinal, &of_a), "{of_a}");
        }
    }
}

/// A text from outside is refused as a token, or is one whose own text gives it again.
pub fn tokens(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(token) = text.parse::<ItemToken>() {
        assert_eq!(token.to_string().parse(), Ok(token));
    }
    if let Ok(token) = text.parse::<WatchToken>() {
        assert_eq!(token.to_string().parse(), Ok(token));
    }
}

/// Any bytes, read as a stored bucket: a value or an error.
pub fn documents(input: &[u8]) {
    read::<Reading>(input);
    read::<Numbered>(input);
    read::<Hourly>(input);
}

fn read<T: Bucket>(input: &[u8]) {
    let Ok(bucket) = bytes::read::<StoredBucket<T>>(input) else {
        return;
    };
    let key = bucket.key.clone();
    let scope = KeyScope::new(&T::SPEC, T::Key::parts(key.borrowed()));
    let scope = scope.by(OpenIndex::first(T::SPEC.capacity));
    let items = bucket.elements.len();
    if !bucket.is_of(&scope) {
        assert!(!bucket.id.starts_with(&scope.prefix), "{:?}", bucket.id);
        return;
    }
    let page = Page::new(bucket, &scope);
    assert_eq!(page.items.len(), items);
    drop(page.rollup());
}

#[derive(crate::Bucket)]
#[bucket(collection = "c", id = "{k}_{at:millis}", capacity = 3, crate = crate)]
struct Reading {
    k: String,
    #[bucket(min, max)]
    at: DateTime,
    #[bucket(sum, min)]
    n: i64,
    #[bucket(sum)]
    x: Option<f64>,
    any: Option<Bson>,
}

#[derive(crate::Bucket)]
#[bucket(collection = "c", id = "{a}|{b}_{#}", capacity = 3, items = "a", count = "n", crate = crate)]
struct Numbered {
    #[serde(rename = "k")]
    a: i64,
    b: bool,
    #[serde(default)]
    list: Vec<String>,
}

#[derive(crate::Bucket)]
#[bucket(collection = "c", id = "{k}_{at/1h}", capacity = 3, crate = crate)]
struct Hourly {
    k: i64,
    at: DateTime,
    #[serde(flatten)]
    others: std::collections::BTreeMap<String, Bson>,
}

/// The first byte chooses, the rest is text.
fn choose(input: &[u8]) -> (usize, String) {
    let (first, rest) = input.split_first().unwrap_or((&0, &[]));
    (
        usize::from(*first),
        String::from_utf8_lossy(rest).into_owned(),
    )
}
