//! Stored names as names of Rust.

use std::collections::BTreeSet;

/// Keywords that can be raw identifiers.
const KEYWORDS: [&str; 49] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield", "union",
];

/// Names that the generated code uses itself.
const TAKEN_TYPES: [&str; 30] = [
    "Binary",
    "Bool",
    "Box",
    "Bson",
    "Bucket",
    "Clone",
    "Copy",
    "DateTime",
    "Debug",
    "Decimal128",
    "Default",
    "Deserialize",
    "Document",
    "Eq",
    "Err",
    "Fields",
    "None",
    "ObjectId",
    "Ok",
    "Option",
    "Outlier",
    "PartialEq",
    "Result",
    "Self",
    "Serialize",
    "Some",
    "String",
    "Timestamp",
    "Uuid",
    "Vec",
];

/// The path to a field inside of others, as the attribute `index` takes it.
pub(super) fn path(stored: &str) -> String {
    let names = stored.split('.');
    let names = names.map(|name| field(name, &mut BTreeSet::new()));
    names.collect::<Vec<_>>().join(".")
}

/// A field's name: `customerId` is `customer_id`, and `type` is `r#type`.
pub(super) fn field(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut snake = words(name).join("_");
    if snake.is_empty() || snake.starts_with(|first: char| first.is_ascii_digit()) {
        snake = format!("field_{snake}").trim_end_matches('_').to_owned();
    }
    if ["self", "super", "crate"].contains(&&*snake) {
        snake.push('_');
    }
    let snake = free(snake, taken);
    match KEYWORDS.contains(&&*snake) {
        true => format!("r#{snake}"),
        false => snake,
    }
}

/// A type's name: `extra-fees` is `ExtraFees`.
pub(super) fn type_name(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut pascal: String = words(name).iter().map(|word| capitalized(word)).collect();
    if !pascal.starts_with(char::is_alphabetic) {
        pascal = format!("Value{pascal}");
    }
    if TAKEN_TYPES.contains(&&*pascal) {
        pascal += "Value";
    }
    free(pascal, taken)
}

/// The name, with a number if it is taken.
fn free(name: String, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|n| format!("{name}_{n}"));
    let mut all = std::iter::once(name.clone()).chain(numbered);
    let name = all.find(|name| !taken.contains(name)).unwrap_or(name);
    taken.insert(name.clone());
    name
}

/// The name of one of many: `trades` is `trade`.
pub(crate) fn singular(name: &str) -> String {
    let ends = |end: &str| name.len() > end.len() + 1 && name.ends_with(end);
    if ends("ies") {
        format!("{}y", &name[..name.len() - 3])
    } else if ["sses", "shes", "ches", "xes"].iter().any(|end| ends(end)) {
        name[..name.len() - 2].to_owned()
    } else if ends("s") && !["ss", "us", "is"].iter().any(|end| name.ends_with(end)) {
        name[..name.len() - 1].to_owned()
    } else {
        name.to_owned()
    }
}

/// The words of a name in lower case.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        if !is_letter(*letter) {
            words.push(String::new());
            continue;
        }
        let before = at.checked_sub(1).map(|at| letters[at]);
        let after = letters.get(at + 1);
        let begins = letter.is_uppercase()
            && (before.is_some_and(|before| before.is_lowercase() || before.is_ascii_digit())
                || before.is_some_and(char::is_uppercase)
                    && after.is_some_and(|after| after.is_lowercase()));
        if begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a name of Rust can hold the letter: those of Europe's languages are enough.
fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric()
        || ('\u{c0}'..='\u{24f}').contains(&letter) && letter.is_alphabetic()
}

pub(super) fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// The name without `r#`.
pub(super) fn plain(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{field, singular, type_name};

    #[test]
    fn any_stored_name_becomes_a_name_of_rust() {
        let mut taken = BTreeSet::new();
        let names = [
            "customerId",
            "HTTPServer",
            "type",
            "self",
            "2nd",
            "größe",
            "",
            "$a.b",
            "a b",
            "customer_id",
            "日本",
        ];
        let fields = names.map(|name| field(name, &mut taken));
        assert_eq!(
            fields,
            [
                "customer_id",
                "http_server",
                "r#type",
                "self_",
                "field_2nd",
                "größe",
                "field",
                "a_b",
                "a_b_2",
                "customer_id_2",
                "field_2",
            ]
        );
        let mut taken = BTreeSet::new();
        let types =
            ["trade", "extra-fees", "document", "1st"].map(|name| type_name(name, &mut taken));
        assert_eq!(types, ["Trade", "ExtraFees", "DocumentValue", "Value1st"]);
    }

    #[test]
    fn one_of_many() {
        let names = [
            "trades", "cities", "boxes", "news", "bus", "glass", "s", "data",
        ]
        .map(singular);
        assert_eq!(
            names,
            ["trade", "city", "box", "new", "bus", "glass", "s", "data"]
        );
    }
}
