//! A page: one bucket, read.

use std::{fmt, str::FromStr};

use crate::{
    Bucket,
    protocol::command::IndexedScope,
    read::token::{InvalidToken, serde_as_text},
    schema::id,
    value::{
        rollup::{Rollup, Totals},
        stored_bucket::StoredBucket,
    },
};

/// One bucket: a page that the application can show as it is.
///
/// ```
/// # use bucket_runtime::{Bucket, Page};
/// # fn show<T: Bucket + std::fmt::Debug>(page: Page<T>) {
/// for item in &page.items {
///     println!("{item:?}");
/// }
/// println!("next: /trades?after={}", page.token());
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Page<T> {
    /// The items, in the order in which they were appended.
    pub items: Vec<T>,
    id: String,
    ordinal_at: usize,
    open: bool,
    left_out: usize,
    totals: Option<Totals>,
}

impl<T> Page<T> {
    /// The bucket's `_id`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The position of the page among its key's pages, for [`after`](crate::Buckets::after) and
    /// [`before`](crate::Buckets::before).
    pub fn token(&self) -> PageToken {
        PageToken(self.id[self.ordinal_at..].to_owned())
    }

    /// Whether the bucket had room for further items when it was read.
    pub fn is_open(&self) -> bool {
        self.open
    }
}

impl<T> IntoIterator for Page<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'p, T> IntoIterator for &'p Page<T> {
    type Item = &'p T;
    type IntoIter = std::slice::Iter<'p, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<T: Bucket> Page<T> {
    /// Makes a page of a stored bucket for a reader of this key. If the bucket has another key, which
    /// only a program that does not know the format can cause, the error is the bucket's id.
    pub(crate) fn of(bucket: StoredBucket<T>, scope: &IndexedScope) -> Result<Self, String> {
        if !scope.holds(&bucket) {
            return Err(bucket.id);
        }
        let StoredBucket {
            id,
            key,
            elements,
            left_out,
            sealed,
            totals,
        } = bucket;
        Ok(Self {
            open: !sealed && elements.len() + left_out.len() < scope.open.capacity as usize,
            left_out: left_out.len(),
            items: (elements.into_iter())
                .map(|element| T::from_parts(key.clone(), element))
                .collect(),
            ordinal_at: scope.prefix.len(),
            id,
            totals,
        })
    }

    /// The bucket's rollup (`#[bucket(sum, min, max)]`); `None` if it does not cover all items, because
    /// another program wrote some.
    pub fn rollup(&self) -> Option<Rollup<T>> {
        let totals = match T::SPEC.rollups {
            [] => Some(Totals::new(&T::SPEC)),
            _ => self.totals.clone(),
        };
        Rollup::read((self.items.len() + self.left_out) as u64, totals?)
    }
}

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
pub struct PageToken(String);

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
