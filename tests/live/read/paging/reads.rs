//! Pages: by number, as streams, the last one; always the same pages.

use std::time::Duration;

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
    zoo::{
        entries::{Entry, Numbered3, Seconds3},
        ticks::{Numbered2, Tick},
    },
};

pub(crate) const CAPACITY: usize = 3;

fn ns<T: Entry>(page: &Page<T>) -> Vec<i64> {
    page.items.iter().map(T::n).collect()
}

/// Every way of reading a key returns these pages.
pub(crate) async fn reads_agree<T: Entry>(lines: &Buckets<T>, k: &str, expected: &[Vec<i64>]) {
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

async fn far_pages<T: Entry>(db: &Database) {
    let lines = fresh::<T>(db).await;
    lines.append(&T::new("k", 0)).await.unwrap();
    for n in [
        2,
        10_000_000_000,
        10_000_000_001,
        i64::MAX as u64,
        i64::MAX as u64 + 2,
        u64::MAX,
    ] {
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
    assert_eq!(
        lines.latest("k").await.unwrap().unwrap().id(),
        "k_0000000003"
    );
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
        pages
            .iter()
            .map(|page| page.items.len())
            .collect::<Vec<_>>()
    };
    assert_eq!(lengths(ticks.pages(&1)).await, [0, 2, 2]);
    assert_eq!(ticks.page_count(&1).await.unwrap(), 3);
    assert_eq!(lengths(ticks.pages(&1).skip_empty(true)).await, [2, 2]);
}
