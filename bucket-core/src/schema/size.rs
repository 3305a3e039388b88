//! How many bytes values take in a document, as far as their types tell.

#![deny(missing_docs)]

pub mod full;
pub mod layout;
mod len;

use std::{
    num::{NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroU8, NonZeroU16, NonZeroU32},
    time::Duration,
};

use mongodb::bson::{DateTime, Decimal128, Timestamp, Uuid, oid::ObjectId};

use self::layout::{digits, field};
pub use self::len::{LenField, TooLong};

/// A type whose values have a maximum size in a document.
///
/// It lets the compiler prove that a full bucket fits: see
/// `max_bytes`. Implemented for numbers, times, ids and types made
/// of a fixed number of them. Implement it for a type of yours whose stored form you know:
///
/// ```
/// use bucket_runtime::BsonSize;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// #[serde(rename_all = "lowercase")]
/// enum Side { Buy, Sell }
///
/// impl BsonSize for Side {
///     const MAX: u64 = bucket_runtime::string_size("sell".len());
/// }
/// ```
///
/// The library relies on this promise: if values are larger, a bucket may grow until the server
/// refuses it.
pub trait BsonSize {
    /// The maximum size of a value in bytes, without its field name.
    const MAX: u64;
}

/// The size in a document, in bytes, of a string of `len` bytes (in UTF-8).
pub const fn string_size(len: usize) -> u64 {
    len as u64 + 5
}

/// The size in bytes of a document with these fields: each a name and the size of its value.
pub const fn document_size(fields: &[(&str, u64)]) -> u64 {
    let mut bytes = 5;
    let mut n = 0;
    while n < fields.len() {
        bytes += field(fields[n].0, fields[n].1);
        n += 1;
    }
    bytes
}

/// The size in bytes of an array of `len` values of `value` bytes each.
pub const fn array_size(len: usize, value: u64) -> u64 {
    5 + len as u64 * (2 + digits(len as u64) + value)
}

macro_rules! sizes {
    ($($ty:ty: $size:expr),+ $(,)?) => {$(
        impl BsonSize for $ty {
            const MAX: u64 = $size;
        }
    )+};
}

sizes! {
    // `bson` decides which of them are written as 32 bits and which as 64.
    i8: 8, i16: 8, i32: 8, i64: 8, isize: 8,
    u8: 8, u16: 8, u32: 8, u64: 8, usize: 8,
    NonZeroI8: 8, NonZeroI16: 8, NonZeroI32: 8, NonZeroI64: 8,
    NonZeroU8: 8, NonZeroU16: 8, NonZeroU32: 8,
    f32: 8, f64: 8,
    bool: 1,
    char: string_size(4),
    (): 0,
    Duration: document_size(&[("secs", 8), ("nanos", 8)]),
    DateTime: 8,
    Timestamp: 8,
    ObjectId: 12,
    Decimal128: 16,
    Uuid: 16 + 5,
}

impl<T: BsonSize> BsonSize for Option<T> {
    const MAX: u64 = T::MAX;
}

impl<T: BsonSize + ?Sized> BsonSize for Box<T> {
    const MAX: u64 = T::MAX;
}

impl<T: BsonSize, const N: usize> BsonSize for [T; N] {
    const MAX: u64 = array_size(N, T::MAX);
}

macro_rules! tuples {
    ($(($($field:ident),+))+) => {$(
        impl<$($field: BsonSize),+> BsonSize for ($($field,)+) {
            const MAX: u64 = 5 $(+ 3 + $field::MAX)+;
        }
    )+};
}

tuples!((A)(A, B)(A, B, C)(A, B, C, D));

#[cfg(test)]
mod tests {
    use mongodb::bson::{Bson, Timestamp, doc};
    use serde::Serialize;

    use super::*;
    use crate::value::element::Element;

    /// The size of a value: the name takes seven bytes of the document, the document itself five.
    fn measured<T: Serialize>(value: &T) -> u64 {
        Element::of(value).unwrap().size() as u64 - 12
    }

    #[test]
    fn no_value_takes_more_than_its_type_says() {
        fn holds<T: Serialize + BsonSize>(value: T) {
            assert!(measured(&value) <= T::MAX, "{}", std::any::type_name::<T>());
        }
        fn is_exact<T: Serialize + BsonSize>(value: T) {
            assert_eq!(measured(&value), T::MAX, "{}", std::any::type_name::<T>());
        }
        is_exact(i64::MIN);
        is_exact(i64::MAX as u64);
        is_exact(f32::MAX);
        is_exact(f64::MIN);
        is_exact(true);
        is_exact('\u{10FFFF}');
        is_exact(());
        is_exact(DateTime::MAX);
        is_exact(Timestamp {
            time: u32::MAX,
            increment: u32::MAX,
        });
        is_exact(ObjectId::new());
        is_exact("1E+6144".parse::<Decimal128>().unwrap());
        is_exact(Uuid::new());
        is_exact(Some(ObjectId::new()));
        is_exact([1.5, 2.5, 3.5]);
        is_exact((1.5, true, i64::MAX));
        holds(i32::MIN);
        holds(u32::MAX);
        holds(u8::MAX);
        holds(NonZeroU32::MAX);
        holds([[1.5; 11]; 12]);
        holds(None::<i64>);
        holds(Duration::MAX.min(Duration::from_secs(i64::MAX as u64)));
    }

    #[test]
    fn documents_and_arrays_take_what_is_said() {
        for len in 0..=10 {
            assert_eq!(measured(&vec![1.5; len]), array_size(len, 8), "{len}");
        }
        assert!(measured(&vec![1.5; 1234]) <= array_size(1234, 8));
        let fields = [("a", 8), ("name", 8)];
        assert_eq!(
            measured(&doc! { "a": 1.5, "name": 2.5 }),
            document_size(&fields)
        );
        assert_eq!(measured(&doc! {}), document_size(&[]));
    }

    #[test]
    fn texts_and_bytes_take_what_is_said_of_their_length() {
        fn holds<T: Serialize + LenField>(value: T) {
            let bound = T::FIXED + T::PER_BYTE * value.byte_len() as u64;
            assert!(measured(&value) <= bound, "{}", std::any::type_name::<T>());
        }
        for len in [0, 1, 9, 10, 11, 100, 12_345] {
            holds("ä".repeat(len));
            holds("\0".repeat(len).into_boxed_str());
            holds(vec![255_u8; len]);
            holds(Some("x".repeat(len)));
            for subtype in [0, 2, 128] {
                holds(mongodb::bson::Binary {
                    subtype: subtype.into(),
                    bytes: vec![1; len],
                });
            }
        }
        holds(None::<String>);
        // The old subtype has a second length; the last index of an array has up to eight digits.
        let old = mongodb::bson::Binary {
            subtype: 2.into(),
            bytes: vec![],
        };
        assert_eq!(measured(&old), mongodb::bson::Binary::FIXED);
        assert_eq!(Vec::<u8>::PER_BYTE, field("12345678", 8));
        assert_eq!(measured(&"ä".repeat(10)), string_size(20));
        assert_eq!(measured(&Bson::Null), 0);
    }
}
