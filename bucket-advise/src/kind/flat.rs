//! Which fields of flat documents are the key and the time.

use std::cmp::Reverse;

use super::key::{can_be_key, index_by, marks, values};
use super::{DATE, Hints, Known, check_exists, has_dates, is_time_name};
use crate::figures::percent;
use crate::refusal::Refusal;
use crate::shape::value::MAX_DISTINCT;
use crate::shape::{DocumentShape, FieldShape};

/// A field with this many times the values of another tells series apart better.
const FAR_MORE: usize = 10;

/// The fields by which flat documents would go into buckets.
#[derive(Debug, PartialEq)]
pub(crate) struct FlatLayout {
    pub(crate) key: Vec<String>,
    pub(crate) time: Option<String>,
}

/// A field that could be the key: how much marks it as one, or why it cannot be.
struct KeyCandidate<'s> {
    field: &'s FieldShape,
    marks: Result<i32, String>,
}

/// The key and the time, and all candidates as lines of text.
pub(crate) fn weigh(
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
        let values = candidate.field.value.distinct().unwrap_or(MAX_DISTINCT);
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
