//! Export, whatever happens meanwhile, import: each archived item is there once, or its line is listed.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::OnceLock,
    time::Duration,
};

use bucket_ops::{Imported, RefusedReason};
use bucket_runtime::{
    Bucket, Buckets,
    mongodb::{
        Database,
        bson::{DateTime, Document},
    },
};
use futures_util::TryStreamExt;
use rand::Rng;

use super::{Visit, export, file, visits};
use crate::support::{
    assert_sound,
    database::{Live, documents, fresh, items, number},
    ops,
    scale::scaled,
};

visits! {
    Seconds("{page}_{at}", 3, expire_after = "900d")
    Numbered("{page}_{#}", 3)
    Hours("{page}_{at/1h}", 3, expire_after = "900d")
    UniqueSeconds("{page}_{at}", 3) #[bucket(unique)]
    UniqueNumbered("{page}_{#}", 3) #[bucket(unique)]
    UniqueHours("{page}_{at/1h}", 3) #[bucket(unique)]
}

const PAGES: [&str; 2] = ["a", "a_b"];

/// The start of an hour, about a year ago.
fn base() -> i64 {
    static BASE: OnceLock<i64> = OnceLock::new();
    let hour = 3_600_000;
    *BASE.get_or_init(|| (DateTime::now().timestamp_millis() - 8760 * hour) / hour * hour)
}

/// Four hours, and no time twice; most times lie close together, so that several buckets begin in a second.
fn time(base: i64, n: i64) -> DateTime {
    DateTime::from_millis(base + n % 4 * 3_600_000 + n)
}

/// The oracle: each stored item's value, by page and number; a number that is there twice is an error.
async fn stored<T: Visit>(visits: &Buckets<T>) -> BTreeMap<(String, i64), i64> {
    let mut found = BTreeMap::new();
    for bucket in documents(visits.collection()).await {
        let page = bucket.get_str("page").unwrap();
        let elements = bucket.get_array("items").unwrap();
        let count = elements.len() as i64;
        assert_eq!(number(bucket.get("count")), count, "{bucket}");
        assert!(count <= 3, "{bucket}");
        for element in elements {
            let element = element.as_document().unwrap();
            let item = (page.to_owned(), number(element.get("n")));
            let twice = found.insert(item, number(element.get("value")));
            assert_eq!(twice, None, "stored twice: {element} in {bucket}");
        }
    }
    found
}

/// A random program, beside a model.
struct Program<T: Visit> {
    visits: Buckets<T>,
    model: BTreeMap<(String, i64), i64>,
    base: i64,
    next: i64,
    edits: bool,
}

impl<T: Visit> Program<T> {
    async fn append(&mut self, items: i64) {
        for _ in 0..items {
            let page = PAGES[rand::rng().random_range(0..2)];
            let (n, at) = (self.next, time(self.base, self.next));
            self.next += 1;
            self.visits.append(&T::new(page, n, at)).await.unwrap();
            self.model.insert((page.to_owned(), n), n);
        }
    }

    async fn step(&mut self) {
        let page = PAGES[rand::rng().random_range(0..2)];
        let all: Vec<_> = self.model.keys().filter(|(of, _)| of == page).collect();
        let n = match all.len() {
            0 => -1,
            len => all[rand::rng().random_range(0..len)].1,
        };
        match rand::rng().random_range(0..12) {
            0 => {
                self.visits.remove_key(page).await.unwrap();
                self.model.retain(|(of, _), _| of != page);
            }
            1..=3 => {
                // Whole windows, too.
                let hours = rand::rng().random_range(0..5);
                let limit = DateTime::from_millis(self.base + hours * 3_600_000);
                let remove = self.visits.remove_items(page, T::before(limit));
                remove.await.unwrap();
                let base = self.base;
                self.model
                    .retain(|(of, n), _| of != page || time(base, *n) >= limit);
            }
            4..=6 => {
                self.visits.remove_items(page, T::only(n)).await.unwrap();
                self.model.remove(&(page.to_owned(), n));
            }
            7..=8 if self.edits => {
                let edited = self.visits.update_item(page, T::only(n), T::edit);
                if edited.await.unwrap().is_some() {
                    *self.model.get_mut(&(page.to_owned(), n)).unwrap() += 1;
                }
            }
            _ => self.append(rand::rng().random_range(1..4)).await,
        }
    }

    /// Exports, lets things happen, and imports, killed some times.
    async fn round(&mut self) {
        let archive = export(&self.visits).await;
        let buckets = documents(self.visits.collection()).await;
        let archived = self.model.clone();
        for _ in 0..rand::rng().random_range(0..9) {
            self.step().await;
        }
        for _ in 0..rand::rng().random_range(0..4) {
            let limit = Duration::from_micros(rand::rng().random_range(100..20_000));
            let visits = self.visits.clone();
            let import = ops(&visits).import(file(&archive)).into_future();
            let (killed, ()) = tokio::join!(tokio::time::timeout(limit, import), self.append(2));
            if let Ok(done) = killed {
                let _ = done.unwrap();
            }
        }
        // A dropped call may still be on its way; the repetition finds it.
        let imported = ops(&self.visits).import(file(&archive)).await.unwrap();
        assert_eq!(imported.lines(), archive.len() as u64);
        self.check(&buckets, archived, &imported).await;
        let again = ops(&self.visits).import(file(&archive)).await.unwrap();
        assert_eq!(again.refused, imported.refused);
        assert_eq!(again.buckets, 0, "{again:?}");
    }

    /// Each archived item is there once, as it is now or as it was, or its line is listed.
    async fn check(
        &mut self,
        buckets: &[Document],
        archived: BTreeMap<(String, i64), i64>,
        imported: &Imported,
    ) {
        let now = stored(&self.visits).await;
        let mut excused = BTreeSet::new();
        for refused in &imported.refused {
            let bucket = &buckets[refused.line as usize - 1];
            let page = bucket.get_str("page").unwrap().to_owned();
            for element in bucket.get_array("items").unwrap() {
                let n = number(element.as_document().unwrap().get("n"));
                excused.insert((page.clone(), n));
            }
        }
        for (item, value) in archived {
            let expected = *self.model.entry(item.clone()).or_insert(value);
            match now.get(&item) {
                None if excused.contains(&item) => drop(self.model.remove(&item)),
                // Removed, also after an edit: it comes back as it was archived.
                found => assert_eq!(found, Some(&expected), "{item:?} {:?}", imported.refused),
            }
        }
        assert_eq!(now, self.model);
    }
}

async fn come_back<T: Visit>(db: &Database) {
    for run in 0..scaled(16_u32) {
        db.drop().await.unwrap();
        let mut program = Program {
            visits: T::buckets(db).await.unwrap(),
            model: BTreeMap::new(),
            base: base(),
            next: 0,
            edits: run % 2 == 1,
        };
        program.append(14).await;
        for _ in 0..3 {
            program.round().await;
        }
        // A removal may have left the key without a number.
        assert_sound(&program.visits).await;
    }
}

macro_rules! come_back {
    ($($test:ident: $plain:ident $unique:ident;)+) => {$(
        #[bucket_testkit::test]
        async fn $test(db: Live) {
            come_back::<$plain>(&db).await;
            come_back::<$unique>(&db).await;
        }
    )+};
}

come_back! {
    g1_items_come_back_by_seconds: Seconds UniqueSeconds;
    g1_items_come_back_by_number: Numbered UniqueNumbered;
    g1_items_come_back_by_window: Hours UniqueHours;
}

/// The numbers of the items of the page "a".
async fn ns<T: Visit>(visits: &Buckets<T>) -> Vec<i64> {
    items(visits, "a").await.iter().map(T::n).collect()
}

/// A collection in which the page "a" has these items.
async fn filled<T: Visit>(db: &Database, n: Range<i64>) -> Buckets<T> {
    let visits = fresh::<T>(db).await;
    for n in n {
        visits.append(&visit(n)).await.unwrap();
    }
    visits
}

fn visit<T: Visit>(n: i64) -> T {
    T::new("a", n, DateTime::from_millis(base() + n))
}

/// The way that the guide recommends.
#[bucket_testkit::test]
async fn g5_emptied_numbers_are_filled_in_order(db: Live) {
    let visits = filled::<Numbered>(&db, 0..8).await;
    let limit = Numbered::FIELDS.n.lt(7);
    let archive = ops(&visits).export("a").holding(limit.clone());
    let archive: Vec<String> = archive.await.unwrap().try_collect().await.unwrap();
    visits.remove_items("a", limit).await.unwrap();
    visits.append(&visit(8)).await.unwrap();

    let imported = ops(&visits).import(file(&archive)).await.unwrap();
    // The third bucket still holds one item.
    assert_eq!((imported.buckets, imported.items), (2, 6));
    assert_eq!(imported.refused_lines, 1);
    assert_eq!(imported.refused[0].reason, RefusedReason::Taken);
    assert_eq!(ns(&visits).await, [0, 1, 2, 3, 4, 5, 7, 8]);
    assert_sound(&visits).await;
}

/// A window that was emptied is filled again; one that a late item opened again is not.
#[bucket_testkit::test]
async fn g3_an_emptied_window_is_filled_and_a_late_item_stays(db: Live) {
    let visits = filled::<Hours>(&db, 0..2).await;
    let archive = export(&visits).await;
    for n in 0..2 {
        visits.remove_items("a", Hours::only(n)).await.unwrap();
    }
    let mut new = visits.watch("a").await.unwrap();
    let imported = ops(&visits).import(file(&archive)).await.unwrap();
    assert_eq!((imported.buckets, imported.items), (1, 2));
    visits.append(&visit(7)).await.unwrap();
    let seen = new.try_next().await.unwrap().unwrap().n;
    assert!([0, 7].contains(&seen), "{seen}");
    assert_eq!(ns(&visits).await, [0, 1, 7]);

    visits.remove_items("a", Hours::only(0)).await.unwrap();
    let before = documents(visits.collection()).await;
    let imported = ops(&visits).import(file(&archive)).await.unwrap();
    assert_eq!((imported.buckets, imported.refused_lines), (0, 1));
    assert_eq!(documents(visits.collection()).await, before);
    assert_sound(&visits).await;
}

/// A changed item is not doubled, whether a `unique` field tells it or not: its line is listed.
#[bucket_testkit::test]
async fn g1_a_line_with_a_changed_item_is_listed_and_the_others_are_taken(db: Live) {
    a_change_is_listed::<Numbered>(&db).await;
    a_change_is_listed::<UniqueNumbered>(&db).await;
}

async fn a_change_is_listed<T: Visit>(db: &Database) {
    let visits = filled::<T>(db, 0..6).await;
    let archive = export(&visits).await;
    let edited = visits.update_item("a", T::only(2), T::edit).await;
    assert!(edited.unwrap().is_some());
    let second = documents(visits.collection()).await.remove(1);
    visits.collection().delete_one(second).await.unwrap();
    let imported = ops(&visits).import(file(&archive)).await.unwrap();
    assert_eq!((imported.buckets, imported.refused_lines), (1, 1));
    let refused = imported.refused[0].to_string();
    assert!(refused.starts_with("line 1, bucket \"a_"), "{refused}");
    assert!(refused.contains("append what is missing"), "{refused}");
    assert_eq!(ns(&visits).await, Vec::from_iter(0..6));
}

/// Another bucket of the key holds one of the line's items.
#[bucket_testkit::test]
async fn g1_an_item_that_another_bucket_holds_is_not_doubled(db: Live) {
    let visits = filled::<UniqueNumbered>(&db, 0..6).await;
    let archive = export(&visits).await;
    let first = documents(visits.collection()).await.remove(0);
    visits.collection().delete_one(first).await.unwrap();
    visits.append(&visit(1)).await.unwrap();
    let imported = ops(&visits).import(file(&archive)).await.unwrap();
    assert_eq!((imported.already_there, imported.refused_lines), (1, 1));
    assert_eq!(imported.refused[0].reason, RefusedReason::Elsewhere);
    assert_eq!(ns(&visits).await, [3, 4, 5, 1]);
}
