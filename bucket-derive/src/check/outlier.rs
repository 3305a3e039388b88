//! The rules of `Outlier`.

mod names;
mod parts;
mod serde;

use syn::{Error, LitStr};

use super::{
    check_is_struct, check_lifetimes, check_references, check_shared,
    names::{check_index_count, check_indexes},
    values::{
        check_collection, check_limit, check_max_bytes, check_max_lens, check_required,
        collection_of,
    },
};
use crate::{
    errors::Errors,
    model::{
        Field,
        outlier::{Marks, OutlierModel},
    },
    parse::attr::{Limit, OUTLIER, Spanned},
};

/// A model that keeps all rules, with the values that are then present.
pub(crate) struct OutlierChecked<'a> {
    pub(crate) model: &'a OutlierModel<'a>,
    pub(crate) collection: &'a LitStr,
    pub(crate) extras: String,
    pub(crate) reference: &'a LitStr,
    pub(crate) items_name: &'a str,
    pub(crate) extra_items: String,
    pub(crate) threshold: &'a Spanned<Limit>,
    pub(crate) id: &'a Field<'a, Marks>,
    pub(crate) items: &'a Field<'a, Marks>,
    /// Whether serde's own derives, which the struct needs, report a mistake.
    pub(crate) serde_refuses: bool,
}

/// Checks all rules, and returns the model, or every error found so far.
pub(crate) fn check<'a>(
    model: &'a OutlierModel<'a>,
    mut errors: Errors,
) -> Result<OutlierChecked<'a>, Error> {
    let is_struct = check_is_struct(model.input, &OUTLIER, &mut errors);
    check_lifetimes(model.input, &OUTLIER, &mut errors);
    check_references(&model.fields, &OUTLIER, &mut errors);
    check_shared(&model.fields, &OUTLIER, &mut errors);
    check_required_keys(model, &mut errors);
    for collection in [&model.attr.collection, &model.attr.extras]
        .into_iter()
        .flatten()
    {
        check_collection(collection, &mut errors);
    }
    check_two_collections(model, &mut errors);
    for (limit, holder) in [
        (&model.attr.threshold, "a parent"),
        (&model.attr.extras_capacity, "an extras document"),
    ] {
        if let Some(limit) = limit {
            check_limit(model.input, limit, holder, &mut errors);
        }
    }
    if let Some(max_bytes) = &model.attr.max_bytes {
        check_max_bytes(
            model.input,
            max_bytes,
            "a parent or extras document",
            &mut errors,
        );
    }
    check_max_lens(model.input, &model.fields, &mut errors);
    if is_struct {
        parts::check(model, &mut errors);
    }
    names::check(model, &mut errors);
    check_indexes(&OUTLIER, "index", &model.fields, &mut errors);
    // The one over `_id` is always there.
    check_index_count(&OUTLIER, 1, &model.fields, &mut errors);
    serde::check(model, &mut errors);
    errors.finish(())?;
    complete(model)
        .ok_or_else(|| Error::new_spanned(&model.input.ident, "`#[outlier(…)]` is incomplete"))
}

fn complete<'a>(model: &'a OutlierModel<'a>) -> Option<OutlierChecked<'a>> {
    Some(OutlierChecked {
        model,
        collection: &model.attr.collection.as_ref()?.value,
        extras: model.extras_name()?,
        reference: &model.attr.reference.as_ref()?.value,
        items_name: model.items_name()?,
        extra_items: model.extra_items_name()?,
        threshold: model.attr.threshold.as_ref()?,
        id: model.id()?,
        items: model.items()?,
        serde_refuses: serde::is_refused(model),
    })
}

fn check_required_keys(model: &OutlierModel<'_>, errors: &mut Errors) {
    let reference = model.input.ident.to_string().to_lowercase() + "_id";
    let required = [
        ("collection", collection_of(model.input)),
        ("reference", format!("reference = \"{reference}\"")),
        ("threshold", "threshold = 50".to_owned()),
    ];
    let (input, written) = (model.input, &model.attr.written);
    check_required(input, &OUTLIER, written, &required, errors);
}

/// Parents and extras in one collection would be taken for one another.
fn check_two_collections(model: &OutlierModel<'_>, errors: &mut Errors) {
    let (Some(collection), Some(extras)) = (&model.attr.collection, &model.attr.extras) else {
        return;
    };
    let name = collection.value.value();
    if name == extras.value.value() {
        errors.push(
            &extras.value,
            format_args!("`{name}` cannot hold both the parents and their extras"),
            format_args!("extras = \"extra_{name}\""),
        );
    }
}
