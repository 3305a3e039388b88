//! Types whose length `max_len` can bound: text and bytes.

use mongodb::bson::Binary;

/// A type that `#[bucket(max_len = …)]` can bound: text, bytes, and `Option`s of these.
///
/// A newtype of yours implements it by delegating to the type inside:
///
/// ```
/// use bucket_runtime::LenField;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Ticker(String);
///
/// impl LenField for Ticker {
///     const FIXED: u64 = String::FIXED;
///     const PER_BYTE: u64 = String::PER_BYTE;
///     fn byte_len(&self) -> usize {
///         self.0.byte_len()
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no length that `max_len` could bound",
    label = "this type is neither text nor bytes",
    note = "help: use `String`, `Vec<u8>`, `Binary` or an `Option` of these, or implement `bucket_runtime::LenField` for a type of yours"
)]
pub trait LenField {
    /// The size in bytes of a value of length 0 in a document, without its name.
    const FIXED: u64;

    /// How many bytes each byte of the length takes in a document.
    const PER_BYTE: u64;

    /// The length of the value in bytes; for text, in UTF-8.
    fn byte_len(&self) -> usize;
}

macro_rules! texts {
    ($($ty:ty),+) => {$(
        impl LenField for $ty {
            const FIXED: u64 = 5;
            const PER_BYTE: u64 = 1;

            fn byte_len(&self) -> usize {
                self.len()
            }
        }
    )+};
}

texts!(String, Box<str>, std::borrow::Cow<'static, str>);

impl LenField for Vec<u8> {
    // serde writes them as an array of numbers; each takes a type, an index of up to eight digits,
    // a NUL and 64 bits.
    const FIXED: u64 = 5;
    const PER_BYTE: u64 = 1 + 8 + 1 + 8;

    fn byte_len(&self) -> usize {
        self.len()
    }
}

impl LenField for Binary {
    // One subtype stores its length twice.
    const FIXED: u64 = 5 + 4;
    const PER_BYTE: u64 = 1;

    fn byte_len(&self) -> usize {
        self.bytes.len()
    }
}

impl<T: LenField> LenField for Option<T> {
    const FIXED: u64 = T::FIXED;
    const PER_BYTE: u64 = T::PER_BYTE;

    fn byte_len(&self) -> usize {
        self.as_ref().map_or(0, T::byte_len)
    }
}

/// A field whose value is longer than its `max_len`; see
/// `Bucket::too_long`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooLong {
    /// The field, by its Rust name.
    pub field: &'static str,
    /// The length of its value in bytes.
    pub len: usize,
    /// The maximum length.
    pub max: u32,
}

impl TooLong {
    /// The field, if its value has more than `max` bytes.
    pub fn check<F: LenField>(field: &'static str, value: &F, max: u32) -> Option<Self> {
        let len = value.byte_len();
        (len as u64 > u64::from(max)).then_some(Self { field, len, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_the_maximum_length_is_not_too_long() {
        let check = |text: &str| TooLong::check("ticker", &text.to_owned(), 3);
        assert_eq!((check("ab"), check("abc")), (None, None));
        let (field, len, max) = ("ticker", 4, 3);
        assert_eq!(check("abcd"), Some(TooLong { field, len, max }));
        assert_eq!(
            TooLong::check("ticker", &Some("äö".to_owned()), 3),
            Some(TooLong { field, len, max })
        );
    }
}
