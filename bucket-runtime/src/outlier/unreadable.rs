//! Parents with items that cannot be read.

use mongodb::{
    bson::{Document, RawDocument},
    error::Error as DriverError,
};

use super::Outlier;
use crate::{
    Error, Result,
    value::{
        bytes,
        unreadable::{Tell, Unreadable, read_value, report},
    },
};

/// Reads the parent without its unreadable items and reports each of them; `error` says why the parent
/// could not be read as a whole. Other unreadable fields remain an error.
pub(crate) fn sift_parent<T: Outlier>(
    row: &RawDocument,
    error: DriverError,
    tell: Option<&mut Tell<'_>>,
    fail: &dyn Fn(DriverError) -> Error,
) -> Result<T> {
    let items = T::SPEC.items;
    let (Some(tell), Ok(mut parent)) = (tell, bytes::read::<Document>(row.as_bytes())) else {
        return Err(fail(error));
    };
    let mut unreadable = Vec::new();
    if let Ok(array) = parent.get_array_mut(items) {
        let mut place = 0;
        array.retain(|value| {
            let read = read_value::<T::Item>(value);
            let is_readable = read.is_ok();
            unreadable.extend(read.err().map(|error| Unreadable { place, error }));
            place += 1;
            is_readable
        });
    }
    let parent = bytes::write(&parent).map_err(DriverError::custom);
    let parent = parent.and_then(|parent| bytes::read::<T>(&parent));
    let parent = parent.map_err(fail)?;
    report(items, unreadable, tell, fail);
    Ok(parent)
}
