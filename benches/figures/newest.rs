//! A list on a web page: the newest ten items of a key, and the ten after them.

mod parents;

use bucket_benches::{Bars, Chart, Contestant, Figure, Result, Unit, figures, in_turn, split};
use bucket_runtime::{Bucket, Buckets, ItemToken, bson::DateTime, mongodb::Collection};

use crate::{
    bench::{Bench, Theme, at_capacities, expect},
    cpu::Cpu,
    peers,
    trade::{Flat, Trade, Trade50, Trade1000, by_hand, of_keys},
};

pub(crate) const THEME: Theme = Theme {
    name: "list_page",
    figures: &FIGURES,
    measure: |bench| Box::pin(measure(bench)),
};

at_capacities!(NEWEST: Unit::Micros,
    "page_newest_" - "",
    "the newest ten items of a key (`newest_first().page_of_items(10)`), " - ", against the newest ten of a flat indexed collection",
    to reach 1.0 1.0 1.11);
at_capacities!(NEWEST_CPU: Unit::Micros,
    "page_newest_" - "_cpu",
    "the newest ten items of a key, " - ", against a flat collection: CPU time of the server",
    to reach 1.0 1.0 1.11);
at_capacities!(NEXT: Unit::Micros,
    "page_next_" - "",
    "the ten items after the newest ten, by a token, " - ", against the ten before a date in a flat indexed collection",
    to reach 1.0 1.0 1.11);
at_capacities!(NEXT_CPU: Unit::Micros,
    "page_next_" - "_cpu",
    "the ten items after the newest ten, by a token, " - ", against a flat collection: CPU time of the server",
    to reach 1.0 1.0 1.11);
at_capacities!(LATEST: Unit::Micros,
    "page_latest_" - "",
    "a key's newest bucket (`latest`), " - ", against as many of the newest items of a flat indexed collection",
    to reach 1.0 1.0 1.0);
at_capacities!(LATEST_CPU: Unit::Micros,
    "page_latest_" - "_cpu",
    "a key's newest bucket, " - ", against a flat collection: CPU time of the server",
    to reach 1.0 1.0 1.0);
at_capacities!(BY_EIGHT: Unit::CallsPerSecond,
    "page_newest_" - "_by_8",
    "the newest ten items of a key by eight readers, " - ", against the newest ten of a flat indexed collection",
    to reach 1.0 1.0 0.9);
at_capacities!(BY_EIGHT_CPU: Unit::Micros,
    "page_newest_" - "_by_8_cpu",
    "the newest ten items of a key by eight readers, " - ", against a flat collection: CPU time of the server",
    to reach 1.0 1.0 1.11);

static FIGURES: [&Figure; 24 + parents::FIGURES] = figures(&[
    &NEWEST,
    &NEWEST_CPU,
    &NEXT,
    &NEXT_CPU,
    &LATEST,
    &LATEST_CPU,
    &BY_EIGHT,
    &BY_EIGHT_CPU,
    &parents::OUTLIER,
    &parents::TYPICAL,
]);

const KEYS: usize = 20;
const ITEMS: usize = 60_000;
const PAGE: usize = 10;

/// How often a contestant reads each key in a round.
const TIMES: usize = 3;

async fn measure(bench: Bench) -> Result<()> {
    let trades = of_keys(ITEMS, KEYS, 60);
    let flat = peers::flat(&bench.db, &bench.fresh("flat")).await?;
    flat.insert_many(&trades).await?;
    let bars = Bars::new("The newest ten items of a key", Unit::Micros);
    let bars = compare::<Trade>(&bench, &trades, &flat, 0, bars).await?;
    let bars = compare::<Trade50>(&bench, &trades, &flat, 1, bars).await?;
    let bars = compare::<Trade1000>(&bench, &trades, &flat, 2, bars).await?;
    bench.report.chart("list_page", Chart::Bars(bars));
    parents::measure(&bench).await
}

/// The nth capacity beside the flat collection.
async fn compare<T: Bucket<Key = (i64,)>>(
    bench: &Bench,
    trades: &[Flat],
    flat: &Collection<Flat>,
    nth: usize,
    bars: Bars,
) -> Result<Bars> {
    const CAPACITIES: [usize; 3] = [10, 50, 1000];
    let buckets = by_hand(trades, CAPACITIES[nth]);
    let ours = bench.holding::<T>("newest", &buckets).await?;
    let cpu = Cpu::of(bench).await?;
    let contestants = [
        newest(cpu, 1, &ours),
        next(cpu, &ours).await?,
        latest(cpu, &ours),
        flat_newest(cpu, 1, flat),
        flat_next(cpu, flat).await?,
        flat_latest(cpu, &ours, flat).await?,
    ];
    let samples = in_turn(bench.pick(40, 5), contestants).await?;
    let samples = &samples.map(|samples| split::<3>(&samples));
    let figures = [
        [&NEWEST, &NEWEST_CPU],
        [&NEXT, &NEXT_CPU],
        [&LATEST, &LATEST_CPU],
    ];
    let (of_ours, of_flat) = samples.split_at(figures.len());
    for ([time, of_cpu], (ours, flat)) in figures.into_iter().zip(of_ours.iter().zip(of_flat)) {
        bench.report.figure(&time[nth], &ours[1], &flat[1]);
        bench.report.figure(&of_cpu[nth], &ours[2], &flat[2]);
    }
    let label = format!("capacity {}", CAPACITIES[nth]);
    let bars = bars.group(
        label,
        [
            ("page_of_items", &of_ours[0][1]),
            ("flat find", &of_flat[0][1]),
        ],
    );

    let contestants = [newest(cpu, 8, &ours), flat_newest(cpu, 8, flat)];
    let samples = in_turn(bench.pick(20, 3), contestants).await?;
    let [ours, flat] = &samples.map(|samples| split::<3>(&samples));
    bench.report.figure(&BY_EIGHT[nth], &ours[0], &flat[0]);
    bench.report.figure(&BY_EIGHT_CPU[nth], &ours[2], &flat[2]);
    Ok(bars)
}

/// All keys, as often as each reader reads them in a round.
fn keys(readers: usize) -> Vec<i64> {
    let calls = KEYS * TIMES * readers;
    (0..calls).map(|nth| (nth % KEYS) as i64).collect()
}

fn newest<T: Bucket<Key = (i64,)>>(cpu: Cpu, readers: usize, ours: &Buckets<T>) -> Contestant {
    let ours = ours.clone();
    cpu.calls_by(readers, keys(readers), move |key| {
        let ours = ours.clone();
        async move {
            let page = ours.items(&key).newest_first().page_of_items(PAGE as u64);
            expect(page.await?.items.len(), PAGE)
        }
    })
}

/// Each key with the token of its first page.
async fn next<T: Bucket<Key = (i64,)>>(cpu: Cpu, ours: &Buckets<T>) -> Result<Contestant> {
    let mut tokens: Vec<(i64, ItemToken)> = Vec::new();
    for key in keys(1) {
        let page = ours.items(&key).newest_first().page_of_items(PAGE as u64);
        tokens.push((key, page.await?.next.ok_or("a key has one page")?));
    }
    let ours = ours.clone();
    Ok(cpu.calls_by(1, tokens, move |(key, token)| {
        let ours = ours.clone();
        async move {
            let page = ours.items(&key).newest_first().page_of_items(PAGE as u64);
            expect(page.after(&token).await?.items.len(), PAGE)
        }
    }))
}

fn latest<T: Bucket<Key = (i64,)>>(cpu: Cpu, ours: &Buckets<T>) -> Contestant {
    let ours = ours.clone();
    cpu.calls_by(1, keys(1), move |key| {
        let ours = ours.clone();
        async move {
            let page = ours.latest(&key).await?;
            page.map(drop).ok_or_else(|| "a key has no bucket".into())
        }
    })
}

fn flat_newest(cpu: Cpu, readers: usize, flat: &Collection<Flat>) -> Contestant {
    let flat = flat.clone();
    cpu.calls_by(readers, keys(readers), move |key| {
        let flat = flat.clone();
        async move { expect(peers::newest_of(&flat, key, None, PAGE).await?.len(), PAGE) }
    })
}

async fn flat_next(cpu: Cpu, flat: &Collection<Flat>) -> Result<Contestant> {
    let mut dates: Vec<(i64, DateTime)> = Vec::new();
    for key in keys(1) {
        dates.push((
            key,
            peers::newest_of(flat, key, None, PAGE).await?[PAGE - 1].date,
        ));
    }
    let flat = flat.clone();
    Ok(cpu.calls_by(1, dates, move |(key, date)| {
        let flat = flat.clone();
        async move {
            expect(
                peers::newest_of(&flat, key, Some(date), PAGE).await?.len(),
                PAGE,
            )
        }
    }))
}

/// As many items of each key as its newest bucket has.
async fn flat_latest<T: Bucket<Key = (i64,)>>(
    cpu: Cpu,
    ours: &Buckets<T>,
    flat: &Collection<Flat>,
) -> Result<Contestant> {
    let mut lengths: Vec<(i64, usize)> = Vec::new();
    for key in keys(1) {
        let latest = ours.latest(&key).await?.ok_or("a key has no bucket")?;
        lengths.push((key, latest.items.len()));
    }
    let flat = flat.clone();
    Ok(cpu.calls_by(1, lengths, move |(key, length)| {
        let flat = flat.clone();
        async move {
            expect(
                peers::newest_of(&flat, key, None, length).await?.len(),
                length,
            )
        }
    }))
}
