//! The shape of commands: what is left without the values that the caller passed.

use bucket_runtime::mongodb::bson::{Bson, Document};

/// A recognisable value that marks the places of the caller's values in a command.
pub(crate) const SENTINEL: &str = "sentinel";

/// The fields that a session adds to a command.
const OF_THE_SESSION: [&str; 3] = ["lsid", "$clusterTime", "txnNumber"];

/// The commands are those that were sent for the sentinel, with these values in its places: the text as
/// key, id and field, and the value as an item.
pub(crate) fn assert_same_shape(sent: &[Document], other: &[Document], text: &str, any: &Bson) {
    assert_eq!(names(sent), names(other));
    for (sent, other) in sent.iter().zip(other) {
        let is_same = same_document(sent, other, &[Bson::String(text.to_owned()), any.clone()]);
        assert!(is_same, "for {text:?} and {any:?}: {sent}\nbecame {other}");
    }
}

fn names(commands: &[Document]) -> Vec<&str> {
    let names = commands.iter().filter_map(|command| command.keys().next());
    names.map(String::as_str).collect()
}

fn same_document(sent: &Document, other: &Document, values: &[Bson]) -> bool {
    let of = |document: &Document| -> Vec<(String, Bson)> {
        let fields = document.clone().into_iter();
        fields
            .filter(|(name, _)| !OF_THE_SESSION.contains(&name.as_str()))
            .collect()
    };
    let (sent, other) = (of(sent), of(other));
    let same = |((name, sent), (other_name, other)): (&(String, Bson), &(String, Bson))| {
        name == other_name
            && match name.as_str() {
                "oversize" => same_value(&without_numbers(sent), &without_numbers(other), values),
                _ => same_value(sent, other, values),
            }
    };
    sent.len() == other.len() && sent.iter().zip(&other).all(same)
}

/// How many bytes of a bucket are left, or used, depends on the lengths of the values.
fn without_numbers(value: &Bson) -> Bson {
    match value {
        Bson::Document(document) => {
            let fields = document.iter();
            let fields = fields.map(|(name, value)| (name.clone(), without_numbers(value)));
            Bson::Document(fields.collect())
        }
        Bson::Int64(_) => Bson::Null,
        other => other.clone(),
    }
}

fn same_value(sent: &Bson, other: &Bson, values: &[Bson]) -> bool {
    match (sent, other) {
        (Bson::String(sent), other) if sent == SENTINEL => values.contains(other),
        // An id, or the end of a range of ids.
        (Bson::String(sent), Bson::String(_)) if sent.contains(SENTINEL) => true,
        (Bson::Document(sent), Bson::Document(other)) => same_document(sent, other, values),
        (Bson::Array(sent), Bson::Array(other)) if is_room_in_bytes(sent) => {
            is_room_in_bytes(other) && same_value(&sent[0], &other[0], values)
        }
        (Bson::Array(sent), Bson::Array(other)) => {
            let mut both = sent.iter().zip(other);
            sent.len() == other.len() && both.all(|(sent, other)| same_value(sent, other, values))
        }
        _ => sent == other,
    }
}

/// The byte limit of a document depends on the lengths of the values, too.
fn is_room_in_bytes(operands: &[Bson]) -> bool {
    match operands {
        [Bson::Document(of), Bson::Int64(_)] => match of.get_array("$subtract") {
            Ok(operands) => operands.first().is_some_and(is_size_in_bytes),
            Err(_) => of.contains_key("$bsonSize"),
        },
        _ => false,
    }
}

fn is_size_in_bytes(operand: &Bson) -> bool {
    let operand = operand.as_document();
    operand.is_some_and(|operand| operand.contains_key("$bsonSize"))
}
