//! The calls that a client makes on a collection of buckets or of parents, with the answers as a history has them.

use std::time::Duration;

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
        key: i64,
        item: Item,
        patience: Patience,
    ) -> impl Future<Output = Option<Answer>> + Send;

    /// `None` where items have no identity: after an edit, a token takes an item for a new one.
    fn edit(
        &self,
        key: i64,
        numbers: &[i64],
        value: i64,
        patience: Patience,
    ) -> impl Future<Output = Option<Change>> + Send;

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
        key: i64,
        after: Option<&ItemToken>,
        limit: Option<u64>,
        session: &mut ClientSession,
    ) -> impl Future<Output = Result<Option<Part>, Error>> + Send;

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
        key: i64,
        session: &mut ClientSession,
    ) -> impl Future<Output = Result<Option<Vec<Item>>, Error>> + Send;

    /// The items of one bucket; `None` where buckets are not pages.
    fn read_page(
        &self,
        key: i64,
        number: u64,
        session: &mut ClientSession,
    ) -> impl Future<Output = Result<Option<Vec<Item>>, Error>> + Send;

    fn watch(&self, key: i64) -> Watch<Self::New>;
}

/// Reads with this concern give one moment, and only what a majority has.
pub(super) fn concern() -> ReadConcern {
    ReadConcern::snapshot()
}
