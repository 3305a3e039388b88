//! Whether a field can be the key, and what marks it as one.

use bucket_runtime::bson::Document;

use super::{Known, strays};
use crate::figures::{counted, percent, thousands};
use crate::shape::value::{MAX_DISTINCT, ValueKind, ValueShape};
use crate::shape::{DocumentShape, FieldShape, is_odd};

/// Words that name whatever has a series.
const OWNERS: [&str; 14] = [
    "account", "client", "customer", "device", "host", "machine", "meter", "patient", "player",
    "sensor", "station", "symbol", "ticker", "user",
];

/// Words that name what is measured or counted.
const MEASURES: [&str; 18] = [
    "age", "amount", "cents", "count", "delay", "distance", "duration", "height", "humidity",
    "level", "price", "pulse", "qty", "quantity", "score", "size", "value", "weight",
];

/// A field that has no more distinct values is a state or a group rather than a key.
const FEW_VALUES: usize = 8;

/// The number of documents that each value of a number has on average, if nothing marks it as a
/// key; in a sample, two.
const REPEATED: u64 = 5;

/// Names that stand beside the key in a bucket.
const RESERVED: [&str; 4] = ["sealed", "capacity", "oversize", "newest"];

/// How much marks the field as the key, or why it cannot be one; `None` if its values are no texts,
/// ids or numbers.
pub(super) fn marks(field: &FieldShape, known: &Known<'_>) -> Option<Result<i32, String>> {
    let FieldShape { name, value } = field;
    let types = key_types(value).filter(|_| name != "_id" && !value.is_date_text())?;
    let is_number = types == NUMBERS;
    let is_marked = index_by(known.indexes, name).is_some() || is_owner(name, types);
    if !is_marked && value.fractions * 100 > value.present() {
        return None;
    }
    if let Err(why) = can_be_key(name, value, known.shape) {
        return Some(Err(why));
    }
    let documents = known.shape.documents;
    let is_few = value.distinct().is_some_and(|n| n <= FEW_VALUES) && documents > 100;
    let most = value.repetitions().max().unwrap_or(0);
    Some(match documents {
        0..=1 => Ok(0),
        _ if most * 100 >= documents * 99 => Err(format!(
            "one value in {} of the documents",
            percent(most, documents)
        )),
        _ if value.is_unique() && (known.is_all || !is_marked) => {
            Err("another value in each document".to_owned())
        }
        _ if is_number && !is_marked && (is_few || !can_be_id(name, value, known.is_all)) => {
            Err(format!(
                "a number, and neither its name nor an index marks it: {}",
                values(value, documents)
            ))
        }
        _ => Ok(i32::from(index_by(known.indexes, name).is_some()) * 4
            + i32::from(is_owner(name, types)) * 3
            + i32::from(is_marked || !is_number)
            - i32::from(is_few)),
    })
}

/// Whether numbers could name something: each value has many documents, most have nearly as many as
/// others, and the name is not that of a measure.
fn can_be_id(name: &str, value: &ValueShape, is_all: bool) -> bool {
    let mut repetitions: Vec<_> = value.repetitions().collect();
    repetitions.sort_unstable();
    let average = repetitions.iter().sum::<u64>() / (repetitions.len() as u64).max(1);
    let median = repetitions.get(repetitions.len() / 2).copied().unwrap_or(0);
    let least = if is_all { REPEATED } else { 2 };
    average >= least && median * 2 >= average && !MEASURES.contains(&&*last_word(name))
}

const NUMBERS: &[ValueKind] = &[ValueKind::Int32, ValueKind::Int64, ValueKind::Double];

/// The types of a key; numbers are stored alike.
const KEYS: [&[ValueKind]; 4] = [
    NUMBERS,
    &[ValueKind::Text],
    &[ValueKind::ObjectId],
    &[ValueKind::Uuid],
];

/// The types that most of the values have, if a key can have them.
pub(crate) fn key_types(value: &ValueShape) -> Option<&'static [ValueKind]> {
    let is_most = |types: &&[ValueKind]| {
        types.iter().map(|kind| value.count(*kind)).sum::<u64>() * 2 > value.present()
    };
    KEYS.into_iter().find(is_most)
}

/// Whether the field's type and name can be those of a key.
pub(crate) fn can_be_key(
    name: &str,
    value: &ValueShape,
    shape: &DocumentShape,
) -> Result<(), String> {
    let types = key_types(value).unwrap_or(&[]);
    let is_whole = value.fractions * 100 <= shape.documents;
    if !is_whole || !value.is_usually(types, shape.documents) {
        let strays = strays(value, types, shape.documents);
        let documents = thousands(shape.documents);
        Err(format!(
            "{strays} of {documents} documents, which cannot be a key"
        ))
    } else if RESERVED.contains(&name) || is_odd(name) {
        Err("a name that a bucket's key cannot have".to_owned())
    } else {
        Ok(())
    }
}

/// How many values there are, and their share of the documents.
pub(super) fn values(value: &ValueShape, documents: u64) -> String {
    match value.distinct() {
        Some(distinct) => format!(
            "{} ({} of the documents)",
            counted(distinct as u64, "value"),
            percent(distinct as u64, documents)
        ),
        None => format!("more than {} values", thousands(MAX_DISTINCT as u64)),
    }
}

/// An index that begins with the field.
pub(super) fn index_by<'k>(indexes: &'k [Document], name: &str) -> Option<&'k Document> {
    indexes
        .iter()
        .find(|keys| keys.keys().next().is_some_and(|first| first == name))
}

/// Whether the field tells owners of series apart, as its name says, or ids that come again.
fn is_owner(name: &str, types: &[ValueKind]) -> bool {
    let is_id = ["_id", "Id", "ID", "_key", "Key"]
        .iter()
        .any(|end| name.ends_with(end));
    let ids = [ValueKind::ObjectId, ValueKind::Uuid];
    is_id || OWNERS.contains(&&*last_word(name)) || types.iter().any(|kind| ids.contains(kind))
}

/// The last word of a name, in small letters.
fn last_word(name: &str) -> String {
    let begin = name.rfind(|letter: char| !letter.is_lowercase());
    name[begin.unwrap_or(0)..]
        .trim_start_matches(['_', '-', ' '])
        .to_lowercase()
}
