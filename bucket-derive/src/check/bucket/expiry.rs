//! `expire_after`: how long after its newest item a bucket is removed.

use crate::{errors::Errors, id_format::Ordinal, model::bucket::Model};

/// The server takes seconds in 32 bits (MongoDB manual, "TTL Indexes").
const MOST_SECONDS: u64 = i32::MAX as u64;

pub(super) fn check(model: &Model<'_>, errors: &mut Errors) {
    check_span(model, errors);
    check_has_time(model, errors);
}

/// A number and a unit. With none left, a bucket would be removed as soon as it is written.
fn check_span(model: &Model<'_>, errors: &mut Errors) {
    let Some(span) = &model.attr.expire_after else {
        return;
    };
    let text = span.value.value();
    let message = match seconds(&text) {
        Some(1..=MOST_SECONDS) => return,
        Some(0) => format!("`{text}` is no time at all: all items would be removed at once"),
        Some(_) => format!("`{text}` is too long: the server counts up to 24855 days"),
        None => {
            format!("`{text}` is not a number of seconds (s), minutes (m), hours (h) or days (d)")
        }
    };
    errors.push(&span.value, message, span.usage);
}

/// Numbered buckets tell nothing of time. If the last one of a key were removed, the numbers would
/// moreover begin again, and a page would not be what its number was given out for.
fn check_has_time(model: &Model<'_>, errors: &mut Errors) {
    let (Some(span), Some(Ordinal::Number)) = (&model.attr.expire_after, model.format.ordinal())
    else {
        return;
    };
    let format = model.attr.id.as_ref().map(|id| id.value.value());
    let by_time = format.unwrap_or_default().replace("{#}", "{date}");
    errors.push(
        &span.key,
        "`expire_after` needs the time of the items, and numbered buckets have none",
        format_args!("end the id format in a time: id = \"{by_time}\""),
    );
}

/// `90d` in seconds; `None` if it is nothing of the kind.
pub(crate) fn seconds(span: &str) -> Option<u64> {
    let (number, unit) = span.split_at_checked(span.len().checked_sub(1)?)?;
    let of_unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return None,
    };
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // What cannot be read any more is too long.
    let number: u64 = number.parse().unwrap_or(u64::MAX);
    Some(number.saturating_mul(of_unit))
}
