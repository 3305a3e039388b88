//! A token finds its item, or the place where it was.

use bucket_runtime::{
    Bucket, Filter, ItemToken,
    mongodb::bson::{DateTime, Document, doc},
};
use futures_util::TryStreamExt;

use super::{Line, Numbers, Windows, in_order, numbers};
use crate::support::{
    database::Live,
    visits::{Visit, visit},
};

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
    let rest = lines.items(&1).after(&token).await.unwrap();
    let rest: Vec<Windows> = rest.try_collect().await.unwrap();
    assert_eq!(rest, [line(3, 7)]);
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

#[bucket_testkit::test]
async fn a_unique_field_finds_an_item_that_was_changed(db: Live) {
    let visits = Visit::buckets(&db).await.unwrap();
    visits.append_many((0..8).map(visit)).await.unwrap();
    let page = || visits.items(&1).page_of_items(3);
    let first = page().await.unwrap();
    let longer = visits.update_items(&1, Filter::default(), |visit| visit.seconds = 20);
    assert_eq!(longer.await.unwrap(), 8);
    let next = page().after(&first.next.unwrap()).await.unwrap();
    let visitors = next.items.iter().map(|visit| visit.visitor);
    assert_eq!(Vec::from_iter(visitors), [3, 4, 5]);
}

#[bucket_testkit::test]
async fn unreadable_items_are_passed_and_told(db: Live) {
    let lines = numbers(&db, 18).await;
    let buckets = lines.collection().clone_with_type::<Document>();
    let unreadable = [4, 5, 6, 11, 17];
    for n in unreadable {
        let update = doc! { "$set": { "lines.$.color": "red" } };
        let updated = buckets.update_one(doc! { "lines.n": n }, update);
        updated.await.unwrap();
    }
    let readable = Vec::from_iter((0..18).filter(|n| !unreadable.contains(n)));
    for newest_first in [false, true] {
        let mut expected = readable.clone();
        if newest_first {
            expected.reverse();
        }
        for limit in [None, Some(100)] {
            let list = || {
                let list = in_order(lines.items(&1), newest_first).skip_unreadable(|_| ());
                match limit {
                    Some(limit) => list.limit(limit),
                    None => list,
                }
            };
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
        let list = lines.items(&1).skip_unreadable(|_| told += 1);
        let page = list.page_of_items(2);
        let page = match &next {
            Some(token) => page.after(token).await.unwrap(),
            None => page.await.unwrap(),
        };
        found.extend(page.items.iter().map(Line::n));
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    assert_eq!(found, readable);
    assert!(told >= 5, "{told}");
}
