//! The fields of a document, straight from its bytes: the driver's iterator reads each name and
//! each length twice.

use mongodb::bson::spec::ElementType;

/// A field as it is stored.
#[derive(Debug, Clone, Copy)]
pub struct RawField<'b> {
    pub ty: ElementType,
    pub name: &'b [u8],
    pub value: &'b [u8],
    /// Type, name and value.
    pub whole: &'b [u8],
}

/// The bytes are not those of a document.
#[derive(Debug, Clone, Copy)]
pub struct Malformed;

/// The fields of a document, in order. A value's own bytes are not looked at.
#[derive(Debug, Clone)]
pub struct RawFields<'b>(&'b [u8]);

impl<'b> RawFields<'b> {
    pub fn of(document: &'b [u8]) -> Result<Self, Malformed> {
        let (size, fields) = document.split_first_chunk().ok_or(Malformed)?;
        match fields.split_last() {
            Some((0, fields)) if length(size) == Some(document.len()) => Ok(Self(fields)),
            _ => Err(Malformed),
        }
    }

    /// The elements of an array in a document.
    pub(crate) fn of_array(document: &'b [u8], name: &str) -> Result<Self, Malformed> {
        let fields = Self::of(document)?.map_while(Result::ok);
        let mut arrays = fields.filter(|field| field.ty == ElementType::Array);
        let array = arrays.find(|field| field.name == name.as_bytes());
        Self::of(array.ok_or(Malformed)?.value)
    }

    fn field(&mut self) -> Option<RawField<'b>> {
        let (ty, rest) = self.0.split_first()?;
        let ty = ElementType::from(*ty)?;
        let name = rest.iter().position(|byte| *byte == 0)?;
        let (name, rest) = (&rest[..name], &rest[name + 1..]);
        let (value, rest) = rest.split_at_checked(size(ty, rest)?)?;
        let whole = &self.0[..self.0.len() - rest.len()];
        self.0 = rest;
        Some(RawField {
            ty,
            name,
            value,
            whole,
        })
    }
}

impl<'b> Iterator for RawFields<'b> {
    type Item = Result<RawField<'b>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field.ok_or(Malformed))
    }
}

impl<'b> RawField<'b> {
    /// A document that holds nothing but this field.
    pub fn document(&self) -> Vec<u8> {
        document_of(&[self.whole])
    }

    /// The text of a string.
    pub(crate) fn text(&self) -> Option<&'b str> {
        let (_, text) = self.value.split_first_chunk::<4>()?;
        let (0, text) = text.split_last()? else {
            return None;
        };
        str::from_utf8(text).ok()
    }

    /// The subtype and the bytes of a binary value.
    pub(crate) fn binary(&self) -> Option<(u8, &'b [u8])> {
        let (_, binary) = self.value.split_first_chunk::<4>()?;
        let (subtype, bytes) = binary.split_first()?;
        Some((*subtype, bytes))
    }

    /// The bytes of a value of this length.
    pub(crate) fn bytes<const N: usize>(&self) -> Option<[u8; N]> {
        self.value.try_into().ok()
    }
}

/// A document of fields, given by their bytes. Together they may not be longer than a document of
/// the server, whose length has four bytes.
pub(crate) fn document_of(fields: &[&[u8]]) -> Vec<u8> {
    let size = 4 + fields.iter().map(|field| field.len()).sum::<usize>() + 1;
    let mut document = Vec::with_capacity(size);
    document.extend((size as i32).to_le_bytes());
    fields
        .iter()
        .for_each(|field| document.extend_from_slice(field));
    document.push(0);
    document
}

/// The size of a value that these bytes begin with.
fn size(ty: ElementType, bytes: &[u8]) -> Option<usize> {
    let counted = |rest: usize| length(bytes.first_chunk()?)?.checked_add(rest);
    let text = |from: usize| Some(bytes.get(from..)?.iter().position(|byte| *byte == 0)? + 1);
    Some(match ty {
        ElementType::Null | ElementType::Undefined | ElementType::MinKey | ElementType::MaxKey => 0,
        ElementType::Boolean => 1,
        ElementType::Int32 => 4,
        ElementType::Double
        | ElementType::Int64
        | ElementType::DateTime
        | ElementType::Timestamp => 8,
        ElementType::ObjectId => 12,
        ElementType::Decimal128 => 16,
        ElementType::String | ElementType::Symbol | ElementType::JavaScriptCode => counted(4)?,
        ElementType::Binary => counted(5)?,
        ElementType::DbPointer => counted(16)?,
        ElementType::EmbeddedDocument
        | ElementType::Array
        | ElementType::JavaScriptCodeWithScope => counted(0)?,
        ElementType::RegularExpression => {
            let pattern = text(0)?;
            pattern + text(pattern)?
        }
    })
}

fn length(bytes: &[u8; 4]) -> Option<usize> {
    usize::try_from(i32::from_le_bytes(*bytes)).ok()
}

#[cfg(test)]
pub mod tests {
    use mongodb::bson::{
        Binary, Bson, DateTime, Decimal128, JavaScriptCodeWithScope, RawDocument, RawDocumentBuf,
        Timestamp, doc, oid::ObjectId, spec::BinarySubtype,
    };

    use super::*;

    /// Values of all types that can be made.
    pub(crate) fn values() -> Vec<Bson> {
        let binary = |subtype, bytes: &[u8]| {
            let bytes = bytes.to_vec();
            Bson::Binary(Binary { subtype, bytes })
        };
        let scope = doc! { "x": [1, { "y": "\0" }] };
        let code = "f()".to_owned();
        vec![
            Bson::Null,
            Bson::Undefined,
            Bson::MinKey,
            Bson::MaxKey,
            true.into(),
            false.into(),
            7.into(),
            (-1).into(),
            i64::MAX.into(),
            1.5.into(),
            f64::NAN.into(),
            "".into(),
            "é".into(),
            "Buy".into(),
            Bson::Symbol("s".to_owned()),
            Bson::JavaScriptCode(code.clone()),
            Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope {
                code,
                scope: scope.clone(),
            }),
            DateTime::from_millis(-1).into(),
            DateTime::MAX.into(),
            Bson::Timestamp(Timestamp {
                time: 1,
                increment: 2,
            }),
            ObjectId::from_bytes([7; 12]).into(),
            Bson::Decimal128(Decimal128::from_bytes([3; 16])),
            binary(BinarySubtype::Generic, b"ab"),
            binary(BinarySubtype::Uuid, &[1; 16]),
            binary(BinarySubtype::Uuid, b"short"),
            binary(BinarySubtype::BinaryOld, b"old"),
            binary(BinarySubtype::UserDefined(0x80), b""),
            doc! {}.into(),
            doc! { "Buy": 1 }.into(),
            scope.into(),
            Bson::Array(vec![1.into(), "a".into()]),
            DateTime::from_millis(1_698_335_223_434).into(),
        ]
    }

    /// A document with these values, and a regular expression, which the versions of `bson` make
    /// differently.
    fn document() -> RawDocumentBuf {
        let named = values().into_iter().enumerate();
        let mut document = doc! { "regex": Bson::RegularExpression(regex()) };
        document.extend(named.map(|(n, value)| (n.to_string(), value)));
        RawDocumentBuf::from_document(&document).unwrap()
    }

    fn regex() -> mongodb::bson::Regex {
        let json = r#"{ "r": { "$regularExpression": { "pattern": "a.b", "options": "i" } } }"#;
        let json: serde_json::Map<_, _> = serde_json::from_str(json).unwrap();
        match mongodb::bson::Document::try_from(json).unwrap().remove("r") {
            Some(Bson::RegularExpression(regex)) => regex,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn fields_are_those_that_bson_sees() {
        let document = document();
        let ours = RawFields::of(document.as_bytes()).unwrap();
        let mut count = 0;
        for (ours, theirs) in ours.zip(document.iter_elements()) {
            let (ours, theirs) = (ours.unwrap(), theirs.unwrap());
            let name = AsRef::<str>::as_ref(theirs.key());
            assert_eq!(ours.name, name.as_bytes());
            assert_eq!(ours.ty, theirs.element_type());
            let alone = ours.document();
            let alone = RawDocument::from_bytes(&alone).unwrap();
            let [alone, theirs] = [alone.get(name).unwrap(), theirs.value().ok()];
            assert_eq!(format!("{alone:?}"), format!("{theirs:?}"));
            count += 1;
        }
        assert_eq!(count, values().len() + 1);
    }

    #[test]
    fn damaged_bytes_are_no_panic_and_no_endless_read() {
        let document = document().into_bytes();
        for at in 0..document.len() {
            for byte in [0, 1, 2, 5, 0x0B, 0x7F, 0xFF] {
                let mut damaged = document.clone();
                damaged[at] = byte;
                for field in RawFields::of(&damaged).into_iter().flatten().flatten() {
                    let _ = (field.text(), field.binary(), field.document());
                }
            }
            assert!(RawFields::of(&document[..at]).is_err());
        }
    }
}
