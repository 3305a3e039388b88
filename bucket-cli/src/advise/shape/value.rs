//! The values at one place of the documents.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use bucket_runtime::bson::spec::BinarySubtype;
use bucket_runtime::bson::{Bson, Document};

use super::DocumentShape;

/// Deeper values are read as any value.
const DEEPEST: usize = 6;

/// A field with more distinct texts is not an enum.
const FEW_TEXTS: usize = 8;

/// A longer text is not the name of a variant.
const LONGEST_VARIANT: usize = 40;

/// So many distinct values are told apart; a field with more has many.
const MOST_DISTINCT: usize = 20_000;

/// A type of values, as far as Rust's types tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::advise) enum ValueKind {
    Null,
    Bool,
    Int32,
    Int64,
    Double,
    Decimal,
    Text,
    Date,
    ObjectId,
    Uuid,
    Bytes,
    Timestamp,
    Array,
    Document,
    Other,
}

impl ValueKind {
    fn of(value: &Bson) -> Self {
        match value {
            Bson::Null => Self::Null,
            Bson::Boolean(_) => Self::Bool,
            Bson::Int32(_) => Self::Int32,
            Bson::Int64(_) => Self::Int64,
            Bson::Double(_) => Self::Double,
            Bson::Decimal128(_) => Self::Decimal,
            Bson::String(_) => Self::Text,
            Bson::DateTime(_) => Self::Date,
            Bson::ObjectId(_) => Self::ObjectId,
            Bson::Binary(binary) if binary.subtype == BinarySubtype::Uuid => Self::Uuid,
            Bson::Binary(_) => Self::Bytes,
            Bson::Timestamp(_) => Self::Timestamp,
            Bson::Array(_) => Self::Array,
            Bson::Document(_) => Self::Document,
            _ => Self::Other,
        }
    }

    /// The type's name in MongoDB.
    pub(in crate::advise) fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int32 => "int",
            Self::Int64 => "long",
            Self::Double => "double",
            Self::Decimal => "decimal",
            Self::Text => "string",
            Self::Date => "date",
            Self::ObjectId => "objectId",
            Self::Uuid => "UUID",
            Self::Bytes => "binData",
            Self::Timestamp => "timestamp",
            Self::Array => "array",
            Self::Document => "object",
            Self::Other => "another type",
        }
    }
}

/// The values at one place of the documents: of a field, or the items of an array.
#[derive(Debug, Default)]
pub(in crate::advise) struct ValueShape {
    /// How many values there are, nulls included.
    pub(in crate::advise) seen: u64,
    pub(in crate::advise) kinds: BTreeMap<ValueKind, u64>,
    pub(in crate::advise) bytes: u64,
    /// How many values are numbers with a fraction.
    pub(in crate::advise) fractions: u64,
    /// How many texts look like `2026-01-31`.
    pub(in crate::advise) date_texts: u64,
    /// The fields of the documents.
    pub(in crate::advise) document: Option<Box<DocumentShape>>,
    /// The items of the arrays.
    pub(in crate::advise) items: Option<Box<ValueShape>>,
    /// The length of the shortest and of the longest array.
    pub(in crate::advise) lengths: Option<(u64, u64)>,
    /// The earliest and the latest date in milliseconds.
    pub(in crate::advise) dates: Option<(i64, i64)>,
    texts: BTreeMap<String, u64>,
    has_many_texts: bool,
    distinct: HashMap<u64, u32>,
    has_many: bool,
}

impl ValueShape {
    pub(super) fn add(&mut self, value: &Bson, depth: usize) {
        self.seen += 1;
        self.bytes += size(value);
        let mut kind = ValueKind::of(value);
        match value {
            _ if depth == DEEPEST && matches!(value, Bson::Array(_) | Bson::Document(_)) => {
                kind = ValueKind::Other;
            }
            Bson::String(text) => self.add_text(text),
            Bson::Double(number) => self.fractions += u64::from(number.fract() != 0.0),
            Bson::DateTime(date) => {
                let millis = date.timestamp_millis();
                let (first, last) = self.dates.unwrap_or((millis, millis));
                self.dates = Some((first.min(millis), last.max(millis)));
            }
            Bson::Document(document) => {
                let inner = self.document.get_or_insert_default();
                inner.add_at(document, depth + 1);
            }
            Bson::Array(items) => {
                let length = items.len() as u64;
                let (least, most) = self.lengths.unwrap_or((length, length));
                self.lengths = Some((least.min(length), most.max(length)));
                let inner = self.items.get_or_insert_default();
                items.iter().for_each(|item| inner.add(item, depth + 1));
            }
            _ => {}
        }
        *self.kinds.entry(kind).or_default() += 1;
    }

    fn add_text(&mut self, text: &str) {
        let digits = |range| {
            text.get(range)
                .is_some_and(|part: &str| part.parse::<u32>().is_ok())
        };
        let dashes = text.get(4..5) == Some("-") && text.get(7..8) == Some("-");
        self.date_texts += u64::from(dashes && digits(0..4) && digits(5..7) && digits(8..10));
        if self.has_many_texts {
            return;
        }
        let is_full = self.texts.len() == FEW_TEXTS;
        match self.texts.get_mut(text) {
            Some(n) => *n += 1,
            None if is_full || text.len() > LONGEST_VARIANT => {
                self.has_many_texts = true;
                self.texts.clear();
            }
            None => drop(self.texts.insert(text.to_owned(), 1)),
        }
    }

    /// Counts how often each value comes.
    pub(super) fn count_distinct(&mut self, value: &Bson) {
        let Some(hash) = scalar_hash(value) else {
            return;
        };
        let is_full = self.distinct.len() == MOST_DISTINCT;
        match self.distinct.get_mut(&hash) {
            Some(n) => *n += 1,
            None if is_full => self.has_many = true,
            None => drop(self.distinct.insert(hash, 1)),
        }
    }

    /// How many values there are without nulls.
    pub(in crate::advise) fn present(&self) -> u64 {
        self.seen - self.count(ValueKind::Null)
    }

    pub(in crate::advise) fn count(&self, kind: ValueKind) -> u64 {
        self.kinds.get(&kind).copied().unwrap_or(0)
    }

    /// The types without null.
    pub(in crate::advise) fn types(&self) -> Vec<ValueKind> {
        let kinds = self.kinds.keys().copied();
        kinds.filter(|kind| *kind != ValueKind::Null).collect()
    }

    /// The number of distinct values, unless there are too many to tell apart.
    pub(in crate::advise) fn distinct(&self) -> Option<usize> {
        (!self.has_many).then_some(self.distinct.len())
    }

    /// How often each distinct value came.
    pub(in crate::advise) fn repetitions(&self) -> impl Iterator<Item = u64> {
        self.distinct.values().map(|n| u64::from(*n))
    }

    /// The distinct texts if there are few, each with how often it came.
    pub(in crate::advise) fn few_texts(&self) -> &BTreeMap<String, u64> {
        &self.texts
    }
}

/// A hash of a value that could identify a key; `None` for documents, arrays and nothing. Equal numbers of
/// different types are one value.
pub(in crate::advise) fn scalar_hash(value: &Bson) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    match value {
        Bson::Null | Bson::Array(_) | Bson::Document(_) => return None,
        Bson::Int32(number) => f64::from(*number).to_bits().hash(&mut hasher),
        Bson::Int64(number) => (*number as f64).to_bits().hash(&mut hasher),
        Bson::Double(number) => number.to_bits().hash(&mut hasher),
        Bson::String(text) => text.hash(&mut hasher),
        Bson::ObjectId(id) => id.bytes().hash(&mut hasher),
        Bson::DateTime(time) => time.timestamp_millis().hash(&mut hasher),
        other => other.to_string().hash(&mut hasher),
    }
    Some(hasher.finish())
}

/// The size of a value in bytes, without its name.
pub(in crate::advise) fn size(value: &Bson) -> u64 {
    match value {
        Bson::Null | Bson::Undefined | Bson::MinKey | Bson::MaxKey => 0,
        Bson::Boolean(_) => 1,
        Bson::Int32(_) => 4,
        Bson::ObjectId(_) => 12,
        Bson::Decimal128(_) => 16,
        Bson::String(text) | Bson::Symbol(text) | Bson::JavaScriptCode(text) => {
            text.len() as u64 + 5
        }
        Bson::Binary(binary) => binary.bytes.len() as u64 + 5,
        Bson::Document(document) => document_size(document),
        Bson::Array(items) => {
            let name = |at: usize| at.checked_ilog10().unwrap_or(0) as u64 + 3;
            let item = |(at, item): (usize, &Bson)| name(at) + size(item);
            items.iter().enumerate().map(item).sum::<u64>() + 5
        }
        // Dates, doubles, longs and timestamps; the others are rare.
        _ => 8,
    }
}

/// The size of a document in bytes.
pub(in crate::advise) fn document_size(document: &Document) -> u64 {
    let field = |(name, value): (&String, &Bson)| name.len() as u64 + 2 + size(value);
    document.iter().map(field).sum::<u64>() + 5
}
