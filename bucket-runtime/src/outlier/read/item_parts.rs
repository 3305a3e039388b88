//! Parts of a parent's items, in place of whole ones.

use std::marker::PhantomData;

use super::{
    item_form::PartsOfItems, items::ParentItems, page::PageOfItemParts, stream::ParentItemStream,
};
use crate::{
    Result,
    outlier::{ItemPart, Outlier},
    read::items::item_settings,
};

/// Builder of a read of some fields of a parent's items: await it; see [`ParentItems::parts`]. The output is a
/// [`ParentItemStream`].
#[must_use = "nothing is read until this is awaited"]
pub struct ItemParts<'s, T, P>(ParentItems<'s, T>, PhantomData<fn() -> P>);

impl<'s, T: Outlier, P: ItemPart<Of = T::Item>> ItemParts<'s, T, P> {
    pub(super) fn new(items: ParentItems<'s, T>) -> Self {
        Self(items, PhantomData)
    }

    item_settings!(T::Item, "ParentItems");

    /// Ends after this many items.
    pub fn limit(self, items: u64) -> Self {
        self.set(|reads| reads.limit(items))
    }

    fn set(self, change: impl FnOnce(ParentItems<'s, T>) -> ParentItems<'s, T>) -> Self {
        Self(change(self.0), PhantomData)
    }

    /// Reads at most this many of them as one page; see [`ParentItems::page_of_items`].
    #[doc(alias = "pagination")]
    pub fn page_of_items(self, limit: u64) -> PageOfItemParts<'s, T, P> {
        self.0.page_of_items(limit).parts()
    }

    pub(crate) async fn execute(self) -> Result<ParentItemStream<'s, P>> {
        self.0.read::<PartsOfItems<T, P>>().await
    }
}
