//! Gaps in the numbers of buckets, seen in their ids alone.

use crate::schema::{id, spec::BucketSpec};

/// The id of a bucket, and the number in it.
struct NumberedId {
    prefix: String,
    number: i64,
    id: String,
}

/// A pass over all ids, the last one first.
pub(super) struct Gaps {
    /// The text that ends the key in each id.
    after_key: &'static str,
    last: Option<NumberedId>,
}

impl Gaps {
    pub(super) fn new(spec: &BucketSpec) -> Self {
        Self {
            after_key: spec.id.after_key.last().copied().unwrap_or_default(),
            last: None,
        }
    }

    /// The gap between this id and the one before: the ids beside it, in order, and how many numbers are
    /// missing.
    pub(super) fn next(&mut self, id: &str) -> Option<(String, String, u64)> {
        // An id without a number belongs to no bucket, so it is neither beside a gap nor in one.
        let (prefix, number) = split_number(id, self.after_key)?;
        let here = NumberedId {
            prefix: prefix.to_owned(),
            number,
            id: id.to_owned(),
        };
        let next = self.last.replace(here)?;
        let missing = u64::try_from(next.number - number - 1).unwrap_or(0);
        (next.prefix == prefix && missing > 0).then(|| (id.to_owned(), next.id, missing))
    }
}

/// The prefix of the key, and the number. The key's text holds no such character as the text behind it begins
/// with, so a `-` behind that text is the number's.
fn split_number<'i>(id: &'i str, after_key: &str) -> Option<(&'i str, i64)> {
    let unsigned = id
        .len()
        .checked_sub(id::width(crate::schema::spec::Ordinal::Number))?;
    let (head, _) = id.split_at_checked(unsigned)?;
    let negative = head
        .strip_suffix('-')
        .filter(|head| head.ends_with(after_key));
    let prefix = negative.unwrap_or(head);
    let number = id::parse_signed(id.strip_prefix(prefix)?)?;
    prefix.ends_with(after_key).then_some((prefix, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_told_from_the_key_before_it() {
        for (id, after_key, parts) in [
            ("7_0000000003", "_", Some(("7_", 3))),
            ("7_-9999999999", "_", Some(("7_", -1))),
            ("7-0000000003", "-", Some(("7-", 3))),
            ("7--9999999999", "-", Some(("7-", -1))),
            ("7--0000000003", "--", Some(("7--", 3))),
            ("7---9999999999", "--", Some(("7--", -1))),
            ("é_0000000003", "_", Some(("é_", 3))),
            ("7_000000003", "_", None),
            ("7_0000000003_000001", "_", None),
            ("7x0000000003", "_", None),
            ("0000000003", "_", None),
            ("", "_", None),
            ("é", "_", None),
        ] {
            assert_eq!(split_number(id, after_key), parts, "{id}");
        }
    }
}
