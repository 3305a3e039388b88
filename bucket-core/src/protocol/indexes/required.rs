//! The indexes that a struct needs, for whoever creates them.

#![deny(missing_docs)]

use std::fmt;

use mongodb::{IndexModel, bson::Document};

use super::{Needed, asked_for, of_extras, of_parents, open};
use crate::{
    schema::{
        open_index::OpenIndex,
        spec::{BucketSpec, OutlierSpec},
    },
    value::{bytes, shell::shell},
};

/// An index that a struct needs, and the collection that needs it.
///
/// Its text is the command that creates the index, for MongoDB's shell:
///
/// ```
/// # use bucket_runtime::Bucket;
/// # #[derive(Bucket)]
/// # #[serde(rename_all = "camelCase")]
/// # #[bucket(collection = "trades", id = "{customer_id}_{#}", capacity = 10)]
/// # struct Trade { customer_id: i64, ticker: String }
/// let commands: Vec<String> = Trade::indexes().iter().map(|index| index.to_string()).collect();
/// assert_eq!(commands, [
///     r#"db.getCollection("trades").createIndex({ "customerId": 1, "sealed": 1 }, { "name": "bucket_open", "unique": true, "partialFilterExpression": { "count": { "$lt": 10 } } })"#,
/// ]);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RequiredIndex {
    /// The name of the collection.
    pub collection: String,
    /// The index, as the driver creates it.
    pub model: IndexModel,
}

impl RequiredIndex {
    #[doc(hidden)]
    pub fn new(collection: &str, model: IndexModel) -> Self {
        Self {
            collection: collection.to_owned(),
            model,
        }
    }
}

impl fmt::Display for RequiredIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments = arguments(&self.model, &[]).ok_or(fmt::Error)?;
        let collection = &self.collection;
        write!(
            f,
            "db.getCollection({collection:?}).createIndex({arguments})"
        )
    }
}

/// The arguments with which MongoDB's shell creates an index: its fields, and its options except
/// these.
pub(crate) fn arguments(model: &IndexModel, without: &[&str]) -> Option<String> {
    let mut options: Document = bytes::read(&bytes::write(model).ok()?).ok()?;
    let keys = options.remove("key")?;
    for option in without {
        options.remove(option);
    }
    Some(match options.is_empty() {
        true => shell(&keys),
        false => format!("{}, {}", shell(&keys), shell(&options.into())),
    })
}

impl BucketSpec {
    /// The indexes that a collection of such buckets needs, as
    /// `Bucket::indexes` lists them; for whoever knows the facts and has
    /// no struct.
    ///
    /// ```
    /// use bucket_runtime::{BucketSpec, IdFormat, KeyName, Ordinal};
    ///
    /// const KEY: &[KeyName] = &[KeyName::new("customer")];
    /// let id = IdFormat::new("", &["_"], Ordinal::Number);
    /// let spec = BucketSpec::new("trades", id, 10, KEY);
    /// assert!(spec.required_indexes()[0].to_string().contains("bucket_open"));
    /// ```
    #[must_use]
    pub fn required_indexes(&self) -> Vec<RequiredIndex> {
        of_bucket(self)
    }
}

/// All indexes of a collection of buckets.
pub fn of_bucket(spec: &BucketSpec) -> Vec<RequiredIndex> {
    let open = open(spec, OpenIndex::first(spec.capacity));
    // Only an existing index can be a wrong one.
    let asked_for = asked_for(&[], spec, Needed::IfMissing).unwrap_or_default();
    let models = std::iter::once(open).chain(asked_for);
    models
        .map(|model| RequiredIndex::new(spec.collection, model))
        .collect()
}

/// All indexes of the two collections of an outlier.
pub fn of_outlier(spec: &OutlierSpec, extras: &BucketSpec) -> Vec<RequiredIndex> {
    let mut all = of_bucket(extras);
    let of_extras = (spec.extras, of_extras(&[], spec));
    for (collection, models) in [of_extras, (spec.collection, of_parents(&[], spec))] {
        let models = models.unwrap_or_default().into_iter();
        all.extend(models.map(|model| RequiredIndex::new(collection, model)));
    }
    all
}
