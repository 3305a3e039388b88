//! Finds out what a collection is.

pub(super) mod arrays;
pub(super) mod buckets;
pub(super) mod flat;

use bucket_runtime::bson::Document;

use self::buckets::BucketLayout;
use self::flat::FlatLayout;
use super::refusal::Refusal;
use super::shape::DocumentShape;
use super::shape::value::ValueKind;

/// An array of more items can be what grows, even if other fields take more bytes.
const LONG: u64 = 50;

/// The fields that the user has named.
#[derive(Debug, Default)]
pub(super) struct Hints {
    pub(super) key: Vec<String>,
    pub(super) time: Option<String>,
    pub(super) array: Option<String>,
}

/// What is known of a collection once it has been read.
#[derive(Debug)]
pub(super) struct Known<'k> {
    pub(super) shape: &'k DocumentShape,
    /// Some whole documents.
    pub(super) examples: &'k [Document],
    /// The keys of each index.
    pub(super) indexes: &'k [Document],
    /// Whether every document was read.
    pub(super) is_all: bool,
}

/// What a collection is.
#[derive(Debug, PartialEq)]
pub(super) enum Subject {
    /// Its documents are buckets.
    Buckets(BucketLayout),
    /// Its documents hold this array, which grows.
    Arrays(String),
    /// Each document is an item.
    Flat(FlatLayout),
    /// None of these.
    Unclear,
}

/// What the collection is, and the candidates that were weighed, as lines of text.
pub(super) fn find(known: &Known<'_>, hints: &Hints) -> Result<(Subject, Vec<String>), Refusal> {
    check_hints(known.shape, hints)?;
    if hints.array.is_none()
        && hints.key.is_empty()
        && let Some(layout) = buckets::find(known.examples)
    {
        return Ok((Subject::Buckets(layout), Vec::new()));
    }
    let (array, mut weighed) = arrays::weigh(known.shape);
    if let Some(array) = &hints.array {
        return Ok((Subject::Arrays(array.clone()), weighed));
    }
    let takes_most = |array: &arrays::GrowingArray| {
        array.longest >= LONG || array.bytes_per_document * 2 >= known.shape.average_bytes()
    };
    if let Some(array) = array.as_ref().filter(|array| takes_most(array))
        && hints.key.is_empty()
    {
        return Ok((Subject::Arrays(array.name.clone()), weighed));
    }
    let (flat, candidates) = flat::weigh(known, hints)?;
    weighed.extend(candidates);
    let subject = match (flat, array) {
        (Some(layout), _) => Subject::Flat(layout),
        (None, Some(array)) => Subject::Arrays(array.name),
        (None, None) => Subject::Unclear,
    };
    Ok((subject, weighed))
}

/// Each named field exists, and can be what it is named for.
fn check_hints(shape: &DocumentShape, hints: &Hints) -> Result<(), Refusal> {
    let named = hints.key.iter().chain(&hints.time).chain(&hints.array);
    for name in named {
        if shape.get(name).is_none() {
            let names = shape.fields.iter().take(20).map(|field| &*field.name);
            let names = names.collect::<Vec<_>>().join(", ");
            let text = format!("no document has a field `{name}` at its top; there are {names}");
            return Err(Refusal::usage(text));
        }
    }
    let is = |name: &Option<String>, kind: ValueKind| {
        let value = name.as_ref().and_then(|name| shape.get(name));
        value.is_none_or(|value| value.count(kind) > 0)
    };
    if !is(&hints.array, ValueKind::Array) {
        return Err(Refusal::usage("the field of `--array` holds no array"));
    }
    if !is(&hints.time, ValueKind::Date) {
        let text = "the field of `--time` holds no dates; buckets sort by BSON dates";
        return Err(Refusal::usage(text));
    }
    Ok(())
}
