//! Whether a document matches a filter: exactly the operators that the runtime's commands use.

use std::{borrow::Cow, cmp::Ordering};

use bucket_runtime::bson::{Bson, Document};

use crate::{expression::is_true, update::has_operators};

/// Whether the document matches. An operator that is not known here is a panic that names it.
pub(crate) fn matches(filter: &Document, document: &Document) -> bool {
    filter.iter().all(|(name, condition)| match &**name {
        "$or" => list(condition).any(|filter| matches(filter, document)),
        "$and" => list(condition).all(|filter| matches(filter, document)),
        "$expr" => is_true(condition, document),
        name => {
            assert!(!name.starts_with('$'), "unknown operator {name}");
            holds(value_at(document, name).as_deref(), condition)
        }
    })
}

/// The value at a path. Behind an array, the one at a place, or those of all elements, as an array.
pub(crate) fn value_at<'d>(document: &'d Document, path: &str) -> Option<Cow<'d, Bson>> {
    let Some((name, rest)) = path.split_once('.') else {
        return document.get(path).map(Cow::Borrowed);
    };
    match document.get(name)? {
        Bson::Document(inner) => value_at(inner, rest),
        Bson::Array(elements) => match rest.parse::<usize>() {
            Ok(at) => elements.get(at).map(Cow::Borrowed),
            Err(_) => {
                let elements = elements.iter().filter_map(Bson::as_document);
                let values = elements.filter_map(|element| value_at(element, rest));
                Some(Cow::Owned(values.map(Cow::into_owned).collect()))
            }
        },
        _ => None,
    }
}

fn list(filters: &Bson) -> impl Iterator<Item = &Document> {
    let filters = filters.as_array().map(Vec::as_slice).unwrap_or_default();
    filters.iter().filter_map(Bson::as_document)
}

fn holds(value: Option<&Bson>, condition: &Bson) -> bool {
    let operators = condition.as_document();
    let operators = operators.filter(|operators| has_operators(operators));
    let Some(operators) = operators else {
        return has(value, condition);
    };
    operators
        .iter()
        .all(|(operator, operand)| match &**operator {
            "$eq" => has(value, operand),
            "$ne" => !has(value, operand),
            "$not" => !holds(value, operand),
            "$exists" => value.is_some() == (operand == &Bson::Boolean(true)),
            "$elemMatch" => value.is_some_and(|value| has_element(value, operand)),
            "$size" => {
                let len = value.and_then(Bson::as_array).map(Vec::len);
                len.is_some_and(|len| number(operand) == Some(len as i64))
            }
            "$in" => has_one(value, operand),
            "$nin" => !has_one(value, operand),
            "$lt" => any(value, operand, Ordering::is_lt),
            "$lte" => any(value, operand, Ordering::is_le),
            "$gt" => any(value, operand, Ordering::is_gt),
            "$gte" => any(value, operand, Ordering::is_ge),
            "$type" => has_type(value, operand),
            other => panic!("unknown operator {other}"),
        })
}

/// Whether the value, or an element of it, equals this one. A missing field equals null.
fn has(value: Option<&Bson>, wanted: &Bson) -> bool {
    value.map_or(wanted == &Bson::Null, |_| {
        any(value, wanted, Ordering::is_eq)
    })
}

/// Whether the value, or an element of it, equals one of these.
fn has_one(value: Option<&Bson>, wanted: &Bson) -> bool {
    let mut wanted = wanted.as_array().into_iter().flatten();
    wanted.any(|one| has(value, one))
}

/// Whether an element of an array matches a filter.
fn has_element(value: &Bson, filter: &Bson) -> bool {
    let (Some(elements), Some(filter)) = (value.as_array(), filter.as_document()) else {
        return false;
    };
    let mut elements = elements.iter().filter_map(Bson::as_document);
    elements.any(|element| matches(filter, element))
}

fn any(value: Option<&Bson>, operand: &Bson, is: fn(Ordering) -> bool) -> bool {
    match value {
        Some(Bson::Array(values)) if !matches!(operand, Bson::Array(_)) => {
            (values.iter()).any(|one| compare(one, operand).is_some_and(is))
        }
        Some(one) => compare(one, operand).is_some_and(is),
        None => false,
    }
}

fn has_type(value: Option<&Bson>, name: &Bson) -> bool {
    match (value, name.as_str()) {
        (Some(Bson::Array(_)), Some("array")) | (Some(Bson::String(_)), Some("string")) => true,
        (_, Some("array" | "string")) => false,
        (_, other) => panic!("unknown type {other:?}"),
    }
}

/// The order of two values of one kind; values of different kinds have none, and documents only if they are equal.
pub(crate) fn compare(one: &Bson, other: &Bson) -> Option<Ordering> {
    match (one, other) {
        (Bson::String(one), Bson::String(other)) => Some(one.cmp(other)),
        (Bson::DateTime(one), Bson::DateTime(other)) => Some(one.cmp(other)),
        (Bson::Boolean(one), Bson::Boolean(other)) => Some(one.cmp(other)),
        (Bson::ObjectId(one), Bson::ObjectId(other)) => Some(one.cmp(other)),
        (Bson::Null, Bson::Null) => Some(Ordering::Equal),
        (Bson::Document(one), Bson::Document(other)) => (one == other).then_some(Ordering::Equal),
        _ => Some(number(one)?.cmp(&number(other)?)),
    }
}

/// The order of two values of any kinds. Documents have the same fields, as far as they go.
pub(crate) fn compare_any(one: &Bson, other: &Bson) -> Option<Ordering> {
    let kind = |value: &Bson| match value {
        Bson::String(_) => 1,
        Bson::Document(_) => 2,
        Bson::ObjectId(_) => 3,
        value => number(value).map_or(4, |_| 0),
    };
    match (one, other) {
        (Bson::Document(one), Bson::Document(other)) => {
            let mut fields = one.values().zip(other.values());
            let order = fields
                .find_map(|(one, other)| compare_any(one, other).filter(|order| order.is_ne()));
            order.or_else(|| Some(one.len().cmp(&other.len())))
        }
        _ if kind(one) == kind(other) => compare(one, other),
        _ => Some(kind(one).cmp(&kind(other))),
    }
}

/// Whether two values of one kind are equal.
pub(crate) fn is_same(one: &Bson, other: &Bson) -> bool {
    compare(one, other).is_some_and(Ordering::is_eq)
}

/// A whole number of either width.
pub(crate) fn number(value: &Bson) -> Option<i64> {
    value.as_i64().or_else(|| value.as_i32().map(i64::from))
}
