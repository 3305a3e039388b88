//! One page of a list of items, filtered or not, with tokens for the pages beside it.

use std::sync::Arc;

use super::{
    ItemToken, Items,
    rows::{ItemRow, ItemRows},
    settings::{item_settings, page_directions},
    stream::ItemForm,
};
use crate::{
    Bucket, Part, Result,
    read::part::{PartOf, Whole},
};

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

impl<T: Bucket, F: ItemForm<Of = T>> Items<'_, T, F> {
    /// The items of the first rows, and the token of the position after them if there are further rows.
    async fn read_rows(mut self, most: u64) -> Result<(Vec<F::Item>, Option<ItemToken>)> {
        let mut found = Vec::new();
        let start = self.start()?;
        let list = Arc::new(self.list);
        let rows = ItemRows::open::<F>(list, start, self.session, self.on_unreadable);
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
pub struct PageOfItems<'s, T, F = Whole<T>> {
    items: Items<'s, T, F>,
    limit: u64,
    backwards: bool,
}

impl<'s, T: Bucket> PageOfItems<'s, T> {
    /// Reads only some fields of the items, as [`Items::parts`] does.
    pub fn parts<P: Part<Of = T>>(self) -> PageOfItems<'s, T, PartOf<P>> {
        PageOfItems {
            items: self.items.parts(),
            limit: self.limit,
            backwards: self.backwards,
        }
    }
}

impl<'s, T: Bucket, F> PageOfItems<'s, T, F> {
    pub(super) fn new(items: Items<'s, T, F>, limit: u64) -> Self {
        Self {
            items,
            limit: limit.max(1),
            backwards: false,
        }
    }

    page_directions!();

    item_settings!(T, "Items");

    fn set(mut self, change: impl FnOnce(Items<'s, T, F>) -> Items<'s, T, F>) -> Self {
        self.items = change(self.items);
        self
    }

    fn start_at(mut self, token: &ItemToken, backwards: bool) -> Self {
        self.items.after = Some(token.clone());
        self.backwards = backwards;
        self
    }
}

impl<T: Bucket, F: ItemForm<Of = T>> PageOfItems<'_, T, F> {
    pub(crate) async fn execute(self) -> Result<ItemPage<F::Item>> {
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
        let (found, beyond) = items.read_rows(limit.saturating_add(skipped)).await?;
        Ok(ItemPage::of_read(found, backwards, given, beyond))
    }
}
