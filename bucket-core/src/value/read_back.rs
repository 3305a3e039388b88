//! Values that can be written, and that are not read as they were written.
//!
//! Where a field's type is `Bson`, `Document` or a map of these, serde takes a document with a name
//! such as `$oid` for a value of extended JSON. And flattened fields write whatever names they
//! hold, also those of other fields. So a value that shows one of these signs is read and written
//! again before it is sent. If it is another one by then, it is shorter: extended JSON takes more
//! bytes than the value that it stands for, and of fields with one name one is left.

use mongodb::bson::{Bson, spec::ElementType};
use serde::Serialize;

use crate::value::{
    element::{Element, Refusal, raw},
    raw_field::{Malformed, RawField, RawFields},
};

/// The flattened fields of a struct of type `T`.
#[derive(Debug)]
pub struct Flattened<T> {
    /// All names of the other fields.
    pub others: &'static [&'static str],
    /// Adds the names that the flattened fields write.
    pub add_names: fn(&T, &mut Vec<String>),
}

impl<T> Flattened<T> {
    /// An error if a flattened field holds the name of another field, which may be left out of this
    /// item; `known` is a name that it may hold.
    pub fn check(&self, item: &T, known: Option<&str>) -> Result<(), Refusal> {
        let mut names = Vec::new();
        (self.add_names)(item, &mut names);
        let is_taken = |name: &str| self.others.contains(&name) && known != Some(name);
        match names.iter().find(|name| is_taken(name)) {
            Some(name) => Err(format!(
                "a flattened field holds the name `{name}`, which another field has; take another name"
            )
            .into()),
            None => Ok(()),
        }
    }
}

/// Adds the names of the fields that serde writes for this value.
pub fn add_names<V: Serialize + ?Sized>(value: &V, names: &mut Vec<String>) {
    // A value that is flattened and writes no document, such as `None`, has no names.
    let Ok(document) = raw(value) else { return };
    let fields = RawFields::of(document.as_bytes()).into_iter().flatten();
    names.extend(fields.flatten().map(|field| lossy(field.name)));
}

/// The value as it is stored; an error if it would not be read as it is. `again` reads it, and
/// writes that.
pub fn stored<V: Serialize>(
    value: &V,
    is_flat: bool,
    again: impl FnOnce(RawField<'_>) -> Result<Element, Refusal>,
) -> Result<Bson, Refusal> {
    let element = Element::of(value)?;
    let written = element.field()?;
    check(written, false, is_flat, || again(written))?;
    Ok(Bson::try_from(element.value())?)
}

/// An error if a value is not read as it was written. `again` reads it, and writes that.
pub fn check(
    written: RawField<'_>,
    has_distinct_names: bool,
    is_flat: bool,
    again: impl FnOnce() -> Result<Element, Refusal>,
) -> Result<(), Refusal> {
    let sign = find_sign(&written, has_distinct_names)?;
    if sign.is_none() && !is_flat {
        return Ok(());
    }
    let reason = match again() {
        Ok(read) if read.value_size() == written.value.len() => return Ok(()),
        Ok(_) => "it would be read as another value".to_owned(),
        Err(refusal) => format!("it could not be read: {refusal}"),
    };
    let remedy = match sign {
        Some(name) => format!(
            "serde takes a document with the name `{}` for a value of another type; a field of the type \
             `RawDocumentBuf` or `serde_json::Value` takes every document",
            lossy(name)
        ),
        None => "flattened fields must differ in their names".to_owned(),
    };
    Err(format!("{reason}; {remedy}").into())
}

/// A name that begins with `$` in the documents of a value; an error for a name that stands twice
/// in one of them.
fn find_sign<'b>(
    value: &RawField<'b>,
    has_distinct_names: bool,
) -> Result<Option<&'b [u8]>, Refusal> {
    let may_repeat = match value.ty {
        ElementType::EmbeddedDocument => !has_distinct_names,
        ElementType::Array => false,
        _ => return Ok(None),
    };
    let malformed = |Malformed| "its bytes are malformed";
    let (mut names, mut sign) = (Vec::new(), None);
    for field in RawFields::of(value.value).map_err(malformed)? {
        let field = field.map_err(malformed)?;
        if may_repeat {
            names.push(field.name);
        }
        if field.name.first() == Some(&b'$') {
            sign = Some(field.name);
        }
        sign = find_sign(&field, false)?.or(sign);
    }
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!(
            "one of its documents holds the name `{}` twice",
            lossy(pair[0])
        )
        .into()),
        None => Ok(sign),
    }
}

fn lossy(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
