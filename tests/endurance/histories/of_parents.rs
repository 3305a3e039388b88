//! Parents with their extras as lists.

use bucket_runtime::{Error, Field, ItemToken, Outliers, action::Watch, mongodb::ClientSession};
use futures_util::TryStreamExt;

use super::list::{List, Part, Patience, concern, item_reads};
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

    item_reads!();

    fn watch(&self, key: i64) -> Watch<Self::New> {
        self.watch(&key)
    }
}
