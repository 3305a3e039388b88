//! Items that cannot be stored: nothing is lost, and the error says what is wrong with them.

use bucket_runtime::{Bucket, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::support::{
    assert_refused,
    database::{Live, documents},
};

/// A value that serialises itself, or does not.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Fails,
    Big(u64),
    Named(String),
    Fine,
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fails => Err(serde::ser::Error::custom("the value does not want to")),
            Self::Big(number) => serializer.serialize_u64(*number),
            Self::Named(name) => serializer.collect_map([(name, 1)]),
            Self::Fine => serializer.serialize_i32(1),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        i32::deserialize(deserializer).map(|_| Self::Fine)
    }
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "values", id = "{k}_{#}", capacity = 10)]
pub(crate) struct Valued {
    pub(crate) k: i64,
    pub(crate) value: Value,
}

impl Valued {
    /// A hundred items of seven keys.
    pub(crate) fn all(value: impl Fn(i64) -> Value) -> Vec<Self> {
        let valued = |n| Self {
            k: n % 7,
            value: value(n),
        };
        (0..100).map(valued).collect()
    }
}

#[bucket_testkit::test]
async fn an_item_that_is_no_bson_is_refused_before_it_is_sent(db: Live) {
    let values = Valued::buckets(&db).await.unwrap();
    for value in [
        Value::Fails,
        Value::Big(u64::MAX),
        Value::Named("a\0b".into()),
    ] {
        let valued = Valued { k: 1, value };
        let error = values.append(&valued).await.unwrap_err();
        assert_refused(&error, Error::is_serialize);
        assert_eq!(error.key(), Some("\"1\""));
        let said = error.to_string().contains("the value does not want to");
        assert!(said || valued.value != Value::Fails, "{error}");
    }
    assert_eq!(documents(values.collection()).await, []);
    let (k, value) = (1, Value::Fine);
    values.append(&Valued { k, value }).await.unwrap();
    assert_eq!(values.count(&1).await.unwrap(), 1);
}
