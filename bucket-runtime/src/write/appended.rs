//! What an append did.

/// What an append did. [`AlreadyThere`](Self::AlreadyThere) is said only of items with an identity:
/// `#[bucket(unique)]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Appended {
    /// The item is stored now.
    Stored,
    /// An item of the key with this identity was stored before, and nothing was changed.
    AlreadyThere,
}
