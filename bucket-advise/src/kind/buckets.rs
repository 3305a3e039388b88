//! Whether documents are buckets, and how their ids are made.

pub(crate) mod settings;

use bucket_runtime::bson::{Bson, DateTime, Document};

use crate::scan::order::BucketTimes;

/// So many of a hundred examples must be made in one way; a few may hold escaped texts or a stray
/// document.
const MIN_PERCENT: usize = 90;

/// Fields that every bucket of this library can have.
const OURS: [&str; 6] = ["_id", "sealed", "capacity", "oversize", "newest", "window"];

/// A greater number in an id is a time in seconds.
const GREATEST_NUMBER: u64 = 100_000_000;

/// How buckets are laid out.
#[derive(Debug, PartialEq)]
pub(crate) struct BucketLayout {
    pub(crate) items: String,
    pub(crate) count: String,
    /// How the ids are made; `None` if they do not name the key.
    pub(crate) ids: Option<IdLayout>,
}

/// How the ids of buckets are made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IdLayout {
    /// The key fields, each with the text before it.
    pub(crate) key: Vec<(String, String)>,
    /// The text before the ordinal.
    pub(crate) before_ordinal: String,
    pub(crate) ordinal: IdOrdinal,
}

/// The end of an id.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum IdOrdinal {
    /// Epoch seconds of this field.
    Seconds(String),
    /// Epoch milliseconds of this field.
    Millis(String),
    /// The start of a time window of this many seconds, by this field.
    Window(String, u64),
    /// 0, 1, 2 …
    Number,
}

impl BucketLayout {
    /// Where the buckets hold the times of their items, if their ids name a time.
    pub(crate) fn times(&self) -> Option<BucketTimes> {
        let ids = self.ids.as_ref()?;
        Some(BucketTimes {
            key: ids.key_names(),
            items: self.items.clone(),
            time: ids.ordinal.time()?.to_owned(),
        })
    }
}

impl IdLayout {
    /// The names of the key fields.
    pub(crate) fn key_names(&self) -> Vec<String> {
        self.key.iter().map(|(_, name)| name.clone()).collect()
    }
}

impl IdOrdinal {
    /// The field of the items' time.
    pub(crate) fn time(&self) -> Option<&str> {
        match self {
            Self::Seconds(field) | Self::Millis(field) | Self::Window(field, _) => Some(field),
            Self::Number => None,
        }
    }
}

/// Where the buckets hold the times of their items, if the documents are buckets whose ids name a
/// time.
pub(crate) fn times(examples: &[Document]) -> Option<BucketTimes> {
    find(examples)?.times()
}

/// The layout, if the documents are buckets.
pub(crate) fn find(examples: &[Document]) -> Option<BucketLayout> {
    let (items, count) = items_and_count(examples)?;
    let ids = ids(examples, &items, &count);
    // A few documents may have a number that equals an array's length by chance.
    (ids.is_some() || examples.len() >= 5).then_some(BucketLayout { items, count, ids })
}

/// The array of documents, and the number that equals its length.
fn items_and_count(buckets: &[Document]) -> Option<(String, String)> {
    let has_items = |value: &Bson| value.as_array().is_some_and(|items| has_documents(items));
    // A bucket may be empty.
    let mut filled = buckets
        .iter()
        .filter(|bucket| bucket.values().any(has_items));
    let first = filled.next()?;
    let arrays = first.iter().filter(|(_, value)| has_items(value));
    for (items, _) in arrays {
        let counts = first
            .iter()
            .filter(|(name, value)| number(value).is_some() && *name != "_id");
        for (count, _) in counts {
            let is_count = |bucket: &&Document| {
                let length = bucket.get_array(items).map(|items| items.len() as u64);
                length.is_ok() && bucket.get(count).and_then(number) == length.ok()
            };
            if buckets.iter().filter(is_count).count() * 100 >= buckets.len() * MIN_PERCENT {
                return Some((items.clone(), count.clone()));
            }
        }
    }
    None
}

fn has_documents(items: &[Bson]) -> bool {
    !items.is_empty() && items.iter().all(|item| matches!(item, Bson::Document(_)))
}

/// How the ids are made, if that can be told.
fn ids(buckets: &[Document], items: &str, count: &str) -> Option<IdLayout> {
    let split: Vec<_> = (buckets.iter())
        .filter_map(|bucket| Some((bucket, split(bucket, items, count)?)))
        .collect();
    let alike = |(_, first): &(&Document, SplitId<'_>)| -> Vec<_> {
        let made = |id: &SplitId<'_>| {
            (&id.key, id.last, id.ordinal.len()) == (&first.key, first.last, first.ordinal.len())
        };
        split.iter().filter(|(_, id)| made(id)).collect()
    };
    let mut ways = split.iter().map(alike);
    let alike = ways.find(|alike| alike.len() * 100 >= buckets.len() * MIN_PERCENT)?;
    let (_, first) = alike.first().filter(|(_, id)| !id.key.is_empty())?;
    let numbered: Option<Vec<_>> = alike
        .iter()
        .map(|(bucket, id)| Some((*bucket, id.ordinal.parse::<u64>().ok()?)))
        .collect();
    Some(IdLayout {
        ordinal: ordinal(&numbered?, first.ordinal.len(), items)?,
        before_ordinal: first.last.to_owned(),
        key: first.key.clone(),
    })
}

/// An id in its parts.
struct SplitId<'i> {
    /// Each key field, after the text before it.
    key: Vec<(String, String)>,
    last: &'i str,
    ordinal: &'i str,
}

fn split<'d>(bucket: &'d Document, items: &str, count: &str) -> Option<SplitId<'d>> {
    let id = bucket.get_str("_id").ok()?;
    let digits = |text: &'d str| {
        let begin = text
            .trim_end_matches(|letter: char| letter.is_ascii_digit())
            .len();
        text.split_at(begin)
    };
    let (mut head, mut ordinal) = digits(id);
    // Further buckets of one second end in `_000001`.
    if ordinal.len() == 6
        && let (earlier, time) = digits(head.trim_end_matches('_'))
        && time.len() >= 10
    {
        (head, ordinal) = (earlier, time);
    }
    let fields = bucket
        .iter()
        .filter(|(name, _)| !OURS.contains(&name.as_str()) && *name != items && *name != count);
    let mut texts: Vec<_> = fields
        .filter_map(|(name, value)| Some((name, id_text(value)?)))
        .collect();
    let (mut key, mut rest) = (Vec::new(), head);
    loop {
        let begin = rest
            .find(|letter: char| !letter.is_ascii_punctuation())
            .unwrap_or(rest.len());
        if begin == rest.len() {
            break;
        }
        // The longest text that stands here.
        let found = (0..texts.len())
            .filter(|at| !texts[*at].1.is_empty() && rest[begin..].starts_with(&texts[*at].1))
            .max_by_key(|at| texts[*at].1.len())?;
        let (name, text) = texts.remove(found);
        key.push((rest[..begin].to_owned(), name.clone()));
        rest = &rest[begin + text.len()..];
    }
    (!rest.is_empty()).then_some(SplitId {
        key,
        last: rest,
        ordinal,
    })
}

/// The text of a key field in an id.
fn id_text(value: &Bson) -> Option<String> {
    match value {
        Bson::String(text) => Some(text.clone()),
        Bson::ObjectId(id) => Some(id.to_hex()),
        Bson::Binary(binary) => binary.to_uuid().ok().map(|id| id.to_string()),
        other => Some(number(other)?.to_string()),
    }
}

/// The meaning of the digits at the end of the ids.
fn ordinal(buckets: &[(&Document, u64)], digits: usize, items: &str) -> Option<IdOrdinal> {
    let windows: Option<Vec<u64>> = buckets
        .iter()
        .map(|(bucket, _)| seconds(bucket.get_datetime("window").ok()?))
        .collect();
    let time = || time_field(buckets, items);
    match (digits, windows) {
        (10, Some(windows)) => {
            // Windows start at multiples of their length.
            let length = windows.into_iter().fold(0, greatest_common_divisor);
            Some(IdOrdinal::Window(time()?, length.max(1)))
        }
        (10, None) if buckets.iter().all(|(_, number)| *number < GREATEST_NUMBER) => {
            Some(IdOrdinal::Number)
        }
        (10, None) => Some(IdOrdinal::Seconds(time()?)),
        (13, None) => Some(IdOrdinal::Millis(time()?)),
        _ => None,
    }
}

/// The field of the items that holds their time: the one from which most ids are made.
fn time_field(buckets: &[(&Document, u64)], items: &str) -> Option<String> {
    let elements = |bucket: &Document| {
        let items = bucket.get_array(items).cloned().unwrap_or_default();
        items
            .into_iter()
            .filter_map(|item| item.as_document().cloned())
            .collect::<Vec<_>>()
    };
    let all: Vec<_> = buckets
        .iter()
        .map(|(bucket, number)| (elements(bucket), *number))
        .collect();
    let first = all.iter().find_map(|(elements, _)| elements.first())?;
    let dates = first
        .iter()
        .filter(|(_, value)| matches!(value, Bson::DateTime(_)));
    let elements = || all.iter().flat_map(|(elements, _)| elements);
    let is_usual = |name: &&String| {
        let timed = elements().filter(|element| element.get_datetime(name).is_ok());
        timed.count() * 100 >= elements().count() * MIN_PERCENT
    };
    let agreeing = |name: &&String| {
        let agrees = |(elements, number): &&(Vec<Document>, u64)| {
            let mut dates = elements
                .iter()
                .filter_map(|element| element.get_datetime(name).ok());
            dates.any(|date| seconds(date) == Some(*number))
        };
        all.iter().filter(agrees).count()
    };
    let names = dates.map(|(name, _)| name).filter(is_usual);
    // Of equal fields the first one wins.
    let names: Vec<_> = names.collect();
    names.into_iter().rev().max_by_key(agreeing).cloned()
}

fn seconds(date: &DateTime) -> Option<u64> {
    u64::try_from(date.timestamp_millis().div_euclid(1000)).ok()
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        _ => greatest_common_divisor(b, a % b),
    }
}

/// A whole number that is not negative.
fn number(value: &Bson) -> Option<u64> {
    match value {
        Bson::Int32(number) => u64::try_from(*number).ok(),
        Bson::Int64(number) => u64::try_from(*number).ok(),
        Bson::Double(number) if number.fract() == 0.0 && (0.0..9e15).contains(number) => {
            Some(*number as u64)
        }
        _ => None,
    }
}
