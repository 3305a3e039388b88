//! Which fields a bucket's rollup covers.

/// A field of the items that each bucket summarises in its rollup, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RollupName {
    /// The stored name of the field.
    pub name: &'static str,
    /// Whether buckets keep the sum of its values.
    pub sum: bool,
    /// Whether buckets keep its minimum.
    pub min: bool,
    /// Whether buckets keep its maximum.
    pub max: bool,
}

impl RollupName {
    /// A field whose values are counted, and nothing else yet.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            sum: false,
            min: false,
            max: false,
        }
    }

    setters! {
        /// Keeps the sum as well.
        sum() = true;
        /// Keeps the minimum as well.
        min() = true;
        /// Keeps the maximum as well.
        max() = true;
    }
}
