//! Numbers formatted for people.

/// Formats a number that is not negative, with thousands separated, and with decimals only if it is
/// small.
#[must_use]
pub fn number(value: f64) -> String {
    let decimals = match value {
        0.0 => 0,
        small if small < 1.0 => 3,
        small if small < 10.0 => 2,
        small if small < 1000.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let mut separated = String::new();
    for (at, digit) in whole.char_indices() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            separated.push(',');
        }
        separated.push(digit);
    }
    if !rest.is_empty() {
        separated.push('.');
        separated.push_str(rest);
    }
    separated
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn large_numbers_are_separated_and_small_ones_have_decimals() {
        let texts = [1_234_567.8, 999.0, 12.34, 1.234, 0.1234, 0.0].map(number);
        assert_eq!(texts, ["1,234,568", "999.0", "12.3", "1.23", "0.123", "0"]);
    }
}
