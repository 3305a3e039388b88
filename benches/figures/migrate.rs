//! From one struct to another: with `migrate_from`, and by hand.

use std::time::Instant;

use bucket_benches::{Contestant, Figure, Result, Samples, Unit, in_turn, rate};
use bucket_ops::Ops;
use bucket_runtime::{
    Bucket,
    bson::{DateTime, Document},
    mongodb::Database,
};
use futures_util::TryStreamExt as _;

use crate::bench::{Bench, Theme};

pub(crate) const THEME: Theme = Theme {
    name: "migrate",
    figures: &[&MIGRATE],
    measure: |bench| Box::pin(measure(bench)),
};

static MIGRATE: Figure = Figure::new(
    "migrate_vs_by_hand",
    Unit::ItemsPerSecond,
    "20,000 items of 200 pages moved into buckets of 50 visitors by `migrate_from`, against a loop that reads them and gives them to `append_many`, which neither continues after a failure nor takes what is appended meanwhile nor verifies",
);

const ITEMS: i64 = 20_000;

/// Visits by pages.
#[derive(Debug, Clone, Bucket)]
#[bucket(collection = "visits", id = "{page}_{#}", capacity = 10)]
struct Visit {
    page: i64,
    at: DateTime,
    visitor: i64,
    seconds: i32,
}

/// Visits by visitors.
#[derive(Debug, Clone, Bucket)]
#[bucket(collection = "visits_by_visitor", id = "{visitor}_{at}", capacity = 50)]
struct ByVisitor {
    visitor: i64,
    at: DateTime,
    page: i64,
    seconds: i32,
}

impl From<Visit> for ByVisitor {
    fn from(visit: Visit) -> Self {
        Self {
            visitor: visit.visitor,
            at: visit.at,
            page: visit.page,
            seconds: visit.seconds,
        }
    }
}

fn visit(n: i64) -> Visit {
    Visit {
        page: n % 200,
        at: DateTime::from_millis(1_698_336_000_000 + n * 1000),
        visitor: n * 7919 % 50,
        seconds: (n % 600) as i32,
    }
}

async fn measure(bench: Bench) -> Result<()> {
    let old = Visit::buckets(&bench.db).await?;
    old.append_many((0..ITEMS).map(visit)).await?;
    let (ours, theirs) = (bench.db.clone(), bench.db.clone());
    let contestants = [
        Contestant::new(move |_| migrate(ours.clone())),
        Contestant::new(move |_| by_hand(theirs.clone())),
    ];
    let [ours, theirs] = in_turn(bench.pick(15, 3), contestants).await?;
    bench.report.figure(&MIGRATE, &ours, &theirs);
    Ok(())
}

async fn migrate(db: Database) -> Result<Samples> {
    forget(&db).await?;
    let started = Instant::now();
    let moved = Ops::<ByVisitor>::of(&db)
        .migrate_from(|visit: Visit| visit.into())
        .await?;
    all(moved, started)
}

async fn by_hand(db: Database) -> Result<Samples> {
    forget(&db).await?;
    let started = Instant::now();
    let old = Visit::buckets(&db).await?;
    let new = ByVisitor::buckets(&db).await?;
    let visits: Vec<_> = old
        .all_items()
        .await?
        .map_ok(ByVisitor::from)
        .try_collect()
        .await?;
    let moved = new.append_many(visits).await?;
    all(moved, started)
}

async fn forget(db: &Database) -> Result<()> {
    let new = db.collection::<Document>("visits_by_visitor");
    Ok(new.drop().await?)
}

fn all(moved: u64, started: Instant) -> Result<Samples> {
    match moved as i64 == ITEMS {
        true => Ok(rate(moved as usize, started)),
        false => Err(format!("{moved} items were moved").into()),
    }
}
