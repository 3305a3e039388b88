//! How `_id` is written.

/// The stored name of a key field, and the other names that reading accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyName {
    /// The name under which the field is written.
    pub name: &'static str,
    /// Other names under which older documents may hold it (`#[serde(alias)]`).
    pub aliases: &'static [&'static str],
}

impl KeyName {
    /// A key field with one name.
    pub const fn new(name: &'static str) -> Self {
        Self { name, aliases: &[] }
    }

    setters! {
        /// Adds names that reading accepts as well.
        aliases(aliases: &'static [&'static str]) = aliases;
    }
}

/// A parsed id format: a literal, then each key field with the literal after it, then the ordinal.
///
/// `{customer_id}_{date}` is `IdFormat::new("", &["_"], Ordinal::Seconds)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdFormat {
    /// The text before the first key placeholder.
    pub head: &'static str,
    /// The text after each key placeholder; the last one stands before the ordinal.
    pub after_key: &'static [&'static str],
    /// The part that names the bucket within its key.
    pub ordinal: Ordinal,
}

impl IdFormat {
    /// A format with these parts.
    ///
    /// # Panics
    ///
    /// At compile time if used in a `const`, unless each text in `after_key` starts with ASCII
    /// punctuation other than `%`, and a window is at least one second long. The first character of
    /// each text is escaped in key text, which keeps the ids of two keys apart.
    pub const fn new(
        head: &'static str,
        after_key: &'static [&'static str],
        ordinal: Ordinal,
    ) -> Self {
        let mut n = 0;
        while n < after_key.len() {
            let text = after_key[n].as_bytes();
            assert!(
                !text.is_empty() && text[0].is_ascii_punctuation() && text[0] != b'%',
                "the text after a key placeholder must begin with ASCII punctuation other than `%`"
            );
            n += 1;
        }
        assert!(
            !matches!(ordinal, Ordinal::Window { seconds: 0 }),
            "a window must be at least a second long"
        );
        Self {
            head,
            after_key,
            ordinal,
        }
    }
}

/// The last part of a bucket's id, which identifies the bucket within its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ordinal {
    /// `{date}`: epoch seconds of the item that opened the bucket, ten digits.
    Seconds,
    /// `{date:millis}`: epoch milliseconds of the item that opened the bucket, thirteen digits.
    Millis,
    /// `{date/1h}`: epoch seconds of the start of the items' time window, ten digits. Windows start
    /// at multiples of their length since 1970, UTC.
    Window {
        /// The length of a window in seconds.
        seconds: u32,
    },
    /// `{#}`: 0, 1, 2 … in the order of creation, ten digits.
    Number,
}

impl Ordinal {
    /// Whether the ids of consecutive buckets count up, within a key or within a window. Otherwise
    /// an item names each bucket.
    #[doc(hidden)]
    pub const fn counts(self) -> bool {
        matches!(self, Self::Number | Self::Window { .. })
    }
}
