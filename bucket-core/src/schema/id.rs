//! Id text: writes keys and ordinals so that ids sort by ordinal and the ids of two keys never mix.
//!
//! An id is the key's text, a literal, and the ordinal. In key text `%`, control characters and the
//! first character of each literal after a key field are percent-encoded. The first such character
//! therefore ends the key, and no key's prefix begins another one's. Reads use the range of ids
//! `[prefix, successor of prefix)` and compare the stored key fields with the requested key
//! (`KeyScope::holds`), so a document that another program put among the ids never becomes a wrong
//! answer.

use std::fmt::Write;

use crate::schema::{
    key::KeyPart,
    spec::{IdFormat, Ordinal},
};

/// The digits of the suffix that separates buckets of one key and one moment.
const SUFFIX_WIDTH: usize = 6;
const LAST_SUFFIX: u32 = 999_999;

/// The text that starts every id of one key, and no id of any other key.
pub fn prefix(format: &IdFormat, key: &[KeyPart]) -> String {
    let mut prefix = String::new();
    write_prefix(format, &mut prefix, |each| {
        key.iter().for_each(|part| each(&part.text));
    });
    prefix
}

/// Writes the prefix of a key; `key` yields the texts of its fields in order.
pub fn write_prefix(format: &IdFormat, out: &mut String, key: impl FnOnce(&mut dyn FnMut(&str))) {
    out.push_str(format.head);
    let mut after_key = format.after_key.iter();
    key(&mut |text| {
        escape(text, format.after_key, out);
        out.push_str(after_key.next().copied().unwrap_or_default());
    });
}

/// Percent-encodes whatever could end the key text early: `%` itself, control characters, and the
/// first character of each literal that follows a key placeholder.
fn escape(text: &str, literals: &[&str], out: &mut String) {
    for c in text.chars() {
        if c == '%' || c.is_control() || literals.iter().any(|literal| literal.starts_with(c)) {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a `String` cannot fail.
                let _ = write!(out, "%{byte:02X}");
            }
        } else {
            out.push(c);
        }
    }
}

/// The texts of the key fields in a bucket's id: what [`write_prefix`] wrote.
pub fn key_texts(format: &IdFormat, id: &str) -> Option<Vec<String>> {
    let mut rest = id.strip_prefix(format.head)?;
    let text_before = |literal: &&str| {
        // Key text has the first character of a literal only in encoded form.
        let (text, after) = rest.split_at(rest.find(literal.chars().next()?)?);
        rest = after.strip_prefix(literal)?;
        unescape(text)
    };
    format.after_key.iter().map(text_before).collect()
}

/// Decodes what [`escape`] encoded.
fn unescape(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (code, plain) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend(plain.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

/// The smallest text greater than every text that starts with `prefix`, in the order of the
/// server's simple collation: by bytes, which for UTF-8 is by code point.
pub fn successor(prefix: &str) -> String {
    let mut text = prefix.to_owned();
    while let Some(last) = text.pop() {
        // A range of `char`s skips the surrogates by itself.
        if let Some(next) = (last..=char::MAX).nth(1) {
            text.push(next);
            return text;
        }
    }
    // Only a prefix of nothing but U+10FFFF gets here, and every prefix ends with a literal that
    // starts with ASCII punctuation.
    text
}

/// How many digits the number in an ordinal has.
pub const fn width(ordinal: Ordinal) -> usize {
    match ordinal {
        Ordinal::Seconds | Ordinal::Window { .. } | Ordinal::Number => 10,
        Ordinal::Millis => 13,
    }
}

/// Whether an ordinal of this kind can hold the time.
pub fn fits(ordinal: Ordinal, millis: i64) -> bool {
    let limit = 10_i64.pow(width(ordinal) as u32);
    (-limit..limit).contains(&value(ordinal, millis))
}

/// The text of a time: zero-padded. Before 1970 it is `-` and the complement, which sorts before
/// every digit and in the order of time. `None` if the time has too many digits.
pub fn time(ordinal: Ordinal, millis: i64) -> Option<String> {
    padded(width(ordinal), value(ordinal, millis))
}

fn value(ordinal: Ordinal, millis: i64) -> i64 {
    match ordinal {
        Ordinal::Millis => millis,
        Ordinal::Window { seconds } => {
            let seconds = i64::from(seconds);
            millis.div_euclid(1000).div_euclid(seconds) * seconds
        }
        Ordinal::Seconds | Ordinal::Number => millis.div_euclid(1000),
    }
}

/// When the window of this moment starts, in milliseconds; `None` if no id can hold that time.
pub fn window_start(ordinal: Ordinal, millis: i64) -> Option<i64> {
    fits(ordinal, millis).then(|| value(ordinal, millis) * 1000)
}

fn padded(width: usize, value: i64) -> Option<String> {
    let limit = 10_i64.pow(width as u32);
    if (0..limit).contains(&value) {
        Some(format!("{value:0width$}"))
    } else if (-limit..0).contains(&value) {
        Some(format!("-{:0width$}", limit + value))
    } else {
        None
    }
}

/// The text of a number, which may be negative, or `None` if it has too many digits.
pub fn signed(n: i64) -> Option<String> {
    padded(width(Ordinal::Number), n)
}

/// The number in the ordinal text of `{#}`.
pub fn parse_signed(text: &str) -> Option<i64> {
    let width = width(Ordinal::Number);
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.len() != width || !is_digits(digits) {
        return None;
    }
    let value: i64 = digits.parse().ok()?;
    Some(match text.starts_with('-') {
        true => value - 10_i64.pow(width as u32),
        false => value,
    })
}

/// The text of a bucket's number, or `None` if it has too many digits.
pub fn number(n: u64) -> Option<String> {
    i64::try_from(n).ok().and_then(signed)
}

/// The id after `last` among the buckets that start at the moment of `base`: `base` itself, then
/// `base_000001`, and so on. `Err` if `last` is not one of these ids, `Ok(None)` if none is left.
pub fn next_suffix(base: &str, last: Option<&str>) -> Result<Option<String>, ()> {
    let Some(last) = last else {
        return Ok(Some(base.to_owned()));
    };
    let suffix = last.strip_prefix(base).ok_or(())?;
    let used = if suffix.is_empty() {
        0
    } else {
        parse_suffix(suffix).ok_or(())?
    };
    Ok((used < LAST_SUFFIX).then(|| format!("{base}_{:0SUFFIX_WIDTH$}", used + 1)))
}

/// The last id that a bucket starting at the moment of `base` may have.
pub(crate) fn last_suffix(base: &str) -> String {
    format!("{base}_{LAST_SUFFIX}")
}

/// Whether this is the ordinal text of a bucket of this kind.
pub fn is_ordinal_of(ordinal: Ordinal, text: &str) -> bool {
    let (digits, suffix) = parted(text);
    let is_suffixed = match ordinal {
        Ordinal::Number => suffix.is_empty(),
        _ => is_suffix(suffix),
    };
    digits.len() == width(ordinal) && is_digits(digits) && is_suffixed
}

/// Splits an ordinal text into its digits and the rest.
fn parted(text: &str) -> (&str, &str) {
    let (number, suffix) = text.split_at(text.find('_').unwrap_or(text.len()));
    (number.strip_prefix('-').unwrap_or(number), suffix)
}

/// Whether this is a suffix, empty or a number, that separates buckets of one moment or one window.
pub(crate) fn is_suffix(text: &str) -> bool {
    text.is_empty() || parse_suffix(text).is_some()
}

fn parse_suffix(text: &str) -> Option<u32> {
    let digits = text.strip_prefix('_')?;
    (digits.len() == SUFFIX_WIDTH && is_digits(digits))
        .then(|| digits.parse().ok())
        .flatten()
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Text that is full of characters with a special meaning in some format.
    fn hostile() -> impl Strategy<Value = String> {
        prop_oneof!["[_%.|x0-9-]{0,6}", any::<String>(), "[\u{0}-\u{ff}]{0,4}"]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn g4_the_range_of_a_prefix_is_the_texts_that_begin_with_it(a in hostile(), b in hostile()) {
            prop_assume!(!a.is_empty());
            let in_range = a <= b && b < successor(&a);
            prop_assert_eq!(in_range, b.starts_with(&a));
        }

        #[test]
        fn g4_the_key_texts_of_an_id_are_those_that_it_was_written_from(a in hostile(), b in hostile()) {
            let format = IdFormat {
                head: "x-",
                after_key: &["|.", "_"],
                ordinal: Ordinal::Number,
            };
            let part = |text: &str| KeyPart { text: text.to_owned(), value: mongodb::bson::Bson::Null };
            let id = prefix(&format, &[part(&a), part(&b)]) + "0000000007";
            prop_assert_eq!(key_texts(&format, &id), Some(vec![a, b]));
        }

        #[test]
        fn a_window_holds_its_moments_and_no_others(
            millis in -10_000_000_000_000..10_000_000_000_000_i64,
            seconds in prop_oneof![1..u32::MAX, Just(60), Just(86_400)],
        ) {
            let ordinal = Ordinal::Window { seconds };
            let length = i64::from(seconds) * 1000;
            if let Some(start) = window_start(ordinal, millis) {
                prop_assert!(start <= millis && millis < start + length);
                prop_assert_eq!(start.rem_euclid(length), 0);
                prop_assert_eq!(time(ordinal, start), time(ordinal, millis));
                prop_assert_eq!(time(ordinal, millis), time(Ordinal::Seconds, start));
            } else {
                prop_assert_eq!(time(ordinal, millis), None);
                prop_assert!(millis - length < -10_000_000_000_000);
            }
        }

        #[test]
        fn g5_a_suffix_sorts_between_its_neighbours(second in -9_999_999_998..9_999_999_998_i64, n in 1..LAST_SUFFIX) {
            let of = |second: i64| time(Ordinal::Seconds, second * 1000).expect("in range");
            let mut last = of(second);
            prop_assert_eq!(next_suffix(&last, None), Ok(Some(last.clone())));
            last = next_suffix(&of(second), Some(&last)).expect("ours").expect("one is left");
            prop_assert!(last > of(second));
            let nth = format!("{}_{n:06}", of(second));
            let next = next_suffix(&of(second), Some(&nth)).expect("ours").expect("one is left");
            prop_assert!(nth < next && next <= last_suffix(&of(second)) && next < of(second + 1));
            prop_assert!(is_ordinal_of(Ordinal::Seconds, &next));
        }
    }

    #[test]
    fn times_at_the_limits_of_the_width() {
        let seconds = |seconds: i64| time(Ordinal::Seconds, seconds * 1000);
        assert_eq!(seconds(1_698_335_223).as_deref(), Some("1698335223"));
        assert_eq!(seconds(999_999_999).as_deref(), Some("0999999999"));
        assert_eq!(seconds(-1).as_deref(), Some("-9999999999"));
        assert_eq!(time(Ordinal::Seconds, -1).as_deref(), Some("-9999999999"));
        assert_eq!(seconds(9_999_999_999).as_deref(), Some("9999999999"));
        assert_eq!(seconds(10_000_000_000), None);
        assert_eq!(seconds(-10_000_000_000).as_deref(), Some("-0000000000"));
        assert_eq!(seconds(-10_000_000_001), None);
        assert_eq!(
            time(Ordinal::Millis, 1_698_335_223_434).as_deref(),
            Some("1698335223434")
        );
        assert_eq!(time(Ordinal::Millis, i64::MIN), None);
    }

    #[test]
    fn numbers_end_with_their_width() {
        assert_eq!(number(0).as_deref(), Some("0000000000"));
        assert_eq!(number(9_999_999_999).as_deref(), Some("9999999999"));
        assert_eq!(number(10_000_000_000), None);
        assert_eq!(signed(-1).as_deref(), Some("-9999999999"));
        for n in [0, 42, 9_999_999_999, -1, -42, -10_000_000_000] {
            assert_eq!(signed(n).as_deref().and_then(parse_signed), Some(n));
        }
        for text in ["42", "+000000042", "--999999999", "-99999999999", ""] {
            assert_eq!(parse_signed(text), None, "{text}");
        }
    }

    #[test]
    fn suffixes_run_out_and_foreign_ids_are_noticed() {
        assert_eq!(next_suffix("a_1", Some("a_1_999999")), Ok(None));
        for foreign in ["a_1_99", "a_1_0000001", "a_1x", "a_10", "b"] {
            assert_eq!(next_suffix("a_1", Some(foreign)), Err(()), "{foreign}");
        }
    }

    #[test]
    fn texts_of_other_shapes_are_no_ordinals() {
        for text in [
            "",
            "-",
            "1",
            "_000001",
            "1698335223_",
            "1698335223_00001",
            "169833522３",
        ] {
            assert!(!is_ordinal_of(Ordinal::Seconds, text), "{text}");
        }
    }
}
