//! Fingerprints: numbers that tell documents apart, the same in every version of this library.

use std::ops::Range;

use mongodb::bson::{Document, RawDocument, spec::ElementType};
use sha2::{Digest, Sha256};

use crate::value::{
    bytes,
    raw_field::{RawField, RawFields, document_of},
};

/// The fingerprint of a document, by the first bytes of its SHA-256.
pub fn fingerprint(document: &Document) -> u64 {
    // A document that was read, or that is about to be sent, can be written.
    of_bytes(&bytes::write(document).unwrap_or_default())
}

fn of_bytes(document: &[u8]) -> u64 {
    let hash = Sha256::digest(document);
    (hash.iter().take(8)).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The fingerprints of some elements of a document's items array: each of these fields, or of all.
pub fn of_elements(
    document: &RawDocument,
    items: &str,
    names: Option<&[&str]>,
    asked: Range<usize>,
) -> Vec<u32> {
    let array = RawFields::of_array(document.as_bytes(), items);
    let elements = array.into_iter().flatten().map_while(Result::ok);
    let elements = elements.skip(asked.start).take(asked.len());
    elements
        .map(|element| of_element(&element, names))
        .collect()
}

fn of_element(element: &RawField<'_>, names: Option<&[&str]>) -> u32 {
    let told = match names {
        Some(names) if element.ty == ElementType::EmbeddedDocument => {
            let fields = RawFields::of(element.value).into_iter().flatten();
            let fields = Vec::from_iter(fields.map_while(Result::ok));
            let field = |name: &&str| fields.iter().find(|field| field.name == name.as_bytes());
            let told = names.iter().filter_map(field).map(|field| field.whole);
            document_of(&Vec::from_iter(told))
        }
        _ => document_of(&[&[element.ty as u8], b"\0", element.value]),
    };
    (of_bytes(&told) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use mongodb::bson::{RawDocumentBuf, doc};

    use super::*;

    /// Tokens of other versions hold these.
    #[test]
    fn fingerprints_never_change() {
        let bucket = doc! { "history": [{ "ticker": "MDB", "qty": 419 }, 419, {}] };
        let bucket = RawDocumentBuf::from_document(&bucket).unwrap();
        let told = |names, asked| of_elements(&bucket, "history", names, asked);
        assert_eq!(fingerprint(&doc! { "a": 1 }), 0x7126_6eda_69e3_5365);
        assert_eq!(told(None, 0..1), [0x8a7e_303b]);
        let by_fields = told(Some(&["qty", "none"]), 0..2);
        assert_eq!(by_fields, [0xc83_a8fb, 0x2b13_0bac]);
    }
}
