//! Which array of the documents grows.

use bucket_runtime::bson::{Bson, doc};

use super::{ARRAY, DATE, has_dates, is_time_name, strays};
use crate::figures::thousands;
use crate::refusal::Refusal;
use crate::shape::value::{HUGE_BYTES, ValueKind};
use crate::shape::{DocumentShape, FieldShape, is_odd};

/// A shorter array, such as a pair of coordinates or some tags, is a value.
const SHORT: u64 = 10;

/// A name that is empty, contains a point or begins with a dollar sign.
const ODD: &str = "a name that has another meaning in updates and paths";

/// An array that may grow: its length differs from document to document, or it is large in all of
/// them.
#[derive(Debug, PartialEq)]
pub(crate) struct GrowingArray {
    pub(crate) name: String,
    pub(crate) longest: u64,
    pub(crate) bytes_per_document: u64,
}

/// The array that grows, and the time that tells since when.
#[derive(Debug, PartialEq)]
pub(crate) struct ArrayLayout {
    pub(crate) array: String,
    pub(crate) since: Option<Since>,
}

impl ArrayLayout {
    /// The layout of this array; the user may have named a field with a time, of documents or of
    /// items.
    pub(crate) fn of(
        shape: &DocumentShape,
        array: String,
        time: Option<&String>,
    ) -> Result<Self, Refusal> {
        if is_odd(&array) {
            let text = format!("the field `{array}` of `--array` has {ODD}");
            return Err(Refusal::usage(text));
        }
        let found = since(shape, &array, time);
        match (found, time) {
            (None, Some(name)) => Err(Refusal::usage(format!(
                "the field `{name}` of `--time` holds no dates, neither in the documents nor in the items of `{array}`"
            ))),
            (since, _) => Ok(Self { array, since }),
        }
    }
}

/// The time since when a document grows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Since {
    /// The time in the `ObjectId` that is its `_id`.
    Id,
    /// A field of the document.
    Field(String),
    /// The earliest value of this field in the items of the array.
    Items(String),
}

impl Since {
    /// The field as text.
    pub(crate) fn text(&self, array: &str) -> String {
        match self {
            Self::Id => "the `ObjectId` in `_id`".to_owned(),
            Self::Field(name) => format!("`{name}`"),
            Self::Items(name) => format!("the earliest `{array}.{name}`"),
        }
    }

    /// The expression whose value is the time.
    pub(crate) fn expression(&self, array: &str) -> Bson {
        match self {
            Self::Id => {
                let date = doc! { "input": "$_id", "to": "date", "onError": Bson::Null };
                doc! { "$convert": date }.into()
            }
            Self::Field(name) => format!("${name}").into(),
            Self::Items(name) => doc! { "$min": format!("${array}.{name}") }.into(),
        }
    }
}

/// The array that takes the most bytes, and all candidates as lines of text.
pub(crate) fn weigh(shape: &DocumentShape) -> (Option<GrowingArray>, Vec<String>) {
    let mut found: Vec<_> = shape.fields.iter().filter_map(growing).collect();
    found.sort_by_key(|(field, _)| std::cmp::Reverse(field.bytes()));
    let is_mixed = |field: &FieldShape| !field.value.is_usually(ARRAY, field.value.present());
    let line = |(field, longest): &(&FieldShape, u64)| {
        let (name, longest) = (&field.name, thousands(*longest));
        let share = field.value.present() * 100 / shape.documents.max(1);
        match (is_odd(name), is_mixed(field)) {
            (true, _) => format!("not the array: `{name}`, {ODD}"),
            (_, true) => {
                let strays = strays(&field.value, ARRAY, field.value.present());
                format!("not the array: `{name}`, {strays} of the documents")
            }
            _ => format!("array `{name}`: up to {longest} items, in {share} % of the documents"),
        }
    };
    let lines = found.iter().map(line).collect();
    let fit = |field: &FieldShape| !is_odd(&field.name) && !is_mixed(field);
    let mut fit = found.iter().filter(|(field, _)| fit(field));
    let array = fit.next().map(|(field, longest)| GrowingArray {
        name: field.name.clone(),
        longest: *longest,
        bytes_per_document: field.bytes() / shape.documents.max(1),
    });
    (array, lines)
}

/// A field whose arrays differ in length, or are large and no vectors, and the longest of them.
fn growing(field: &FieldShape) -> Option<(&FieldShape, u64)> {
    let value = &field.value;
    let (_, longest) = value.lengths?;
    let items = value.items.as_deref();
    let is_vector = items.is_some_and(|items| items.types() == [ValueKind::Double]);
    let is_large = value.bytes >= HUGE_BYTES * value.count(ValueKind::Array) && !is_vector;
    let is_growing = longest >= SHORT && (is_large || !value.has_alike_arrays());
    is_growing.then_some((field, longest))
}

/// The time that tells since when documents grow: the one that the user has named, that of an
/// `ObjectId`, or a date of the documents or of the items, the earliest of those whose names say
/// so.
fn since(shape: &DocumentShape, array: &str, named: Option<&String>) -> Option<Since> {
    let items = shape.get(array).and_then(|value| value.items.as_deref());
    let item = items.and_then(|items| items.document.as_deref());
    if let Some(name) = named {
        if has_dates(shape, name) {
            return Some(Since::Field(name.clone()));
        }
        let inner = name
            .strip_prefix(array)
            .and_then(|rest| rest.strip_prefix('.'));
        let inner = inner.unwrap_or(name);
        return has_dates(item?, inner).then(|| Since::Items(inner.to_owned()));
    }
    if shape
        .get("_id")
        .is_some_and(|id| id.is_usually(&[ValueKind::ObjectId], shape.documents))
    {
        return Some(Since::Id);
    }
    let of_documents = earliest(shape).map(Since::Field);
    of_documents.or_else(|| earliest(item?).map(Since::Items))
}

/// The field with the earliest dates, preferably one whose name is that of a time.
fn earliest(shape: &DocumentShape) -> Option<String> {
    let dates = shape
        .fields
        .iter()
        .filter(|field| field.value.is_usually(DATE, shape.documents) && !is_odd(&field.name));
    let best = dates.min_by_key(|field| (!is_time_name(&field.name), field.value.dates));
    best.map(|field| field.name.clone())
}
