//! Which fields of flat documents are the key and the time.

use std::cmp::Reverse;

use bucket_runtime::bson::Document;

use super::{DATE, Hints, Known, check_exists, has_dates, is_odd, is_time_name, strays};
use crate::advise::figures::{counted, percent, thousands};
use crate::advise::refusal::Refusal;
use crate::advise::shape::value::{MOST_DISTINCT, ValueKind, ValueShape};
use crate::advise::shape::{DocumentShape, FieldShape};

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

/// A field with so many times the values of another tells series apart better.
const FAR_MORE: usize = 10;

/// Each value of a number that nothing marks as a key has so many documents on average.
const REPEATED: u64 = 20;

/// Names that stand beside the key in a bucket.
const RESERVED: [&str; 4] = ["sealed", "capacity", "oversize", "newest"];

/// The fields by which flat documents would go into buckets.
#[derive(Debug, PartialEq)]
pub(in crate::advise) struct FlatLayout {
    pub(in crate::advise) key: Vec<String>,
    pub(in crate::advise) time: Option<String>,
}

/// A field that could be the key: how much marks it as one, or why it cannot be.
struct KeyCandidate<'s> {
    field: &'s FieldShape,
    marks: Result<i32, String>,
}

/// The key and the time, and all candidates as lines of text.
pub(in crate::advise) fn weigh(
    known: &Known<'_>,
    hints: &Hints,
) -> Result<(Option<FlatLayout>, Vec<String>), Refusal> {
    let mut candidates: Vec<_> = known
        .shape
        .fields
        .iter()
        .filter_map(|field| {
            let marks = marks(field, known)?;
            Some(KeyCandidate { field, marks })
        })
        .collect();
    // The sort is stable: of equal candidates the first field wins.
    candidates.sort_by_key(|candidate| Reverse(*candidate.marks.as_ref().unwrap_or(&i32::MIN)));
    let key = match hints.key.is_empty() {
        false => named_key(known.shape, &hints.key)?,
        true => best(&candidates)
            .map(|best| vec![best.name.clone()])
            .unwrap_or_default(),
    };
    // The key comes first.
    candidates.sort_by_key(|candidate| !key.contains(&candidate.field.name));
    let lines = candidates
        .iter()
        .take(6)
        .map(|candidate| line(candidate, known, &key));
    let mut lines: Vec<_> = lines.collect();
    let (time, times) = time(known, &key);
    lines.extend(times);
    if let Some(name) = &hints.time {
        check_time(known.shape, name)?;
    }
    let time = hints.time.clone().or(time);
    Ok(((!key.is_empty()).then_some(FlatLayout { key, time }), lines))
}

/// The field that is marked best, unless one that is marked nearly as well has far more values.
fn best<'s>(candidates: &[KeyCandidate<'s>]) -> Option<&'s FieldShape> {
    let fit = candidates.iter().filter_map(|candidate| {
        let values = candidate.field.value.distinct().unwrap_or(MOST_DISTINCT);
        Some((*candidate.marks.as_ref().ok()?, values, candidate.field))
    });
    let best = fit.reduce(|best, other| {
        let is_better = other.0 + 1 >= best.0 && other.1 >= best.1 * FAR_MORE;
        if is_better { other } else { best }
    });
    best.map(|(_, _, field)| field)
}

/// The time that the user has named exists, and is a date.
fn check_time(shape: &DocumentShape, name: &str) -> Result<(), Refusal> {
    check_exists(shape, name)?;
    match has_dates(shape, name) {
        true => Ok(()),
        false => Err(Refusal::usage(
            "the field of `--time` holds no dates; buckets sort by BSON dates",
        )),
    }
}

/// How much marks the field as the key, or why it cannot be one; `None` if its values are no texts, ids or numbers.
fn marks(field: &FieldShape, known: &Known<'_>) -> Option<Result<i32, String>> {
    let FieldShape { name, value } = field;
    let types = most_frequent(value).filter(|_| name != "_id" && !value.is_date_text())?;
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
        _ if is_number && !is_marked && (is_few || !can_be_id(name, value)) => Err(format!(
            "a number, and neither its name nor an index marks it: {}",
            values(value, documents)
        )),
        _ => Ok(i32::from(index_by(known.indexes, name).is_some()) * 4
            + i32::from(is_owner(name, types)) * 3
            + i32::from(is_marked || !is_number)
            - i32::from(is_few)),
    })
}

/// Whether numbers could name something: each value has many documents, most have nearly as many as others, and
/// the name is not that of a measure.
fn can_be_id(name: &str, value: &ValueShape) -> bool {
    let mut repetitions: Vec<_> = value.repetitions().collect();
    repetitions.sort_unstable();
    let average = repetitions.iter().sum::<u64>() / (repetitions.len() as u64).max(1);
    let median = repetitions.get(repetitions.len() / 2).copied().unwrap_or(0);
    average >= REPEATED && median * 2 >= average && !MEASURES.contains(&&*last_word(name))
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
fn most_frequent(value: &ValueShape) -> Option<&'static [ValueKind]> {
    let is_most = |types: &&[ValueKind]| {
        types.iter().map(|kind| value.count(*kind)).sum::<u64>() * 2 > value.present()
    };
    KEYS.into_iter().find(is_most)
}

/// The types of a key, if all of so many documents hold a value of these, but for one in a hundred.
pub(in crate::advise) fn key_types(value: &ValueShape, of: u64) -> Option<&'static [ValueKind]> {
    let is_whole = value.fractions * 100 <= of;
    most_frequent(value).filter(|types| is_whole && value.is_usually(types, of))
}

/// Whether the field's type and name can be those of a key.
pub(in crate::advise) fn can_be_key(
    name: &str,
    value: &ValueShape,
    shape: &DocumentShape,
) -> Result<(), String> {
    if key_types(value, shape.documents).is_none() {
        let types = most_frequent(value).unwrap_or(&[]);
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

/// The key that the user has named.
fn named_key(shape: &DocumentShape, names: &[String]) -> Result<Vec<String>, Refusal> {
    for name in names {
        let value = shape
            .get(name)
            .map_or(Ok(()), |value| can_be_key(name, value, shape));
        value.map_err(|why| Refusal::usage(format!("`{name}` is {why}")))?;
    }
    match names.len() {
        1..=6 => Ok(names.to_vec()),
        _ => Err(Refusal::usage("a key has at most six fields")),
    }
}

fn line(candidate: &KeyCandidate<'_>, known: &Known<'_>, key: &[String]) -> String {
    let name = &candidate.field.name;
    if let Err(why) = &candidate.marks {
        return format!("not the key: `{name}`, {why}");
    }
    let (value, documents) = (&candidate.field.value, known.shape.documents);
    let distinct = values(value, documents);
    let most = percent(value.repetitions().max().unwrap_or(0), documents);
    let index = match index_by(known.indexes, name) {
        Some(keys) => format!(
            ", index {}",
            keys.keys().cloned().collect::<Vec<_>>().join(", ")
        ),
        None => String::new(),
    };
    let other = match key.contains(name) {
        true => String::new(),
        false => format!("; `--key {name}` takes it"),
    };
    format!("key `{name}`: {distinct}, the most frequent in {most}{index}{other}")
}

/// How many values there are, and their share of the documents.
fn values(value: &ValueShape, documents: u64) -> String {
    match value.distinct() {
        Some(distinct) => format!(
            "{} ({} of the documents)",
            counted(distinct as u64, "value"),
            percent(distinct as u64, documents)
        ),
        None => format!("more than {} values", thousands(MOST_DISTINCT as u64)),
    }
}

/// An index that begins with the field.
fn index_by<'k>(indexes: &'k [Document], name: &str) -> Option<&'k Document> {
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

/// The field that holds each item's time, and all candidates as lines of text.
fn time(known: &Known<'_>, key: &[String]) -> (Option<String>, Vec<String>) {
    let shape = known.shape;
    let is_time = |field: &&FieldShape| field.value.is_usually(DATE, shape.documents);
    let follows_key = |name: &String| {
        let mut keys = key.iter().filter_map(|key| index_by(known.indexes, key));
        keys.any(|keys| keys.contains_key(name))
    };
    let times: Vec<_> = shape
        .fields
        .iter()
        .filter(is_time)
        .map(|field| &field.name)
        .collect();
    let best = times.iter().enumerate().max_by_key(|(at, name)| {
        let weight = i32::from(follows_key(name)) * 2 + i32::from(is_time_name(name));
        (weight, std::cmp::Reverse(*at))
    });
    let mut lines: Vec<_> = times.iter().map(|name| format!("time `{name}`")).collect();
    let texts = shape
        .fields
        .iter()
        .filter(|field| field.value.is_date_text());
    lines.extend(texts.map(|field| {
        format!(
            "`{}` holds times as texts, which cannot order buckets; store dates",
            field.name
        )
    }));
    (best.map(|(_, name)| (*name).clone()), lines)
}
