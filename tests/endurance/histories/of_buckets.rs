//! Buckets as lists.

use bucket_runtime::{
    Buckets, EditManyError, Error, ItemToken, action::Watch, mongodb::ClientSession,
};
use futures_util::TryStreamExt;

use super::list::{List, Part, Patience, concern, item_reads};
use crate::{
    check::{Moment, history::ReadOrder},
    history::{
        Answer::{self, Acknowledged, InDoubt, Refused},
        Change, Item,
    },
    items::Mark,
    load::within,
    told::{told, told_of_appended},
};

impl<T: Mark> List for Buckets<T> {
    const ORDER: ReadOrder = match T::FORMAT.moment {
        Moment::Number => ReadOrder::AsStored,
        _ => ReadOrder::ByTime,
    };
    const SHOWS_REMOVALS: bool = true;

    type New = T;

    fn item_of(new: T) -> Item {
        new.item()
    }

    async fn add(&self, key: i64, items: &[Item], patience: Patience) -> Vec<Answer> {
        if let [item] = items {
            let appended = within(patience, self.append(&T::of(key, *item))).await;
            return vec![told(appended.as_ref())];
        }
        let mut marks = Vec::from_iter(items.iter().map(|item| T::of(key, *item))).into_iter();
        let outcome = within(patience, self.append_many(marks.by_ref())).await;
        let taken = items.len() - marks.len();
        told_of_appended(outcome, items.len(), taken)
    }

    async fn upsert(&self, key: i64, item: Item, patience: Patience) -> Option<Answer> {
        let upsert = T::of(key, item).upsert(self)?;
        Some(told(within(patience, upsert).await.as_ref()))
    }

    async fn edit(
        &self,
        key: i64,
        numbers: &[i64],
        value: i64,
        patience: Patience,
    ) -> Option<Change> {
        if !T::IS_UNIQUE {
            return None;
        }
        let set = move |item: &mut T| item.set_value(value);
        let (answer, found) = match numbers {
            [n] => {
                let edit = self.update_item(&key, T::numbered(*n), set);
                found_one(within(patience, edit).await)
            }
            _ => {
                let edit = self.update_items(&key, T::numbered_as_one_of(numbers), set);
                found_many(within(patience, edit).await)
            }
        };
        Some(Change {
            numbers: numbers.to_vec(),
            answer,
            found,
        })
    }

    async fn remove(&self, key: i64, numbers: &[i64], patience: Patience) -> Change {
        let (answer, found) = match numbers {
            [n] => {
                let removal = self.remove_item(&key, T::numbered(*n));
                found_one(within(patience, removal).await)
            }
            _ => {
                let removal = self.remove_items(&key, T::numbered_as_one_of(numbers));
                found_many(within(patience, removal).await)
            }
        };
        Change {
            numbers: numbers.to_vec(),
            answer,
            found,
        }
    }

    item_reads!();

    async fn read_on(
        &self,
        key: i64,
        after: Option<&ItemToken>,
        limit: Option<u64>,
        session: &mut ClientSession,
    ) -> Result<Option<Part>, Error> {
        let mut read = self.items(&key).read_concern(concern()).session(session);
        if let Some(token) = after {
            read = read.after(token);
        }
        if let Some(limit) = limit {
            read = read.limit(limit);
        }
        let mut stream = read.await?;
        let mut items = Vec::new();
        while let Some(mark) = stream.try_next().await? {
            items.push(mark.item());
        }
        Ok(Some((items, stream.token())))
    }

    async fn read_pages(
        &self,
        key: i64,
        session: &mut ClientSession,
    ) -> Result<Option<Vec<Item>>, Error> {
        let pages = self.pages(&key).read_concern(concern()).session(session);
        let pages: Vec<_> = pages.await?.try_collect().await?;
        let items = pages.iter().flat_map(|page| &page.items);
        Ok(Some(items.map(T::item).collect()))
    }

    async fn read_page(
        &self,
        key: i64,
        number: u64,
        session: &mut ClientSession,
    ) -> Result<Option<Vec<Item>>, Error> {
        let page = self.page(&key, number).read_concern(concern());
        let page = page.session(session).await?;
        Ok(page.map(|page| page.items.iter().map(T::item).collect()))
    }

    fn watch(&self, key: i64) -> Watch<Self::New> {
        self.watch(&key)
    }
}

/// The answer of a call for one item, and how many it found.
fn found_one<T>(outcome: Option<Result<Option<T>, Error>>) -> (Answer, usize) {
    let answer = told(outcome.as_ref());
    let found = outcome.and_then(Result::ok).flatten();
    (answer, usize::from(found.is_some()))
}

/// The answer of a call for several items, and how many it found. Some may be changed although it failed.
fn found_many(outcome: Option<Result<u64, EditManyError>>) -> (Answer, usize) {
    match outcome {
        None => (InDoubt, 0),
        Some(Ok(found)) => (Acknowledged, found as usize),
        Some(Err(error)) => {
            let did_nothing = error.so_far().items == 0 && !error.error().is_maybe_stored();
            (if did_nothing { Refused } else { InDoubt }, 0)
        }
    }
}
