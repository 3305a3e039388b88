//! What the server spends on forms of the statement that appends an item to a bucket whose id is known.

use bucket_benches::{Contestant, Figure, Result, Unit, in_turn};
use bucket_runtime::{
    bson::{Document, doc},
    mongodb::Database,
};

use crate::{
    bench::{Bench, Theme},
    cpu::Cpu,
};

pub(crate) const THEME: Theme = Theme {
    name: "statements",
    figures: &[&ID_ALONE_5, &PIPELINE_5, &ID_ALONE_50, &PIPELINE_50],
    measure: |bench| Box::pin(measure(bench)),
};

macro_rules! form {
    ($figure:ident, $name:literal, $what:literal, $items:literal) => {
        static $figure: Figure = Figure::new(
            concat!("statement_", $name, "_", $items),
            Unit::Micros,
            concat!(
                $what,
                ", buckets of ",
                $items,
                " items, 32 statements a command, against a filter by `_id`, `count` and `sealed`: CPU time of the server \
                 for each item"
            ),
        );
    };
}

form!(
    ID_ALONE_5,
    "id_alone",
    "append by a filter on `_id` alone, which refuses nothing",
    5
);
form!(
    PIPELINE_5,
    "pipeline",
    "append by a pipeline that holds the conditions",
    5
);
form!(
    ID_ALONE_50,
    "id_alone",
    "append by a filter on `_id` alone, which refuses nothing",
    50
);
form!(
    PIPELINE_50,
    "pipeline",
    "append by a pipeline that holds the conditions",
    50
);

/// A statement for the bucket with this number, which holds this many items.
type Form = fn(i32, i32) -> Document;

const BUCKETS: i32 = 1000;

const STATEMENTS: usize = 32;

async fn measure(bench: Bench) -> Result<()> {
    for (items, figures) in [
        (5, [&ID_ALONE_5, &PIPELINE_5]),
        (50, [&ID_ALONE_50, &PIPELINE_50]),
    ] {
        let cpu = Cpu::of(&bench).await?;
        let contestants = [guarded as Form, by_id_alone, by_pipeline];
        let contestants = contestants.map(|form| contestant(&bench, cpu, items, form));
        let [guarded, others @ ..] = in_turn(bench.pick(7, 3), contestants).await?;
        for (figure, form) in figures.into_iter().zip(&others) {
            bench.report.figure(figure, form, &guarded);
        }
    }
    Ok(())
}

fn contestant(bench: &Bench, cpu: Cpu, items: i32, form: Form) -> Contestant {
    let bench = bench.clone();
    Contestant::new(move |_| {
        let (db, name) = (bench.db.clone(), bench.fresh("statements"));
        let commands = bench.pick(200, 50);
        async move {
            let buckets = (0..BUCKETS).map(|n| bucket(n, items));
            let filled = db.collection::<Document>(&name);
            filled.insert_many(buckets).await?;
            let before = cpu.of_server();
            for command in 0..commands {
                send(&db, &name, items, command * STATEMENTS, form).await?;
            }
            let spent = cpu.of_server() - before;
            filled.drop().await?;
            Ok(vec![spent / (commands * STATEMENTS) as f64 * 1e6])
        }
    })
}

async fn send(db: &Database, name: &str, items: i32, from: usize, form: Form) -> Result<()> {
    // Prime to the number of buckets, so that all take the same number of items.
    let nth = (from..from + STATEMENTS).map(|n| (n * 7 % BUCKETS as usize) as i32);
    let updates = Vec::from_iter(nth.map(|n| form(n, items)));
    let update = doc! { "update": name, "updates": updates, "ordered": false };
    let answer = db.run_command(update).await?;
    match answer.get_i32("nModified") {
        Ok(n) if n == STATEMENTS as i32 => Ok(()),
        _ => Err(format!("not each statement appended: {answer}").into()),
    }
}

fn bucket(n: i32, items: i32) -> Document {
    let history = (0..items).map(item);
    doc! { "_id": id(n), "customer_id": n, "count": items, "history": Vec::from_iter(history) }
}

fn id(n: i32) -> String {
    format!("{n}_1698335223")
}

fn item(n: i32) -> Document {
    doc! { "date": n, "ticker": "MDB", "quantity": 419 }
}

/// No bucket becomes full.
fn capacity(items: i32) -> i32 {
    items + 1000
}

fn push(items: i32) -> Document {
    doc! { "$push": { "history": { "$each": [item(items)] } }, "$inc": { "count": 1 } }
}

fn guarded(n: i32, items: i32) -> Document {
    let sealed = doc! { "$exists": false };
    let filter = doc! { "_id": id(n), "count": { "$lt": capacity(items) }, "sealed": sealed };
    doc! { "q": filter, "u": push(items), "hint": "_id_" }
}

fn by_id_alone(n: i32, items: i32) -> Document {
    doc! { "q": { "_id": id(n) }, "u": push(items) }
}

/// A division by zero refuses the statement.
fn by_pipeline(n: i32, items: i32) -> Document {
    let has_room = doc! { "$lt": ["$count", capacity(items)] };
    let is_unsealed = doc! { "$eq": [{ "$type": "$sealed" }, "missing"] };
    let added = doc! { "$cond": [
        { "$and": [has_room, is_unsealed] },
        [{ "$literal": item(items) }],
        { "$divide": [1, 0] },
    ] };
    let set = doc! {
        "history": { "$concatArrays": ["$history", added] },
        "count": { "$add": ["$count", 1] },
    };
    doc! { "q": { "_id": id(n) }, "u": [{ "$set": set }] }
}
