//! The cost of an append and of a page by the size of the bucket: the reason for the default of
//! `max_bytes`.

use bucket_benches::{Bars, Chart, Contestant, Figure, Result, Samples, Unit, in_turn};
use bucket_runtime::{
    Bucket, Buckets, MAX_BYTES,
    bson::{DateTime, Document},
};

use crate::bench::{Bench, Theme};

pub(crate) const THEME: Theme = Theme {
    name: "sizes",
    figures: &[&APPEND_1, &APPEND_4, &APPEND_14, &PAGE_1, &PAGE_4, &PAGE_14],
    measure: |bench| Box::pin(measure(bench)),
};

static APPEND_1: Figure = micros(
    "size_append_1mib",
    "append of 60 bytes to a bucket of 1 MiB, against one to a bucket of 64 KiB",
);
static APPEND_4: Figure = micros("size_append_4mib", "the same, 4 MiB");
static APPEND_14: Figure = micros("size_append_14mib", "the same, 14 MiB");
static PAGE_1: Figure = micros(
    "size_page_1mib",
    "page of 1 MiB in items of 1 KiB, against one of 64 KiB",
);
static PAGE_4: Figure = micros("size_page_4mib", "the same, 4 MiB");
static PAGE_14: Figure = micros("size_page_14mib", "the same, 14 MiB");

const fn micros(name: &'static str, what: &'static str) -> Figure {
    Figure::new(name, Unit::Micros, what)
}

/// The figures for each size in KiB.
const SIZES: [(i64, &Figure, &Figure); 3] = [
    (1024, &APPEND_1, &PAGE_1),
    (4096, &APPEND_4, &PAGE_4),
    (14_336, &APPEND_14, &PAGE_14),
];

/// The size that all others are compared with, in KiB.
const SMALL: i64 = 64;

/// The number of a contestant's calls in a round: few, so that no bucket grows by much.
const CALLS: usize = 5;

/// A note. Its key is the size of its bucket, in KiB.
#[derive(Debug, Clone, Bucket)]
#[bucket(collection = "notes", id = "{kib}_{#}", capacity = 16_000, max_bytes = MAX_BYTES)]
struct Note {
    kib: i64,
    at: DateTime,
    text: String,
}

impl Note {
    fn new(kib: i64, text: &str) -> Self {
        let (at, text) = (DateTime::from_millis(0), text.to_owned());
        Self { kib, at, text }
    }
}

async fn measure(bench: Bench) -> Result<()> {
    let collection = bench.db.collection::<Document>(&bench.fresh("sizes"));
    let notes = Note::buckets_in(collection).await?;
    // With its index in the array and its other fields each note takes 1 KiB.
    let text = "x".repeat(980);
    for kib in SIZES.map(|(kib, ..)| kib).into_iter().chain([SMALL]) {
        let all = (0..kib).map(|_| Note::new(kib, &text));
        notes.append_many(all.collect::<Vec<_>>()).await?;
    }
    let mut bars = Bars::new("Time by the size of the bucket", Unit::Micros);
    for (kib, append, page) in SIZES {
        let label = format!("{} MiB against 64 KiB", kib / 1024);
        let samples = appends(&bench, &notes, kib).await?;
        bars = pair(&bench, bars, append, format!("append, {label}"), &samples);
        let samples = pages(&bench, &notes, kib).await?;
        bars = pair(&bench, bars, page, format!("page, {label}"), &samples);
    }
    bench.report.chart("sizes", Chart::Bars(bars));
    Ok(())
}

fn pair(
    bench: &Bench,
    bars: Bars,
    figure: &'static Figure,
    label: String,
    [large, small]: &[Samples; 2],
) -> Bars {
    bench.report.figure(figure, large, small);
    bars.group(label, [("large", large), ("small", small)])
}

async fn appends(bench: &Bench, notes: &Buckets<Note>, kib: i64) -> Result<[Samples; 2]> {
    let append = |kib| {
        let notes = notes.clone();
        Contestant::calls(
            1,
            move |_| vec![Note::new(kib, "short"); CALLS],
            move |note| {
                let notes = notes.clone();
                async move { Ok(notes.append(&note).await.map(drop)?) }
            },
        )
    };
    in_turn(bench.pick(20, 5), [append(kib), append(SMALL)]).await
}

async fn pages(bench: &Bench, notes: &Buckets<Note>, kib: i64) -> Result<[Samples; 2]> {
    let page = |kib| {
        let notes = notes.clone();
        Contestant::calls(
            1,
            move |_| vec![(); CALLS],
            move |()| {
                let notes = notes.clone();
                async move {
                    let page = notes.page(&kib, 1).await?;
                    let items = page.map_or(0, |page| page.items.len());
                    // A bucket that was split would be read too fast.
                    match items >= kib as usize {
                        true => Ok(()),
                        false => Err(format!("a page of {items} items").into()),
                    }
                }
            },
        )
    };
    in_turn(bench.pick(20, 5), [page(kib), page(SMALL)]).await
}
