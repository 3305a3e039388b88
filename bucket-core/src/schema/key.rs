//! The parts of a key: the trait for a key field's type, and keys of several fields.

#![deny(missing_docs)]

#[cfg(test)]
mod tests;

use std::{any::Any, borrow::Cow};

use mongodb::bson::{Bson, Decimal128, Uuid, oid::ObjectId};

/// A type that a key field may have.
///
/// Implemented for the integers, [`String`], [`bool`], [`ObjectId`] and the driver's [`Uuid`]. A
/// newtype of yours implements it by delegating to the type inside:
///
/// ```
/// use std::borrow::Cow;
/// use bucket_runtime::{KeyField, mongodb::bson::Bson};
///
/// #[derive(Debug, Clone, PartialEq)]
/// struct CustomerId(i64);
///
/// impl KeyField for CustomerId {
///     type Borrowed = Self;
///     const BSON_TYPE: Option<&'static str> = i64::BSON_TYPE;
///     fn borrowed(&self) -> &Self {
///         self
///     }
///     fn id_text(key: &Self) -> Cow<'_, str> {
///         i64::id_text(&key.0)
///     }
///     fn to_bson(key: &Self) -> Bson {
///         i64::to_bson(&key.0)
///     }
///     fn from_bson(value: Bson) -> Option<Self> {
///         i64::from_bson(value).map(CustomerId)
///     }
///     fn from_id_text(text: &str) -> Option<Self> {
///         i64::from_id_text(text).map(CustomerId)
///     }
/// }
/// ```
///
/// Your own implementation must keep three rules, or keys get mixed up:
/// - two keys have the same [`id_text`](Self::id_text) only if they are equal;
/// - the server compares two keys' [`to_bson`](Self::to_bson) values as equal only if the keys are
///   equal;
/// - `from_bson(to_bson(key))` gives the key back.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key field or an id",
    label = "this type cannot identify a key",
    note = "help: use an integer, `String`, `bool`, `ObjectId` or `Uuid`, or implement `bucket_runtime::KeyField` for a newtype of yours; an id format names the key first and the time last"
)]
pub trait KeyField: Clone + Send + Sync + 'static {
    /// The type behind the reference that callers pass: `str` for `String`, else the type itself.
    type Borrowed: ?Sized;

    /// The type of the stored field as a `bsonType` of `$jsonSchema`, such as `"string"`, or
    /// `"number"` for all numeric types. A validator requires it; with
    /// `None` it requires only that the field exists.
    const BSON_TYPE: Option<&'static str> = None;

    /// The maximum length of [`id_text`](Self::id_text) in bytes, if known. The stored value then
    /// takes at most 16 bytes more. The compiler uses it to
    /// [prove](crate::schema::spec::BucketSpec::bounded) that a full bucket fits into a document.
    const MAX_TEXT: Option<u32> = None;

    /// The value as callers pass it.
    fn borrowed(&self) -> &Self::Borrowed;

    /// The text that represents the value in `_id`; the runtime escapes it where necessary.
    fn id_text(key: &Self::Borrowed) -> Cow<'_, str>;

    /// The value as it is stored in the bucket's key field and compared by filters.
    fn to_bson(key: &Self::Borrowed) -> Bson;

    /// The value of a stored field, or `None` if this type cannot hold it.
    fn from_bson(value: Bson) -> Option<Self>;

    /// The value whose [`id_text`](Self::id_text) this is. `Buckets::watch_all`
    /// alone calls it, since an event names a bucket only by its id. By default the text itself is
    /// the stored value; a type that is stored otherwise has to implement it to be watched so.
    fn from_id_text(text: &str) -> Option<Self> {
        Self::from_bson(Bson::String(text.to_owned()))
    }
}

/// One key: a tuple of [`KeyField`]s, in the order of the id format.
///
/// Callers pass it as [`Key::Ref`]: a reference for one field (`&123`, `"alice"`), a tuple of
/// references for several (`("XETRA", &123)`).
pub trait Key: Clone + Send + Sync + 'static {
    /// The key as callers pass it.
    type Ref<'k>: Copy;

    /// The [stored types](KeyField::BSON_TYPE) of the fields, in order.
    const BSON_TYPES: &'static [Option<&'static str>] = &[];

    /// The key as callers pass it.
    fn borrowed(&self) -> Self::Ref<'_>;

    /// Calls `each` with the text of every field, without the stored values of
    /// [`parts`](Self::parts).
    fn texts(key: Self::Ref<'_>, each: impl FnMut(&str));

    /// The text and the stored value of each field.
    fn parts(key: Self::Ref<'_>) -> Vec<KeyPart>;

    /// The key from the stored values of its fields, or the index of the field that is unreadable.
    fn from_values(values: Vec<Bson>) -> Result<Self, usize>;

    /// The key from the [texts](KeyField::id_text) of its fields.
    fn from_texts(texts: Vec<String>) -> Option<Self>;

    /// Copies the field at this index into `place`, which is an `Option` of the field's type.
    fn copy(&self, at: usize, place: &mut dyn Any);
}

/// One field of a key, as text for `_id` and as a stored value.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct KeyPart {
    /// The text, before escaping.
    pub text: String,
    /// The stored value.
    pub value: Bson,
}

impl KeyPart {
    #[doc(hidden)]
    pub fn of<F: KeyField>(key: &F::Borrowed) -> Self {
        Self {
            text: F::id_text(key).into_owned(),
            value: F::to_bson(key),
        }
    }
}

macro_rules! keys {
    ($(($($field:ident $part:ident $n:tt),+))+) => {$(
        #[allow(unused_parens, reason = "of several fields they make a tuple, and of one nothing")]
        impl<$($field: KeyField),+> Key for ($($field,)+) {
            type Ref<'k> = ($(&'k $field::Borrowed),+);
            const BSON_TYPES: &'static [Option<&'static str>] = &[$($field::BSON_TYPE),+];

            fn borrowed(&self) -> Self::Ref<'_> {
                ($(self.$n.borrowed()),+)
            }

            fn texts(($($part),+): Self::Ref<'_>, mut each: impl FnMut(&str)) {
                $(each(&$field::id_text($part));)+
            }

            fn parts(($($part),+): Self::Ref<'_>) -> Vec<KeyPart> {
                vec![$(KeyPart::of::<$field>($part)),+]
            }

            fn from_values(values: Vec<Bson>) -> Result<Self, usize> {
                let mut values = values.into_iter();
                Ok(($(read::<$field>(&mut values, $n)?,)+))
            }

            fn from_texts(texts: Vec<String>) -> Option<Self> {
                let mut texts = texts.into_iter();
                Some(($($field::from_id_text(&texts.next()?)?,)+))
            }

            fn copy(&self, at: usize, place: &mut dyn Any) {
                match at {
                    $($n => copy(&self.$n, place),)+
                    _ => {}
                }
            }
        }
    )+};
}

keys! {
    (A a 0)
    (A a 0, B b 1)
    (A a 0, B b 1, C c 2)
    (A a 0, B b 1, C c 2, D d 3)
    (A a 0, B b 1, C c 2, D d 3, E e 4)
    (A a 0, B b 1, C c 2, D d 3, E e 4, F f 5)
}

fn read<F: KeyField>(values: &mut impl Iterator<Item = Bson>, index: usize) -> Result<F, usize> {
    values.next().and_then(F::from_bson).ok_or(index)
}

fn copy<F: Clone + 'static>(field: &F, place: &mut dyn Any) {
    if let Some(place) = place.downcast_mut::<Option<F>>() {
        *place = Some(field.clone());
    }
}

macro_rules! integers {
    ($($int:ty),+) => {$(
        impl KeyField for $int {
            type Borrowed = Self;

            // The shell writes doubles and 32-bit integers; the server compares all numbers by
            // value.
            const BSON_TYPE: Option<&'static str> = Some("number");
            const MAX_TEXT: Option<u32> = Some(20);

            fn borrowed(&self) -> &Self {
                self
            }

            fn id_text(key: &Self) -> Cow<'_, str> {
                Cow::Owned(key.to_string())
            }

            fn to_bson(key: &Self) -> Bson {
                stored_integer(*key as i128)
            }

            fn from_bson(value: Bson) -> Option<Self> {
                integer(value)?.try_into().ok()
            }

            fn from_id_text(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        }
    )+};
}

integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

/// An integer as BSON: a 64-bit integer, or `Decimal128` above `i64::MAX`.
///
/// One type for all integer widths lets a field grow from `i32` to `i64` without a migration; the
/// server compares numbers by value whatever their type (MongoDB manual, "Comparison/Sort Order").
pub(crate) fn stored_integer(value: i128) -> Bson {
    match i64::try_from(value) {
        Ok(small) => Bson::Int64(small),
        Err(_) => value
            .to_string()
            .parse::<Decimal128>()
            .map_or(Bson::Null, Bson::Decimal128),
    }
}

/// The integer value of a stored number of any type; the shell writes doubles and 32-bit integers.
fn integer(value: Bson) -> Option<i128> {
    match value {
        Bson::Int32(int) => Some(int.into()),
        Bson::Int64(int) => Some(int.into()),
        // Above 2^53 a double may represent several integers.
        Bson::Double(float) if float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0 => {
            Some(float as i128)
        }
        Bson::Decimal128(decimal) => decimal.to_string().parse().ok(),
        _ => None,
    }
}

impl KeyField for String {
    type Borrowed = str;

    const BSON_TYPE: Option<&'static str> = Some("string");

    fn borrowed(&self) -> &str {
        self
    }

    fn id_text(key: &str) -> Cow<'_, str> {
        Cow::Borrowed(key)
    }

    fn to_bson(key: &str) -> Bson {
        Bson::String(key.to_owned())
    }

    fn from_bson(value: Bson) -> Option<Self> {
        match value {
            Bson::String(text) => Some(text),
            _ => None,
        }
    }
}

impl KeyField for bool {
    type Borrowed = Self;

    const BSON_TYPE: Option<&'static str> = Some("bool");
    const MAX_TEXT: Option<u32> = Some(5);

    fn borrowed(&self) -> &Self {
        self
    }

    fn id_text(key: &Self) -> Cow<'_, str> {
        Cow::Borrowed(if *key { "true" } else { "false" })
    }

    fn to_bson(key: &Self) -> Bson {
        Bson::Boolean(*key)
    }

    fn from_bson(value: Bson) -> Option<Self> {
        value.as_bool()
    }

    fn from_id_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl KeyField for ObjectId {
    type Borrowed = Self;

    const BSON_TYPE: Option<&'static str> = Some("objectId");
    const MAX_TEXT: Option<u32> = Some(24);

    fn borrowed(&self) -> &Self {
        self
    }

    fn id_text(key: &Self) -> Cow<'_, str> {
        Cow::Owned(key.to_hex())
    }

    fn to_bson(key: &Self) -> Bson {
        Bson::ObjectId(*key)
    }

    fn from_bson(value: Bson) -> Option<Self> {
        value.as_object_id()
    }

    fn from_id_text(text: &str) -> Option<Self> {
        Self::parse_str(text).ok()
    }
}

impl KeyField for Uuid {
    type Borrowed = Self;

    const BSON_TYPE: Option<&'static str> = Some("binData");
    const MAX_TEXT: Option<u32> = Some(36);

    fn borrowed(&self) -> &Self {
        self
    }

    fn id_text(key: &Self) -> Cow<'_, str> {
        Cow::Owned(key.to_string())
    }

    fn to_bson(key: &Self) -> Bson {
        Bson::from(*key)
    }

    fn from_bson(value: Bson) -> Option<Self> {
        match value {
            Bson::Binary(binary) => binary.to_uuid().ok(),
            _ => None,
        }
    }

    fn from_id_text(text: &str) -> Option<Self> {
        Self::parse_str(text).ok()
    }
}
