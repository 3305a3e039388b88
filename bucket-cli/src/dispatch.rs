//! The pattern that a struct derives.

use std::marker::PhantomData;

use bucket_runtime::{Bucket, Outlier};

use crate::target::Target;

/// Stands for a struct. By method resolution, `&Of<T>` has the `target` of the
/// pattern that `T` derives.
pub struct Of<T>(PhantomData<fn() -> T>);

impl<T> Of<T> {
    /// Makes one.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "only the macro makes one")]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

/// Makes the target of a struct that derives `Bucket`.
pub trait OfBucket {
    /// The target, with this path.
    fn target(&self, path: &str) -> Target;
}

impl<T: Bucket> OfBucket for Of<T> {
    fn target(&self, path: &str) -> Target {
        Target::of_buckets::<T>(path)
    }
}

/// Makes the target of a struct that derives `Outlier`.
pub trait OfOutlier {
    /// The target, with this path.
    fn target(&self, path: &str) -> Target;
}

impl<T: Outlier> OfOutlier for &Of<T> {
    fn target(&self, path: &str) -> Target {
        Target::of_outliers::<T>(path)
    }
}
