//! One page of a list of items, filtered or not, with tokens for the pages beside it.

use super::{ItemToken, Items, stream::ItemForm};
use crate::{Bucket, Result, call::Call};

/// Some items of a list, and where its neighbours are.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ItemPage<T> {
    /// The items, in the order of the read.
    pub items: Vec<T>,
    /// The token for [`after`](crate::action::PageOfItems::after), if there are further items.
    pub next: Option<ItemToken>,
    /// The token for [`before`](crate::action::PageOfItems::before), if there are items before this
    /// page. After [`after`](crate::action::PageOfItems::after) there is always one, even if the
    /// items before the page were removed meanwhile.
    pub previous: Option<ItemToken>,
}

impl<T> ItemPage<T> {
    /// The page of a read that began at the token `given`, or at an end of the list, and found
    /// these items; `beyond` is the token of the position after them, if there are others. A read
    /// backwards is from the end of the page to its beginning.
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

/// A read of one page of items that is not sent yet: await it.
pub type PageOfItems<'s, I> = Call<'s, ItemPage<I>, PagePlace>;

/// The place of a page in its list: an end of the list, or a token on one side.
#[derive(Default)]
pub struct PagePlace {
    pub(crate) token: Option<ItemToken>,
    /// Whether the page ends at the token.
    pub(crate) backwards: bool,
}

impl<I> PageOfItems<'_, I> {
    /// Reads the page that begins at the position of a token: the [`next`](ItemPage::next) of the
    /// page before it.
    ///
    /// # Errors
    ///
    /// [`is_token_mismatch`](crate::Error::is_token_mismatch) if the token is of another list: of
    /// another key or parent, filter, struct or collection. Nothing is read then.
    pub fn after(self, token: &ItemToken) -> Self {
        self.start_at(token, false)
    }

    /// Reads the page that ends at the position of a token: the [`previous`](ItemPage::previous) of
    /// the page after it. Its items are in the order of the read, too. Of [`after`](Self::after)
    /// and this, the last one counts.
    pub fn before(self, token: &ItemToken) -> Self {
        self.start_at(token, true)
    }

    fn start_at(mut self, token: &ItemToken, backwards: bool) -> Self {
        let token = Some(token.clone());
        self.settings = PagePlace { token, backwards };
        self
    }
}

impl<T: Bucket, F: ItemForm<Of = T>> Items<'_, T, F> {
    pub(super) async fn page(mut self, limit: u64, place: PagePlace) -> Result<ItemPage<F::Item>> {
        let (backwards, token) = (place.backwards, place.token.or(self.after));
        self.list.query.newest_first ^= backwards;
        // One more tells whether there are others.
        self.list.query.limit = Some(limit.saturating_add(1));
        // From a token on, skipped items are rows, too.
        let skipped = token.as_ref().map_or(0, |_| self.list.query.skip);
        self.after = token.clone();
        let most = limit.saturating_add(skipped);
        let mut stream = self.execute().await?;
        let (mut found, mut rows) = (Vec::new(), 0);
        while rows < most
            && let Some(row) = stream.next_row().await?
        {
            stream.take_row(row);
            found.extend(stream.items.by_ref().map(|(_, item)| item));
            rows += 1;
        }
        // If the next row cannot be read, that is an error of the next page.
        let has_more = rows == most && !matches!(stream.next_row().await, Ok(None));
        let beyond = has_more.then(|| stream.token()).flatten();
        Ok(ItemPage::of_read(found, backwards, token, beyond))
    }
}
