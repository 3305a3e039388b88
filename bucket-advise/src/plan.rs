//! A struct to write: its pattern, its limits, and its fields with the values that were seen.

use super::kind::buckets::IdOrdinal;
use super::kind::buckets::settings::OwnSettings;
use super::picture::Picture;
use super::shape::DocumentShape;
use super::shape::value::ValueShape;

/// A field of the struct.
#[derive(Debug, Clone)]
pub(super) struct Member<'s> {
    /// The stored name.
    pub(super) name: String,
    pub(super) value: &'s ValueShape,
    /// In how many documents it could have been.
    pub(super) of: u64,
    /// Whether it belongs to the key.
    pub(super) is_key: bool,
}

/// Where the items of buckets are now.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Origin {
    /// In flat documents of this collection.
    Flat(String),
    /// In buckets that the struct can open.
    Buckets,
    /// In an array of this collection's documents, whose `_id` is the key.
    Array { collection: String, array: String },
}

/// A struct that derives `Bucket`.
#[derive(Debug)]
pub(super) struct BucketPlan<'s> {
    pub(super) collection: String,
    pub(super) members: Vec<Member<'s>>,
    /// The texts before each key field and before the ordinal, if they are not `_`.
    pub(super) literals: Option<Vec<String>>,
    /// How the ids of new buckets end.
    pub(super) ending: IdOrdinal,
    pub(super) capacity: u64,
    pub(super) items: String,
    pub(super) count: String,
    pub(super) origin: Origin,
    /// The attributes that the collection shows.
    pub(super) settings: OwnSettings,
    /// Comments at the end of the struct.
    pub(super) remarks: Vec<String>,
}

/// A struct that derives `Outlier`.
#[derive(Debug)]
pub(super) struct OutlierPlan<'s> {
    pub(super) collection: String,
    pub(super) members: Vec<Member<'s>>,
    pub(super) array: String,
    pub(super) threshold: u64,
}

/// The choice for a collection.
#[derive(Debug)]
pub(super) enum Choice<'s> {
    Leave,
    Buckets(BucketPlan<'s>),
    /// A time series collection, and the buckets to take instead where one lacks something.
    TimeSeries(BucketPlan<'s>),
    Outliers(OutlierPlan<'s>),
}

/// The verdict: one sentence, what to do, and the figures behind it.
#[derive(Debug)]
pub(super) struct Verdict<'s> {
    pub(super) sentence: String,
    pub(super) choice: Choice<'s>,
    pub(super) figures: Vec<String>,
    pub(super) pictures: Vec<Picture>,
}

/// The fields of documents as fields of a struct.
pub(super) fn members<'s>(shape: &'s DocumentShape, key: &[String]) -> Vec<Member<'s>> {
    let member = |field: &'s super::shape::FieldShape| Member {
        name: field.name.clone(),
        value: &field.value,
        of: shape.documents,
        is_key: key.contains(&field.name),
    };
    shape.fields.iter().map(member).collect()
}
