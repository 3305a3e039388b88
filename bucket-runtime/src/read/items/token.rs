//! A position in a list of items, as text.

use std::{fmt, str::FromStr};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bucket_core::protocol::query::{ItemPosition, MAX_NEIGHBOURS, NeighbourSide};

use crate::read::token::{InvalidToken, serde_as_text};

/// A position between two items of a read, for [`after`](crate::action::Items::after): text of only
/// letters, digits, `-` and `_`, a hundred or so.
///
/// A read goes on right there, in either order, however many items were appended or removed since:
/// the token remembers up to eight items next to the position by a hash, and finds the position
/// again beside the nearest that still stands. With a [`unique`](macro@crate::Bucket#unique) field,
/// that field tells an item; otherwise its whole content does, so an item that was changed since
/// counts as a new one in the same place. Items of a bucket that are equal in all fields are told
/// apart by their number alone. If all eight are gone, a read may give some items again, and leaves
/// none out.
///
/// It belongs to one list: one key (or all keys) of one collection, with the same filter and the
/// same [parts](crate::action::Items::parts). Another read refuses it
/// ([`is_token_mismatch`](crate::Error::is_token_mismatch)). It says nothing about who may see the
/// key: a token that a visitor made up gives another place of the same list at most.
///
/// ```
/// use bucket_runtime::ItemToken;
///
/// let token: ItemToken = "ARJxsoN1RLprAAAABAAxNjk4MzM1MjIz".parse()?;
/// assert_eq!(token.to_string(), "ARJxsoN1RLprAAAABAAxNjk4MzM1MjIz");
/// assert!("page 7".parse::<ItemToken>().is_err());
/// # Ok::<(), bucket_runtime::InvalidToken>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[doc(alias = "cursor", alias = "pagination")]
pub struct ItemToken {
    /// The fingerprint of the list.
    pub(crate) list: u64,
    /// The position; its bucket's id is without what all ids of the list begin with. In a list of a
    /// parent's items it is the text that `ParentList` gives the document.
    pub(crate) position: ItemPosition,
}

/// The first byte: the version of the format, and the side of the neighbours.
const BEFORE: u8 = 1;
const AFTER: u8 = 2;

impl ItemToken {
    fn bytes(&self) -> Vec<u8> {
        let position = &self.position;
        let side = match position.side {
            NeighbourSide::Before => BEFORE,
            NeighbourSide::After => AFTER,
        };
        let mut bytes = vec![side];
        bytes.extend(self.list.to_be_bytes());
        bytes.extend(position.before.to_be_bytes());
        let neighbours = position.neighbours.iter().take(MAX_NEIGHBOURS);
        bytes.push(neighbours.len() as u8);
        neighbours.for_each(|neighbour| bytes.extend(neighbour.to_be_bytes()));
        bytes.extend(position.bucket.as_bytes());
        bytes
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (side, bytes) = bytes.split_first()?;
        let (list, bytes) = bytes.split_first_chunk()?;
        let (before, bytes) = bytes.split_first_chunk()?;
        let (neighbours, bytes) = bytes.split_first()?;
        let size = usize::from(*neighbours);
        let (neighbours, bucket) = bytes.split_at_checked(size * 4)?;
        let neighbours = neighbours.as_chunks().0.iter();
        (size <= MAX_NEIGHBOURS).then_some(())?;
        Some(Self {
            list: u64::from_be_bytes(*list),
            position: ItemPosition {
                bucket: str::from_utf8(bucket).ok()?.to_owned(),
                before: u32::from_be_bytes(*before),
                side: match *side {
                    BEFORE => NeighbourSide::Before,
                    AFTER => NeighbourSide::After,
                    _ => return None,
                },
                neighbours: neighbours.copied().map(u32::from_be_bytes).collect(),
            },
        })
    }
}

impl fmt::Display for ItemToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.bytes()))
    }
}

impl FromStr for ItemToken {
    type Err = InvalidToken;

    fn from_str(text: &str) -> Result<Self, InvalidToken> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok();
        let token = bytes.and_then(|bytes| Self::of_bytes(&bytes));
        token.ok_or(InvalidToken {
            source: "`ItemStream::token` or an `ItemPage`",
        })
    }
}

serde_as_text!(ItemToken);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_token_is_safe_text_and_back(
            list: u64,
            before: u32,
            is_after: bool,
            neighbours in proptest::collection::vec(any::<u32>(), 0..=MAX_NEIGHBOURS),
            bucket in ".{0,40}",
        ) {
            let side = if is_after { NeighbourSide::After } else { NeighbourSide::Before };
            let position = ItemPosition { bucket, before, side, neighbours };
            let token = ItemToken { list, position };
            let text = token.to_string();
            prop_assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
            prop_assert_eq!(text.parse::<ItemToken>(), Ok(token));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[A-Za-z0-9_-]{0,80}|.{0,10}") {
            if let Ok(token) = text.parse::<ItemToken>() {
                prop_assert_eq!(token.to_string(), text);
            }
        }
    }
}
