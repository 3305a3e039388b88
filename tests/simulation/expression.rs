//! The value of an aggregation expression: exactly the operators that the runtime's commands use.

use std::{borrow::Cow, cmp::Ordering};

use bucket_runtime::bson::{Bson, Document, RawDocumentBuf};

use crate::filter::{compare, is_same, number, value_at};

/// The value of an expression for a document; `None` if there is none, as of a field that is missing.
pub(crate) fn evaluate(expression: &Bson, document: &Document) -> Option<Bson> {
    let this = None;
    Scope { document, this }.value(expression)
}

/// Whether a condition holds for a document.
pub(crate) fn is_true(condition: &Bson, document: &Document) -> bool {
    let this = None;
    Scope { document, this }.is_true(condition)
}

/// What an expression can name.
#[derive(Clone, Copy)]
struct Scope<'d> {
    document: &'d Document,
    /// The element of an array that an operator looks at.
    this: Option<&'d Bson>,
}

impl Scope<'_> {
    fn value(self, expression: &Bson) -> Option<Bson> {
        match expression {
            Bson::String(text) => match text.strip_prefix('$') {
                None => Some(expression.clone()),
                Some("$ROOT") => Some(self.document.clone().into()),
                Some("$REMOVE") => None,
                Some("$this") => self.this.cloned(),
                Some(path) => match path.strip_prefix("$this.") {
                    Some(path) => value_at(self.this?.as_document()?, path).map(Cow::into_owned),
                    None if path.starts_with('$') => panic!("unknown variable ${path}"),
                    None => value_at(self.document, path).map(Cow::into_owned),
                },
            },
            Bson::Array(elements) => {
                let values = elements.iter().map(|one| self.value(one));
                Some(values.map(|value| value.unwrap_or(Bson::Null)).collect())
            }
            Bson::Document(parts) => match parts.iter().next() {
                Some((operator, operand)) if operator.starts_with('$') => {
                    self.applied(operator, operand)
                }
                _ => {
                    let value = |(name, part)| Some((String::clone(name), self.value(part)?));
                    Some(Bson::Document(parts.iter().filter_map(value).collect()))
                }
            },
            constant => Some(constant.clone()),
        }
    }

    fn is_true(self, condition: &Bson) -> bool {
        match self.value(condition) {
            None | Some(Bson::Null) => false,
            Some(Bson::Boolean(is)) => is,
            Some(value) => number(&value) != Some(0),
        }
    }

    fn applied(self, operator: &str, operand: &Bson) -> Option<Bson> {
        if operator == "$literal" {
            return Some(operand.clone());
        }
        let operands = match operand {
            Bson::Array(operands) => operands.as_slice(),
            one => std::slice::from_ref(one),
        };
        let value = |n: usize| self.value(operands.get(n)?);
        let whole = |n: usize| value(n).as_ref().and_then(number).unwrap_or(0);
        let is = |is: fn(Ordering) -> bool| -> Option<Bson> {
            let order = compare(&value(0)?, &value(1)?);
            Some(order.is_some_and(is).into())
        };
        Some(match operator {
            "$and" => operands.iter().all(|one| self.is_true(one)).into(),
            "$or" => operands.iter().any(|one| self.is_true(one)).into(),
            "$not" => (!self.is_true(&operands[0])).into(),
            "$eq" => is_equal(value(0), value(1)).into(),
            "$ne" => (!is_equal(value(0), value(1))).into(),
            "$gt" => return is(Ordering::is_gt),
            "$gte" => return is(Ordering::is_ge),
            "$lt" => return is(Ordering::is_lt),
            "$lte" => return is(Ordering::is_le),
            "$cond" => return value(if self.is_true(&operands[0]) { 1 } else { 2 }),
            "$ifNull" => {
                let last = operands.len() - 1;
                let others = (0..last).filter_map(value);
                let mut others = others.filter(|value| value != &Bson::Null);
                return others.next().or_else(|| value(last));
            }
            "$type" => type_name(value(0).as_ref()).into(),
            "$add" => Bson::Int64((0..operands.len()).map(whole).sum()),
            "$sum" => {
                let numbers = array(value(0));
                Bson::Int64(numbers.iter().filter_map(number).sum())
            }
            "$max" => {
                let order =
                    |one: &Bson, other: &Bson| compare(one, other).unwrap_or(Ordering::Equal);
                return (0..operands.len()).filter_map(value).max_by(order);
            }
            "$isNumber" => value(0).as_ref().and_then(number).is_some().into(),
            "$subtract" => match (value(0)?, value(1)?) {
                (Bson::Int32(one), Bson::Int32(other)) => Bson::Int32(one - other),
                _ => Bson::Int64(whole(0) - whole(1)),
            },
            "$isArray" => matches!(value(0), Some(Bson::Array(_))).into(),
            "$size" => (array(value(0)).len() as i32).into(),
            "$bsonSize" => size(value(0)).into(),
            "$range" => (whole(0)..whole(1))
                .map(|n| Bson::Int32(n as i32))
                .collect(),
            "$arrayElemAt" => return array(value(0)).get(place(value(1))).cloned(),
            "$slice" => {
                let array = array(value(0));
                let (from, length) = match operands.len() {
                    2 => (0, place(value(1))),
                    _ => (place(value(1)), place(value(2))),
                };
                array.into_iter().skip(from).take(length).collect()
            }
            "$concatArrays" => (0..operands.len()).flat_map(|n| array(value(n))).collect(),
            "$setUnion" => {
                let mut set = Vec::new();
                for one in (0..operands.len()).flat_map(|n| array(value(n))) {
                    if !set.contains(&one) {
                        set.push(one);
                    }
                }
                set.into()
            }
            "$setIntersection" => {
                let others = array(value(1));
                let all = array(value(0)).into_iter();
                all.filter(|one| others.contains(one)).collect()
            }
            "$map" => {
                let part = |name| operand.as_document()?.get(name);
                let input = array(part("input").and_then(|input| self.value(input)));
                let map = part("in").expect("what to do");
                let values = input.iter().map(|one| self.of(one).value(map));
                values.map(|value| value.unwrap_or(Bson::Null)).collect()
            }
            other => panic!("unknown operator {other}"),
        })
    }

    fn of<'e>(&'e self, element: &'e Bson) -> Scope<'e> {
        Scope {
            document: self.document,
            this: Some(element),
        }
    }
}

fn is_equal(one: Option<Bson>, other: Option<Bson>) -> bool {
    let both = one.as_ref().zip(other.as_ref());
    one == other || both.is_some_and(|(one, other)| is_same(one, other))
}

fn type_name(value: Option<&Bson>) -> &'static str {
    match value {
        None => "missing",
        Some(Bson::String(_)) => "string",
        Some(Bson::Int32(_)) => "int",
        Some(Bson::Int64(_)) => "long",
        Some(Bson::Array(_)) => "array",
        Some(Bson::Boolean(_)) => "bool",
        other => panic!("unknown type of {other:?}"),
    }
}

fn size(document: Option<Bson>) -> i32 {
    let Some(Bson::Document(document)) = document else {
        panic!("{document:?} is no document");
    };
    let raw = RawDocumentBuf::try_from(&document).expect("a document");
    raw.as_bytes().len() as i32
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
