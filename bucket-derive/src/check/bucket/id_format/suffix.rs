//! The suffix of a time ordinal's field: a unit, or a window length.

use crate::{
    check::bucket::CheckedOrdinal,
    errors::did_you_mean,
    parse::length::{self, Wrong},
};

/// The units of a time ordinal, as the format spells them.
const UNITS: [(&str, CheckedOrdinal); 1] = [("millis", CheckedOrdinal::Millis)];

/// The ordinal of times in this unit.
pub(in crate::check::bucket) fn of_unit(unit: &str) -> Option<CheckedOrdinal> {
    let found = UNITS.iter().find(|(name, _)| *name == unit)?;
    Some(found.1)
}

/// The unit that is probably meant.
pub(super) fn meant_unit(unit: &str) -> Option<&'static str> {
    did_you_mean(unit, UNITS.iter().map(|(name, _)| *name))
}

/// Windows begin at the multiples of their length: a wrong one has a message and a help line.
pub(super) fn wrong_window(field: &str, length: &str) -> Option<(String, String)> {
    let written = |length: &str| format!("`{{{field}/{length}}}`");
    let (wrong, help) = match length::seconds(length) {
        Ok(_) => return None,
        Err(Wrong::NoLength) => (
            match length {
                "" => "a window needs a length".to_owned(),
                _ => format!("`{length}` is not a window length"),
            },
            format!("write a number and `s`, `m`, `h` or `d`: {}", written("1h")),
        ),
        Err(Wrong::Unit(unit)) => (
            format!("`{}` is not a unit of a window length", unit.trim()),
            format!(
                "write `s`, `m`, `h` or `d`: {}",
                written(&length::meant(length))
            ),
        ),
        Err(Wrong::Zero) => {
            let unit = length.trim_matches('0');
            (
                "a window must be at least a second long".to_owned(),
                format!("write {}", written(&format!("1{unit}"))),
            )
        }
        Err(Wrong::TooLong) => (
            "a window cannot be longer than 4294967295 seconds (49710 days)".to_owned(),
            format!("write {}, or number the buckets: `{{#}}`", written("1d")),
        ),
    };
    Some((wrong, help))
}
