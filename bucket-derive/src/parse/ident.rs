//! Identifiers of fields, from names that may be keywords.

use proc_macro2::{Ident, Span};

/// The field of this name: `r#type` for `type`. `None` if no field can have the name.
pub(crate) fn field_ident(name: &str, span: Span) -> Option<Ident> {
    if ["self", "Self", "super", "crate", "_"].contains(&name) {
        return None;
    }
    // `gen` is a keyword of the edition 2024 alone.
    let is_keyword = name == "gen" || syn::parse_str::<Ident>(name).is_err();
    Some(match is_keyword {
        true => Ident::new_raw(name, span),
        false => Ident::new(name, span),
    })
}
