//! The rules of `Bucket`.

mod expiry;
mod id_format;
mod names;
mod rollup;
mod serde;
mod size;
mod unique;

use syn::{Error, LitStr};

use super::{
    check_is_struct, check_lifetimes, check_references, check_shared,
    names::{check_index_count, check_indexes},
    values::{check_collection, check_limit, check_required, collection_of},
};
use crate::{
    errors::Errors,
    model::bucket::BucketModel,
    parse::{
        attr::{BUCKET, Limit, Spanned},
        id_format::{MILLIS, Ordinal, Suffix},
        length,
    },
};

/// A model that keeps all rules, with the values that are then present.
pub(crate) struct BucketChecked<'a> {
    pub(crate) model: &'a BucketModel<'a>,
    pub(crate) collection: &'a LitStr,
    pub(crate) capacity: &'a Spanned<Limit>,
    pub(crate) ordinal: CheckedOrdinal,
    /// In seconds.
    pub(crate) expire_after: Option<u32>,
}

/// The ordinal, with a unit or window that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckedOrdinal {
    Number,
    Seconds,
    Millis,
    Window { seconds: u32 },
}

impl CheckedOrdinal {
    fn of(ordinal: Ordinal<'_>) -> Option<Self> {
        let Ordinal::Time { suffix, .. } = ordinal else {
            return Some(Self::Number);
        };
        Some(match suffix {
            None => Self::Seconds,
            Some(Suffix::Unit(unit)) if unit == MILLIS => Self::Millis,
            Some(Suffix::Unit(_)) => return None,
            Some(Suffix::Window(length)) => Self::Window {
                seconds: length::seconds(length).ok()?,
            },
        })
    }
}

/// Checks all rules, and returns the model, or every error found so far.
pub(crate) fn check<'a>(
    model: &'a BucketModel<'a>,
    mut errors: Errors,
) -> Result<BucketChecked<'a>, Error> {
    let is_struct = check_is_struct(model.input, &BUCKET, &mut errors);
    check_lifetimes(model.input, &BUCKET, &mut errors);
    check_references(&model.fields, &BUCKET, &mut errors);
    check_shared(&model.fields, &BUCKET, &mut errors);
    check_required_keys(model, &mut errors);
    if let Some(collection) = &model.attr.collection {
        check_collection(collection, &mut errors);
    }
    if let Some(capacity) = &model.attr.capacity {
        check_limit(model.input, capacity, "a bucket", &mut errors);
    }
    id_format::check(model, is_struct, &mut errors);
    expiry::check(model, &mut errors);
    check_indexes(&BUCKET, "index", &model.fields, &mut errors);
    // The indexes over `_id`, of open buckets, of expiry, and of the unique field.
    let (expires, unique) = (model.attr.expire_after.is_some(), model.unique().is_some());
    let taken = 2 + usize::from(expires) + usize::from(unique);
    check_index_count(&BUCKET, taken, &model.fields, &mut errors);
    unique::check(model, &mut errors);
    names::check(model, &mut errors);
    serde::check(model, &mut errors);
    rollup::check(model, &mut errors);
    size::check(model, &mut errors);
    errors.finish(())?;
    complete(model)
        .ok_or_else(|| Error::new_spanned(&model.input.ident, "`#[bucket(…)]` is incomplete"))
}

fn complete<'a>(model: &'a BucketModel<'a>) -> Option<BucketChecked<'a>> {
    Some(BucketChecked {
        model,
        collection: &model.attr.collection.as_ref()?.value,
        capacity: model.attr.capacity.as_ref()?,
        ordinal: CheckedOrdinal::of(model.format.ordinal()?)?,
        expire_after: match &model.attr.expire_after {
            Some(span) => Some(length::seconds(&span.value.value()).ok()?),
            None => None,
        },
    })
}

fn check_required_keys(model: &BucketModel<'_>, errors: &mut Errors) {
    let required = [
        ("collection", collection_of(model.input)),
        ("id", id_format::example(model)),
        ("capacity", "capacity = 100".to_owned()),
    ];
    check_required(model.input, &BUCKET, &model.attr.written, &required, errors);
}
