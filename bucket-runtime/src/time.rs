//! What may be a time ordinal, and how such a field is stored.

use mongodb::bson::DateTime;

/// A type that the field behind a time ordinal (`{date}`) may have.
///
/// Implemented for the driver's [`DateTime`], and behind the features of the same names for
/// `chrono::DateTime<Utc>`, `chrono::DateTime<FixedOffset>`, `time::OffsetDateTime`,
/// `time::UtcDateTime` and `jiff::Timestamp`.
///
/// The field is stored as a BSON date, which counts milliseconds: what is finer is cut off
/// (towards the past), and an offset from UTC is not kept.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the time of a bucket's items",
    label = "this type is no point in time",
    note = "help: use `bson::DateTime`, or, with the feature of that name, a type of `chrono`, `time` or `jiff`; to number the buckets instead, write `{{#}}`"
)]
pub trait TimeField: Sized {
    /// The same moment as a BSON date.
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
    fn to_datetime(&self) -> DateTime {
        DateTime::from_millis(self.timestamp_millis())
    }

    fn from_datetime(date: DateTime) -> Option<Self> {
        Self::from_timestamp_millis(date.timestamp_millis())
    }
}

#[cfg(feature = "chrono")]
impl TimeField for chrono::DateTime<chrono::FixedOffset> {
    fn to_datetime(&self) -> DateTime {
        DateTime::from_millis(self.timestamp_millis())
    }

    fn from_datetime(date: DateTime) -> Option<Self> {
        chrono::DateTime::<chrono::Utc>::from_datetime(date).map(|utc| utc.fixed_offset())
    }
}

#[cfg(feature = "time")]
impl TimeField for time::OffsetDateTime {
    fn to_datetime(&self) -> DateTime {
        let millis = self.unix_timestamp_nanos().div_euclid(1_000_000);
        // Years beyond ±9999 do not exist in this type, so the milliseconds fit.
        DateTime::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
    }

    fn from_datetime(date: DateTime) -> Option<Self> {
        Self::from_unix_timestamp_nanos(i128::from(date.timestamp_millis()) * 1_000_000).ok()
    }
}

#[cfg(feature = "time")]
impl TimeField for time::UtcDateTime {
    fn to_datetime(&self) -> DateTime {
        time::OffsetDateTime::from(*self).to_datetime()
    }

    fn from_datetime(date: DateTime) -> Option<Self> {
        time::OffsetDateTime::from_datetime(date).map(Self::from)
    }
}

#[cfg(feature = "jiff")]
impl TimeField for jiff::Timestamp {
    fn to_datetime(&self) -> DateTime {
        // `as_millisecond` cuts towards zero; before 1970 that would be a later moment.
        let millis = self.as_nanosecond().div_euclid(1_000_000);
        DateTime::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
    }

    fn from_datetime(date: DateTime) -> Option<Self> {
        Self::from_millisecond(date.timestamp_millis()).ok()
    }
}

/// For `#[serde(with = "bucket_runtime::bson_date")]`: any [`TimeField`] as a BSON date.
///
/// `#[derive(Bucket)]` puts it on the field of a time ordinal unless that field says otherwise.
/// Put it on other time fields yourself: `chrono`, `time` and `jiff` would be stored as text.
pub mod bson_date {
    use mongodb::bson::DateTime;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use super::TimeField;

    /// Writes the moment as a BSON date.
    pub fn serialize<T: TimeField, S: Serializer>(
        time: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.to_datetime().serialize(serializer)
    }

    /// Reads the moment from a BSON date.
    pub fn deserialize<'de, T: TimeField, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        let date = DateTime::deserialize(deserializer)?;
        T::from_datetime(date)
            .ok_or_else(|| D::Error::custom(format_args!("{date} is out of the field's range")))
    }
}
