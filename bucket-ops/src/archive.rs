//! Archive: buckets as lines of text, and back into a collection.
//!
//! `import` inserts the lines as whole buckets. Where the server refuses one,
//! `archive/put_back.rs` reads what is there. A bucket that begins with the line's items
//! has got them, from an import before; an empty one is replaced, on the condition that it is still
//! empty; any other stays, and the line is listed. To a change stream a replacement is not an
//! append. Items are not merged: which of them were removed, and which edited, bytes alone do not
//! tell, and whoever has to merge appends the items. `stored_fields.rs` computes what a bucket
//! stores about its items.

pub(crate) mod export;
pub(crate) mod import;
mod json;
mod line;
mod put_back;
pub(crate) mod refused_line;
mod stored_fields;
