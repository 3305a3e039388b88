//! `#[part(…)]` on the struct.

use syn::TypePath;

use super::table::attribute;

attribute! {
    /// `#[part(…)]`, as far as it could be read.
    PartAttr,
    PART {
        name: "Part",
        attribute: "part",
        usage: "#[part(of = Trade)]",
        words: &[],
        limits: &[],
    }
    of: TypePath = "of = Trade",
}
