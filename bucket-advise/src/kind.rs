//! Finds out what a collection is.

pub(super) mod arrays;
pub(super) mod buckets;
pub(super) mod flat;
pub(super) mod key;

use bucket_runtime::bson::Document;

use self::arrays::ArrayLayout;
use self::buckets::BucketLayout;
use self::flat::FlatLayout;
use super::figures::thousands;
use super::refusal::Refusal;
use super::shape::DocumentShape;
use super::shape::value::{ValueKind, ValueShape};

/// An array of more items can be what grows, even if other fields take more bytes.
const LONG: u64 = 50;

/// Words that name a time.
const TIMES: [&str; 8] = [
    "at",
    "created",
    "date",
    "datetime",
    "time",
    "timestamp",
    "ts",
    "when",
];

/// The fields that the user has named.
#[derive(Debug, Default)]
pub(super) struct Hints {
    pub(super) key: Vec<String>,
    pub(super) time: Option<String>,
    pub(super) array: Option<String>,
}

/// The facts about a collection once it has been read.
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

/// The kind of a collection, with its facts.
#[derive(Debug, PartialEq)]
pub(super) enum Subject {
    /// A collection of buckets.
    Buckets(BucketLayout),
    /// A collection whose documents hold this array, which grows.
    Arrays(ArrayLayout),
    /// Each document is an item.
    Flat(FlatLayout),
    /// None of these.
    Unclear,
}

/// The corrections that let the struct read every document: of the few that differ from all others.
pub(super) fn corrections(shape: &DocumentShape, subject: &Subject) -> Vec<String> {
    let documents = shape.documents;
    let keys = |names: &[String]| -> Vec<(String, &[ValueKind])> {
        let types = |name: &String| key::key_types(shape.get(name)?);
        let keys = names.iter().map(|name| (name.clone(), types(name)));
        keys.filter_map(|(name, types)| Some((name, types?)))
            .collect()
    };
    let fields = match subject {
        Subject::Flat(layout) => {
            let time = layout.time.iter().map(|time| (time.clone(), DATE));
            keys(&layout.key).into_iter().chain(time).collect()
        }
        Subject::Arrays(layout) => {
            let mut fields = keys(&["_id".to_owned()]);
            fields.push((layout.array.clone(), ARRAY));
            fields
        }
        Subject::Buckets(_) | Subject::Unclear => Vec::new(),
    };
    let correction = |(name, types): &(String, &[ValueKind])| {
        let value = shape.get(name)?;
        // A parent may lack its array.
        let of = match *types == ARRAY {
            true => value.present(),
            false => documents,
        };
        let strays = strays(value, types, of);
        (!strays.is_empty())
            .then(|| format!("`{name}` is {strays} of {} documents", thousands(documents)))
    };
    fields.iter().filter_map(correction).collect()
}

const DATE: &[ValueKind] = &[ValueKind::Date];

const ARRAY: &[ValueKind] = &[ValueKind::Array];

/// The values that are not of these types, as text: what they are, and in how many documents.
fn strays(value: &ValueShape, types: &[ValueKind], of: u64) -> String {
    let others = value.types().into_iter();
    let others = others.filter(|kind| !types.contains(kind));
    let others = others.map(|kind| (format!("of type {}", kind.name()), value.count(kind)));
    let fractions = match types.contains(&ValueKind::Int32) {
        true => value.fractions,
        false => 0,
    };
    let all = std::iter::once((
        "missing or null".to_owned(),
        of.saturating_sub(value.present()),
    ))
    .chain(others)
    .chain([("a fraction".to_owned(), fractions)]);
    let all = all.filter(|(_, documents)| *documents > 0);
    let all = all.map(|(what, documents)| format!("{what} in {}", thousands(documents)));
    all.collect::<Vec<_>>().join(" and ")
}

/// The kind of the collection, and the candidates that were weighed, as lines of text.
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
        let layout = ArrayLayout::of(known.shape, array.clone(), hints.time.as_ref())?;
        return Ok((Subject::Arrays(layout), weighed));
    }
    let takes_most = |array: &arrays::GrowingArray| {
        array.longest >= LONG || array.bytes_per_document * 2 >= known.shape.average_bytes()
    };
    if let Some(array) = array.as_ref().filter(|array| takes_most(array))
        && hints.key.is_empty()
    {
        let layout = ArrayLayout::of(known.shape, array.name.clone(), hints.time.as_ref())?;
        return Ok((Subject::Arrays(layout), weighed));
    }
    let (flat, candidates) = flat::weigh(known, hints)?;
    weighed.extend(candidates);
    let subject = match (flat, array) {
        (Some(layout), _) => Subject::Flat(layout),
        (None, Some(array)) => Subject::Arrays(ArrayLayout::of(
            known.shape,
            array.name,
            hints.time.as_ref(),
        )?),
        (None, None) => Subject::Unclear,
    };
    Ok((subject, weighed))
}

/// The key and the array that the user has named exist.
fn check_hints(shape: &DocumentShape, hints: &Hints) -> Result<(), Refusal> {
    for name in hints.key.iter().chain(&hints.array) {
        check_exists(shape, name)?;
    }
    let array = hints.array.as_ref().and_then(|name| shape.get(name));
    match array.is_none_or(|value| value.count(ValueKind::Array) > 0) {
        true => Ok(()),
        false => Err(Refusal::usage("the field of `--array` holds no array")),
    }
}

fn check_exists(shape: &DocumentShape, name: &str) -> Result<(), Refusal> {
    if shape.get(name).is_some() {
        return Ok(());
    }
    let names = shape.fields.iter().take(20).map(|field| &*field.name);
    let names = names.collect::<Vec<_>>().join(", ");
    let text = format!("no document has a field `{name}` at its top; there are {names}");
    Err(Refusal::usage(text))
}

/// Whether some document holds a date in this field.
fn has_dates(shape: &DocumentShape, name: &str) -> bool {
    let value = shape.get(name);
    value.is_some_and(|value| value.count(ValueKind::Date) > 0)
}

/// Whether the name says that the field holds a time.
fn is_time_name(name: &str) -> bool {
    let lower = name.to_lowercase();
    let is_word = |word: &&str| lower == **word || lower.ends_with(&format!("_{word}"));
    name.ends_with("At") || TIMES.iter().any(is_word)
}
