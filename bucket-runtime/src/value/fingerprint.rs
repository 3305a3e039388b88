//! Fingerprints: numbers that tell documents apart, the same in every version of this library.

use mongodb::bson::{Bson, Document, doc};
use sha2::{Digest, Sha256};

use crate::value::bytes;

/// The fingerprint of a document, by the first bytes of its SHA-256.
pub(crate) fn fingerprint(document: &Document) -> u64 {
    // A document that was read, or that is about to be sent, can be written.
    let bytes = bytes::write(document).unwrap_or_default();
    let hash = Sha256::digest(bytes);
    (hash.iter().take(8)).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The fingerprint of an element of an items array: of these fields, or of all.
pub(crate) fn of_element(element: &Bson, names: Option<&[&str]>) -> u32 {
    let told = match (names, element) {
        (Some(names), Bson::Document(element)) => {
            let field = |name: &&str| Some(((*name).to_owned(), element.get(*name)?.clone()));
            names.iter().filter_map(field).collect()
        }
        _ => doc! { "": element.clone() },
    };
    (fingerprint(&told) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens of other versions hold these.
    #[test]
    fn fingerprints_never_change() {
        let element = || Bson::from(doc! { "ticker": "MDB", "qty": 419 });
        assert_eq!(fingerprint(&doc! { "a": 1 }), 0x7126_6eda_69e3_5365);
        assert_eq!(of_element(&element(), None), 0x8a7e_303b);
        assert_eq!(of_element(&element(), Some(&["qty", "none"])), 0xc83_a8fb);
        assert_eq!(of_element(&419.into(), Some(&["qty"])), 0x2b13_0bac);
    }
}
