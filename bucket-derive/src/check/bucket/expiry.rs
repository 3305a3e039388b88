//! `expire_after`: how long after its newest item a bucket is removed.

use crate::{
    errors::Errors,
    model::{bucket::BucketModel, guess},
    parse::{
        id_format::Ordinal,
        length::{self, Wrong},
    },
};

/// The server takes seconds in 32 bits (MongoDB manual, "TTL Indexes").
const MAX_SECONDS: u32 = i32::MAX as u32;

pub(super) fn check(model: &BucketModel<'_>, errors: &mut Errors) {
    check_span(model, errors);
    check_has_time(model, errors);
}

/// A number and a unit. With none left, a bucket would be removed as soon as it is written.
fn check_span(model: &BucketModel<'_>, errors: &mut Errors) {
    let Some(span) = &model.attr.expire_after else {
        return;
    };
    let text = span.value.value();
    let message = match length::seconds(&text) {
        Ok(..=MAX_SECONDS) => return,
        Err(Wrong::Zero) => {
            format!("`{text}` is not a lifetime: all items would be removed at once")
        }
        Ok(_) | Err(Wrong::TooLong) => {
            format!("`{text}` is too long: the server counts up to 24855 days")
        }
        Err(Wrong::NoLength | Wrong::Unit(_)) => {
            format!("`{text}` is not a number of seconds (s), minutes (m), hours (h) or days (d)")
        }
    };
    errors.push(&span.value, message, span.usage);
}

/// Numbered buckets have no time. If the last one of a key were removed, its number would also be
/// used again, for another page.
fn check_has_time(model: &BucketModel<'_>, errors: &mut Errors) {
    let (Some(span), Some(Ordinal::Number)) = (&model.attr.expire_after, model.format.ordinal())
    else {
        return;
    };
    let help = match (guess::time(&model.fields), &model.attr.id) {
        (Some(time), Some(id)) => {
            let by_time = format!("{{{}}}", time.name);
            format!("id = \"{}\"", id.value.value().replace("{#}", &by_time))
        }
        _ => "remove it, or add a field for the time of an item and end the id format in it"
            .to_owned(),
    };
    errors.push(
        &span.key,
        "`expire_after` needs the time of the items, and numbered buckets have none",
        help,
    );
}
