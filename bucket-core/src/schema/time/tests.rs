//! Times of other crates.

use proptest::prelude::*;

use super::*;

/// The years 1 to 9999.
const MILLIS: std::ops::Range<i64> = -62_135_596_800_000..253_402_300_800_000;

fn comes_back<T: TimeField>(millis: i64) {
    let date = DateTime::from_millis(millis);
    let time = T::from_datetime(date).map(|time| time.to_datetime());
    assert_eq!(time, Some(date), "{}", std::any::type_name::<T>());
}

proptest! {
    #[test]
    fn times_of_other_crates_come_back(millis in MILLIS) {
        comes_back::<chrono::DateTime<chrono::Utc>>(millis);
        comes_back::<chrono::DateTime<chrono::FixedOffset>>(millis);
        comes_back::<time::OffsetDateTime>(millis);
        comes_back::<time::UtcDateTime>(millis);
        comes_back::<jiff::Timestamp>(millis);
    }

    /// Also before 1970.
    #[test]
    fn a_part_of_a_millisecond_is_cut_off(millis in MILLIS, nanos in 0..1_000_000_i128) {
        let date = DateTime::from_millis(millis);
        let nanos = i128::from(millis) * 1_000_000 + nanos;
        let time = time::OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap();
        prop_assert_eq!((time.to_datetime(), time::UtcDateTime::from(time).to_datetime()), (date, date));
        prop_assert_eq!(jiff::Timestamp::from_nanosecond(nanos).unwrap().to_datetime(), date);
        let second = i64::try_from(nanos.div_euclid(1_000_000_000)).unwrap();
        let rest = u32::try_from(nanos.rem_euclid(1_000_000_000)).unwrap();
        let time = chrono::DateTime::from_timestamp(second, rest).unwrap();
        prop_assert_eq!((time.to_datetime(), time.fixed_offset().to_datetime()), (date, date));
    }
}
