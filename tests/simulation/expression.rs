//! The value of an aggregation expression: exactly the operators that the runtime's commands use.

use std::{borrow::Cow, cmp::Ordering};

use bucket_runtime::bson::{Bson, Document};

use crate::filter::{compare, number, value_at};

/// The value of an expression for a document; `None` if there is none, as of a field that is missing.
pub(crate) fn evaluate(expression: &Bson, document: &Document) -> Option<Bson> {
    match expression {
        Bson::String(text) => match text.strip_prefix('$') {
            None => Some(expression.clone()),
            Some("$ROOT") => Some(document.clone().into()),
            Some("$REMOVE") => None,
            Some(path) if path.starts_with('$') => panic!("unknown variable ${path}"),
            Some(path) => value_at(document, path).map(Cow::into_owned),
        },
        Bson::Array(elements) => {
            let values = elements.iter().map(|one| evaluate(one, document));
            Some(values.map(|value| value.unwrap_or(Bson::Null)).collect())
        }
        Bson::Document(parts) => match parts.iter().next() {
            Some((operator, operand)) if operator.starts_with('$') => {
                Some(applied(operator, operand, document)).flatten()
            }
            _ => {
                let value = |(name, part)| Some((String::clone(name), evaluate(part, document)?));
                Some(Bson::Document(parts.iter().filter_map(value).collect()))
            }
        },
        constant => Some(constant.clone()),
    }
}

/// Whether a condition holds for a document.
pub(crate) fn is_true(condition: &Bson, document: &Document) -> bool {
    match evaluate(condition, document) {
        None | Some(Bson::Null) => false,
        Some(Bson::Boolean(is)) => is,
        Some(value) => number(&value) != Some(0),
    }
}

fn applied(operator: &str, operand: &Bson, document: &Document) -> Option<Bson> {
    if operator == "$literal" {
        return Some(operand.clone());
    }
    let operands = match operand {
        Bson::Array(operands) => operands.as_slice(),
        one => std::slice::from_ref(one),
    };
    let value = |n: usize| evaluate(operands.get(n)?, document);
    let is = |is: fn(Ordering) -> bool| -> Option<Bson> {
        let order = compare(&value(0)?, &value(1)?);
        Some(order.is_some_and(is).into())
    };
    match operator {
        "$and" => {
            let all = operands.iter().all(|one| is_true(one, document));
            Some(all.into())
        }
        "$or" => {
            let any = operands.iter().any(|one| is_true(one, document));
            Some(any.into())
        }
        "$eq" => Some((value(0) == value(1) || is(Ordering::is_eq) == Some(true.into())).into()),
        "$gt" => is(Ordering::is_gt),
        "$gte" => is(Ordering::is_ge),
        "$lt" => is(Ordering::is_lt),
        "$cond" => match is_true(&operands[0], document) {
            true => value(1),
            false => value(2),
        },
        "$ifNull" => match value(0) {
            None | Some(Bson::Null) => value(1),
            some => some,
        },
        "$type" => {
            let name = match value(0) {
                None => "missing",
                Some(Bson::String(_)) => "string",
                Some(Bson::Int32(_)) => "int",
                Some(Bson::Array(_)) => "array",
                other => panic!("unknown type of {other:?}"),
            };
            Some(name.into())
        }
        "$size" => Some((array(value(0)).len() as i32).into()),
        "$arrayElemAt" => array(value(0)).get(place(value(1))).cloned(),
        "$slice" => {
            let array = array(value(0));
            let (from, length) = match operands.len() {
                2 => (0, place(value(1))),
                _ => (place(value(1)), place(value(2))),
            };
            Some(array.into_iter().skip(from).take(length).collect())
        }
        "$concatArrays" => {
            let arrays = (0..operands.len()).flat_map(|n| array(value(n)));
            Some(arrays.collect())
        }
        other => panic!("unknown operator {other}"),
    }
}

fn array(value: Option<Bson>) -> Vec<Bson> {
    match value {
        Some(Bson::Array(values)) => values,
        other => panic!("{other:?} is no array"),
    }
}

fn place(value: Option<Bson>) -> usize {
    let number = value.as_ref().and_then(number);
    number
        .and_then(|number| number.try_into().ok())
        .unwrap_or_else(|| panic!("{value:?} is no place"))
}
