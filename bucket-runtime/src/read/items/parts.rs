//! Parts of items, in place of whole ones.

use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, de::MapAccess};

use super::{ItemStream, ItemToken, Items, PageOfParts, settings::item_settings, stream::ItemForm};
use crate::{
    Bucket, BucketPart, Result,
    read::part::{PartReader, ReadPart, read_part},
    schema::spec::KeyName,
};

/// Parts of items.
pub(super) struct BucketItemPart<P>(PhantomData<P>);

impl<P: BucketPart> ItemForm for BucketItemPart<P> {
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

    item_settings!(P::Of, "Items");

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
    #[doc(alias = "pagination")]
    pub fn page_of_items(self, limit: u64) -> PageOfParts<'s, P> {
        PageOfParts::new(self.0, limit)
    }

    pub(crate) async fn execute(self) -> Result<ItemStream<'s, P>> {
        ItemStream::open::<BucketItemPart<P>>(self.0).await
    }
}
