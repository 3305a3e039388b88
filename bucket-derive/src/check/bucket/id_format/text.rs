//! Texts of id formats: proposals, what may follow a key, and the place of a part in a literal.

use std::ops::Range;

use proc_macro2::Span;
use syn::LitStr;

use crate::model::{bucket::BucketModel, guess};

/// A format that most likely suits the struct.
pub(crate) fn example(model: &BucketModel<'_>) -> String {
    let key = guess::key(&model.fields).map_or("field", |key| key.name.as_str());
    format!("id = \"{{{key}}}_{{#}}\"")
}

pub(super) fn begins_well(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_punctuation() && c != '%')
}

/// The text to put between a literal and an ordinal: none if the literal ends in punctuation.
pub(super) fn separator(text: &str) -> &'static str {
    if text.ends_with(|c: char| c.is_ascii_punctuation()) {
        ""
    } else {
        "_"
    }
}

/// The place within the literal if the compiler can point there, else the whole literal.
pub(super) fn span_in(literal: &LitStr, text: &str, at: &Range<usize>) -> Span {
    let token = literal.token();
    let source = token.to_string();
    // With escapes, positions in the text are not positions in the source.
    let part = source
        .find(text)
        .filter(|_| !at.is_empty())
        .and_then(|start| token.subspan(start + at.start..start + at.end));
    part.unwrap_or_else(|| literal.span())
}
