//! Tokens of items: a read goes on exactly where another one was, in either order, whatever was appended or
//! removed meanwhile. The oracle is what the raw driver finds in the documents.

use std::collections::BTreeSet;

use bucket_runtime::{
    Bucket, BucketPart, Buckets, Filter, ItemToken,
    action::Items,
    mongodb::{
        Database,
        bson::{DateTime, Document, doc},
    },
};
use futures_util::TryStreamExt;
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::support::database::{Live, Recorded, documents, is_cluster, items, number};

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
        let all = stored(lines).await;
        let gone = all.iter().filter(|stored| stored.1 == owner);
        let gone = gone
            .filter(|_| random.random_bool(share))
            .map(|stored| stored.2);
        let gone = Vec::from_iter(gone);
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
    let lines = T::buckets_in(db.collection::<Document>("lines"))
        .await
        .unwrap();
    let mut next = 0;
    for _ in 0..random.random_range(1..60) {
        let line = T::new(random.random_range(1..3), next, random.random_range(0..2));
        next += 1;
        lines.append(&line).await.unwrap();
    }
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
    let token = stream.token().unwrap().to_string();
    let token: ItemToken = token.parse().unwrap();

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
            assert_eq!(
                found, rest,
                "{said} {reversed} {limit:?} {skip:?} {given:?}"
            );
        }
        change(&lines, &mut next, random).await;
        // If nothing that was given of this bucket is left, the place in it is not known any more.
        let now = stored(&lines).await;
        let of_bucket = given.iter().filter(|n| {
            before
                .iter()
                .any(|stored| stored.2 == **n && stored.0 == *bucket)
        });
        let is_known = of_bucket
            .into_iter()
            .any(|n| now.iter().any(|stored| stored.2 == *n));
        if !is_known {
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

async fn cases() -> u64 {
    match std::env::var_os("BUCKET_TESTS_LONG") {
        // Each case shards a collection.
        _ if is_cluster().await => 5,
        Some(_) => 40,
        None => 15,
    }
}

#[bucket_testkit::test]
async fn g1_a_read_goes_on_where_another_one_was(db: Live) {
    let start: u64 = rand::random();
    for seed in (0..cases().await).map(|n| start.wrapping_add(n)) {
        go_on::<Seconds>(&db, seed).await;
        db.collection::<Document>("lines").drop().await.unwrap();
        go_on::<Numbers>(&db, seed).await;
        db.collection::<Document>("lines").drop().await.unwrap();
        go_on::<Windows>(&db, seed).await;
        db.collection::<Document>("lines").drop().await.unwrap();
    }
}

async fn numbers(db: &Database, items: i64) -> Buckets<Numbers> {
    let lines = Numbers::buckets(db).await.unwrap();
    let all = (0..items).map(|n| Numbers::new(1, n, (n % 3) as i32));
    lines.append_many(all).await.unwrap();
    lines
}

#[bucket_testkit::test]
async fn pages_of_items_lead_through_a_list_and_back(db: Live) {
    let lines = numbers(&db, 50).await;
    for (filter, limit) in [
        (Filter::default(), 7),
        (Numbers::colored(1), 4),
        (Numbers::colored(1), 17),
        (Numbers::colored(1), 100),
        (Numbers::colored(9), 4),
    ] {
        for newest_first in [false, true] {
            let list = || in_order(lines.items(&1).filter(filter.clone()), newest_first);
            let all: Vec<Numbers> = list().await.unwrap().try_collect().await.unwrap();
            let expected = Vec::from_iter(all.chunks(limit as usize));

            let mut page = list().page_of_items(limit).await.unwrap();
            assert_eq!(page.previous, None);
            let mut pages = vec![page.items.clone()];
            while let Some(next) = page.next {
                page = list().page_of_items(limit).after(&next).await.unwrap();
                pages.push(page.items.clone());
            }
            match expected.is_empty() {
                true => assert_eq!(pages, [[]]),
                false => assert_eq!(pages, expected),
            }

            let mut back = vec![page.items.clone()];
            while let Some(previous) = page.previous {
                page = list().page_of_items(limit).before(&previous).await.unwrap();
                assert!(page.next.is_some());
                back.insert(0, page.items.clone());
            }
            assert_eq!(back, pages);
        }
    }
}

#[bucket_testkit::test]
async fn a_page_stays_between_its_neighbours_while_items_come_and_go(db: Live) {
    let lines = numbers(&db, 40).await;
    let first = lines.items(&1).page_of_items(10).await.unwrap();
    let second = lines
        .items(&1)
        .page_of_items(10)
        .after(first.next.as_ref().unwrap());
    let second = second.await.unwrap();
    // The end of the first page, and the beginning of the second one.
    Numbers::remove(&lines, 1, vec![3, 8, 9, 10, 11]).await;
    lines.append(&Numbers::new(1, 40, 0)).await.unwrap();

    let again = lines
        .items(&1)
        .page_of_items(10)
        .after(first.next.as_ref().unwrap());
    let again = again.await.unwrap();
    let numbers = |lines: &[Numbers]| Vec::from_iter(lines.iter().map(Line::n));
    assert_eq!(numbers(&again.items), Vec::from_iter(12..22));
    let back = lines
        .items(&1)
        .page_of_items(10)
        .before(second.previous.as_ref().unwrap());
    let back = back.await.unwrap();
    assert_eq!(numbers(&back.items), [0, 1, 2, 4, 5, 6, 7]);
    assert_eq!((back.previous, back.next.is_some()), (None, true));

    // Behind the last item there is nothing, until one is appended.
    let all = lines.items(&1).page_of_items(100).await.unwrap();
    assert_eq!(all.next, None);
    let mut stream = lines.items(&1).await.unwrap();
    while stream.try_next().await.unwrap().is_some() {}
    let end = stream.token().unwrap();
    let nothing = lines.items(&1).page_of_items(5).after(&end).await.unwrap();
    assert_eq!((nothing.items, nothing.next), (vec![], None));
    assert_eq!(nothing.previous, Some(end.clone()));
    lines.append(&Numbers::new(1, 41, 0)).await.unwrap();
    let new = lines.items(&1).page_of_items(5).after(&end).await.unwrap();
    assert_eq!(numbers(&new.items), [41]);
}

#[derive(Debug, PartialEq, BucketPart)]
#[part(of = Numbers)]
struct Color {
    color: i32,
    n: i64,
}

#[bucket_testkit::test]
async fn late_items_come_after_the_last_one_even_if_an_empty_bucket_follows(db: Live) {
    let lines = Windows::buckets(&db).await.unwrap();
    let line = |n: i64, second: i64| Windows {
        owner: 1,
        at: DateTime::from_millis(second * 1000),
        n,
        color: 0,
    };
    lines.append(&line(1, 5)).await.unwrap();
    lines.append(&line(2, 15)).await.unwrap();
    Windows::remove(&lines, 1, vec![2]).await;
    let mut stream = lines.items(&1).await.unwrap();
    while stream.try_next().await.unwrap().is_some() {}
    let token = stream.token().unwrap();
    lines.append(&line(3, 7)).await.unwrap();
    let rest: Vec<Windows> = lines
        .items(&1)
        .after(&token)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(rest, [line(3, 7)]);
}

#[bucket_testkit::test]
async fn g4_a_token_of_another_list_is_refused(db: Live) {
    let lines = numbers(&db, 30).await;
    lines.append(&Numbers::new(12, 0, 1)).await.unwrap();
    let other = Numbers::buckets_in(db.collection::<Document>("others"))
        .await
        .unwrap();
    let mut stream = lines.items(&1).filter(Numbers::colored(1)).await.unwrap();
    assert_eq!(stream.token(), None);
    stream.try_next().await.unwrap();
    let token = stream.token().unwrap();
    let colored = || Numbers::colored(1);

    let it = lines.items(&1).filter(colored()).after(&token).await;
    assert!(it.is_ok());
    for other in [
        lines.items(&12).filter(colored()),
        lines.items(&1),
        lines.items(&1).filter(Numbers::colored(2)),
        lines.items(&1).filter(colored().or(Numbers::colored(2))),
        lines.all_items().filter(colored()),
        other.items(&1).filter(colored()),
    ] {
        let error = other.after(&token).limit(5).await.err().unwrap();
        assert!(error.is_token_mismatch(), "{error}");
        assert!(
            error.to_string().contains("start without a token"),
            "{error}"
        );
    }
    let parts = lines
        .items(&1)
        .filter(colored())
        .after(&token)
        .parts::<Color>();
    assert!(parts.await.err().unwrap().is_token_mismatch());
    let page = lines.items(&1).page_of_items(5).before(&token).await;
    assert!(page.err().unwrap().is_token_mismatch());
}

#[bucket_testkit::test]
async fn g4_a_token_that_a_visitor_made_up_stays_in_its_list(db: Live) {
    let lines = numbers(&db, 30).await;
    for n in 0..30 {
        lines.append(&Numbers::new(12, 100 + n, 1)).await.unwrap();
    }
    let mut stream = lines.items(&1).await.unwrap();
    stream.try_next().await.unwrap();
    let token = stream.token().unwrap().to_string();
    let random = &mut StdRng::seed_from_u64(rand::random());
    let mut read = 0;
    for _ in 0..200 {
        let mut text = token.clone().into_bytes();
        // Behind the fingerprint of the list, which alone says whether it is taken.
        let at = random.random_range(12..text.len());
        text[at] = *b"AZaz09-_".get(random.random_range(0..8)).unwrap();
        let Ok(token) = String::from_utf8(text).unwrap().parse::<ItemToken>() else {
            continue;
        };
        for newest_first in [false, true] {
            let list = in_order(lines.items(&1).after(&token), newest_first);
            let list = match random.random_bool(0.5) {
                true => list.limit(20),
                false => list,
            };
            let found: Vec<Numbers> = list.await.unwrap().try_collect().await.unwrap();
            assert!(found.iter().all(|line| line.owner == 1), "{token}");
            read += 1;
        }
    }
    assert!(read > 0);
}

#[bucket_testkit::test]
async fn parts_have_tokens_and_pages(db: Live) {
    let lines = numbers(&db, 30).await;
    let list = || lines.items(&1).filter(Numbers::colored(0));
    let page = list().parts::<Color>().page_of_items(4).await.unwrap();
    let next = page.next.unwrap();
    let numbers = |parts: &[Color]| Vec::from_iter(parts.iter().map(|part| part.n));
    assert_eq!(numbers(&page.items), [0, 3, 6, 9]);
    Numbers::remove(&lines, 1, vec![6, 9, 12]).await;
    let page = list()
        .parts::<Color>()
        .page_of_items(4)
        .after(&next)
        .await
        .unwrap();
    assert_eq!(numbers(&page.items), [15, 18, 21, 24]);
    let page = list()
        .parts::<Color>()
        .page_of_items(4)
        .before(&next)
        .await
        .unwrap();
    assert_eq!(numbers(&page.items), [0, 3]);

    // Whole buckets give the fields in the stored order, single items in the part's: that is no change.
    let mut stream = lines.items(&1).parts::<Color>().await.unwrap();
    stream.try_next().await.unwrap();
    let token = stream.token().unwrap();
    let next = lines.items(&1).after(&token).limit(1).parts::<Color>();
    let next: Vec<Color> = next.await.unwrap().try_collect().await.unwrap();
    assert_eq!(numbers(&next), [1]);
}

/// Readings that need not differ.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "states", id = "{sensor}_{#}", capacity = 8)]
struct State {
    sensor: i64,
    on: bool,
}

#[bucket_testkit::test]
async fn equal_items_are_told_apart_by_their_number(db: Live) {
    let states = State::buckets(&db).await.unwrap();
    let all = (0..20).map(|n| State {
        sensor: 1,
        on: n % 5 == 0,
    });
    states.append_many(all).await.unwrap();
    for newest_first in [false, true] {
        for filter in [Filter::default(), State::FIELDS.on.eq(false)] {
            let list = || in_order(states.items(&1).filter(filter.clone()), newest_first);
            let all: Vec<State> = list().await.unwrap().try_collect().await.unwrap();
            let mut stream = list().await.unwrap();
            for given in 1..=all.len() {
                stream.try_next().await.unwrap();
                let token = stream.token().unwrap();
                for rest in [list().after(&token), list().after(&token).limit(100)] {
                    let rest: Vec<State> = rest.await.unwrap().try_collect().await.unwrap();
                    assert_eq!(rest, all[given..], "{newest_first} {filter:?} {given}");
                }
            }
        }
    }
}

/// Orders, each with a number that stays.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "orders", id = "{customer}_{#}", capacity = 8)]
struct Order {
    customer: i64,
    #[bucket(unique)]
    number: i64,
    state: String,
}

#[bucket_testkit::test]
async fn a_unique_field_finds_an_item_that_was_changed(db: Live) {
    let orders = Order::buckets(&db).await.unwrap();
    let order = |number| Order {
        customer: 1,
        number,
        state: "new".into(),
    };
    orders.append_many((0..8).map(order)).await.unwrap();
    let first = orders.items(&1).page_of_items(3).await.unwrap();
    let everything = Filter::default();
    let paid = orders.update_items(&1, everything, |order| order.state = "paid".into());
    assert_eq!(paid.await.unwrap(), 8);
    let next = orders
        .items(&1)
        .page_of_items(3)
        .after(&first.next.unwrap())
        .await
        .unwrap();
    assert_eq!(
        Vec::from_iter(next.items.iter().map(|order| order.number)),
        [3, 4, 5]
    );
}

#[bucket_testkit::test]
async fn a_page_takes_one_round_trip_and_visits_few_buckets(Recorded(db, record): Recorded) {
    let lines = numbers(&db, 3000).await;
    let list = || lines.items(&1).filter(Numbers::colored(2));
    let mut page = list().page_of_items(20).await.unwrap();
    for _ in 0..8 {
        record.take();
        page = (list().page_of_items(20).after(&page.next.unwrap()))
            .await
            .unwrap();
        assert_eq!(record.names(), ["aggregate"]);
    }

    // The place changed: it is looked for in its bucket.
    let next = page.next.unwrap();
    let last = page.items.last().unwrap().n;
    Numbers::remove(&lines, 1, vec![last]).await;
    record.take();
    let page = list().page_of_items(20).after(&next).await.unwrap();
    assert_eq!(record.names(), ["aggregate", "aggregate", "aggregate"]);
    assert_eq!(page.items[0].n, last + 3);

    // A cluster has no profiler.
    if is_cluster().await {
        return;
    }
    db.run_command(doc! { "profile": 2 }).await.unwrap();
    list()
        .page_of_items(20)
        .after(&page.next.unwrap())
        .await
        .unwrap();
    db.run_command(doc! { "profile": 0 }).await.unwrap();
    let profile = db.collection::<Document>("system.profile");
    let of_lines = doc! { "command.aggregate": "lines" };
    let profiled = profile.find_one(of_lines).await.unwrap().unwrap();
    // 21 matching items are in 11 of 500 buckets; the server fetches some more at once.
    let examined = number(profiled.get("docsExamined"));
    assert!((11..=40).contains(&examined), "{examined}");
}

#[bucket_testkit::test]
async fn tokens_work_in_sessions(db: Live) {
    let lines = numbers(&db, 30).await;
    let first = lines.items(&1).page_of_items(10).await.unwrap();
    let token = first.next.unwrap();
    Numbers::remove(&lines, 1, vec![8, 9]).await;
    let mut session = db.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let page = lines
        .items(&1)
        .session(&mut session)
        .page_of_items(3)
        .after(&token);
    let page = page.await.unwrap();
    assert_eq!(Vec::from_iter(page.items.iter().map(Line::n)), [10, 11, 12]);
    session.commit_transaction().await.unwrap();
}

#[bucket_testkit::test]
async fn unreadable_items_are_passed_and_told(db: Live) {
    let lines = numbers(&db, 18).await;
    let buckets = lines.collection().clone_with_type::<Document>();
    for n in [4, 5, 6, 11, 17] {
        let update = doc! { "$set": { "lines.$.color": "red" } };
        buckets
            .update_one(doc! { "lines.n": n }, update)
            .await
            .unwrap();
    }
    let readable = Vec::from_iter((0..18).filter(|n| ![4, 5, 6, 11, 17].contains(n)));
    for newest_first in [false, true] {
        for limit in [None, Some(100)] {
            let list = || {
                let list = in_order(lines.items(&1), newest_first).skip_unreadable(|_| ());
                match limit {
                    Some(limit) => list.limit(limit),
                    None => list,
                }
            };
            let mut expected = readable.clone();
            if newest_first {
                expected.reverse();
            }
            let mut stream = list().await.unwrap();
            for given in 1..=expected.len() {
                stream.try_next().await.unwrap();
                let rest = list().after(&stream.token().unwrap()).await.unwrap();
                let rest: Vec<Numbers> = rest.try_collect().await.unwrap();
                let rest = Vec::from_iter(rest.iter().map(Line::n));
                assert_eq!(rest, expected[given..], "{newest_first} {limit:?} {given}");
            }
        }
    }

    // Pages, each of which may be short, lead past them.
    let mut told = 0;
    let (mut found, mut next) = (Vec::new(), None::<ItemToken>);
    loop {
        let page = lines
            .items(&1)
            .skip_unreadable(|_| told += 1)
            .page_of_items(2);
        let page = match &next {
            Some(token) => page.after(token),
            None => page,
        };
        let page = page.await.unwrap();
        found.extend(page.items.iter().map(Line::n));
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    assert_eq!(found, readable);
    assert!(told >= 5, "{told}");
    assert_eq!(items(&lines, &2).await, []);
}
