//! Stored values as the server has them.
//!
//! serde reads a document with a key such as `$oid` as a value of another type, so stored values
//! are read as raw BSON. A [`Bson`] still cannot hold everything that is stored: its documents have
//! each name once.

use mongodb::bson::{Bson, Document, RawBson, RawDocument};

use crate::value::{bytes, element::Element};

/// The value as a [`Bson`], unless that would be written back as other bytes.
pub fn exact(value: &RawBson) -> Option<Bson> {
    let bson = Bson::try_from(value.clone()).ok()?;
    let again = RawBson::try_from(bson.clone()).ok()?;
    (again == *value).then_some(bson)
}

/// The document with these bytes; `None` if it would lose a field, since one of its documents holds
/// a name twice.
pub fn exact_document(raw: &RawDocument) -> Option<Document> {
    let document = Document::try_from(raw).ok()?;
    (bytes::write(&document).ok()? == raw.as_bytes()).then_some(document)
}

/// The size in bytes of a value in a document, without its name.
pub fn size(value: &RawBson) -> usize {
    match value {
        RawBson::Document(document) => document.as_bytes().len(),
        RawBson::Array(array) => array.as_bytes().len(),
        other => Element::of(other).map_or(0, |element| element.value_size()),
    }
}

/// The changed value, in which all that did not change is as it is stored: `before` is what serde
/// made of the stored value, and may have other types.
pub fn restored(stored: &Bson, before: &Bson, after: Bson) -> Bson {
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

#[cfg(test)]
mod tests {
    use mongodb::bson::{doc, oid::ObjectId};

    use super::*;

    const HEX: &str = "0123456789abcdef01234567";

    /// serde reads the first one as the second.
    fn stored_and_read() -> [Bson; 2] {
        let id = ObjectId::parse_str(HEX).unwrap();
        [doc! { "$oid": HEX }.into(), id.into()]
    }

    #[test]
    fn what_did_not_change_is_restored() {
        let [stored, read] = stored_and_read();
        let document = |id: &Bson, n: i32| Bson::from(doc! { "id": id, "deep": [{ "id": id }, n] });
        let after = restored(
            &document(&stored, 1),
            &document(&read, 1),
            document(&read, 2),
        );
        assert_eq!(after, document(&stored, 2));
        // serde may have made one value of a whole document.
        let list = Bson::from(doc! { "list": [&stored] });
        assert_eq!(restored(&list, &"all".into(), "all".into()), list);
        let added = |id: &Bson| Bson::from(doc! { "id": id, "new": &read });
        let before = doc! { "id": &read }.into();
        assert_eq!(
            restored(&doc! { "id": &stored }.into(), &before, added(&read)),
            added(&stored)
        );
    }

    #[test]
    fn what_changed_is_as_it_was_changed() {
        let [stored, read] = stored_and_read();
        assert_eq!(restored(&stored, &read, 7.into()), 7.into());
        // A value whose type serde keeps: the server has it as it was read.
        assert_eq!(restored(&1.into(), &2.into(), 2.into()), 2.into());
        // Elements of arrays of other lengths are not each other's.
        let array = |of: &[&Bson]| Bson::Array(of.iter().map(|value| (*value).clone()).collect());
        let shorter = restored(
            &array(&[&stored, &stored]),
            &array(&[&read, &read]),
            array(&[&read]),
        );
        assert_eq!(shorter, array(&[&read]));
        let read_as_fewer = restored(&array(&[&stored]), &array(&[&read, &read]), array(&[&read]));
        assert_eq!(read_as_fewer, array(&[&read]));
    }

    #[test]
    fn a_size_is_that_of_the_value_alone() {
        let text = "four".to_owned();
        for (value, bytes) in [
            (Bson::Int32(1), 4),
            (Bson::String(text), 4 + 5),
            (doc! {}.into(), 5),
            (Bson::Array(vec![Bson::Null]), 5 + 3),
        ] {
            assert_eq!(
                size(&RawBson::try_from(value.clone()).unwrap()),
                bytes,
                "{value}"
            );
        }
    }
}
