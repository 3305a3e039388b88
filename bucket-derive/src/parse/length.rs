//! Lengths of time in attributes: `15m`, `1h`, `90d`.

/// The units, and their lengths in seconds.
const UNITS: [(&str, u64); 4] = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)];

/// Why a text is not a length of time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// The number or the unit is missing.
    NoLength,
    /// There is no such unit.
    Unit(String),
    Zero,
    /// More seconds than the runtime counts.
    TooLong,
}

/// The length that `1 hour` or `90days` means, as it is written here; an hour if that cannot be
/// told.
pub(crate) fn meant(text: &str) -> String {
    let short = text.split_inclusive(char::is_alphabetic).next();
    let short = short.unwrap_or_default().replace(' ', "").to_lowercase();
    match seconds(&short) {
        Ok(_) => short,
        Err(_) => "1h".to_owned(),
    }
}

/// The length in seconds.
pub(crate) fn seconds(text: &str) -> Result<u32, Wrong> {
    let digits = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    if number.is_empty() || unit.is_empty() {
        return Err(Wrong::NoLength);
    }
    let Some((_, seconds)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(Wrong::Unit(unit.to_owned()));
    };
    if number.bytes().all(|digit| digit == b'0') {
        return Err(Wrong::Zero);
    }
    let seconds = number
        .parse()
        .ok()
        .and_then(|n: u64| n.checked_mul(*seconds));
    seconds
        .and_then(|seconds| u32::try_from(seconds).ok())
        .ok_or(Wrong::TooLong)
}
