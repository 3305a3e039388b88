//! Stored values as the server has them.
//!
//! serde reads a document with a key such as `$oid` as a value of another type, so stored values are read
//! as raw BSON. A [`Bson`] still cannot hold everything that is stored: its documents have each name once.

use mongodb::bson::{Bson, Document, RawBson, RawDocument};

use crate::value::{bytes, element::Element};

/// The value as a [`Bson`], unless that would be written back as other bytes.
pub(crate) fn exact(value: &RawBson) -> Option<Bson> {
    let bson = Bson::try_from(value.clone()).ok()?;
    let again = RawBson::try_from(bson.clone()).ok()?;
    (again == *value).then_some(bson)
}

/// The document with these bytes; `None` if it would lose a field, since one of its documents holds a name
/// twice.
pub(crate) fn exact_document(raw: &RawDocument) -> Option<Document> {
    let document = Document::try_from(raw).ok()?;
    (bytes::write(&document).ok()? == raw.as_bytes()).then_some(document)
}

/// The size in bytes of a value in a document, without its name.
pub(crate) fn size(value: &RawBson) -> usize {
    match value {
        RawBson::Document(document) => document.as_bytes().len(),
        RawBson::Array(array) => array.as_bytes().len(),
        other => Element::of(other).map_or(0, |element| element.value_size()),
    }
}

/// The changed value, in which all that did not change is as it is stored: `before` is what serde made of
/// the stored value, and may have other types.
pub(crate) fn restored(stored: &Bson, before: &Bson, after: Bson) -> Bson {
    match (stored, before, after) {
        (Bson::Document(stored), Bson::Document(before), Bson::Document(after)) => {
            let fields = after.into_iter().map(|(name, after)| {
                let known = stored.get(&name).zip(before.get(&name));
                let value = match known {
                    Some((stored, before)) => restored(stored, before, after),
                    None => after,
                };
                (name, value)
            });
            Bson::Document(fields.collect())
        }
        (Bson::Array(stored), Bson::Array(before), Bson::Array(after))
            if stored.len() == after.len() && before.len() == after.len() =>
        {
            let values = stored.iter().zip(before).zip(after);
            let values = values.map(|((stored, before), after)| restored(stored, before, after));
            Bson::Array(values.collect())
        }
        (stored, before, after) if *before == after && hides_type(stored) => stored.clone(),
        (_, _, after) => after,
    }
}

/// Whether serde may read the value as one of another type.
fn hides_type(value: &Bson) -> bool {
    match value {
        Bson::Document(fields) => {
            let mut fields = fields.iter();
            fields.any(|(name, value)| name.starts_with('$') || hides_type(value))
        }
        Bson::Array(values) => values.iter().any(hides_type),
        _ => false,
    }
}
