//! Measures whether a few parents with very many items slow down all the others.

use bucket_benches::{Bars, Chart, Contestant, Figure, Result, Unit, in_turn};
use bucket_runtime::{
    Outlier, Outliers,
    bson::{Document, doc},
};
use futures_util::TryStreamExt as _;
use serde::{Deserialize, Serialize};

use crate::bench::{Bench, Theme};

pub(crate) const THEME: Theme = Theme {
    name: "outlier",
    figures: &[&TYPICAL_READ, &LIST, &NEWEST, &PUSH],
    measure: |bench| Box::pin(measure(bench)),
};

static TYPICAL_READ: Figure = Figure::new(
    "outlier_typical_read",
    Unit::Micros,
    "read of a typical parent, 1 % of all having 100,000 items, against none having them",
)
.to_reach(1.1);
static LIST: Figure = Figure::new(
    "outlier_list",
    Unit::Micros,
    "list of 100 parents, one of them having 100,000 items, against none having them",
)
.to_reach(1.1);
static NEWEST: Figure = Figure::new(
    "outlier_newest_page",
    Unit::Micros,
    "page of the ten newest items of a typical parent, 1 % of all having 100,000 items, against none having them",
)
.to_reach(1.1);
static PUSH: Figure = Figure::new(
    "outlier_push",
    Unit::Micros,
    "push to a parent of 100,000 items, against a push to a typical one",
)
.to_reach(1.2);

/// The book of the manual's page.
#[derive(Debug, Clone, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "sales",
    extras = "extra_sales",
    reference = "book_id",
    threshold = 50
)]
pub(crate) struct Book {
    #[serde(rename = "_id")]
    id: i64,
    title: String,
    year: i32,
    author: String,
    #[outlier(items)]
    customers_purchased: Vec<String>,
}

const BOOKS: i64 = 1000;

/// One book in this many is a bestseller, and a list has this many books.
const LISTED: i64 = 100;

const BUYERS: usize = 20;
const OUTLIER_BUYERS: usize = 100_000;

async fn measure(bench: Bench) -> Result<()> {
    let mixed = books(&bench, is_bestseller).await?;
    let typical = books(&bench, |_| false).await?;
    let report = &bench.report;
    let mut bars = Bars::new("Beside parents with 100,000 items", Unit::Micros);
    if bench.wants(&[&TYPICAL_READ]) {
        let contestants = [&mixed, &typical].map(|books| read(books.clone()));
        let samples = in_turn(bench.pick(100, 15), contestants).await?;
        let [ours, peer] = &samples;
        report.figure(&TYPICAL_READ, ours, peer);
        let named = [("with outliers", ours), ("without", peer)];
        bars = bars.group("read of a typical parent", named);
    }
    if bench.wants(&[&LIST]) {
        let contestants = [&mixed, &typical].map(|books| list(books.clone()));
        let samples = in_turn(bench.pick(100, 15), contestants).await?;
        let [ours, peer] = &samples;
        report.figure(&LIST, ours, peer);
        bars = bars.group(
            "list of 100",
            [("with an outlier", ours), ("without", peer)],
        );
    }
    if bench.wants(&[&NEWEST]) {
        let contestants = [&mixed, &typical].map(|books| newest_page(books.clone()));
        let samples = in_turn(bench.pick(100, 15), contestants).await?;
        let [ours, peer] = &samples;
        report.figure(&NEWEST, ours, peer);
        bars = bars.group(
            "page of the ten newest items",
            [("with outliers", ours), ("without", peer)],
        );
    }
    if bench.wants(&[&PUSH]) {
        let contestants = [true, false].map(|to| push(mixed.clone(), to));
        let samples = in_turn(bench.pick(60, 12), contestants).await?;
        let [ours, peer] = &samples;
        report.figure(&PUSH, ours, peer);
        bars = bars.group(
            "push",
            [("to an outlier", ours), ("to a typical one", peer)],
        );
    }
    report.chart("outlier", Chart::Bars(bars));
    Ok(())
}

fn is_bestseller(id: i64) -> bool {
    id % LISTED == LISTED / 2
}

/// A collection of books, some of them bestsellers.
async fn books(bench: &Bench, bestseller: fn(i64) -> bool) -> Result<Outliers<Book>> {
    let parents = bench.db.collection::<Document>(&bench.fresh("sales"));
    let extras = bench.db.collection(&bench.fresh("extra_sales"));
    let books = Book::outliers_in(parents, extras).await?;
    for id in 0..BOOKS {
        // The last extras documents are filled to different degrees, as in practice.
        let buyers = if bestseller(id) {
            OUTLIER_BUYERS - id as usize
        } else {
            BUYERS
        };
        books.insert(&book(id, buyers)).await?;
    }
    Ok(books)
}

pub(crate) fn book(id: i64, buyers: usize) -> Book {
    Book {
        id,
        title: format!("The Wooden Amulet, part {id}"),
        year: 2023,
        author: "Lesley Moreno".to_owned(),
        customers_purchased: (0..buyers).map(|nth| format!("user{nth:05}")).collect(),
    }
}

fn read(books: Outliers<Book>) -> Contestant {
    Contestant::calls(
        1,
        |round| (0..25).map(|nth| typical(round * 25 + nth)).collect(),
        move |id| {
            let books = books.clone();
            async move {
                let parent = books.get(&id).await?.ok_or("there is no such book")?;
                assert!(!parent.has_extras, "book {id} is an outlier");
                Ok(())
            }
        },
    )
}

fn newest_page(books: Outliers<Book>) -> Contestant {
    Contestant::calls(
        1,
        |round| (0..25).map(|nth| typical(round * 25 + nth)).collect(),
        move |id| {
            let books = books.clone();
            async move {
                let page = books.items(&id).newest_first().page_of_items(10).await?;
                assert_eq!(page.items.len(), 10, "book {id}");
                Ok(())
            }
        },
    )
}

fn list(books: Outliers<Book>) -> Contestant {
    Contestant::calls(
        1,
        |round| {
            (0..5)
                .map(|nth| (round * 5 + nth) as i64 * LISTED % BOOKS)
                .collect()
        },
        move |first| {
            let books = books.clone();
            async move {
                let some = doc! { "_id": { "$gte": first, "$lt": first + LISTED } };
                let parents: Vec<_> = books.find(some).await?.try_collect().await?;
                assert_eq!(parents.len() as i64, LISTED, "books were listed");
                Ok(())
            }
        },
    )
}

/// Pushes to one parent after the other. A typical parent has room for all pushes.
fn push(books: Outliers<Book>, to_outliers: bool) -> Contestant {
    Contestant::calls(
        10,
        move |round| {
            let nth = (0..50).map(|nth| round * 50 + nth);
            let outlier = |nth: usize| nth as i64 * LISTED % BOOKS + LISTED / 2;
            nth.map(|nth| {
                if to_outliers {
                    outlier(nth)
                } else {
                    typical(nth)
                }
            })
            .collect()
        },
        move |id| {
            let books = books.clone();
            async move {
                books.push(&id, "user99999").await?;
                Ok(())
            }
        },
    )
}

/// The id of a typical book, a different one for each number up to hundreds.
fn typical(nth: usize) -> i64 {
    let id = nth as i64 % BOOKS;
    if is_bestseller(id) { id + 1 } else { id }
}
