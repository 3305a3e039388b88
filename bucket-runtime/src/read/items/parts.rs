//! The output of a read for each element: the whole item, or a part of it.

use std::marker::PhantomData;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, MapAccess},
};

use super::{ItemStream, ItemToken, Items, PageOfParts, settings::item_settings};
use crate::{
    Bucket, BucketPart, Result,
    read::part::{PartReader, ReadPart, read_part},
    schema::spec::KeyName,
};

/// The form in which a read gives each element: as a whole item or a part.
pub(super) trait Element: 'static {
    type Of: Bucket;

    /// The type that a stored element is deserialized into, before the key is added.
    type Stored: DeserializeOwned + Send + 'static;

    type Item: Send + 'static;

    /// The stored names of the fields to read, if not all.
    fn names() -> Option<Vec<&'static str>>;

    fn item(key: &<Self::Of as Bucket>::Key, stored: Self::Stored) -> Self::Item;
}

/// Whole items.
pub(super) struct Whole<T>(PhantomData<T>);

impl<T: Bucket> Element for Whole<T> {
    type Of = T;
    type Stored = T::Element;
    type Item = T;

    fn names() -> Option<Vec<&'static str>> {
        None
    }

    fn item(key: &T::Key, stored: T::Element) -> T {
        T::from_parts(key.clone(), stored)
    }
}

/// Parts of items.
pub(super) struct Part<P>(PhantomData<P>);

impl<P: BucketPart> Element for Part<P> {
    type Of = P::Of;
    type Stored = ElementPart<P>;
    type Item = P;

    fn names() -> Option<Vec<&'static str>> {
        Some(P::NAMES.concat())
    }

    fn item(key: &<P::Of as Bucket>::Key, stored: ElementPart<P>) -> P {
        P::from_parts(key, stored.0)
    }
}

/// The fields of a part that stand in an element.
pub(super) struct ElementPart<P: BucketPart>(P::Element);

impl<P: BucketPart> ReadPart for ElementPart<P> {
    const NAMES: &'static [&'static [&'static str]] = P::NAMES;
    const KEYS: &'static [KeyName] = P::Of::SPEC.key;

    fn read<'de, A: MapAccess<'de>>(fields: &mut PartReader<A>) -> Result<Self, A::Error> {
        P::read(fields).map(Self)
    }
}

impl<'de, P: BucketPart> Deserialize<'de> for ElementPart<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_part(deserializer)
    }
}

/// Builder of a read of some fields of items: await it; see [`Items::parts`]. The output is an
/// [`ItemStream`].
#[must_use = "nothing is read until this is awaited"]
pub struct Parts<'s, P: BucketPart>(Items<'s, P::Of>);

impl<'s, P: BucketPart> Parts<'s, P> {
    pub(super) fn new(items: Items<'s, P::Of>) -> Self {
        Self(items)
    }

    item_settings!(P::Of);

    /// Goes on after the position of a token, as [`Items::after`](crate::action::Items::after) does.
    pub fn after(self, token: &ItemToken) -> Self {
        self.set(|items| items.after(token))
    }

    /// Ends after this many items.
    pub fn limit(self, items: u64) -> Self {
        self.set(|reads| reads.limit(items))
    }

    fn set(self, change: impl FnOnce(Items<'s, P::Of>) -> Items<'s, P::Of>) -> Self {
        Self(change(self.0))
    }

    /// Reads at most this many of them as one page; see [`Items::page_of_items`].
    pub fn page_of_items(self, limit: u64) -> PageOfParts<'s, P> {
        PageOfParts::new(self.0, limit)
    }

    pub(crate) async fn execute(self) -> Result<ItemStream<'s, P>> {
        self.0.read::<Part<P>>().await
    }
}
