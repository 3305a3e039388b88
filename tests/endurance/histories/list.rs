//! The calls that a client makes on a collection of buckets or of parents, with the answers as a history has them.

use std::{future::ready, time::Duration};

use bucket_runtime::{
    Error, ItemToken,
    action::Watch,
    mongodb::{ClientSession, options::ReadConcern},
};

use crate::{
    check::history::ReadOrder,
    history::{Answer, Change, Item},
};

/// Items, and the token after them.
pub(crate) type Part = (Vec<Item>, Option<ItemToken>);

/// How long a client waits for an answer; forever if `None`.
pub(crate) type Patience = Option<Duration>;

/// A handle of a collection whose keys, or parents, each have a list of items.
pub(crate) trait List: Clone + Send + Sync + 'static {
    const ORDER: ReadOrder;

    /// Whether a watch tells removals from new items.
    const SHOWS_REMOVALS: bool;

    /// What a watch gives.
    type New: Send + 'static;

    fn item_of(new: Self::New) -> Item;

    /// One item, or several in their order.
    fn add(
        &self,
        key: i64,
        items: &[Item],
        patience: Patience,
    ) -> impl Future<Output = Vec<Answer>> + Send;

    /// `None` where items have no identity.
    fn upsert(
        &self,
        _key: i64,
        _item: Item,
        _patience: Patience,
    ) -> impl Future<Output = Option<Answer>> + Send {
        ready(None)
    }

    /// `None` where items have no identity: after an edit, a token takes an item for a new one.
    fn edit(
        &self,
        _key: i64,
        _numbers: &[i64],
        _value: i64,
        _patience: Patience,
    ) -> impl Future<Output = Option<Change>> + Send {
        ready(None)
    }

    fn remove(
        &self,
        key: i64,
        numbers: &[i64],
        patience: Patience,
    ) -> impl Future<Output = Change> + Send;

    /// All items at one moment.
    fn read(
        &self,
        key: i64,
        newest_first: bool,
        session: &mut ClientSession,
    ) -> impl Future<Output = Result<Vec<Item>, Error>> + Send;

    /// The items from a token on, at most `limit`, and the token after them; `None` where a stream has no token.
    fn read_on(
        &self,
        _key: i64,
        _after: Option<&ItemToken>,
        _limit: Option<u64>,
        _session: &mut ClientSession,
    ) -> impl Future<Output = Result<Option<Part>, Error>> + Send {
        ready(Ok(None))
    }

    /// A page of this many items, and the token after them if there are others.
    fn read_page_of_items(
        &self,
        key: i64,
        after: Option<&ItemToken>,
        limit: u64,
        session: &mut ClientSession,
    ) -> impl Future<Output = Result<Part, Error>> + Send;

    /// All items at one moment, bucket by bucket; `None` where buckets are not pages.
    fn read_pages(
        &self,
        _key: i64,
        _session: &mut ClientSession,
    ) -> impl Future<Output = Result<Option<Vec<Item>>, Error>> + Send {
        ready(Ok(None))
    }

    /// The items of one bucket; `None` where buckets are not pages.
    fn read_page(
        &self,
        _key: i64,
        _number: u64,
        _session: &mut ClientSession,
    ) -> impl Future<Output = Result<Option<Vec<Item>>, Error>> + Send {
        ready(Ok(None))
    }

    fn watch(&self, key: i64) -> Watch<Self::New>;
}

/// Reads with this concern give one moment, and only what a majority has.
pub(super) fn concern() -> ReadConcern {
    ReadConcern::snapshot()
}

/// The reads that are written alike for buckets and parents, whose builders have different types.
macro_rules! item_reads {
    () => {
        async fn read(
            &self,
            key: i64,
            newest_first: bool,
            session: &mut ClientSession,
        ) -> Result<Vec<Item>, Error> {
            let mut read = self.items(&key).read_concern(concern()).session(session);
            if newest_first {
                read = read.newest_first();
            }
            let mut items: Vec<Item> = read.await?.map_ok(Self::item_of).try_collect().await?;
            if newest_first {
                items.reverse();
            }
            Ok(items)
        }

        async fn read_page_of_items(
            &self,
            key: i64,
            after: Option<&ItemToken>,
            limit: u64,
            session: &mut ClientSession,
        ) -> Result<Part, Error> {
            let items = self.items(&key).read_concern(concern()).session(session);
            let mut page = items.page_of_items(limit);
            if let Some(token) = after {
                page = page.after(token);
            }
            let page = page.await?;
            let items = page.items.into_iter().map(Self::item_of);
            Ok((items.collect(), page.next))
        }
    };
}

pub(super) use item_reads;
