//! What the numbers of a key's buckets show: gaps, and a bucket that is open before the last one.

use bucket_core::schema::{id, spec::BucketSpec};

/// A bucket, by its id and the number in it.
struct NumberedBucket {
    prefix: String,
    number: i64,
    id: String,
    /// Whether it is open, or one of its key behind it.
    is_open_from_here: bool,
}

/// A bucket and the next one of its key, by their ids.
pub(super) struct Neighbours {
    pub(super) first: String,
    pub(super) next: String,
    /// How many numbers are missing between them.
    pub(super) missing: u64,
    /// Whether the first one is open, and none behind it.
    pub(super) is_open_before_last: bool,
}

/// A pass over all buckets, the last one first.
pub(super) struct Numbers {
    /// The text that ends the key in each id.
    after_key: &'static str,
    last: Option<NumberedBucket>,
}

impl Numbers {
    pub(super) fn new(spec: &BucketSpec) -> Self {
        Self {
            after_key: spec.id.after_key.last().copied().unwrap_or_default(),
            last: None,
        }
    }

    /// This bucket and the next one of its key, if there is one.
    pub(super) fn next(&mut self, id: &str, is_open: bool) -> Option<Neighbours> {
        // An id without a number belongs to no bucket, so it is neither beside a gap nor in one.
        let (prefix, number) = split_number(id, self.after_key)?;
        let next = self.last.take().filter(|next| next.prefix == prefix);
        let is_open_behind = next.as_ref().is_some_and(|next| next.is_open_from_here);
        self.last = Some(NumberedBucket {
            prefix: prefix.to_owned(),
            number,
            id: id.to_owned(),
            is_open_from_here: is_open || is_open_behind,
        });
        let next = next?;
        // The last page of a split is open: it goes with its last item, and then the next page has
        // number zero.
        let last = if next.number < 0 {
            number
        } else {
            number.max(-1)
        };
        Some(Neighbours {
            first: id.to_owned(),
            missing: u64::try_from(next.number - last - 1).unwrap_or(0),
            next: next.id,
            is_open_before_last: is_open && !is_open_behind,
        })
    }
}

/// The prefix of the key, and the number. The key's text holds no such character as the text behind
/// it begins with, so a `-` behind that text is the number's.
fn split_number<'i>(id: &'i str, after_key: &str) -> Option<(&'i str, i64)> {
    let unsigned = id
        .len()
        .checked_sub(id::width(bucket_core::schema::spec::Ordinal::Number))?;
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
