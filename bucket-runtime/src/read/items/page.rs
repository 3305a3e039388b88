//! One page of a list of items, filtered or not, with tokens for the pages beside it.

use std::sync::Arc;

use super::{
    ItemToken, Items,
    parts::BucketItemPart,
    rows::{ItemRow, ItemRows},
    settings::{item_settings, page_directions},
    stream::{ItemForm, WholeItem},
};
use crate::{Bucket, BucketPart, Result};

/// Some items of a list, and where its neighbours are.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ItemPage<T> {
    /// The items, in the order of the read.
    pub items: Vec<T>,
    /// The token for [`after`](crate::action::PageOfItems::after), if there are further items.
    pub next: Option<ItemToken>,
    /// The token for [`before`](crate::action::PageOfItems::before), if there are items before this page.
    /// After [`after`](crate::action::PageOfItems::after) there is always one, even if the items before the
    /// page were removed meanwhile.
    pub previous: Option<ItemToken>,
}

impl<T> ItemPage<T> {
    /// The page of a read that began at the token `given`, or at an end of the list, and found these items;
    /// `beyond` is the token of the position after them, if there are others. A read backwards is from the end of
    /// the page to its beginning.
    pub(crate) fn of_read(
        mut items: Vec<T>,
        backwards: bool,
        given: Option<ItemToken>,
        beyond: Option<ItemToken>,
    ) -> Self {
        let (next, previous) = match backwards {
            false => (beyond, given),
            true => (given, beyond),
        };
        if backwards {
            items.reverse();
        }
        Self {
            items,
            next,
            previous,
        }
    }
}

/// A read of one page.
struct ItemPageRead<'s, T> {
    items: Items<'s, T>,
    limit: u64,
    backwards: bool,
}

impl<'s, T: Bucket> ItemPageRead<'s, T> {
    fn new(items: Items<'s, T>, limit: u64) -> Self {
        Self {
            items,
            limit: limit.max(1),
            backwards: false,
        }
    }

    fn set(mut self, change: impl FnOnce(Items<'s, T>) -> Items<'s, T>) -> Self {
        self.items = change(self.items);
        self
    }

    fn start_at(&mut self, token: &ItemToken, backwards: bool) {
        self.items.after = Some(token.clone());
        self.backwards = backwards;
    }

    async fn read<E: ItemForm<Of = T>>(self) -> Result<ItemPage<E::Item>> {
        let Self {
            mut items,
            limit,
            backwards,
        } = self;
        let given = items.after.clone();
        items.list.query.newest_first ^= backwards;
        // One more tells whether there are others.
        items.list.query.limit = Some(limit.saturating_add(1));
        // From a token on, skipped items are rows, too.
        let skipped = given.as_ref().map_or(0, |_| items.list.query.skip);
        let (found, beyond) = items.read_rows::<E>(limit.saturating_add(skipped)).await?;
        Ok(ItemPage::of_read(found, backwards, given, beyond))
    }
}

impl<'s, T: Bucket> Items<'s, T> {
    /// The items of the first rows, and the token of the position after them if there are further rows.
    async fn read_rows<E: ItemForm<Of = T>>(
        mut self,
        most: u64,
    ) -> Result<(Vec<E::Item>, Option<ItemToken>)> {
        let mut found = Vec::new();
        let start = self.start::<E>()?;
        let list = Arc::new(self.list);
        let rows = ItemRows::open::<E>(list, start, self.session, self.on_unreadable);
        let mut rows = rows.await?;
        for _ in 0..most {
            let Some(ItemRow { item, bytes }) = rows.next_row().await? else {
                return Ok((found, None));
            };
            found.extend(item);
            rows.note_given(bytes);
        }
        // If the next row cannot be read, that is an error of the next page.
        let has_more = !matches!(rows.next_row().await, Ok(None));
        Ok((found, has_more.then(|| rows.token()).flatten()))
    }
}

/// Builder of a read of one page of items: await it; see [`Items::page_of_items`]. The output is an
/// [`ItemPage`].
///
/// One round trip; one more where the buckets hold less than their capacity, and as many more as [`Items::after`]
/// says.
#[must_use = "a page is read when this is awaited"]
pub struct PageOfItems<'s, T>(ItemPageRead<'s, T>);

/// Builder of a read of one page of parts of items: await it; see [`Parts::page_of_items`]. The output is
/// an [`ItemPage`].
///
/// [`Parts::page_of_items`]: crate::action::Parts::page_of_items
#[must_use = "a page is read when this is awaited"]
pub struct PageOfParts<'s, P: BucketPart>(ItemPageRead<'s, P::Of>);

impl<'s, T: Bucket> PageOfItems<'s, T> {
    pub(super) fn new(items: Items<'s, T>, limit: u64) -> Self {
        Self(ItemPageRead::new(items, limit))
    }

    page_directions!();

    item_settings!(T, "Items");

    /// Reads only some fields of the items, as [`Items::parts`](crate::action::Items::parts) does.
    pub fn parts<P: BucketPart<Of = T>>(self) -> PageOfParts<'s, P> {
        PageOfParts(self.0)
    }

    fn set(self, change: impl FnOnce(Items<'s, T>) -> Items<'s, T>) -> Self {
        Self(self.0.set(change))
    }

    pub(crate) async fn execute(self) -> Result<ItemPage<T>> {
        self.0.read::<WholeItem<T>>().await
    }
}

impl<'s, P: BucketPart> PageOfParts<'s, P> {
    pub(super) fn new(items: Items<'s, P::Of>, limit: u64) -> Self {
        Self(ItemPageRead::new(items, limit))
    }

    page_directions!();

    item_settings!(P::Of, "Items");

    fn set(self, change: impl FnOnce(Items<'s, P::Of>) -> Items<'s, P::Of>) -> Self {
        Self(self.0.set(change))
    }

    pub(crate) async fn execute(self) -> Result<ItemPage<P>> {
        self.0.read::<BucketItemPart<P>>().await
    }
}
