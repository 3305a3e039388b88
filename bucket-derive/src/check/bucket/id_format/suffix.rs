//! The window length in a time ordinal.

use crate::parse::length::{self, Wrong};

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
