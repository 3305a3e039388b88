//! The items of a document as rows, each with one item: what a pipeline gives that unwinds the
//! document.

use std::ops::Range;

use mongodb::bson::{RawDocumentBuf, spec::ElementType};

use super::raw_field::{Malformed, RawField, RawFields, document_of};

/// The fields of rows.
#[derive(Debug, Clone)]
pub struct RowFields {
    /// The fields of the document that each row has as well.
    pub kept: Vec<&'static str>,
    pub items: &'static str,
    /// The field with the number of elements before the row's item.
    pub count: &'static str,
}

impl RowFields {
    /// The rows of those elements of a document whose numbers are in a range, in order or in
    /// reverse.
    pub(crate) fn rows(
        &self,
        document: &[u8],
        asked: &Range<usize>,
        reversed: bool,
        most: usize,
    ) -> Result<Vec<RawDocumentBuf>, Malformed> {
        let elements = RawFields::of_array(document, self.items)?;
        let elements = elements.collect::<Result<Vec<_>, _>>()?;
        let kept = self.kept_of(document)?;
        let asked = asked.start.min(elements.len())..asked.end.min(elements.len());
        let row = |number: usize| self.row(&kept, number, &elements[number]);
        match reversed {
            false => asked.take(most).map(row).collect(),
            true => asked.rev().take(most).map(row).collect(),
        }
    }

    /// A row without an item.
    pub(crate) fn row_without_item(&self, document: &[u8]) -> Result<RawDocumentBuf, Malformed> {
        raw(&[&self.kept_of(document)?])
    }

    /// The bytes of the fields that are kept.
    fn kept_of(&self, document: &[u8]) -> Result<Vec<u8>, Malformed> {
        let mut kept = Vec::new();
        for field in RawFields::of(document)? {
            let field = field?;
            if self.kept.iter().any(|name| field.name == name.as_bytes()) {
                kept.extend_from_slice(field.whole);
            }
        }
        Ok(kept)
    }

    fn row(
        &self,
        kept: &[u8],
        number: usize,
        item: &RawField<'_>,
    ) -> Result<RawDocumentBuf, Malformed> {
        let number = i32::try_from(number).map_err(|_| Malformed)?.to_le_bytes();
        let array = document_of(&[&[item.ty as u8], b"0\0", item.value]);
        raw(&[
            kept,
            &[ElementType::Int32 as u8],
            self.count.as_bytes(),
            b"\0",
            &number,
            &[ElementType::Array as u8],
            self.items.as_bytes(),
            b"\0",
            &array,
        ])
    }
}

fn raw(fields: &[&[u8]]) -> Result<RawDocumentBuf, Malformed> {
    RawDocumentBuf::from_bytes(document_of(fields)).map_err(|_| Malformed)
}

#[cfg(test)]
mod tests {
    use mongodb::bson::{Bson, Document, doc};
    use proptest::prelude::*;

    use super::*;
    use crate::value::raw_field::tests::values;

    const FIELDS: RowFields = RowFields {
        kept: Vec::new(),
        items: "history",
        count: "count",
    };

    proptest! {
        #[test]
        fn a_row_is_the_document_with_one_element(
            elements in proptest::collection::vec(proptest::sample::select(values()), 0..6),
            asked in (0_usize..7, 0_usize..7),
            reversed: bool,
            most in 0_usize..7,
        ) {
            let fields = RowFields { kept: vec!["_id", "k"], ..FIELDS };
            let document = doc! { "_id": "1_2", "count": 99, "history": &elements, "k": 1_i64, "newest": 5 };
            let bytes = RawDocumentBuf::from_document(&document).unwrap();
            let asked = asked.0..asked.1;
            let rows = fields.rows(bytes.as_bytes(), &asked, reversed, most).unwrap();
            let row = |(number, element): (usize, &Bson)| {
                doc! { "_id": "1_2", "k": 1_i64, "count": number as i32, "history": [element.clone()] }
            };
            let all = elements.iter().enumerate().filter(|(number, _)| asked.contains(number)).map(row);
            let mut expected = Vec::from_iter(all);
            if reversed {
                expected.reverse();
            }
            expected.truncate(most);
            let rows = rows.into_iter().map(|row| Document::try_from(row).unwrap());
            // Not a number is not equal to itself.
            prop_assert_eq!(format!("{:?}", Vec::from_iter(rows)), format!("{expected:?}"));
            let none = fields.row_without_item(bytes.as_bytes()).unwrap();
            prop_assert_eq!(Document::try_from(none).unwrap(), doc! { "_id": "1_2", "k": 1_i64 });
        }
    }

    #[test]
    fn a_document_without_the_array_has_no_rows() {
        for document in [
            doc! { "_id": 1 },
            doc! { "history": "none" },
            doc! { "history": {} },
        ] {
            let bytes = RawDocumentBuf::from_document(&document).unwrap();
            assert!(FIELDS.rows(bytes.as_bytes(), &(0..9), false, 9).is_err());
        }
    }
}
