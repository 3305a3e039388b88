//! One page of a list of items, filtered or not, with tokens for the pages beside it.

use futures_util::StreamExt;

use super::{
    ItemToken, Items,
    parts::{Element, Part, Whole},
    settings::item_settings,
};
use crate::{Bucket, BucketPart, Result, server::call};

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

/// A page that is about to be read.
struct Wanted<'s, T> {
    items: Items<'s, T>,
    limit: u64,
    backwards: bool,
}

impl<'s, T: Bucket> Wanted<'s, T> {
    fn new(items: Items<'s, T>, limit: u64) -> Self {
        Self {
            items,
            limit,
            backwards: false,
        }
    }

    fn set(mut self, change: impl FnOnce(Items<'s, T>) -> Items<'s, T>) -> Self {
        self.items = change(self.items);
        self
    }

    fn at(&mut self, token: &ItemToken, backwards: bool) {
        self.items.after = Some(token.clone());
        self.backwards = backwards;
    }

    async fn read<E: Element<Of = T>>(self) -> Result<ItemPage<E::Item>> {
        let Self {
            mut items,
            limit,
            backwards,
        } = self;
        let given = items.after.clone();
        items.query.newest_first ^= backwards;
        // One more tells whether there are others.
        items.query.limit = Some(limit.saturating_add(1));
        // From a token on, skipped items are rows, too.
        let skipped = if given.is_some() { items.query.skip } else { 0 };
        let mut stream = items.read::<E>().await?;
        let mut found = Vec::new();
        let mut more = false;
        let mut rows: u64 = 0;
        while let Some(row) = stream.rows.next().await {
            if rows == limit.saturating_add(skipped) {
                // If it cannot be read, that is an error of the next page.
                more = true;
                break;
            }
            let row = row?;
            rows += 1;
            found.extend(row.items);
            stream.trail.push(row.passed);
        }
        let beyond = stream.trail.token(0).filter(|_| more);
        if backwards {
            found.reverse();
        }
        call::items(found.len());
        let (next, previous) = match backwards {
            false => (beyond, given),
            true => (given, beyond),
        };
        Ok(ItemPage {
            items: found,
            next,
            previous,
        })
    }
}

/// Builder of a read of one page of items: await it; see [`Items::page_of_items`]. The output is an
/// [`ItemPage`].
///
/// One round trip, or as many as [`Items::after`] says.
#[must_use = "a page is read when this is awaited"]
pub struct PageOfItems<'s, T>(Wanted<'s, T>);

/// Builder of a read of one page of parts of items: await it; see [`Parts::page_of_items`]. The output is
/// an [`ItemPage`].
///
/// [`Parts::page_of_items`]: crate::action::Parts::page_of_items
#[must_use = "a page is read when this is awaited"]
pub struct PageOfParts<'s, P: BucketPart>(Wanted<'s, P::Of>);

/// The methods that both builders have.
macro_rules! directions {
    () => {
        /// Reads the page that begins at the position of a token: the [`next`](ItemPage::next) of the
        /// page before it.
        pub fn after(mut self, token: &ItemToken) -> Self {
            self.0.at(token, false);
            self
        }

        /// Reads the page that ends at the position of a token: the [`previous`](ItemPage::previous) of
        /// the page after it. Its items are in the order of the read, too.
        pub fn before(mut self, token: &ItemToken) -> Self {
            self.0.at(token, true);
            self
        }
    };
}

impl<'s, T: Bucket> PageOfItems<'s, T> {
    pub(super) fn new(items: Items<'s, T>, limit: u64) -> Self {
        Self(Wanted::new(items, limit))
    }

    directions!();

    item_settings!(T);

    /// Reads only some fields of the items, as [`Items::parts`](crate::action::Items::parts) does.
    pub fn parts<P: BucketPart<Of = T>>(self) -> PageOfParts<'s, P> {
        PageOfParts(self.0)
    }

    fn set(self, change: impl FnOnce(Items<'s, T>) -> Items<'s, T>) -> Self {
        Self(self.0.set(change))
    }

    pub(crate) async fn execute(self) -> Result<ItemPage<T>> {
        self.0.read::<Whole<T>>().await
    }
}

impl<'s, P: BucketPart> PageOfParts<'s, P> {
    pub(super) fn new(items: Items<'s, P::Of>, limit: u64) -> Self {
        Self(Wanted::new(items, limit))
    }

    directions!();

    item_settings!(P::Of);

    fn set(self, change: impl FnOnce(Items<'s, P::Of>) -> Items<'s, P::Of>) -> Self {
        Self(self.0.set(change))
    }

    pub(crate) async fn execute(self) -> Result<ItemPage<P>> {
        self.0.read::<Part<P>>().await
    }
}
