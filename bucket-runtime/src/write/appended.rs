//! The result of an append.

/// The result of an append. Only items with an identity (`#[bucket(unique)]`) can be
/// [`AlreadyThere`](Self::AlreadyThere).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Appended {
    /// The call has stored the item.
    Stored,
    /// An item of the key with this identity was stored before, and nothing changed.
    AlreadyThere,
}
