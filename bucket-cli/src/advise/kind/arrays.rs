//! Which array of the documents grows.

use crate::advise::figures::thousands;
use crate::advise::shape::value::ValueKind;
use crate::advise::shape::{DocumentShape, FieldShape};

/// A shorter array, such as a pair of coordinates or some tags, is a value.
const SHORT: u64 = 10;

/// An array whose length differs from document to document.
#[derive(Debug, PartialEq)]
pub(in crate::advise) struct GrowingArray {
    pub(in crate::advise) name: String,
    pub(in crate::advise) longest: u64,
    pub(in crate::advise) bytes_per_document: u64,
}

/// The array that takes the most bytes, and all candidates as lines of text.
pub(in crate::advise) fn weigh(shape: &DocumentShape) -> (Option<GrowingArray>, Vec<String>) {
    let mut found: Vec<_> = shape.fields.iter().filter_map(growing).collect();
    found.sort_by_key(|(field, _)| std::cmp::Reverse(field.bytes()));
    let line = |(field, longest): &(&FieldShape, u64)| {
        let share = field.value.present() * 100 / shape.documents.max(1);
        format!(
            "array `{}`: up to {} items, in {share} % of the documents",
            field.name,
            thousands(*longest)
        )
    };
    let lines = found.iter().map(line).collect();
    let array = found.first().map(|(field, longest)| GrowingArray {
        name: field.name.clone(),
        longest: *longest,
        bytes_per_document: field.bytes() / shape.documents.max(1),
    });
    (array, lines)
}

/// A field whose arrays differ in length, and the longest of them.
fn growing(field: &FieldShape) -> Option<(&FieldShape, u64)> {
    let (least, most) = field.value.lengths?;
    let is_always = field.value.types() == [ValueKind::Array];
    (is_always && most > least && most >= SHORT).then_some((field, most))
}
