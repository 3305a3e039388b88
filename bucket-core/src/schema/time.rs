//! The types of a time ordinal's field, and how such a field is stored.

#![deny(missing_docs)]

#[cfg(test)]
#[cfg(all(feature = "chrono", feature = "time", feature = "jiff"))]
mod tests;

use std::{any::type_name, fmt};

use mongodb::bson::{Bson, DateTime};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, Visitor},
};

/// A type that the field behind a time ordinal (`{date}`) may have.
///
/// Implemented for the driver's [`DateTime`], and behind the features of the same names for
/// `chrono::DateTime<Utc>`, `chrono::DateTime<FixedOffset>`, `time::OffsetDateTime`,
/// `time::UtcDateTime` and `jiff::Timestamp`.
///
/// The field is stored as a BSON date, which counts milliseconds: finer parts are cut off (towards
/// the past), and an offset from UTC is lost.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the time of a bucket's items",
    label = "this type is not a point in time",
    note = "help: use `bson::DateTime`, or, with the feature of that name, a type of `chrono`, `time` or `jiff`; to number the buckets instead, end the id format in `{{#}}`; it names the key first and the time last"
)]
#[doc(alias = "chrono")]
pub trait TimeField: Sized {
    /// Whether serde writes a value of this type as something other than a BSON date.
    #[doc(hidden)]
    const IS_OWN: bool = false;

    /// This time as a BSON date.
    fn to_datetime(&self) -> DateTime;

    /// The moment of a BSON date, or `None` if this type cannot hold it.
    fn from_datetime(date: DateTime) -> Option<Self>;
}

impl TimeField for DateTime {
    fn to_datetime(&self) -> DateTime {
        *self
    }

    fn from_datetime(date: DateTime) -> Option<Self> {
        Some(date)
    }
}

#[cfg(feature = "chrono")]
impl TimeField for chrono::DateTime<chrono::Utc> {
    const IS_OWN: bool = true;

    fn to_datetime(&self) -> DateTime {
        DateTime::from_millis(self.timestamp_millis())
    }

    fn from_datetime(date: DateTime) -> Option<Self> {
        Self::from_timestamp_millis(date.timestamp_millis())
    }
}

#[cfg(feature = "chrono")]
impl TimeField for chrono::DateTime<chrono::FixedOffset> {
    const IS_OWN: bool = true;

    fn to_datetime(&self) -> DateTime {
        DateTime::from_millis(self.timestamp_millis())
    }

    fn from_datetime(date: DateTime) -> Option<Self> {
        chrono::DateTime::<chrono::Utc>::from_datetime(date).map(|utc| utc.fixed_offset())
    }
}

#[cfg(feature = "time")]
impl TimeField for time::OffsetDateTime {
    const IS_OWN: bool = true;

    fn to_datetime(&self) -> DateTime {
        let millis = self.unix_timestamp_nanos().div_euclid(1_000_000);
        // This type has no years beyond ±9999, so the milliseconds fit.
        DateTime::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
    }

    fn from_datetime(date: DateTime) -> Option<Self> {
        Self::from_unix_timestamp_nanos(i128::from(date.timestamp_millis()) * 1_000_000).ok()
    }
}

#[cfg(feature = "time")]
impl TimeField for time::UtcDateTime {
    const IS_OWN: bool = true;

    fn to_datetime(&self) -> DateTime {
        time::OffsetDateTime::from(*self).to_datetime()
    }

    fn from_datetime(date: DateTime) -> Option<Self> {
        time::OffsetDateTime::from_datetime(date).map(Self::from)
    }
}

#[cfg(feature = "jiff")]
impl TimeField for jiff::Timestamp {
    const IS_OWN: bool = true;

    fn to_datetime(&self) -> DateTime {
        // `as_millisecond` rounds towards zero, which before 1970 would be a later moment.
        let millis = self.as_nanosecond().div_euclid(1_000_000);
        DateTime::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
    }

    fn from_datetime(date: DateTime) -> Option<Self> {
        Self::from_millisecond(date.timestamp_millis()).ok()
    }
}

/// A type that [`bson_date`] stores: a [`TimeField`], or an `Option` of one, where `None` is stored
/// as null.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as a date",
    label = "this type is not a point in time",
    note = "help: use `bson::DateTime`, a time of `chrono`, `time` or `jiff` with the feature of that name, or an `Option` of these"
)]
pub trait DateField: Sized {
    /// [`TimeField::IS_OWN`]
    #[doc(hidden)]
    const IS_OWN: bool;

    /// Writes the moment.
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// Reads the moment.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

impl<T: TimeField> DateField for T {
    const IS_OWN: bool = T::IS_OWN;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        StoredDate(self.to_datetime()).serialize(serializer)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        of_date(StoredDate::deserialize(deserializer)?.0).map_err(D::Error::custom)
    }
}

impl<T: TimeField> DateField for Option<T> {
    const IS_OWN: bool = T::IS_OWN;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let date = self.as_ref().map(|time| StoredDate(time.to_datetime()));
        date.serialize(serializer)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let date = Option::<StoredDate>::deserialize(deserializer)?;
        let date = date.map(|date| of_date(date.0));
        date.transpose().map_err(D::Error::custom)
    }
}

/// The name by which [`StoredDate`] asks a deserializer of this crate for the milliseconds of a
/// date.
pub(crate) const STORED_DATE: &str = "$bucket_date";

/// A BSON date, or text in JSON and the like. `bson` has serde read a date from text.
struct StoredDate(DateTime);

impl Serialize for StoredDate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = serializer.is_human_readable() && !may_be_bson::<S>();
        // BSON has years that RFC 3339 does not.
        match text.then(|| self.0.try_to_rfc3339_string()) {
            Some(Ok(text)) => serializer.serialize_str(&text),
            _ => self.0.serialize(serializer),
        }
    }
}

/// Whether a serializer for readable formats writes BSON nevertheless: the one of `bson` says that
/// it is for such a format, and so does the one by which serde keeps a value until it knows what to
/// do with it.
fn may_be_bson<S>() -> bool {
    let name = type_name::<S>().trim_start_matches("&mut ");
    let writers = ["bson::", "serde::", "serde_core::"];
    writers.iter().any(|writer| name.starts_with(writer))
}

impl<'de> Deserialize<'de> for StoredDate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(STORED_DATE, StoredDateVisitor)
    }
}

struct StoredDateVisitor;

impl<'de> Visitor<'de> for StoredDateVisitor {
    type Value = StoredDate;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a date")
    }

    fn visit_i64<E>(self, millis: i64) -> Result<StoredDate, E> {
        Ok(StoredDate(DateTime::from_millis(millis)))
    }

    /// Every other deserializer hands itself on.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, date: D) -> Result<StoredDate, D::Error> {
        if !date.is_human_readable() {
            return DateTime::deserialize(date).map(StoredDate);
        }
        let read = match Bson::deserialize(date)? {
            Bson::DateTime(date) => Ok(date),
            Bson::String(text) => DateTime::parse_rfc3339_str(&text).map_err(D::Error::custom),
            other => Err(D::Error::custom(format_args!("{other} is not a date"))),
        };
        read.map(StoredDate)
    }
}

/// The moment of a BSON date, or why the type cannot hold it.
pub fn of_date<T: TimeField>(date: DateTime) -> Result<T, String> {
    let out_of_range = || format!("{date} is out of the field's range");
    T::from_datetime(date).ok_or_else(out_of_range)
}

/// For `#[serde(with = "bucket_runtime::bson_date")]`: stores any [`TimeField`], or an `Option` of
/// one, as a BSON date (add `#[serde(default)]` to an `Option` that documents may lack). In JSON
/// and other formats for people it is text, `2026-10-26T15:47:03.434Z` (RFC 3339).
///
/// `#[derive(Bucket)]` puts it on the field of a time ordinal unless that field says otherwise. On
/// any other field, the derives refuse a time of `chrono`, `time` or `jiff` until it says how it is
/// stored: by this, by [`own_date`](mod@own_date), or by a module of yours.
#[doc(alias = "chrono", alias = "jiff")]
pub mod bson_date {
    use serde::{Deserializer, Serializer};

    use super::DateField;

    /// Writes the moment: as a BSON date, or as text in a format for people.
    pub fn serialize<T: DateField, S: Serializer>(
        time: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.write(serializer)
    }

    /// Reads the moment from either form.
    pub fn deserialize<'de, T: DateField, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        T::read(deserializer)
    }
}

/// For `#[serde(with = "bucket_runtime::own_date")]`: stores a time as its crate's own serde code
/// does, which is text in most cases.
///
/// Such values do not sort by time: "…00.5Z" comes before "…00Z". Take it where documents hold such
/// texts already, and [`bson_date`](mod@bson_date) elsewhere.
pub mod own_date {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::DateField;

    /// Writes the time in its crate's form.
    pub fn serialize<T: DateField + Serialize, S: Serializer>(
        time: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.serialize(serializer)
    }

    /// Reads the time from its crate's form.
    pub fn deserialize<'de, T: DateField + Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        T::deserialize(deserializer)
    }
}
