//! A client makes one call after another, at random, and records each.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use bucket_runtime::{ItemToken, mongodb::Database};
use rand::{Rng, rngs::StdRng, seq::IndexedRandom};

use super::{list::List, session};
use crate::{
    Result,
    check::history::ReadOrder,
    history::{Answer, Call, Item, Read, Way},
    load::{Load, patience},
};

/// Nothing is ever removed from this key.
pub(super) const GROWING: i64 = 0;

/// A key from which items are removed, and which is watched; a watch of each would read all that is written once more.
pub(super) const SHRINKING: i64 = 1;

/// The keys of a collection.
pub(super) const KEYS: i64 = 6;

/// How many items a call has at most.
const BULK: usize = 8;

/// Edits, upserts and removals choose among this many of the last items that the client has read.
const RECENT: usize = 40;

/// Upserts choose among the numbers that are a multiple of this one, and removals among the others, so that
/// what was removed stays so.
const UPSERTED: i64 = 4;

pub(super) struct Client<L> {
    pub(super) id: usize,
    pub(super) list: L,
    pub(super) db: Database,
    pub(super) load: Arc<Load>,
    pub(super) rng: StdRng,
    /// The last items that the client has read, by key.
    pub(super) seen: BTreeMap<i64, Vec<i64>>,
}

/// A read in parts that goes on between other calls.
struct Walk {
    key: i64,
    begin: Duration,
    items: Vec<Item>,
    token: Option<ItemToken>,
}

impl<L: List> Client<L> {
    pub(super) async fn run(mut self) {
        let mut walk = None;
        while self.load.goes_on().await {
            let key = self.rng.random_range(0..KEYS);
            match self.rng.random_range(0..100) {
                0..30 => self.add(key, 1).await,
                30..38 => {
                    let count = self.rng.random_range(2..=BULK);
                    self.add(key, count).await;
                }
                38..44 => self.upsert(key).await,
                44..52 => self.edit(key).await,
                52..60 => self.remove(key).await,
                // A read that fails tells nothing.
                60..75 => drop(self.read(key).await),
                75..82 => drop(self.read_pages(key).await),
                82..85 => drop(self.read_page(key).await),
                _ => {
                    let going_on = walk.take().unwrap_or_else(|| self.begin_walk(key));
                    walk = self.walk_on(going_on).await.unwrap_or_default();
                }
            }
        }
    }

    fn record(&self, key: i64, begin: Duration, call: Call) {
        self.load.log.record(self.id, key, begin, call);
    }

    async fn add(&mut self, key: i64, count: usize) {
        // Nobody can have sent these items before.
        let (patience, begin) = (patience(&mut self.rng), self.load.log.now());
        let numbers = (0..count).map(|_| self.load.log.number());
        let items: Vec<Item> = numbers.map(|n| Item { n, value: n }).collect();
        let told = self.list.add(key, &items, patience).await;
        self.record(key, begin, Call::Add(std::iter::zip(items, told).collect()));
    }

    /// Appends an item that must be stored once this returns; returns it, and when the call began.
    pub(super) async fn add_surely(&mut self, key: i64) -> (i64, Duration) {
        loop {
            let n = self.load.log.number();
            let (item, begin) = (Item { n, value: n }, self.load.log.now());
            let told = self.list.add(key, &[item], None).await;
            self.record(key, begin, Call::Add(vec![(item, told[0])]));
            if told[0] == Answer::Acknowledged {
                return (n, begin);
            }
        }
    }

    async fn upsert(&mut self, key: i64) {
        let value = self.load.log.number();
        let n = self.recent(key, value) / UPSERTED * UPSERTED;
        let item = Item { n, value };
        let (patience, begin) = (patience(&mut self.rng), self.load.log.now());
        if let Some(answer) = self.list.upsert(key, item, patience).await {
            self.record(key, begin, Call::Upsert(item, answer));
        }
    }

    async fn edit(&mut self, key: i64) {
        let value = self.load.log.number();
        let numbers = self.some_recent(key, value);
        let (patience, begin) = (patience(&mut self.rng), self.load.log.now());
        let edited = self.list.edit(key, &numbers, value, patience).await;
        if let Some(change) = edited {
            self.record(key, begin, Call::Edit(change, value));
        }
    }

    async fn remove(&mut self, key: i64) {
        if key == GROWING {
            return;
        }
        let next = self.load.log.number();
        let mut numbers = self.some_recent(key, next);
        numbers.retain(|n| n % UPSERTED != 0);
        if numbers.is_empty() {
            return;
        }
        let (patience, begin) = (patience(&mut self.rng), self.load.log.now());
        let change = self.list.remove(key, &numbers, patience).await;
        self.record(key, begin, Call::Remove(change));
    }

    /// The number of an item that the client has read, or seldom a new one.
    fn recent(&mut self, key: i64, new: i64) -> i64 {
        let seen = self.seen.get(&key).map_or(&[][..], Vec::as_slice);
        let last = &seen[seen.len().saturating_sub(RECENT)..];
        match last.choose(&mut self.rng) {
            Some(n) if self.rng.random_ratio(9, 10) => *n,
            _ => new,
        }
    }

    /// One such number, or several.
    fn some_recent(&mut self, key: i64, new: i64) -> Vec<i64> {
        let count = *[1, 1, 3].choose(&mut self.rng).unwrap_or(&1);
        let numbers = (0..count).map(|_| self.recent(key, new));
        Vec::from_iter(BTreeSet::from_iter(numbers))
    }

    pub(super) async fn read(&mut self, key: i64) -> Result<()> {
        let newest_first = self.rng.random_ratio(1, 4);
        let begin = self.load.log.now();
        let mut session = session::up_to_date(&self.db, self.id).await?;
        let items = self.list.read(key, newest_first, &mut session).await?;
        self.record_read(key, begin, Way::AtOnce, Some(begin), items);
        Ok(())
    }

    async fn read_pages(&mut self, key: i64) -> Result<()> {
        let begin = self.load.log.now();
        let mut session = session::up_to_date(&self.db, self.id).await?;
        if let Some(items) = self.list.read_pages(key, &mut session).await? {
            self.record_read(key, begin, Way::AtOnce, Some(begin), items);
        }
        Ok(())
    }

    async fn read_page(&mut self, key: i64) -> Result<()> {
        let number = self.rng.random_range(1..20);
        let begin = self.load.log.now();
        let mut session = session::up_to_date(&self.db, self.id).await?;
        if let Some(items) = self.list.read_page(key, number, &mut session).await? {
            self.record_read(key, begin, Way::OnePage, None, items);
        }
        Ok(())
    }

    fn record_read(
        &mut self,
        key: i64,
        begin: Duration,
        way: Way,
        complete_since: Option<Duration>,
        items: Vec<Item>,
    ) {
        if complete_since.is_some() {
            let seen = items.iter().map(|item| item.n).collect();
            self.seen.insert(key, seen);
        }
        let read = Read {
            way,
            complete_since,
            items,
        };
        self.record(key, begin, Call::Read(read));
    }

    fn begin_walk(&self, key: i64) -> Walk {
        Walk {
            key,
            begin: self.load.log.now(),
            items: Vec::new(),
            token: None,
        }
    }

    /// Reads further parts; records the walk if that leads to the end of the list. `None` if it does not go on
    /// from there.
    async fn walk_on(&mut self, mut walk: Walk) -> Result<Option<Walk>> {
        let to_the_end = self.rng.random_ratio(1, 2);
        loop {
            let begin = self.load.log.now();
            let mut session = session::up_to_date(&self.db, self.id).await?;
            let limit = self.rng.random_range(1..12);
            let is_page = self.rng.random_ratio(1, 2);
            let (list, after) = (&self.list, walk.token.as_ref());
            let part = match is_page {
                true => None,
                false => {
                    let limit = (!to_the_end).then_some(limit);
                    list.read_on(walk.key, after, limit, &mut session).await?
                }
            };
            let (items, token, is_end) = match part {
                Some((items, token)) => (items, token, to_the_end),
                None => {
                    let page = list.read_page_of_items(walk.key, after, limit, &mut session);
                    let (items, token) = page.await?;
                    let is_end = token.is_none();
                    (items, token, is_end)
                }
            };
            walk.items.extend(items);
            // The token is text, as one that comes back from a visitor.
            walk.token = token.map(|token| token.to_string().parse()).transpose()?;
            if is_end {
                let since = match L::ORDER {
                    ReadOrder::AsStored => begin,
                    ReadOrder::ByTime => walk.begin,
                };
                let items = walk.items.clone();
                self.record_read(walk.key, walk.begin, Way::ByToken, Some(since), items);
                let goes_on = walk.token.is_some() && self.rng.random_ratio(4, 5);
                return Ok(goes_on.then_some(walk));
            }
            if !to_the_end {
                return Ok(walk.token.is_some().then_some(walk));
            }
        }
    }
}
