//! `#[part(…)]` on the struct.

use syn::TypePath;

use super::{Derive, table::attribute};

attribute! {
    /// `#[part(…)]`, as far as it could be read.
    PartAttr,
    BUCKET_PART {
        name: "BucketPart",
        attribute: "part",
        usage: "#[part(of = Trade)]",
        words: &[],
        limits: &[],
    }
    of: TypePath = "of = Trade",
}

pub(crate) const ITEM_PART: Derive = Derive {
    name: "ItemPart",
    ..BUCKET_PART
};

pub(crate) const OUTLIER_PART: Derive = Derive {
    name: "OutlierPart",
    ..BUCKET_PART
};
