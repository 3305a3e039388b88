//! Several processes write to one key; they share nothing but the server.

use std::{
    env,
    io::{BufRead, BufReader, Write as _, stdin},
    process::{Child, ChildStdout, Command, Stdio},
    time::Instant,
};

use bucket_benches::{Bars, Chart, Contestant, Figure, Result, Samples, Unit, in_turn, rate};
use bucket_runtime::{
    Bucket,
    bson::{Document, doc},
    mongodb::{Client, Database},
};

use crate::{
    batcher::inserts,
    bench::{Bench, Theme, told},
    peers,
    trade::{Flat, Trade, trade},
    writers::{append_each, by_writers, put_each},
};

pub(crate) const THEME: Theme = Theme {
    name: "processes",
    figures: &[&TWO_VS_FLAT, &FOUR_VS_FLAT, &TWO_VS_ONE, &FOUR_VS_ONE],
    measure: |bench| Box::pin(measure(bench)),
};

static TWO_VS_FLAT: Figure = items(
    "append_hot_2_processes_vs_flat",
    "append by two processes of 32 writers to one key, capacity 10, against flat inserts in batches by as many",
);
static FOUR_VS_FLAT: Figure = items(
    "append_hot_4_processes_vs_flat",
    "append by four processes of 32 writers to one key, capacity 10, against flat inserts in batches by as many",
);
static TWO_VS_ONE: Figure = items(
    "append_hot_2_processes_vs_1",
    "append by two processes of 32 writers to one key, capacity 10, all together, against one process",
);
static FOUR_VS_ONE: Figure = items(
    "append_hot_4_processes_vs_1",
    "append by four processes of 32 writers to one key, capacity 10, all together, against one process",
);

const fn items(name: &'static str, what: &'static str) -> Figure {
    Figure::new(name, Unit::ItemsPerSecond, what)
}

/// The variable that makes this program a writer.
const VARIABLE: &str = "BUCKET_BENCHES_WRITER";

async fn measure(bench: Bench) -> Result<()> {
    let items = bench.pick(3200, 1600);
    let contestants = [
        ("append", 1),
        ("append", 2),
        ("append", 4),
        ("flat", 1),
        ("flat", 2),
        ("flat", 4),
    ]
    .map(|(what, processes)| contestant(&bench, what, processes, items));
    let samples = in_turn(bench.pick(5, 3), contestants).await?;
    let [one, two, four, flat_one, flat_two, flat_four] = &samples;
    let report = &bench.report;
    report.figure(&TWO_VS_FLAT, two, flat_two);
    report.figure(&FOUR_VS_FLAT, four, flat_four);
    report.figure(&TWO_VS_ONE, two, one);
    report.figure(&FOUR_VS_ONE, four, one);
    let pair = |ours, flat| [("append", ours), ("flat, batched", flat)];
    let bars = Bars::new(
        "Appends to one key by several processes",
        Unit::ItemsPerSecond,
    )
    .group("one process", pair(one, flat_one))
    .group("two", pair(two, flat_two))
    .group("four", pair(four, flat_four));
    report.chart("processes", Chart::Bars(bars));
    Ok(())
}

/// `processes` processes that together write `items` items to a new collection.
fn contestant(bench: &Bench, what: &'static str, processes: usize, items: usize) -> Contestant {
    let bench = bench.clone();
    Contestant::new(move |_| {
        let bench = bench.clone();
        async move {
            let collection = bench.fresh("processes");
            // Create the collection here, so that no process waits for another one to do so.
            Order::prepare(&bench.db, what, &collection).await?;
            let orders: Vec<_> = (0..processes)
                .map(|nth| Order {
                    what: what.to_owned(),
                    uri: bench.uri.clone(),
                    database: bench.db.name().to_owned(),
                    collection: collection.clone(),
                    nth,
                    processes,
                    items,
                })
                .collect();
            let samples = tokio::task::spawn_blocking(move || race(&orders, items)).await??;
            bench.db.collection::<Document>(&collection).drop().await?;
            Ok(samples)
        }
    })
}

/// Starts the processes, and measures the time from when all are ready until all are done.
fn race(orders: &[Order], items: usize) -> Result<Samples> {
    let mut writers = orders
        .iter()
        .map(Writer::start)
        .collect::<Result<Vec<_>>>()?;
    for writer in &mut writers {
        writer.expect("ready")?;
    }
    let started = Instant::now();
    for writer in &mut writers {
        writer.go()?;
    }
    for writer in &mut writers {
        writer.expect("done")?;
    }
    let samples = rate(items, started);
    for writer in &mut writers {
        writer.process.wait()?;
    }
    Ok(samples)
}

/// A writing process.
struct Writer {
    process: Child,
    says: BufReader<ChildStdout>,
}

impl Writer {
    fn start(order: &Order) -> Result<Self> {
        let mut process = Command::new(env::current_exe()?)
            .env(VARIABLE, order.to_text())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let says = process.stdout.take().ok_or("a writer has no output")?;
        Ok(Self {
            process,
            says: BufReader::new(says),
        })
    }

    fn go(&mut self) -> Result<()> {
        let input = self.process.stdin.as_mut();
        writeln!(input.ok_or("a writer has no input")?, "go")?;
        Ok(())
    }

    fn expect(&mut self, word: &str) -> Result<()> {
        let mut line = String::new();
        self.says.read_line(&mut line)?;
        if line.trim() == word {
            Ok(())
        } else {
            Err(format!("a writer said {line:?} instead of {word:?}").into())
        }
    }
}

/// The work of a process, passed as a text in its environment.
pub(crate) struct Order {
    what: String,
    uri: String,
    database: String,
    collection: String,
    nth: usize,
    processes: usize,
    items: usize,
}

impl Order {
    /// The order, if this process was started as a writer.
    pub(crate) fn of_this_process() -> Option<Self> {
        let [what, uri, database, collection, nth, processes, items] = told(VARIABLE)?;
        Some(Self {
            what,
            uri,
            database,
            collection,
            nth: nth.parse().ok()?,
            processes: processes.parse().ok()?,
            items: items.parse().ok()?,
        })
    }

    fn to_text(&self) -> String {
        let Self {
            what,
            uri,
            database,
            collection,
            nth,
            processes,
            items,
        } = self;
        format!("{what}\n{uri}\n{database}\n{collection}\n{nth}\n{processes}\n{items}")
    }

    async fn prepare(db: &Database, what: &str, collection: &str) -> Result<()> {
        if what == "append" {
            Trade::buckets_in(db.collection::<Document>(collection)).await?;
        } else {
            peers::flat(db, collection).await?;
        }
        Ok(())
    }

    /// The trades of this process: together the processes write those of one customer.
    fn trades(&self) -> Vec<Flat> {
        let of_all = (self.nth..self.items).step_by(self.processes);
        of_all.map(|nth| trade(1, nth)).collect()
    }
}

/// The work of a writing process: it reports that it is ready, waits for the start signal, writes,
/// and reports that it is done.
pub(crate) async fn carry_out(order: Order) -> Result<()> {
    let db = Client::with_uri_str(&order.uri)
        .await?
        .database(&order.database);
    let trades = order.trades();
    // Open all connections before the measurement starts.
    let pings = vec![(); 8 * crate::writers::WRITERS];
    let pinged = db.clone();
    by_writers(pings, move |()| {
        let db = pinged.clone();
        async move { Ok(db.run_command(doc! { "ping": 1 }).await.map(drop)?) }
    })
    .await?;
    if order.what == "append" {
        let buckets = Trade::buckets_in(db.collection::<Document>(&order.collection)).await?;
        wait_for_the_word()?;
        append_each(buckets, trades.into_iter().map(Trade::from).collect()).await?;
    } else {
        let batcher = inserts(&db.collection(&order.collection));
        wait_for_the_word()?;
        put_each(batcher, trades).await?;
    }
    println!("done");
    Ok(())
}

fn wait_for_the_word() -> Result<()> {
    println!("ready");
    let mut word = String::new();
    stdin().read_line(&mut word)?;
    Ok(())
}
