//! The position of a page among the pages of a key, as text.

use std::{fmt, str::FromStr};

use crate::{
    read::token::{InvalidToken, serde_as_text},
    schema::id,
};

/// A position among the pages of a key, as text that is safe in a URL: only digits, `_` and `-`.
///
/// It holds no key: a changed token gives another page of the same key, never another key's data. Tokens
/// stay valid as long as the collection keeps its id format, even if their page no longer exists.
///
/// ```
/// use bucket_runtime::PageToken;
///
/// let token: PageToken = "1698335223_000001".parse()?;
/// assert_eq!(token.to_string(), "1698335223_000001");
/// assert!("1698335223' || '1'=='1".parse::<PageToken>().is_err());
/// # Ok::<(), bucket_runtime::InvalidToken>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(alias = "cursor", alias = "pagination")]
pub struct PageToken(pub(super) String);

impl PageToken {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PageToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for PageToken {
    type Err = InvalidToken;

    fn from_str(text: &str) -> Result<Self, InvalidToken> {
        let is_ordinal = id::is_ordinal(text);
        is_ordinal
            .then(|| Self(text.to_owned()))
            .ok_or(InvalidToken {
                source: "`Page::token`",
            })
    }
}

serde_as_text!(PageToken);
