//! One page of a parent's items, with tokens for the pages beside it.

use super::{
    item_form::{ParentItemForm, PartsOfItems},
    items::ParentItems,
};
use crate::{
    Part, Result,
    outlier::Outlier,
    read::{
        items::{ItemPage, ItemToken, item_settings, page_directions},
        part::Whole,
    },
};

/// Builder of a read of one page of a parent's items: await it; see [`ParentItems::page_of_items`]. The output
/// is an [`ItemPage`].
///
/// One round trip for a parent without extras, and for a page from a token on that lies within the parent or its
/// extras; one more for a page of both. Two more if items before the token's place were removed from its document.
///
/// A token holds its place as [`ItemToken`] says: among the parent's own items as well as among the extras, and
/// where items are equal in all fields, by their number alone. Moving items to extras by
/// [`repair`](crate::Outlier::repair) changes their places: a token from before it leads near its place.
///
/// [`ParentItems::page_of_items`]: crate::action::ParentItems::page_of_items
#[must_use = "a page is read when this is awaited"]
pub struct PageOfParentItems<'s, T, F = Whole<T>> {
    items: ParentItems<'s, T, F>,
    limit: u64,
    from: Option<ItemToken>,
    backwards: bool,
}

impl<'s, T: Outlier> PageOfParentItems<'s, T> {
    /// Reads only some fields of the items, as [`ParentItems::parts`](crate::action::ParentItems::parts) does.
    pub fn parts<P: Part<Of = T::Item>>(self) -> PageOfParentItems<'s, T, PartsOfItems<T, P>> {
        PageOfParentItems {
            items: self.items.parts(),
            limit: self.limit,
            from: self.from,
            backwards: self.backwards,
        }
    }
}

impl<'s, T: Outlier, F> PageOfParentItems<'s, T, F> {
    pub(super) fn new(items: ParentItems<'s, T, F>, limit: u64) -> Self {
        Self {
            items,
            limit: limit.max(1),
            from: None,
            backwards: false,
        }
    }

    page_directions!();

    item_settings!(T::Item, "ParentItems");

    fn set(mut self, change: impl FnOnce(ParentItems<'s, T, F>) -> ParentItems<'s, T, F>) -> Self {
        self.items = change(self.items);
        self
    }

    fn start_at(mut self, token: &ItemToken, backwards: bool) -> Self {
        self.from = Some(token.clone());
        self.backwards = backwards;
        self
    }
}

impl<T: Outlier, F: ParentItemForm<Of = T>> PageOfParentItems<'_, T, F> {
    pub(crate) async fn execute(self) -> Result<ItemPage<F::Item>> {
        let Self {
            mut items,
            limit,
            from,
            backwards,
        } = self;
        items.0.parent.note_call();
        items.1.newest_first ^= backwards;
        // One more tells whether there are others.
        items.1.limit = Some(limit.saturating_add(1));
        let mut rows = items.rows(from.as_ref()).await?;
        let mut found = Vec::new();
        for _ in 0..limit {
            let Some(row) = rows.next().await? else {
                break;
            };
            found.extend(rows.read(&row)?.map(F::item));
            rows.note_given(row);
        }
        // If the next row cannot be read, that is an error of the next page.
        let has_more = !matches!(rows.next().await, Ok(None));
        let beyond = has_more.then(|| rows.token()).flatten();
        Ok(ItemPage::of_read(found, backwards, from, beyond))
    }
}
