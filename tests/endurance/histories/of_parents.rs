//! Parents with their extras as lists.

use bucket_runtime::{Error, Field, ItemToken, Outliers, action::Watch, mongodb::ClientSession};
use futures_util::TryStreamExt;

use super::list::{List, Part, Patience, concern};
use crate::{
    check::history::ReadOrder,
    history::{Answer, Change, Item},
    items::Numbers,
    load::within,
    told::{told, told_of_pushed},
};

impl<T: Numbers> List for Outliers<T> {
    const ORDER: ReadOrder = ReadOrder::AsStored;
    // The flag of an outlier stays, so a removal from its own array looks like a push.
    const SHOWS_REMOVALS: bool = false;

    type New = i64;

    fn item_of(n: i64) -> Item {
        Item { n, value: n }
    }

    async fn add(&self, key: i64, items: &[Item], patience: Patience) -> Vec<Answer> {
        if let [item] = items {
            let pushed = within(patience, self.push(&key, item.n)).await;
            return vec![told(pushed.as_ref())];
        }
        let numbers: Vec<i64> = items.iter().map(|item| item.n).collect();
        let outcome = within(patience, self.push_many(&key, numbers)).await;
        told_of_pushed(outcome, items.len())
    }

    async fn upsert(&self, _: i64, _: Item, _: Patience) -> Option<Answer> {
        None
    }

    async fn edit(&self, _: i64, _: &[i64], _: i64, _: Patience) -> Option<Change> {
        None
    }

    /// Removes the first of the numbers: one call removes one item.
    async fn remove(&self, key: i64, numbers: &[i64], patience: Patience) -> Change {
        let number = Field::<i64, i64>::new("").eq(numbers[0]);
        let removed = within(patience, self.remove_item(&key, number)).await;
        Change {
            numbers: vec![numbers[0]],
            answer: told(removed.as_ref()),
            found: usize::from(matches!(removed, Some(Ok(Some(_))))),
        }
    }

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

    async fn read_on(
        &self,
        _: i64,
        _: Option<&ItemToken>,
        _: Option<u64>,
        _: &mut ClientSession,
    ) -> Result<Option<Part>, Error> {
        Ok(None)
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
        Ok((
            page.items.into_iter().map(Self::item_of).collect(),
            page.next,
        ))
    }

    async fn read_pages(&self, _: i64, _: &mut ClientSession) -> Result<Option<Vec<Item>>, Error> {
        Ok(None)
    }

    async fn read_page(
        &self,
        _: i64,
        _: u64,
        _: &mut ClientSession,
    ) -> Result<Option<Vec<Item>>, Error> {
        Ok(None)
    }

    fn watch(&self, key: i64) -> Watch<Self::New> {
        self.watch(&key)
    }
}
