//! Archive: buckets as lines of text, and back into a collection.
//!
//! `import` inserts the lines as whole buckets. Where the server refuses one, `maintain/archive/put_back.rs` reads what
//! is there, and `merge.rs`, a pure function, decides which items are missing: by the `unique` field, else by the
//! bytes of the elements. Removals leave a part of the items in order, and appends add others behind, so that much
//! can be undone without a guess; where an edit would look alike, the line is listed. The missing items go back by a
//! replacement of the whole bucket, on the condition that the whole document is as it was read, so a repetition
//! finds them there. If there is no room, the items that came later move to a new bucket, in a transaction. The
//! line's bucket then begins with the line's items: nothing else has to record that the line is done. To a change
//! stream all this is a replacement, and the new bucket is inserted empty, so watchers take nothing for an append.
//! `rebuild.rs` computes what a bucket stores about its items.

pub(crate) mod export;
pub(crate) mod import;
mod line;
mod merge;
mod put_back;
mod rebuild;
pub(crate) mod refused_line;
