//! Which fields of flat documents are the key and the time.

use bucket_runtime::bson::Document;

use super::{Hints, Known, check_exists, has_dates, is_odd, is_time_name};
use crate::advise::figures::{counted, thousands};
use crate::advise::refusal::Refusal;
use crate::advise::shape::value::{MOST_DISTINCT, ValueKind, ValueShape};
use crate::advise::shape::{DocumentShape, FieldShape};

/// Words that name whatever has a series.
const OWNERS: [&str; 10] = [
    "account", "customer", "device", "host", "meter", "sensor", "station", "symbol", "ticker",
    "user",
];

/// A field that has no more distinct values is a state or a group rather than a key.
const FEW_VALUES: usize = 8;

/// Names that stand beside the key in a bucket.
const RESERVED: [&str; 4] = ["sealed", "capacity", "oversize", "newest"];

/// The fields by which flat documents would go into buckets.
#[derive(Debug, PartialEq)]
pub(in crate::advise) struct FlatLayout {
    pub(in crate::advise) key: Vec<String>,
    pub(in crate::advise) time: Option<String>,
}

/// A field that could be the key: how well it fits, or why it does not.
struct KeyCandidate<'s> {
    field: &'s FieldShape,
    fit: Result<i32, String>,
}

/// The key and the time, and all candidates as lines of text.
pub(in crate::advise) fn weigh(
    known: &Known<'_>,
    hints: &Hints,
) -> Result<(Option<FlatLayout>, Vec<String>), Refusal> {
    let fields = known
        .shape
        .fields
        .iter()
        .filter(|field| field.name != "_id");
    let mut candidates: Vec<_> = fields
        .map(|field| KeyCandidate {
            fit: fit(field, known),
            field,
        })
        .collect();
    candidates.retain(|candidate| !is_measurement(candidate, known));
    // The sort is stable: of equal candidates the first field wins.
    candidates
        .sort_by_key(|candidate| std::cmp::Reverse(*candidate.fit.as_ref().unwrap_or(&i32::MIN)));
    let lines = candidates
        .iter()
        .take(6)
        .map(|candidate| line(candidate, known));
    let mut lines: Vec<_> = lines.collect();
    let key = match hints.key.is_empty() {
        false => named_key(known.shape, &hints.key)?,
        true => {
            let best = candidates.first();
            let best = best.filter(|best| best.fit.as_ref().is_ok_and(|fit| *fit >= 0));
            best.map(|best| vec![best.field.name.clone()])
                .unwrap_or_default()
        }
    };
    let (time, times) = time(known, &key);
    lines.extend(times);
    if let Some(name) = &hints.time {
        check_time(known.shape, name)?;
    }
    let time = hints.time.clone().or(time);
    Ok(((!key.is_empty()).then_some(FlatLayout { key, time }), lines))
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

/// How well the field would be the key, or why it cannot be one.
fn fit(field: &FieldShape, known: &Known<'_>) -> Result<i32, String> {
    can_be_key(&field.name, &field.value, known.shape)?;
    let (documents, distinct) = (known.shape.documents, field.value.distinct());
    if distinct == Some(1) && documents > 1 {
        return Err("one value in all documents".to_owned());
    }
    let is_unique = field.value.is_unique();
    if is_unique && known.is_all && documents > 1 {
        return Err("another value in each document".to_owned());
    }
    let is_indexed = index_by(known.indexes, &field.name).is_some();
    let is_few = distinct.is_some_and(|distinct| distinct <= FEW_VALUES) && documents > 100;
    let is_number = field
        .value
        .types()
        .iter()
        .any(|kind| NUMBERS.contains(kind));
    let mut fit = 1;
    fit += if is_indexed { 4 } else { 0 };
    fit += if is_owner(&field.name) { 3 } else { 0 };
    fit -= if is_unique { 3 } else { 0 };
    fit -= if is_few { 1 } else { 0 };
    fit -= if is_number && !is_indexed && !is_owner(&field.name) {
        2
    } else {
        0
    };
    Ok(fit)
}

/// A number that nothing marks as a key is a measurement, and a text with a date is a time: both are left out.
fn is_measurement(candidate: &KeyCandidate<'_>, known: &Known<'_>) -> bool {
    let kinds = candidate.field.value.types();
    let is_key_type = kinds.iter().all(|kind| KEYS.contains(kind));
    let is_number = kinds.iter().all(|kind| NUMBERS.contains(kind));
    let name = &candidate.field.name;
    !is_key_type
        || candidate.field.value.is_date_text()
        || is_number && !is_owner(name) && index_by(known.indexes, name).is_none()
}

const NUMBERS: [ValueKind; 3] = [ValueKind::Int32, ValueKind::Int64, ValueKind::Double];

const KEYS: [ValueKind; 6] = [
    ValueKind::Int32,
    ValueKind::Int64,
    ValueKind::Double,
    ValueKind::Text,
    ValueKind::ObjectId,
    ValueKind::Uuid,
];

/// Whether the field's type and name can be those of a key.
pub(in crate::advise) fn can_be_key(
    name: &str,
    value: &ValueShape,
    shape: &DocumentShape,
) -> Result<(), String> {
    let kinds = value.types();
    let is_one_type = match kinds[..] {
        [kind] => KEYS.contains(&kind),
        _ => kinds.iter().all(|kind| NUMBERS.contains(kind)),
    };
    if !shape.is_always(value) {
        let missing = shape.documents - value.present();
        Err(format!(
            "missing or null in {} of {} documents",
            thousands(missing),
            thousands(shape.documents)
        ))
    } else if !is_one_type || value.fractions > 0 {
        let kinds: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
        Err(format!(
            "of type {}, which cannot be a key",
            kinds.join(" and ")
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

fn line(candidate: &KeyCandidate<'_>, known: &Known<'_>) -> String {
    if let Err(why) = &candidate.fit {
        return format!("not the key: `{}`, {why}", candidate.field.name);
    }
    let value = &candidate.field.value;
    let distinct = match value.distinct() {
        Some(distinct) => counted(distinct as u64, "value"),
        None => format!("more than {} values", thousands(MOST_DISTINCT as u64)),
    };
    let most = match value.repetitions().max().unwrap_or(0) * 100 / known.shape.documents.max(1) {
        0 => "less than 1".to_owned(),
        percent => percent.to_string(),
    };
    let index = match index_by(known.indexes, &candidate.field.name) {
        Some(keys) => format!(
            ", index {}",
            keys.keys().cloned().collect::<Vec<_>>().join(", ")
        ),
        None => String::new(),
    };
    format!(
        "key `{}`: {distinct}, the most frequent in {most} % of the documents{index}",
        candidate.field.name
    )
}

/// An index that begins with the field.
fn index_by<'k>(indexes: &'k [Document], name: &str) -> Option<&'k Document> {
    indexes
        .iter()
        .find(|keys| keys.keys().next().is_some_and(|first| first == name))
}

/// Whether the name says that the field tells owners of series apart.
fn is_owner(name: &str) -> bool {
    let is_id = ["_id", "Id", "ID", "_key", "Key"]
        .iter()
        .any(|end| name.ends_with(end));
    is_id || OWNERS.contains(&&*name.to_lowercase())
}

/// The field that holds each item's time, and all candidates as lines of text.
fn time(known: &Known<'_>, key: &[String]) -> (Option<String>, Vec<String>) {
    let shape = known.shape;
    let is_time = |field: &&FieldShape| {
        field.value.types() == [ValueKind::Date] && shape.is_always(&field.value)
    };
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
