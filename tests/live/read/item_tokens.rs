//! Tokens of items: a read goes on exactly where another one was, in either order, whatever was appended or
//! removed meanwhile. The oracle is what the raw driver finds in the documents.

mod found;
mod pages;

use std::collections::BTreeSet;

use bucket_runtime::{
    Bucket, Buckets, Filter, ItemToken, Part,
    action::Items,
    mongodb::{
        Database,
        bson::{DateTime, Document, doc},
    },
};
use futures_util::TryStreamExt;
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::support::{
    database::{Live, documents, fresh, is_cluster, number},
    scale::is_long,
};

/// Common to the structs below.
trait Line: Bucket<Key = (i64,)> + std::fmt::Debug + PartialEq {
    fn new(owner: i64, n: i64, color: i32) -> Self;
    fn n(&self) -> i64;
    fn colored(color: i32) -> Filter<Self>;
    fn among(numbers: Vec<i64>) -> Filter<Self>;
    fn list(lines: &Buckets<Self>, owner: Option<i64>) -> Items<'static, Self>;
    async fn remove(lines: &Buckets<Self>, owner: i64, numbers: Vec<i64>);
}

macro_rules! lines {
    ($($name:ident($id:literal))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "lines", id = $id, capacity = 6, items = "lines")]
        struct $name {
            owner: i64,
            at: DateTime,
            n: i64,
            color: i32,
        }

        impl Line for $name {
            fn new(owner: i64, n: i64, color: i32) -> Self {
                // Some are late, and some begin in the same second.
                let at = DateTime::from_millis(n / 3 * 1000 - n % 7 * 2500);
                Self { owner, at, n, color }
            }

            fn n(&self) -> i64 {
                self.n
            }

            fn colored(color: i32) -> Filter<Self> {
                Self::FIELDS.color.eq(color)
            }

            fn among(numbers: Vec<i64>) -> Filter<Self> {
                Self::FIELDS.n.is_in(numbers)
            }

            fn list(lines: &Buckets<Self>, owner: Option<i64>) -> Items<'static, Self> {
                match owner {
                    Some(owner) => lines.items(&owner),
                    None => lines.all_items(),
                }
            }

            async fn remove(lines: &Buckets<Self>, owner: i64, numbers: Vec<i64>) {
                lines.remove_items(&owner, Self::among(numbers)).await.unwrap();
            }
        }
    )+};
}

lines! {
    Seconds("{owner}_{at}")
    Numbers("{owner}_{#}")
    Windows("{owner}_{at/10s}")
}

/// A stored item: its bucket's id, its owner, its number, and its color.
type Stored = (String, i64, i64, i32);

/// All stored items, in the order of ids.
async fn stored<T: Line>(lines: &Buckets<T>) -> Vec<Stored> {
    let mut found = Vec::new();
    for bucket in documents(lines.collection()).await {
        for element in bucket.get_array("lines").unwrap() {
            let element = element.as_document().unwrap();
            found.push((
                bucket.get_str("_id").unwrap().to_owned(),
                number(bucket.get("owner")),
                number(element.get("n")),
                number(element.get("color")) as i32,
            ));
        }
    }
    found
}

/// The items that a read of a list gives.
#[derive(Debug, Clone, Copy)]
struct Read {
    owner: Option<i64>,
    color: Option<i32>,
}

impl Read {
    fn holds(self, (_, owner, _, color): &Stored) -> bool {
        self.owner.is_none_or(|wanted| wanted == *owner)
            && self.color.is_none_or(|wanted| wanted == *color)
    }

    fn list<T: Line>(self, lines: &Buckets<T>) -> Items<'static, T> {
        let list = T::list(lines, self.owner);
        match self.color {
            Some(color) => list.filter(T::colored(color)),
            None => list,
        }
    }
}

/// Appends some items, and removes some items and buckets.
async fn change<T: Line>(lines: &Buckets<T>, next: &mut i64, random: &mut StdRng) {
    for _ in 0..random.random_range(0..8) {
        let line = T::new(random.random_range(1..3), *next, random.random_range(0..2));
        *next += 1;
        lines.append(&line).await.unwrap();
    }
    for owner in 1..3 {
        let share = random.random_range(0.0..0.5);
        let mut gone = stored(lines).await;
        gone.retain(|stored| stored.1 == owner && random.random_bool(share));
        let gone = gone.iter().map(|stored| stored.2).collect();
        T::remove(lines, owner, gone).await;
    }
    if random.random_bool(0.3)
        && let Some((bucket, ..)) = stored(lines).await.first()
    {
        let buckets = lines.collection().clone_with_type::<Document>();
        buckets.delete_one(doc! { "_id": bucket }).await.unwrap();
    }
}

/// Reads a part of a list, changes what is stored, and reads on, in the same order or the other one.
async fn go_on<T: Line>(db: &Database, seed: u64) {
    let random = &mut StdRng::seed_from_u64(seed);
    let lines = fresh::<T>(db).await;
    let mut next = random.random_range(1..60);
    let first = (0..next).map(|n| T::new(random.random_range(1..3), n, random.random_range(0..2)));
    lines.append_many(Vec::from_iter(first)).await.unwrap();
    change(&lines, &mut next, random).await;

    let read = Read {
        owner: random.random_bool(0.7).then(|| random.random_range(1..3)),
        color: random.random_bool(0.6).then(|| random.random_range(0..2)),
    };
    let said = format!("{seed} {read:?}");
    let newest_first = random.random_bool(0.5);
    let before = stored(&lines).await;
    let mut list = in_order(read.list(&lines), newest_first);
    if random.random_bool(0.5) {
        list = list.limit(40);
    }
    let mut stream = list.await.unwrap();
    let mut given = Vec::new();
    for _ in 0..random.random_range(1..20) {
        given.extend(stream.try_next().await.unwrap().map(|line| line.n()));
    }
    let Some(last) = given.last() else {
        assert!(!before.iter().any(|stored| read.holds(stored)), "{said}");
        return;
    };
    let token = serde_json::to_value(stream.token()).unwrap();
    let token: ItemToken = serde_json::from_value(token).unwrap();

    // The items on each side of the token. Whatever is stored later in its bucket is after it.
    let at = before.iter().position(|(_, _, n, _)| n == last).unwrap();
    let bucket = &before[at].0;
    let split = if newest_first { at } else { at + 1 };
    let in_front = before[..split].iter().filter(|stored| stored.0 == *bucket);
    let in_front = BTreeSet::from_iter(in_front.map(|stored| stored.2));
    let is_in_front = |(id, _, n, _): &Stored| match id.cmp(bucket) {
        std::cmp::Ordering::Equal => in_front.contains(n),
        order => order.is_lt(),
    };

    for _ in 0..3 {
        let now = stored(&lines).await;
        for reversed in [false, true] {
            let limit = random.random_bool(0.5).then(|| random.random_range(1..30));
            let skip = random.random_bool(0.2).then(|| random.random_range(1..10));
            let mut list = in_order(read.list(&lines).after(&token), reversed);
            if let Some(items) = skip {
                list = list.skip(items);
            }
            if let Some(items) = limit {
                list = list.limit(items);
            }
            let found: Vec<T> = list.await.unwrap().try_collect().await.unwrap();
            let found = Vec::from_iter(found.iter().map(Line::n));
            let rest = now.iter().filter(|stored| read.holds(stored));
            let rest = rest.filter(|stored| is_in_front(stored) == reversed);
            let mut rest = Vec::from_iter(rest.map(|stored| stored.2));
            if reversed {
                rest.reverse();
            }
            let rest = rest.into_iter().skip(skip.unwrap_or(0) as usize);
            let rest = Vec::from_iter(rest.take(limit.unwrap_or(u64::MAX) as usize));
            let case = format!("{said} {reversed} {limit:?} {skip:?} {given:?}");
            assert_eq!(found, rest, "{case}");
        }
        change(&lines, &mut next, random).await;
        // If nothing that was given of this bucket is left, the place in it is not known any more.
        let now = stored(&lines).await;
        let is_left = |n: i64| now.iter().any(|stored| stored.2 == n);
        let mut of_bucket = before.iter().filter(|stored| stored.0 == *bucket);
        if !of_bucket.any(|stored| given.contains(&stored.2) && is_left(stored.2)) {
            return;
        }
    }
}

fn in_order<T: Bucket>(list: Items<'static, T>, newest_first: bool) -> Items<'static, T> {
    match newest_first {
        true => list.newest_first(),
        false => list,
    }
}

#[bucket_testkit::test]
async fn g1_a_read_goes_on_where_another_one_was(db: Live) {
    let cases = match is_long() {
        // Each case shards a collection.
        _ if is_cluster().await => 5,
        true => 40,
        false => 10,
    };
    let start: u64 = rand::random();
    for seed in (0..cases).map(|n| start.wrapping_add(n)) {
        go_on::<Seconds>(&db, seed).await;
        go_on::<Numbers>(&db, seed).await;
        go_on::<Windows>(&db, seed).await;
    }
}

async fn numbers(db: &Database, items: i64) -> Buckets<Numbers> {
    let lines = Numbers::buckets(db).await.unwrap();
    let all = (0..items).map(|n| Numbers::new(1, n, (n % 3) as i32));
    lines.append_many(all).await.unwrap();
    lines
}

#[derive(Debug, PartialEq, Part)]
#[part(of = Numbers)]
struct Color {
    color: i32,
    n: i64,
}
