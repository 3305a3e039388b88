//! The result of an append.

/// The result of an append or a push. Only items with an identity (`#[bucket(unique)]`,
/// `#[outlier(items, unique = …)]`) can be [`AlreadyThere`](Self::AlreadyThere).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Appended {
    /// The call has stored the item.
    Stored,
    /// An item of the key or the parent with this identity was stored before, and nothing changed.
    AlreadyThere,
}
