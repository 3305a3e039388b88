//! Fields of an item: values of all BSON types, and points in time of several crates,
//! which are stored as BSON dates.

use bucket_runtime::{
    Bucket,
    mongodb::bson::{Bson, DateTime, Decimal128, doc, oid::ObjectId},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    support::database::{Live, documents, fresh, items},
    types::round_trip::{NOON, elements, noon, round_trip},
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Leaf {
    when: DateTime,
    owner: Option<ObjectId>,
    path: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Shape {
    Unit,
    Newtype(i32),
    Tuple(i32, String),
    Struct { leaf: Leaf },
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "nested", id = "{k}_{#}", capacity = 100)]
struct Nested {
    k: i64,
    leaf: Leaf,
    leaves: Vec<Leaf>,
    maybe: Option<Box<Leaf>>,
    shapes: Vec<Shape>,
    pair: (u8, f32),
    small: i8,
    unsigned: u32,
    float: f64,
    letter: char,
    unit: (),
    any: Bson,
    decimal: Decimal128,
}

#[bucket_testkit::test]
async fn nested_values_of_all_types_come_back_as_they_were(db: Live) {
    let leaf = |owner| Leaf {
        when: DateTime::from_millis(-1),
        owner,
        path: vec![String::new(), "$a.b\0".into()],
    };
    let owned = leaf(Some(ObjectId::from_bytes([5; 12])));
    let any = [
        Bson::Null,
        Bson::Boolean(false),
        Bson::Int32(i32::MIN),
        Bson::Int64(i64::MAX),
        Bson::Double(f64::INFINITY),
        "text".into(),
        doc! { "$each": [], "$slice": 1, "$gt": "" }.into(),
        vec![Bson::Null, doc! {}.into()].into(),
        ObjectId::from_bytes([1; 12]).into(),
        DateTime::MAX.into(),
        Bson::MinKey,
        Bson::Undefined,
    ];
    let nested = any.map(|any| Nested {
        k: 1,
        leaf: leaf(None),
        leaves: vec![leaf(None), owned.clone()],
        maybe: Some(Box::new(owned.clone())),
        shapes: vec![
            Shape::Unit,
            Shape::Newtype(1),
            Shape::Tuple(2, "two".into()),
            Shape::Struct {
                leaf: owned.clone(),
            },
        ],
        pair: (u8::MAX, 0.5),
        small: i8::MIN,
        unsigned: u32::MAX,
        float: -0.0,
        letter: '\u{10ffff}',
        unit: (),
        any,
        decimal: "123456789.0123456789".parse().unwrap(),
    });
    let stored = round_trip(&db, &nested).await;
    for (element, nested) in elements(&stored).into_iter().zip(&nested) {
        assert_eq!(element.get("any"), Some(&nested.any));
    }
}

/// Moments around 1970 and today; the test adds nanoseconds that a BSON date cannot hold.
const MOMENTS: [i64; 6] = [-1_698_321_600_001, -1001, -1, 0, 1, NOON];

macro_rules! times {
    ($($test:ident: $name:ident($type:ty, |$millis:ident, $nanos:ident| $make:expr);)+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "times", id = "{k}_{at:millis}", capacity = 1)]
        struct $name {
            k: i64,
            at: $type,
            #[serde(with = "bucket_runtime::bson_date")]
            other: $type,
        }

        #[bucket_testkit::test]
        async fn $test(db: Live) {
            let make = |$millis: i64, $nanos: i64| -> $type { $make };
            let times = fresh::<$name>(&db).await;
            for millis in MOMENTS {
                let at = make(millis, 999_999);
                times.append(&$name { k: 1, at, other: at }).await.unwrap();
            }
            // Anything finer than a millisecond is rounded towards the past, also in the id.
            assert_eq!(items(&times, &1).await, MOMENTS.map(|millis| {
                $name { k: 1, at: make(millis, 0), other: make(millis, 0) }
            }));
            let stored = documents(times.collection()).await;
            let dates = MOMENTS.map(DateTime::from_millis);
            let expected = dates.map(|date| doc! { "at": date, "other": date });
            assert_eq!(elements(&stored), Vec::from_iter(&expected));
            assert_eq!(stored[2].get_str("_id").unwrap(), "1_-9999999999999");
            assert_eq!(stored[3].get_str("_id").unwrap(), "1_0000000000000");
        }
    )+};
}

fn nanos_of(millis: i64, nanos: i64) -> i128 {
    i128::from(millis) * 1_000_000 + i128::from(nanos)
}

times! {
    chrono_utc_is_stored_as_a_date: ChronoUtc(
        chrono::DateTime<chrono::Utc>,
        |millis, nanos| chrono::DateTime::from_timestamp_nanos(nanos_of(millis, nanos) as i64)
    );
    chrono_with_an_offset_is_stored_as_a_date: ChronoFixed(
        chrono::DateTime<chrono::FixedOffset>,
        |millis, nanos| chrono::DateTime::from_timestamp_nanos(nanos_of(millis, nanos) as i64)
            .with_timezone(&chrono::FixedOffset::west_opt(4 * 3600).unwrap())
    );
    time_with_an_offset_is_stored_as_a_date: TimeOffset(
        time::OffsetDateTime,
        |millis, nanos| time::OffsetDateTime::from_unix_timestamp_nanos(nanos_of(millis, nanos))
            .unwrap()
            .to_offset(time::UtcOffset::from_hms(-4, 0, 0).unwrap())
    );
    time_utc_is_stored_as_a_date: TimeUtc(
        time::UtcDateTime,
        |millis, nanos| time::UtcDateTime::from_unix_timestamp_nanos(nanos_of(millis, nanos)).unwrap()
    );
    jiff_is_stored_as_a_date: Jiff(
        jiff::Timestamp,
        |millis, nanos| jiff::Timestamp::from_nanosecond(nanos_of(millis, nanos)).unwrap()
    );
}

mod as_seconds {
    use super::*;

    pub(super) fn serialize<S: Serializer>(
        at: &DateTime,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(at.timestamp_millis() / 1000)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<DateTime, D::Error> {
        i64::deserialize(from).map(|seconds| DateTime::from_millis(seconds * 1000))
    }
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "own_format", id = "{k}_{at}", capacity = 2)]
struct OwnFormat {
    k: i64,
    #[serde(with = "as_seconds")]
    at: DateTime,
}

#[bucket_testkit::test]
async fn a_time_with_a_format_of_its_own_keeps_it(db: Live) {
    let stored = round_trip(&db, &[OwnFormat { k: 1, at: noon() }]).await;
    assert_eq!(elements(&stored), [&doc! { "at": NOON / 1000 }]);
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "far", id = "{k}_{at}", capacity = 10)]
struct Far {
    k: i64,
    at: jiff::Timestamp,
    #[serde(with = "bucket_runtime::bson_date")]
    other: time::OffsetDateTime,
}

/// A date that BSON can hold and the field's type cannot.
#[bucket_testkit::test]
async fn a_stored_date_out_of_the_fields_range_is_an_error(db: Live) {
    let far = Far::buckets(&db).await.unwrap();
    for (at, other) in [
        (DateTime::MAX, noon()),
        (DateTime::MIN, noon()),
        (noon(), DateTime::MAX),
    ] {
        let items = vec![doc! { "at": at, "other": other }];
        let bucket = doc! { "_id": "1_1698321600", "k": 1, "count": 1, "items": items };
        far.collection().insert_one(bucket).await.unwrap();
        let error = far.page(&1, 1).await.unwrap_err();
        assert!(error.is_deserialize(), "{error}");
        assert!(error.to_string().contains("range"), "{error}");
        far.collection().delete_one(doc! {}).await.unwrap();
    }
}
