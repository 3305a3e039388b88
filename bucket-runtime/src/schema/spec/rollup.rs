//! What is kept up to date about the items of a bucket.

/// A field of the items about which each bucket keeps something, and what that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RollupName {
    /// The stored name of the field.
    pub name: &'static str,
    /// Whether the sum of its values is kept.
    pub sum: bool,
    /// Whether the least one is kept.
    pub min: bool,
    /// Whether the greatest one is kept.
    pub max: bool,
}

impl RollupName {
    /// A field of which so far nothing but the number of its values is kept.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            sum: false,
            min: false,
            max: false,
        }
    }

    /// Keeps the sum, too.
    #[must_use]
    pub const fn sum(mut self) -> Self {
        self.sum = true;
        self
    }

    /// Keeps the least value, too.
    #[must_use]
    pub const fn min(mut self) -> Self {
        self.min = true;
        self
    }

    /// Keeps the greatest value, too.
    #[must_use]
    pub const fn max(mut self) -> Self {
        self.max = true;
        self
    }
}
