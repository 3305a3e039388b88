//! A task that is the only one to write to some keys, and so knows what they hold: every read must
//! return exactly that.

use std::{ops::Range, sync::Arc};

use bucket_runtime::Buckets;
use futures_util::TryStreamExt;
use rand::Rng;

use crate::{Result, items::Mark, load::Load};

/// The number of keys of a task.
const KEYS: i64 = 4;

/// A key that has more items is removed.
const MOST: usize = 500;

pub(crate) struct Keeper<T> {
    buckets: Buckets<T>,
    first: i64,
    kept: Vec<Vec<i64>>,
    load: Arc<Load>,
}

impl<T: Mark> Keeper<T> {
    pub(crate) fn new(buckets: Buckets<T>, nth: i64, load: Arc<Load>) -> Self {
        let kept = vec![Vec::new(); KEYS as usize];
        Self {
            buckets,
            first: nth * KEYS,
            kept,
            load,
        }
    }

    pub(crate) async fn run(mut self) -> Result<()> {
        while self.load.goes_on().await {
            let nth = rand::rng().random_range(0..self.kept.len());
            let call = rand::rng().random_range(0..10);
            match call {
                0 => self.read_pages(nth).await?,
                1 => self.read_items(nth).await?,
                2 | 3 => self.append_many(nth).await?,
                4 if !self.kept[nth].is_empty() => self.remove_item(nth).await?,
                5 if self.kept[nth].len() > MOST => self.remove(nth).await?,
                _ => self.append(nth).await?,
            }
            self.load.did_call();
        }
        for nth in 0..self.kept.len() {
            self.read_items(nth).await?;
        }
        Ok(())
    }

    fn key(&self, nth: usize) -> i64 {
        self.first + nth as i64
    }

    fn numbers(&self, count: i64) -> Range<i64> {
        let first = self.load.log.number();
        // Numbers of this task alone, later than all before.
        first * 100..first * 100 + count
    }

    async fn append(&mut self, nth: usize) -> Result<()> {
        let n = self.numbers(1).start;
        self.buckets.append(&T::new(self.key(nth), n)).await?;
        self.kept[nth].push(n);
        Ok(())
    }

    async fn append_many(&mut self, nth: usize) -> Result<()> {
        let (k, numbers) = (self.key(nth), self.numbers(60));
        let marks = numbers.clone().map(|n| T::new(k, n));
        let appended = self.buckets.append_many(marks).await;
        appended.map_err(bucket_runtime::Error::from)?;
        self.kept[nth].extend(numbers);
        Ok(())
    }

    async fn read_items(&mut self, nth: usize) -> Result<()> {
        let items = self.buckets.items(&self.key(nth)).await?;
        let items: Vec<T> = items.try_collect().await?;
        self.compare(nth, &items)
    }

    /// Reads by tokens, from page to page.
    async fn read_pages(&mut self, nth: usize) -> Result<()> {
        let key = self.key(nth);
        let list = || self.buckets.items(&key).page_of_items(30);
        let mut page = list().await?;
        let mut items = page.items;
        while let Some(token) = page.next {
            page = list().after(&token).await?;
            items.extend(page.items);
        }
        self.compare(nth, &items)
    }

    async fn remove_item(&mut self, nth: usize) -> Result<()> {
        let at = rand::rng().random_range(0..self.kept[nth].len());
        let n = self.kept[nth].remove(at);
        let key = self.key(nth);
        let removed = self.buckets.remove_item(&key, T::numbered(n)).await?;
        match removed.as_ref().map(T::n) {
            Some(found) if found == n => Ok(()),
            found => Err(format!("key {key}: {found:?} was removed instead of {n}").into()),
        }
    }

    async fn remove(&mut self, nth: usize) -> Result<()> {
        self.buckets.remove_key(&self.key(nth)).await?;
        self.kept[nth].clear();
        self.read_items(nth).await
    }

    fn compare(&self, nth: usize, items: &[T]) -> Result<()> {
        let (key, kept) = (self.key(nth), &self.kept[nth]);
        let read: Vec<_> = items.iter().map(T::n).collect();
        match read == *kept {
            true => Ok(()),
            false => Err(format!("key {key}: {read:?} instead of {kept:?}").into()),
        }
    }
}
