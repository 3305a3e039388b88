//! The extras as buckets: the key is the parent's id, and the buckets are numbered.

use bucket_core::schema::{
    key::KeyField,
    size::TooLong,
    spec::{BucketSpec, KeyName},
};
use mongodb::bson::DateTime;
use serde::{Serialize, Serializer};

use super::Outlier;
use crate::{Bucket, KeyRef};

/// One item beyond a parent's threshold; only the bucket engine, which stores it, uses this type.
pub struct ExtraItem<T: Outlier> {
    pub(crate) parent: T::Id,
    pub(crate) item: T::Item,
}

impl<T: Outlier> ExtraItem<T> {
    const KEY: &'static [KeyName] = &[KeyName::new(T::SPEC.reference)];
}

impl<T: Outlier> Bucket for ExtraItem<T> {
    const SPEC: BucketSpec = T::SPEC.of_extras(Self::KEY);
    type Key = (T::Id,);
    type Element = T::Item;
    type Fields = ();
    const FIELDS: () = ();
    type Rollups = ();

    fn key(&self) -> KeyRef<'_, Self> {
        self.parent.borrowed()
    }

    fn time(&self) -> Option<DateTime> {
        None
    }

    fn too_long(&self) -> Option<TooLong> {
        T::item_too_long(&self.item)
    }

    fn serialize_element<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.item.serialize(serializer)
    }

    fn from_parts((parent,): Self::Key, item: T::Item) -> Self {
        Self { parent, item }
    }
}
