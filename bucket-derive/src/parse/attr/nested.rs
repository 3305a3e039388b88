//! `#[fields(…)]` on a struct or an enum.

use super::table::attribute;

attribute! {
    /// `#[fields(…)]`, as far as it could be read.
    FieldsAttr,
    FIELDS {
        name: "Fields",
        attribute: "fields",
        usage: "#[fields(crate = ::bucket_runtime)]",
        words: &[],
        limits: &[],
    }
}
