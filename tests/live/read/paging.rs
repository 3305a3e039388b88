//! Pages: by number, as streams, the last one; always the same pages.

use std::{collections::BTreeMap, time::Duration};

use bucket_runtime::{
    Bucket, Buckets, Page,
    action::Pages,
    mongodb::{
        Database,
        bson::{DateTime, doc},
    },
};
use futures_util::{StreamExt, TryStreamExt};

use crate::support::{
    database::{Live, Recorded, fresh, items, pages},
    random::for_any,
    scale::scaled,
    zoo::{
        entries::{Entry, Numbered3, Seconds3},
        ticks::{Numbered2, Tick},
    },
};

const CAPACITY: usize = 3;

fn ns<T: Entry>(page: &Page<T>) -> Vec<i64> {
    page.items.iter().map(T::n).collect()
}

/// Every way of reading a key returns these pages.
async fn reads_agree<T: Entry>(lines: &Buckets<T>, k: &str, expected: &[Vec<i64>]) {
    let all: Vec<i64> = expected.concat();
    let read: Vec<_> = items(lines, k).await.iter().map(T::n).collect();
    assert_eq!(read, all);
    assert_eq!(lines.count(k).await.unwrap(), all.len() as u64);
    assert_eq!(lines.page_count(k).await.unwrap(), expected.len() as u64);

    let streamed = pages(lines, k).await;
    assert_eq!(streamed.iter().map(ns).collect::<Vec<_>>(), expected);
    assert_eq!(lines.latest(k).await.unwrap().as_ref(), streamed.last());
    for (page, ns) in streamed.iter().zip(expected) {
        assert_eq!(page.is_open(), ns.len() < CAPACITY);
    }
    assert_eq!(lines.page(k, 0).await.unwrap(), None);
    for n in 1..=streamed.len() + 1 {
        let page = lines.page(k, n as u64).await.unwrap();
        assert_eq!(page.as_ref(), streamed.get(n - 1), "page {n}");
    }
}

/// A key that has no items.
const NONE: u8 = 0;

/// The pages that one key must have: a plain list of buckets, each under the text of its place.
#[derive(Debug, Default)]
struct Model {
    buckets: BTreeMap<(i64, usize), Vec<i64>>,
    open: Option<(i64, usize)>,
}

impl Model {
    fn append(&mut self, is_numbered: bool, seconds: i64, n: i64) {
        let of_second = (seconds, 0)..(seconds + 1, 0);
        let place = self.open.unwrap_or_else(|| match is_numbered {
            true => (self.buckets.len() as i64, 0),
            false => (seconds, self.buckets.range(of_second).count()),
        });
        let bucket = self.buckets.entry(place).or_default();
        bucket.push(n);
        self.open = (bucket.len() < CAPACITY).then_some(place);
    }

    fn pages(&self) -> Vec<Vec<i64>> {
        self.buckets.values().cloned().collect()
    }
}

async fn agree<T: Entry>(lines: &Buckets<T>, appends: &[(u8, i64)]) {
    lines.collection().delete_many(doc! {}).await.unwrap();
    let mut models = BTreeMap::<u8, Model>::new();
    for (n, (k, seconds)) in appends.iter().enumerate() {
        let line = T::new(&k.to_string(), n as i64).at(seconds * 1000);
        lines.append(&line).await.unwrap();
        let model = models.entry(*k).or_default();
        model.append(T::SPEC.time.is_none(), *seconds, n as i64);
    }
    models.entry(NONE).or_default();
    for (k, model) in models {
        reads_agree(lines, &k.to_string(), &model.pages()).await;
    }
}

#[bucket_testkit::test(multi_thread)]
async fn any_appends_give_the_pages_that_a_plain_list_gives(db: Live) {
    let seconds = fresh::<Seconds3>(&db).await;
    let numbered = Numbered3::buckets_in(db.collection::<()>("numbered"));
    let numbered = numbered.await.unwrap();
    // Keys of all lengths up to three pages, whose items come by turns.
    let all_lengths = (0..9_u8).flat_map(|n| (n + 1..10).map(move |k| (k, i64::from(n))));
    let all_lengths = Vec::from_iter(all_lengths);
    agree(&seconds, &all_lengths).await;
    agree(&numbered, &all_lengths).await;
    let appends = proptest::collection::vec((10..13_u8, -2..3_i64), 0..40);
    for_any(scaled(16), appends, async |appends| {
        agree(&seconds, &appends).await;
        agree(&numbered, &appends).await;
    });
}

async fn far_pages<T: Entry>(db: &Database) {
    const MOST: u64 = i64::MAX as u64;
    let lines = fresh::<T>(db).await;
    lines.append(&T::new("k", 0)).await.unwrap();
    for n in [2, 10_000_000_000, 10_000_000_001, MOST, MOST + 2, u64::MAX] {
        assert_eq!(lines.page("k", n).await.unwrap(), None, "page {n}");
    }
}

/// Page numbers come from users; a nonsensical number must not cause a server error.
#[bucket_testkit::test]
async fn a_page_far_past_the_last_one_is_none(db: Live) {
    far_pages::<Seconds3>(&db).await;
    far_pages::<Numbered3>(&db).await;
}

/// With `{#}` a page keeps its number whatever happens to other pages.
#[bucket_testkit::test]
async fn a_numbered_page_keeps_its_number_when_an_earlier_one_is_deleted(db: Live) {
    let lines = fresh::<Numbered3>(&db).await;
    let nine = (0..9).map(|n| Numbered3::new("k", n));
    lines.append_many(nine).await.unwrap();
    let before = pages(&lines, "k").await;
    let second = doc! { "_id": before[1].id() };
    lines.collection().delete_one(second).await.unwrap();
    assert_eq!(lines.page("k", 2).await.unwrap(), None);
    assert_eq!(lines.page("k", 3).await.unwrap().as_ref(), Some(&before[2]));
    assert_eq!(lines.page_count("k").await.unwrap(), 2);
    lines.append(&Numbered3::new("k", 9)).await.unwrap();
    let latest = lines.latest("k").await.unwrap().unwrap();
    assert_eq!(latest.id(), "k_0000000003");
}

/// More pages than the server's first batch holds (101): a stream that is dropped midway must close its
/// cursor.
#[bucket_testkit::test]
async fn a_stream_goes_across_batches_and_closes_its_cursor_when_dropped_midway(
    Recorded(db, record): Recorded,
) {
    let lines = Numbered3::buckets(&db).await.unwrap();
    let bucket = |n: i64| {
        let item = |m| doc! { "at": DateTime::from_millis(0), "n": n * 3 + m };
        let items = vec![item(0), item(1), item(2)];
        doc! { "_id": format!("k_{n:010}"), "k": "k", "count": 3, "items": items }
    };
    let all = (0..300).map(bucket);
    lines.collection().insert_many(all).await.unwrap();
    let read: Vec<_> = items(&lines, "k").await.iter().map(Numbered3::n).collect();
    assert_eq!(read, (0..900).collect::<Vec<_>>());

    for taken in [0, 1, 303] {
        record.take();
        let stream = lines.items("k").await.unwrap();
        let begun = stream.take(taken).map_ok(|line| line.n());
        let begun: Vec<_> = begun.try_collect().await.unwrap();
        assert_eq!(begun, (0..taken as i64).collect::<Vec<_>>());
        // The driver sends `killCursors` in the background.
        let mut sent = record.names();
        for _ in 0..500 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            sent.extend(record.names());
            if sent.iter().any(|name| name == "killCursors") {
                break;
            }
        }

        assert_eq!(sent, ["find", "killCursors"]);
    }
}

#[bucket_testkit::test]
async fn pages_that_became_empty_can_be_left_out(db: Live) {
    let ticks = fresh::<Numbered2>(&db).await;
    let six = (0..6).map(|n| Numbered2::new(1, n));
    ticks.append_many(six).await.unwrap();
    let old = Numbered2::n_is(0).or(Numbered2::n_is(1));
    assert_eq!(ticks.remove_items(&1, old).await.unwrap(), 2);
    let lengths = async |pages: Pages<'static, Numbered2>| {
        let pages: Vec<_> = pages.await.unwrap().try_collect().await.unwrap();
        Vec::from_iter(pages.iter().map(|page| page.items.len()))
    };
    assert_eq!(lengths(ticks.pages(&1)).await, [0, 2, 2]);
    assert_eq!(ticks.page_count(&1).await.unwrap(), 3);
    assert_eq!(lengths(ticks.pages(&1).skip_empty(true)).await, [2, 2]);
}
