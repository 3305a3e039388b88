//! What `advise` says of outliers is what the raw driver counts in the documents.

use bucket_runtime::bson::{Document, RawDocumentBuf, doc};
use futures_util::TryStreamExt;

use super::Shell;

/// The length of each array, and the bytes of its document, in order.
async fn read(shell: &Shell) -> Vec<(u64, u64)> {
    let books = shell.db.collection::<RawDocumentBuf>("books");
    let found: Vec<_> = books
        .find(doc! {})
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    let read = |raw: &RawDocumentBuf| {
        let array = raw.get_array("buyers");
        let length = array.map_or(0, |array| array.into_iter().count());
        (length as u64, raw.as_bytes().len() as u64)
    };
    let mut lengths: Vec<_> = found.iter().map(read).collect();
    lengths.sort_unstable();
    lengths
}

async fn fill(shell: &Shell, lengths: impl IntoIterator<Item = i64>) {
    let books = shell.db.collection::<Document>("books");
    books.drop().await.unwrap();
    let book = |length| doc! { "title": "a book", "buyers": (0..length).collect::<Vec<_>>() };
    let all: Vec<_> = lengths.into_iter().map(book).collect();
    for some in all.chunks(20) {
        books.insert_many(some).await.unwrap();
    }
}

/// A share in percent; of some but not all, at least 0.1 and at most 99.9.
fn share(part: u64, all: u64) -> String {
    let percent = part as f64 * 100.0 / all.max(1) as f64;
    match part {
        0 => "0.0".to_owned(),
        part if part == all => "100.0".to_owned(),
        _ => format!("{:.1}", percent.clamp(0.1, 99.9)),
    }
}

/// The numbers in each line of a table, below its head, without their commas and signs.
fn cells(table: &str) -> Vec<Vec<String>> {
    let words = |line: &str| {
        let words = line.split_whitespace();
        let words = words.filter(|word| !["≤", "%", "←", "recommended"].contains(word));
        words.map(|word| word.replace(',', "")).collect()
    };
    table.lines().skip(1).map(words).collect()
}

/// Each bar counts the arrays that are longer than those of the bar before, and there is one for every array.
fn check_histogram(items: &[u64], table: &str) {
    let mut least = None;
    for cells in cells(table) {
        let up_to: u64 = cells[0].parse().unwrap();
        let within =
            |length: &&u64| least.is_none_or(|least| **length > least) && **length <= up_to;
        let exact = items.iter().filter(within).count();
        assert!(exact > 0 && cells[1] == exact.to_string(), "up to {up_to}");
        least = Some(up_to);
    }
    assert!(items.last().copied() <= least, "{table}");
}

fn check_quantiles(items: &[u64], table: &str) {
    let mut percents = Vec::new();
    for cells in cells(table) {
        let percent: f64 = cells[0].parse().unwrap();
        let rank = (items.len() * (percent * 10.0) as usize).div_ceil(1000);
        let exact = rank.checked_sub(1).map_or(0, |nth| items[nth]);
        assert_eq!(cells[1], exact.to_string(), "{percent} %");
        percents.push(percent);
    }
    assert_eq!(percents, [50.0, 75.0, 90.0, 95.0, 99.0, 99.9]);
}

fn check_thresholds(lengths: &[(u64, u64)], table: &str) {
    let (items, bytes) = sums(lengths);
    let mut last = 0;
    for cells in cells(table) {
        let threshold: u64 = cells[0].parse().unwrap();
        assert!(threshold > last, "{table}");
        last = threshold;
        let above = lengths.iter().filter(|(length, _)| *length > threshold);
        let above: Vec<_> = above.copied().collect();
        let documents = above.len() as u64;
        let (items_above, bytes_above) = sums(&above);
        let exact = [
            documents.to_string(),
            share(documents, lengths.len() as u64),
            bytes_above.to_string(),
            share(bytes_above, bytes),
            share(items_above - documents * threshold, items),
        ];
        assert_eq!(cells[1..], exact, "{threshold}");
    }
}

/// The number of items, and of bytes.
fn sums(lengths: &[(u64, u64)]) -> (u64, u64) {
    let add = |(items, bytes), of: &(u64, u64)| (items + of.0, bytes + of.1);
    lengths.iter().fold((0, 0), add)
}

/// Compares the whole advice with the documents; returns the recommended threshold and the reason.
async fn advise(shell: &Shell) -> (Option<u64>, String) {
    let lengths = read(shell).await;
    let items: Vec<_> = lengths.iter().map(|(length, _)| *length).collect();
    let (code, json) = shell.run("advise Book --json").await;
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let recommended = value["recommended"].as_u64();
    let told = ["documents", "items", "longest"].map(|name| value[name].as_u64().unwrap());
    let longest = items.last().copied().unwrap_or(0);
    let exact = [items.len() as u64, sums(&lengths).0, longest];
    assert_eq!((code, told), (0, exact));

    let (code, text) = shell.run("advise Book").await;
    println!("{text}");
    let is_narrow = text.lines().all(|line| line.chars().count() <= 100);
    assert!(code == 0 && is_narrow, "{text}");
    let parts: Vec<_> = text.split("\n\n").collect();
    let [_, histogram, quantiles, thresholds, end] = parts[..] else {
        panic!("{text}");
    };
    check_histogram(&items, histogram);
    check_quantiles(&items, quantiles);
    check_thresholds(&lengths, thresholds);
    let mark = "  ← recommended";
    let marked = thresholds.lines().find(|line| line.ends_with(mark));
    let marked = marked.map(|line| cells(&format!("\n{line}"))[0][0].parse().unwrap());
    assert_eq!(marked, recommended);
    let (told, reason) = end.trim().split_once('\n').unwrap();
    let chosen = recommended.map_or("no threshold".to_owned(), |threshold| {
        format!("threshold = {threshold}")
    });
    assert_eq!(told, chosen);
    (recommended, reason.trim().to_owned())
}

#[bucket_testkit::test]
async fn few_outliers_get_the_least_threshold_with_a_gap_above_it(shell: Shell) {
    // 985 arrays of up to 19 items, 5 of 30, and 10 of 5,000.
    let lengths = (0..985).map(|n| n % 20).chain([30; 5]).chain([5000; 10]);
    fill(&shell, lengths).await;
    let before = shell.documents("books").await;
    let (recommended, reason) = advise(&shell).await;
    assert_eq!(recommended, Some(50));
    let lengths = read(&shell).await;
    let above = share(sums(&lengths[990..]).1, sums(&lengths).1);
    let begin =
        format!("99.0 % of documents stay whole; the other 10 hold {above} % of the bytes; ");
    assert!(reason.starts_with(&begin), "{reason}");
    assert_eq!(shell.documents("books").await, before);
    assert_eq!(shell.db.list_collection_names().await.unwrap(), ["books"]);
}

#[bucket_testkit::test]
async fn every_distribution_is_counted_exactly(shell: Shell) {
    for (lengths, expected, why) in [
        (vec![3], None, "too few documents (1)"),
        (vec![0, 0, 0], None, "too few documents (3)"),
        ((0..1000).collect(), None, "no array stands out"),
        (
            (0..999).map(|n| n % 7).chain([1001]).collect(),
            Some(10),
            "the other one holds",
        ),
        (
            (0..1001).map(|n| (n * 7919) % 1001 / 10).collect(),
            None,
            "no document is large",
        ),
        (
            [vec![10; 99], vec![11]].concat(),
            None,
            "no document is large",
        ),
        (
            [vec![1; 50], vec![60_000], vec![1024; 2]].concat(),
            Some(10),
            "the other 3 hold",
        ),
        (
            [vec![1; 200], vec![60_000]].concat(),
            Some(10),
            "the other one holds",
        ),
        (
            vec![100_000; 3],
            None,
            "half of the documents have 100,000 items or more",
        ),
    ] {
        fill(&shell, lengths).await;
        let (recommended, reason) = advise(&shell).await;
        assert_eq!(recommended, expected);
        assert!(reason.contains(why), "{reason}");
    }
}

#[bucket_testkit::test]
async fn a_missing_array_has_no_items(shell: Shell) {
    let (recommended, reason) = advise(&shell).await;
    assert_eq!(
        (recommended, &*reason),
        (None, "there are no documents to analyse")
    );
    let odd = [
        doc! { "title": "no array" },
        doc! { "buyers": doc! {} },
        doc! { "buyers": [] },
        doc! { "buyers": "none" },
        doc! { "buyers": [[1, 2], [3]] },
    ];
    let books = shell.db.collection::<Document>("books");
    books.insert_many(odd).await.unwrap();
    assert_eq!(advise(&shell).await.0, None);
}
