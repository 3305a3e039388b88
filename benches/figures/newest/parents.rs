//! The newest ten items of a parent, and the ten after them.

use bucket_benches::{Contestant, Figure, Result, Unit, in_turn, split};
use bucket_runtime::{
    ItemToken, Outlier, Outliers,
    bson::{Document, doc},
    mongodb::{Collection, IndexModel},
};
use futures_util::TryStreamExt as _;
use serde::{Deserialize, Serialize};

use super::PAGE;
use crate::{
    bench::{Bench, expect},
    cpu::Cpu,
    outlier::{Book, book},
};

macro_rules! of {
    ($parent:literal, $what:literal) => {
        [
            Figure::new(
                concat!("page_newest_", $parent),
                Unit::Micros,
                concat!(
                    "the newest ten items of ",
                    $what,
                    ", against the newest ten of a flat indexed collection"
                ),
            )
            .to_reach(1.0),
            Figure::new(
                concat!("page_newest_", $parent, "_cpu"),
                Unit::Micros,
                concat!(
                    "the newest ten items of ",
                    $what,
                    ", against a flat collection: CPU time of the server"
                ),
            )
            .to_reach(1.0),
            Figure::new(
                concat!("page_next_", $parent),
                Unit::Micros,
                concat!(
                    "the ten items after the newest ten, by a token, of ",
                    $what,
                    ", against a flat indexed collection"
                ),
            )
            .to_reach(1.0),
            Figure::new(
                concat!("page_next_", $parent, "_cpu"),
                Unit::Micros,
                concat!(
                    "the ten items after the newest ten, of ",
                    $what,
                    ", against a flat collection: CPU time of the server"
                ),
            )
            .to_reach(1.0),
        ]
    };
}

pub(super) static OUTLIER: [Figure; 4] =
    of!("outlier", "a parent of 2,000 items with a threshold of 50");
pub(super) static TYPICAL: [Figure; 4] =
    of!("typical", "a parent of 40 items with a threshold of 50");

/// The number of the figures.
pub(super) const FIGURES: usize = 8;

const PARENTS: i64 = 20;
const TIMES: i64 = 3;

/// An item as a document of its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Purchase {
    book_id: i64,
    nth: i64,
    customer: String,
}

pub(super) async fn measure(bench: &Bench) -> Result<()> {
    for (figures, items) in [(&OUTLIER, 2000), (&TYPICAL, 40)] {
        if bench.wants(&figures.each_ref()) {
            compare(bench, figures, items).await?;
        }
    }
    Ok(())
}

/// Parents with this many items each beside a flat collection of the same items.
async fn compare(bench: &Bench, figures: &'static [Figure; 4], items: usize) -> Result<()> {
    let parents = bench.db.collection::<Document>(&bench.fresh("sales"));
    let extras = bench.db.collection(&bench.fresh("extra_sales"));
    let books = Book::outliers_in(parents, extras).await?;
    let flat = bench.db.collection::<Purchase>(&bench.fresh("purchases"));
    let index = IndexModel::builder().keys(doc! { "book_id": 1, "nth": 1 });
    flat.create_index(index.build()).await?;
    for id in 0..PARENTS {
        books.insert(&book(id, items)).await?;
    }
    // The purchases of the books come mixed, as in practice.
    let purchases = (0..items as i64).flat_map(|nth| {
        (0..PARENTS).map(move |book_id| Purchase {
            book_id,
            nth,
            customer: format!("user{nth:05}"),
        })
    });
    flat.insert_many(purchases).await?;

    let cpu = Cpu::of(bench).await?;
    let last = items as i64 - PAGE as i64;
    let contestants = [
        newest(cpu, &books),
        next(cpu, &books).await?,
        flat_before(cpu, &flat, items as i64),
        flat_before(cpu, &flat, last),
    ];
    let samples = in_turn(bench.pick(40, 5), contestants).await?;
    let [newest, next, flat_newest, flat_next] = &samples.map(|samples| split::<3>(&samples));
    bench
        .report
        .figure(&figures[0], &newest[1], &flat_newest[1]);
    bench
        .report
        .figure(&figures[1], &newest[2], &flat_newest[2]);
    bench.report.figure(&figures[2], &next[1], &flat_next[1]);
    bench.report.figure(&figures[3], &next[2], &flat_next[2]);
    Ok(())
}

fn ids() -> Vec<i64> {
    (0..PARENTS * TIMES).map(|nth| nth % PARENTS).collect()
}

fn newest(cpu: Cpu, books: &Outliers<Book>) -> Contestant {
    let books = books.clone();
    cpu.calls_by(1, ids(), move |id| {
        let books = books.clone();
        async move {
            let page = books.items(&id).newest_first().page_of_items(PAGE as u64);
            expect(page.await?.items.len(), PAGE)
        }
    })
}

async fn next(cpu: Cpu, books: &Outliers<Book>) -> Result<Contestant> {
    let mut tokens: Vec<(i64, ItemToken)> = Vec::new();
    for id in ids() {
        let page = books.items(&id).newest_first().page_of_items(PAGE as u64);
        tokens.push((id, page.await?.next.ok_or("a book has one page")?));
    }
    let books = books.clone();
    Ok(cpu.calls_by(1, tokens, move |(id, token)| {
        let books = books.clone();
        async move {
            let page = books.items(&id).newest_first().page_of_items(PAGE as u64);
            expect(page.after(&token).await?.items.len(), PAGE)
        }
    }))
}

/// The newest ten before the nth one; all are before the one after the last.
fn flat_before(cpu: Cpu, flat: &Collection<Purchase>, nth: i64) -> Contestant {
    let flat = flat.clone();
    cpu.calls_by(1, ids(), move |id| {
        let flat = flat.clone();
        async move {
            let before = doc! { "book_id": id, "nth": { "$lt": nth } };
            let newest = flat
                .find(before)
                .sort(doc! { "nth": -1 })
                .limit(PAGE as i64);
            let page: Vec<_> = newest.await?.try_collect().await?;
            expect(page.len(), PAGE)
        }
    })
}
