//! The values at one place of the documents.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use bucket_runtime::bson::RawBsonRef;
use bucket_runtime::bson::spec::BinarySubtype;

use super::DocumentShape;

/// Deeper values are read as any value.
const DEEPEST: usize = 5;

/// A field with more distinct texts is not an enum.
const FEW_TEXTS: usize = 8;

/// A longer text is not the name of a variant.
const MAX_VARIANT_LENGTH: usize = 40;

/// An array of this size makes its document slow to read: a list of twenty such documents is more
/// than half a megabyte.
pub(crate) const HUGE_BYTES: u64 = 32 * 1024;

/// A property decides if it holds for all but one document in this many; that one has to be
/// corrected.
const STRAYS: u64 = 100;

/// So many distinct values are told apart; a field with more has many.
pub(crate) const MAX_DISTINCT: usize = 20_000;

/// A type of values, as far as Rust's types tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ValueKind {
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
    fn of(value: RawBsonRef<'_>) -> Self {
        match value {
            RawBsonRef::Null => Self::Null,
            RawBsonRef::Boolean(_) => Self::Bool,
            RawBsonRef::Int32(_) => Self::Int32,
            RawBsonRef::Int64(_) => Self::Int64,
            RawBsonRef::Double(_) => Self::Double,
            RawBsonRef::Decimal128(_) => Self::Decimal,
            RawBsonRef::String(_) => Self::Text,
            RawBsonRef::DateTime(_) => Self::Date,
            RawBsonRef::ObjectId(_) => Self::ObjectId,
            RawBsonRef::Binary(binary) if binary.subtype == BinarySubtype::Uuid => Self::Uuid,
            RawBsonRef::Binary(_) => Self::Bytes,
            RawBsonRef::Timestamp(_) => Self::Timestamp,
            RawBsonRef::Array(_) => Self::Array,
            RawBsonRef::Document(_) => Self::Document,
            _ => Self::Other,
        }
    }

    /// The type's name in MongoDB.
    pub(crate) fn name(self) -> &'static str {
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
pub(crate) struct ValueShape {
    /// How many values there are, nulls included.
    pub(crate) seen: u64,
    pub(crate) kinds: BTreeMap<ValueKind, u64>,
    pub(crate) bytes: u64,
    /// How many values are numbers with a fraction.
    pub(crate) fractions: u64,
    /// How many texts look like `2026-01-31`.
    pub(crate) date_texts: u64,
    /// The fields of the documents.
    pub(crate) document: Option<Box<DocumentShape>>,
    /// The items of the arrays.
    pub(crate) items: Option<Box<ValueShape>>,
    /// The length of the shortest and of the longest array.
    pub(crate) lengths: Option<(u64, u64)>,
    /// A length, and by how many arrays those of this length outnumber all others, if they do.
    majority: (u64, u64),
    /// The earliest and the latest date in milliseconds.
    pub(crate) dates: Option<(i64, i64)>,
    texts: BTreeMap<String, u64>,
    has_many_texts: bool,
    distinct: HashMap<u64, u32>,
    has_many: bool,
}

impl ValueShape {
    pub(super) fn add(&mut self, value: RawBsonRef<'_>, depth: usize) {
        self.seen += 1;
        self.bytes += size(value);
        let mut kind = ValueKind::of(value);
        match value {
            _ if depth == DEEPEST
                && matches!(value, RawBsonRef::Array(_) | RawBsonRef::Document(_)) =>
            {
                kind = ValueKind::Other;
            }
            RawBsonRef::String(text) => self.add_text(text),
            RawBsonRef::Double(number) => self.fractions += u64::from(number.fract() != 0.0),
            RawBsonRef::DateTime(date) => {
                let millis = date.timestamp_millis();
                let (first, last) = self.dates.unwrap_or((millis, millis));
                self.dates = Some((first.min(millis), last.max(millis)));
            }
            RawBsonRef::Document(document) => {
                let inner = self.document.get_or_insert_default();
                inner.add_at(document, depth + 1);
            }
            RawBsonRef::Array(items) => {
                let inner = self.items.get_or_insert_default();
                let mut length = 0;
                for item in items.into_iter().map_while(Result::ok) {
                    inner.add(item, depth + 1);
                    length += 1;
                }
                let (least, most) = self.lengths.unwrap_or((length, length));
                self.lengths = Some((least.min(length), most.max(length)));
                self.majority = match self.majority {
                    (_, 0) => (length, 1),
                    (of, more) if of == length => (of, more + 1),
                    (of, more) => (of, more - 1),
                };
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
            None if is_full || text.len() > MAX_VARIANT_LENGTH => {
                self.has_many_texts = true;
                self.texts.clear();
            }
            None => drop(self.texts.insert(text.to_owned(), 1)),
        }
    }

    /// Counts how often each value comes.
    pub(super) fn count_distinct(&mut self, value: RawBsonRef<'_>) {
        let Some(hash) = scalar_hash(value) else {
            return;
        };
        let is_full = self.distinct.len() == MAX_DISTINCT;
        match self.distinct.get_mut(&hash) {
            Some(n) => *n += 1,
            None if is_full => self.has_many = true,
            None => drop(self.distinct.insert(hash, 1)),
        }
    }

    /// How many values there are without nulls.
    pub(crate) fn present(&self) -> u64 {
        self.seen - self.count(ValueKind::Null)
    }

    pub(crate) fn count(&self, kind: ValueKind) -> u64 {
        self.kinds.get(&kind).copied().unwrap_or(0)
    }

    /// Whether all of this number of documents hold a value of these types here, but for one in a
    /// hundred.
    pub(crate) fn is_usually(&self, types: &[ValueKind], of: u64) -> bool {
        let fit: u64 = types.iter().map(|kind| self.count(*kind)).sum();
        of.saturating_sub(fit) * STRAYS <= of
    }

    /// Whether the arrays are as long as the longest, but for one in a hundred that is shorter.
    pub(crate) fn has_alike_arrays(&self) -> bool {
        let (length, more) = self.majority;
        let all = self.count(ValueKind::Array);
        self.lengths.is_some_and(|(_, most)| most == length) && (all - more) * STRAYS <= all * 2
    }

    /// The types without null.
    pub(crate) fn types(&self) -> Vec<ValueKind> {
        let kinds = self.kinds.keys().copied();
        kinds.filter(|kind| *kind != ValueKind::Null).collect()
    }

    /// The number of distinct values, unless there are too many to tell apart.
    pub(crate) fn distinct(&self) -> Option<usize> {
        (!self.has_many).then_some(self.distinct.len())
    }

    /// Whether no value came twice; of many values, those that came first tell.
    pub(crate) fn is_unique(&self) -> bool {
        !self.distinct.is_empty() && self.repetitions().all(|n| n == 1)
    }

    /// Whether all texts look like dates, but for one in a hundred.
    pub(crate) fn is_date_text(&self) -> bool {
        let others = self.count(ValueKind::Text) - self.date_texts;
        self.date_texts > others * STRAYS
    }

    /// How often each distinct value came.
    pub(crate) fn repetitions(&self) -> impl Iterator<Item = u64> {
        self.distinct.values().map(|n| u64::from(*n))
    }

    /// The distinct texts if there are few, each with how often it came.
    pub(crate) fn few_texts(&self) -> &BTreeMap<String, u64> {
        &self.texts
    }
}

/// A hash of a value that could identify a key; `None` for documents, arrays and nothing. Equal
/// numbers of different types are one value.
pub(crate) fn scalar_hash(value: RawBsonRef<'_>) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    match value {
        RawBsonRef::Null | RawBsonRef::Array(_) | RawBsonRef::Document(_) => return None,
        RawBsonRef::Int32(number) => f64::from(number).to_bits().hash(&mut hasher),
        // Beyond 2^53 several longs would be one double.
        RawBsonRef::Int64(number) if number as f64 as i64 != number => number.hash(&mut hasher),
        RawBsonRef::Int64(number) => (number as f64).to_bits().hash(&mut hasher),
        RawBsonRef::Double(number) => number.to_bits().hash(&mut hasher),
        RawBsonRef::String(text) => text.hash(&mut hasher),
        RawBsonRef::ObjectId(id) => id.bytes().hash(&mut hasher),
        RawBsonRef::DateTime(time) => time.timestamp_millis().hash(&mut hasher),
        RawBsonRef::Boolean(is) => is.hash(&mut hasher),
        RawBsonRef::Binary(binary) => binary.bytes.hash(&mut hasher),
        other => format!("{other:?}").hash(&mut hasher),
    }
    Some(hasher.finish())
}

/// The size of a value in bytes, without its name.
fn size(value: RawBsonRef<'_>) -> u64 {
    let bytes = match value {
        RawBsonRef::Null | RawBsonRef::Undefined | RawBsonRef::MinKey | RawBsonRef::MaxKey => 0,
        RawBsonRef::Boolean(_) => 1,
        RawBsonRef::Int32(_) => 4,
        RawBsonRef::ObjectId(_) => 12,
        RawBsonRef::Decimal128(_) => 16,
        RawBsonRef::String(text) | RawBsonRef::Symbol(text) | RawBsonRef::JavaScriptCode(text) => {
            text.len() + 5
        }
        RawBsonRef::Binary(binary) => binary.bytes.len() + 5,
        RawBsonRef::Document(document) => document.as_bytes().len(),
        RawBsonRef::Array(items) => items.as_bytes().len(),
        // Dates, doubles, longs and timestamps; the others are rare.
        _ => 8,
    };
    bytes as u64
}
