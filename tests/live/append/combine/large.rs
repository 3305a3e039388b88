//! Combining large items: what travels together fits into one command, an item that fits into no
//! document is refused alone, and many megabytes all arrive.

use bucket_runtime::mongodb::Database;

use crate::{
    append::combine::support::{
        Mark, Millis10, Numbered5, Seconds5, Seconds10, assert_stored, together,
    },
    support::database::{Live, fresh},
};

const MB: usize = 1 << 20;

/// Three items of 17 MB among 60 small ones, of one key and of many.
async fn too_large<T: Mark>(db: &Database) {
    let big = "x".repeat(17 * MB);
    for keys in [1, 30] {
        let marks = fresh::<T>(db).await;
        let is_big = |n| [0, 20, 41].contains(&n);
        let items = (0..60).map(|n| {
            let text = if is_big(n) { &*big } else { "small" };
            T::new(n % keys, n).text(text)
        });
        for (n, result) in (0..).zip(together(&marks, items).await) {
            match (result, is_big(n)) {
                (Ok(_), false) => {}
                (Err(error), true) => {
                    assert!(error.is_too_large() && !error.is_maybe_stored(), "{error}");
                }
                (result, _) => panic!("{keys} keys, item {n}: {result:?}"),
            }
        }
        let small = (0..60).filter(|n| !is_big(*n));
        assert_stored(&marks, small.map(|n| (n % keys, n))).await;
    }
}

#[bucket_testkit::test]
async fn a_too_large_item_is_refused_and_no_other(db: Live) {
    too_large::<Seconds10>(&db).await;
    too_large::<Numbered5>(&db).await;
}

/// More megabytes than may wait at once (64 MB), in items of 1 MB: of one key, of a few, and of a key
/// for each item.
async fn megabytes<T: Mark>(db: &Database) {
    let items = 70;
    let text = "x".repeat(MB);
    for keys in [1, 7, items] {
        let marks = fresh::<T>(db).await;
        let all = (0..items).map(|n| T::new(n % keys, n).text(&text));
        for result in together(&marks, all).await {
            result.unwrap();
        }
        assert_stored(&marks, (0..items).map(|n| (n % keys, n))).await;
    }
}

#[bucket_testkit::test]
async fn of_many_megabytes_all_arrive(db: Live) {
    megabytes::<Seconds5>(&db).await;
    megabytes::<Numbered5>(&db).await;
}

/// Two items that fit into a document each, but not into one command of several statements.
#[bucket_testkit::test]
async fn items_that_nearly_fill_a_document_are_stored_side_by_side(db: Live) {
    let marks = fresh::<Millis10>(&db).await;
    let text = "x".repeat(11 * MB);
    let items = (0..6).map(|n| Millis10::new(n, n).text(&text));
    for result in together(&marks, items).await {
        result.unwrap();
    }
    assert_stored(&marks, (0..6).map(|n| (n, n))).await;
}
