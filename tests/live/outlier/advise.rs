//! `advise` reports what the raw driver counts in the documents.

use bucket_runtime::{
    Outlier,
    mongodb::{
        Database,
        bson::{Document, RawDocumentBuf, doc},
    },
};
use futures_util::TryStreamExt;

use crate::{
    outlier::support::books,
    support::database::{Live, Recorded},
};

books! {
    Book50(50, 1000)
}

/// The length of each array, and the bytes of its document, as the raw driver reads them.
async fn oracle(db: &Database) -> Vec<(u64, u64)> {
    let found = db
        .collection::<RawDocumentBuf>("books")
        .find(doc! {})
        .await
        .unwrap();
    let found: Vec<RawDocumentBuf> = found.try_collect().await.unwrap();
    let length = |raw: &RawDocumentBuf| {
        let array = raw
            .get_array("buyers")
            .map(|array| array.into_iter().count());
        (array.unwrap_or(0) as u64, raw.as_bytes().len() as u64)
    };
    let mut lengths: Vec<_> = found.iter().map(length).collect();
    lengths.sort_unstable();
    lengths
}

async fn fill(db: &Database, lengths: impl IntoIterator<Item = i64>) {
    let books = db.collection::<Document>("books");
    books.drop().await.unwrap();
    let book = |length| doc! { "title": "a book", "buyers": (0..length).collect::<Vec<_>>() };
    let all: Vec<_> = lengths.into_iter().map(book).collect();
    for some in all.chunks(20) {
        books.insert_many(some).await.unwrap();
    }
}

/// Compares the whole advice with the documents, and returns the recommendation.
async fn told(db: &Database) -> (Option<u64>, String) {
    let lengths = oracle(db).await;
    let advice = Book50::advise(db).await.unwrap();
    let documents = lengths.len() as u64;
    assert_eq!(advice.documents, documents);
    assert_eq!(
        advice.items,
        lengths.iter().map(|(length, _)| length).sum::<u64>()
    );
    assert_eq!(
        advice.bytes,
        lengths.iter().map(|(_, bytes)| bytes).sum::<u64>()
    );
    assert_eq!(
        advice.longest,
        lengths.last().map_or(0, |(length, _)| *length)
    );

    let percents: Vec<f64> = advice
        .quantiles
        .iter()
        .map(|(percent, _)| *percent)
        .collect();
    assert_eq!(percents, [50.0, 75.0, 90.0, 95.0, 99.0, 99.9]);
    for (percent, told) in &advice.quantiles {
        let rank = (documents * (percent * 10.0) as u64).div_ceil(1000);
        let exact = rank.checked_sub(1).map_or(0, |nth| lengths[nth as usize].0);
        assert_eq!(*told, exact, "{percent} %");
    }
    for candidate in &advice.candidates {
        let above = lengths
            .iter()
            .filter(|(length, _)| *length > candidate.threshold);
        assert_eq!(
            candidate.documents_above,
            above.clone().count() as u64,
            "{candidate:?}"
        );
        assert_eq!(
            candidate.bytes_above,
            above.map(|(_, bytes)| bytes).sum::<u64>(),
            "{candidate:?}"
        );
        let moved = lengths
            .iter()
            .map(|(length, _)| length.saturating_sub(candidate.threshold));
        assert_eq!(candidate.items_moved, moved.sum::<u64>(), "{candidate:?}");
    }
    assert!(
        advice
            .candidates
            .windows(2)
            .all(|pair| pair[0].threshold < pair[1].threshold)
    );
    let before: u64 = advice
        .histogram
        .iter()
        .map(|(_, documents)| documents)
        .sum();
    assert_eq!(before, documents);
    let mut least = None;
    for (up_to, told) in &advice.histogram {
        let within = |length: u64| least.is_none_or(|least| length > least) && length <= *up_to;
        let exact = lengths.iter().filter(|(length, _)| within(*length)).count();
        assert_eq!((*told, exact > 0), (exact as u64, true), "up to {up_to}");
        least = Some(*up_to);
    }
    let printed = advice.to_string();
    assert!(printed.contains(&advice.reason()), "{printed}");
    println!("{printed}\n");
    (advice.recommended, advice.reason())
}

#[bucket_testkit::test]
async fn advice_on_few_outliers_is_the_least_threshold_with_a_gap_above_it(db: Live) {
    // 985 arrays of up to 19 items, 5 of 30, and 10 of 5,000.
    let lengths = (0..985).map(|n| n % 20).chain([30; 5]).chain([5000; 10]);
    fill(&db, lengths).await;
    let (recommended, reason) = told(&db).await;
    assert_eq!(recommended, Some(50));
    let bytes: u64 = oracle(&db).await.iter().map(|(_, bytes)| bytes).sum();
    let above: u64 = oracle(&db)
        .await
        .iter()
        .rev()
        .take(10)
        .map(|(_, bytes)| bytes)
        .sum();
    let share = format!("{:.1} %", above as f64 * 100.0 / bytes as f64);
    assert!(
        reason.contains("99.0 %") && reason.contains("10 ") && reason.contains(&share),
        "{reason}"
    );
}

#[bucket_testkit::test]
async fn advice_on_many_distributions_is_exact(db: Live) {
    let mut recommendations = Vec::new();
    for lengths in [
        vec![3],
        vec![0, 0, 0],
        (0..1000).collect(),
        (0..999).map(|n| n % 7).chain([1001]).collect(),
        (0..1001).map(|n| (n * 7919) % 1001 / 10).collect(),
        [vec![10; 99], vec![11]].concat(),
        [vec![10; 98], vec![11; 2]].concat(),
        [vec![1; 50], vec![60_000; 1], vec![1024; 2]].concat(),
        [vec![1; 200], vec![60_000; 1]].concat(),
    ] {
        fill(&db, lengths).await;
        recommendations.push(told(&db).await.0);
    }
    let few = [
        None,
        None,
        None,
        Some(10),
        None,
        None,
        None,
        Some(10),
        Some(10),
    ];
    assert_eq!(recommendations, few);
}

#[bucket_testkit::test]
async fn advice_on_nothing_and_on_missing_arrays(db: Live) {
    let (recommended, reason) = told(&db).await;
    assert_eq!(recommended, None);
    assert!(reason.contains("no documents"), "{reason}");
    let books = db.collection::<Document>("books");
    for odd in [
        doc! { "title": "no array" },
        doc! { "buyers": doc! {} },
        doc! { "buyers": [] },
        doc! { "buyers": "none" },
        doc! { "buyers": [[1, 2], [3]] },
    ] {
        books.insert_one(odd).await.unwrap();
    }
    assert_eq!(told(&db).await.0, None);
    let advice = Book50::advise(&db).await.unwrap();
    assert_eq!((advice.documents, advice.items, advice.longest), (5, 2, 2));
    assert_eq!(advice.histogram, [(0, 4), (2, 1)]);
}

#[bucket_testkit::test]
async fn advice_changes_nothing_and_reads_by_one_command(Recorded(db, record): Recorded) {
    fill(&db, (0..300).map(|n| n % 9).chain([30_000, 100_000])).await;
    let before = crate::support::database::documents(&db.collection::<Document>("books")).await;
    record.take();
    let _ = Book50::advise(&db).await.unwrap();
    assert_eq!(record.names(), ["aggregate"]);
    assert_eq!(told(&db).await.0, Some(10));
    assert_eq!(
        crate::support::database::documents(&db.collection::<Document>("books")).await,
        before
    );
    assert_eq!(db.list_collection_names().await.unwrap(), ["books"]);
}

/// Large figures fit, too.
#[bucket_testkit::test]
async fn advice_fits_into_100_columns(db: Live) {
    for lengths in [
        vec![],
        vec![3],
        (0..985)
            .map(|n| n % 20)
            .chain([30; 5])
            .chain([5000; 10])
            .collect(),
        (0..100).map(|n| n % 9).chain([100_000]).collect(),
        vec![100_000; 3],
    ] {
        fill(&db, lengths).await;
        let printed = Book50::advise(&db).await.unwrap().to_string();
        for line in printed.lines() {
            let columns = line.chars().count();
            assert!(columns <= 100, "{columns} columns:\n{printed}");
        }
    }
}
