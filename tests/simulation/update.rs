//! What an update makes of a document: exactly the operators that the runtime's commands use.

use std::cmp::Ordering;

use bucket_runtime::bson::{Bson, Document};

use crate::filter::{compare, number};

/// Whether a part of a command has operators; otherwise it is a value, or a whole document.
pub(crate) fn has_operators(part: &Document) -> bool {
    part.keys().any(|name| name.starts_with('$'))
}

/// The document after the update. Those fields are set, too, that only a new document gets.
pub(crate) fn updated(mut document: Document, update: &Document, is_new: bool) -> Document {
    let mut known = document.len();
    for (operator, fields) in update {
        let fields = fields.as_document().cloned().unwrap_or_default();
        for (path, value) in fields {
            let (document, name) = place(&mut document, path);
            match &**operator {
                "$set" => drop(document.insert(name, value)),
                "$setOnInsert" if is_new => drop(document.insert(name, value)),
                "$setOnInsert" => {}
                "$inc" => increase(document, name, value),
                "$max" => raise(document, name, value),
                "$push" => push(document, name, value),
                "$unset" => known -= usize::from(document.remove(&name).is_some()),
                other => panic!("unknown operator {other}"),
            }
        }
    }
    in_order(document, known)
}

/// The server adds new fields in the order of their names, behind those that are there.
fn in_order(document: Document, known: usize) -> Document {
    let mut fields = Vec::from_iter(document);
    fields[known..].sort_by(|(one, _), (other, _)| one.cmp(other));
    fields.into_iter().collect()
}

/// The document with the last part of a path, which is created on the way, and the field's name there.
fn place(document: &mut Document, path: String) -> (&mut Document, String) {
    let Some((outer, rest)) = path.split_once('.') else {
        return (document, path);
    };
    let inner = document.entry(outer.to_owned());
    match inner.or_insert_with(|| Document::new().into()) {
        Bson::Document(inner) => place(inner, rest.to_owned()),
        other => panic!("{path} leads into {other}"),
    }
}

fn raise(document: &mut Document, name: String, value: Bson) {
    let is_less = |before: &Bson| compare(before, &value).is_some_and(Ordering::is_lt);
    if document.get(&name).is_none_or(is_less) {
        document.insert(name, value);
    }
}

fn increase(document: &mut Document, name: String, by: Bson) {
    let sum = match (document.get(&name), by) {
        (None, by) => by,
        (Some(Bson::Int32(before)), Bson::Int32(by)) => Bson::Int32(before + by),
        (Some(before), by) => Bson::Int64(number(before).unwrap_or(0) + number(&by).unwrap_or(0)),
    };
    document.insert(name, sum);
}

fn push(document: &mut Document, name: String, value: Bson) {
    let Bson::Document(mut modifiers) = value else {
        panic!("a push without $each");
    };
    let Some(Bson::Array(each)) = modifiers.remove("$each") else {
        panic!("a push without $each");
    };
    let most = modifiers.remove("$slice");
    assert!(modifiers.is_empty(), "unknown modifiers {modifiers}");
    let array = document
        .entry(name)
        .or_insert_with(|| Bson::Array(Vec::new()));
    let Bson::Array(array) = array else {
        panic!("a push to {array}");
    };
    array.extend(each);
    if let Some(most) = most.as_ref().and_then(number) {
        array.truncate(most as usize);
    }
}

/// The document that an upsert begins with: the equalities of its filter.
pub(crate) fn new_document(filter: &Document) -> Document {
    let mut new = Document::new();
    for (name, condition) in filter {
        let equal = match condition {
            Bson::Document(operators) if has_operators(operators) => operators.get("$eq"),
            value => Some(value),
        };
        if let Some(value) = equal {
            new.insert(name, value.clone());
        }
    }
    new
}
