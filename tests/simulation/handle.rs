//! What the writers of a schedule call: buckets of several kinds, and parents with extras.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    future::{Future, ready},
    ops::Range,
};

use bucket_ops::{ImportProgress, Imported, Ops, OutlierOps, Problem};
use bucket_runtime::{
    Bucket, Buckets, Fields, Filter, NewItem, Ordinal, Outlier, Outliers, Result,
    action::Watch,
    bson::{DateTime, Document, doc},
    mongodb::{ClientSession, Database},
};
use futures_util::stream::iter;
use serde::{Deserialize, Serialize};

use crate::world::Told;

/// The capacity of buckets and of extras documents.
pub(crate) const CAPACITY: u32 = Numbered::SPEC.capacity;

/// The threshold of parents.
pub(crate) const THRESHOLD: usize = Family::SPEC.threshold as usize;

/// In milliseconds.
const DAY: i64 = 86_400_000;

/// What an import reads: items of two keys, and one document that is not an item. One item is there twice if items are
/// unique.
pub(crate) fn flat_items(first: i64, is_unique: bool) -> Vec<Document> {
    let second = is_unique.then_some((first + 50, first + 3));
    let items = (first..first + 10).map(|n| (n, n)).chain(second);
    let item = |(id, n): (i64, i64)| {
        let (sensor, at) = (
            IMPORTED + i64::from(n % 5 == 0),
            DateTime::from_millis(n % 2 * DAY),
        );
        doc! { "_id": id, "sensor": sensor, "at": at, "n": n, "changes": 0_i64 }
    };
    let damaged = doc! { "_id": first + 60, "sensor": IMPORTED, "at": DateTime::from_millis(0), "n": "three" };
    items.map(item).chain([damaged]).collect()
}

/// The first key of the imported items.
pub(crate) const IMPORTED: i64 = 2;

/// The session of a call, if it has one.
pub(crate) type Session<'s> = Option<&'s mut ClientSession>;

/// Awaits a call, in the session if there is one.
macro_rules! awaited {
    ($call:expr, $session:expr) => {
        match $session {
            Some(session) => $call.session(session).await,
            None => $call.await,
        }
    };
}

/// A handle for items of two keys. An item is its key and its number.
pub(crate) trait Handle: Clone + Send + Sync + 'static {
    const IS_UNIQUE: bool;

    /// Whether a read gives each writer's items in the order in which they were stored.
    fn is_in_order() -> bool;

    fn open(db: &Database, combine: bool) -> impl Future<Output = Self> + Send;

    /// The name of the process that has it.
    fn process(&self) -> String;

    fn append(
        &self,
        sensor: i64,
        n: i64,
        session: Session<'_>,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Removes an item, or changes it. Whether it was there.
    fn edit(
        &self,
        sensor: i64,
        n: i64,
        removes: bool,
        session: Session<'_>,
    ) -> impl Future<Output = Result<bool>> + Send;

    /// The numbers of those items that were not acknowledged. In a session, a load is a transaction.
    fn load(
        &self,
        items: Vec<(i64, i64)>,
        session: Session<'_>,
    ) -> impl Future<Output = BTreeMap<i64, Told>> + Send;

    /// A parent that holds these items, as other programs have written them, some of another version: with a further
    /// field, or without one that has a default. `None` if items are in buckets.
    fn grown(_sensor: i64, _numbers: Range<i64>) -> Option<Document> {
        None
    }

    /// The numbers of a parent's items.
    fn read(&self, _sensor: i64) -> impl Future<Output = Result<Vec<i64>>> + Send {
        ready(Ok(Vec::new()))
    }

    /// Deletes a parent.
    fn delete(&self, _sensor: i64) -> impl Future<Output = Result<bool>> + Send {
        ready(Ok(false))
    }

    /// What a watch gives.
    type Watched: Send + 'static;

    /// Watches all keys.
    fn watch(&self) -> Watch<Self::Watched>;

    /// The number of an item.
    fn number(watched: &Self::Watched) -> i64;

    /// What a verification finds: problems by their kind, and as text.
    fn verify(db: &Database) -> impl Future<Output = Result<Vec<String>>> + Send;

    /// Repairs what needs no guessing; what is left.
    fn repair(db: &Database) -> impl Future<Output = Result<Vec<String>>> + Send;

    /// Rebuilds all rollups, where there are any; what is left.
    fn rebuild_rollups(db: &Database) -> impl Future<Output = Result<Vec<String>>> + Send {
        Self::repair(db)
    }

    /// Whether its items are in buckets. Only then the following is called.
    const IS_OF_BUCKETS: bool = false;

    /// Gives the collection another capacity.
    fn change_capacity(
        _db: &Database,
        _capacity: Capacity,
    ) -> impl Future<Output = Result<()>> + Send {
        ready(Ok(()))
    }

    /// A handle of the collection's present capacity, if it can be opened now.
    fn reopen(&self) -> impl Future<Output = Option<Self>> + Send {
        ready(None)
    }

    /// Migrates all buckets, until this is done.
    fn migrate(
        _db: &Database,
        _until: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = Result<u64>> + Send {
        ready(Ok(0))
    }

    /// Imports the flat collection of this database.
    fn import_flat(&self, _db: &Database) -> impl Future<Output = Result<ImportProgress>> + Send {
        ready(Ok(ImportProgress::default()))
    }

    /// Imports archived buckets.
    fn import_lines(&self, _lines: Vec<String>) -> impl Future<Output = Result<Imported>> + Send {
        ready(Ok(Imported::default()))
    }
}

/// Operations on the collection of this handle.
fn ops<T: Bucket>(handle: &Buckets<T>) -> Ops<T> {
    Ops::in_collection(handle.collection().clone())
}

/// Problems by their kinds, and as text.
fn listed(problems: Vec<Problem>) -> Vec<String> {
    let problems = problems.iter();
    problems
        .map(|problem| format!("{:?}: {problem}", problem.kind))
        .collect()
}

/// A capacity to which a collection's may change.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Capacity {
    Narrow,
    First,
    Wide,
}

/// The structs of one collection, which differ by their capacities.
macro_rules! readings {
    ($($first:ident $narrow:ident $wide:ident ($($of:tt)*))+) => {$(
        readings!(@one $narrow, 2, $($of)*);
        readings!(@one $first, 3, $($of)*);
        readings!(@one $wide, 5, $($of)*);

        impl Reading for $first {
            type Narrow = $narrow;
            type Wide = $wide;

            fn new(sensor: i64, n: i64) -> Self {
                Self { sensor, at: DateTime::from_millis(n % 2 * DAY), n, changes: 0 }
            }

            fn n(&self) -> i64 {
                self.n
            }

            fn of_number(n: i64) -> Filter<Self> {
                Self::FIELDS.n.eq(n)
            }

            fn change(&mut self) {
                self.changes += 1;
            }

            fn moved(self) -> Moved {
                Moved { sensor: self.sensor, n: self.n, changes: self.changes }
            }
        }
    )+};
    (
        @one $name:ident, $capacity:literal,
        $id:literal, $(#[$of_n:meta])? n, $(#[$of_changes:meta])? changes
    ) => {
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "buckets", id = $id, capacity = $capacity, items = "items")]
        pub(crate) struct $name {
            sensor: i64,
            at: DateTime,
            $(#[$of_n])?
            n: i64,
            $(#[$of_changes])?
            changes: i64,
        }
    };
}

/// What becomes of an item when buckets are migrated.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(
    collection = "migrated",
    id = "{sensor}_{#}",
    capacity = 2,
    items = "items"
)]
pub(crate) struct Moved {
    sensor: i64,
    n: i64,
    changes: i64,
}

/// The capacity of migrated buckets.
pub(crate) const MOVED_CAPACITY: u32 = Moved::SPEC.capacity;

pub(crate) trait Reading: Bucket<Key = (i64,)> + Clone + Send + Sync {
    type Narrow: Bucket;
    type Wide: Bucket;

    fn new(sensor: i64, n: i64) -> Self;
    fn n(&self) -> i64;
    fn of_number(n: i64) -> Filter<Self>;
    fn change(&mut self);
    fn moved(self) -> Moved;
}

readings! {
    Numbered NumberedNarrow NumberedWide ("{sensor}_{#}", n, changes)
    NumberedOnce NumberedOnceNarrow NumberedOnceWide ("{sensor}_{#}", #[bucket(unique)] n, changes)
    Timed TimedNarrow TimedWide ("{sensor}_{at}", n, changes)
    TimedOnce TimedOnceNarrow TimedOnceWide ("{sensor}_{at}", #[bucket(unique)] n, changes)
    Daily DailyNarrow DailyWide ("{sensor}_{at/1d}", n, #[bucket(sum, max)] changes)
}

impl<T: Reading> Handle for Buckets<T> {
    const IS_UNIQUE: bool = T::SPEC.unique.is_some();

    const IS_OF_BUCKETS: bool = true;

    fn is_in_order() -> bool {
        T::SPEC.id.ordinal == Ordinal::Number
    }

    async fn open(db: &Database, combine: bool) -> Self {
        let buckets = T::buckets(db).combine(combine);
        buckets.await.expect("an opened collection")
    }

    fn process(&self) -> String {
        self.collection().namespace().db
    }

    async fn append(&self, sensor: i64, n: i64, session: Session<'_>) -> Result<()> {
        let item = T::new(sensor, n);
        awaited!(Self::append(self, &item), session).map(drop)
    }

    async fn edit(&self, sensor: i64, n: i64, removes: bool, session: Session<'_>) -> Result<bool> {
        let of_number = T::of_number(n);
        Ok(match removes {
            true => awaited!(self.remove_item(&sensor, of_number), session)?.is_some(),
            false => awaited!(self.update_item(&sensor, of_number, T::change), session)?.is_some(),
        })
    }

    type Watched = T;

    fn watch(&self) -> Watch<T> {
        self.watch_all()
    }

    fn number(watched: &T) -> i64 {
        watched.n()
    }

    async fn verify(db: &Database) -> Result<Vec<String>> {
        Ok(listed(Ops::<T>::of(db).verify().await?.problems))
    }

    async fn repair(db: &Database) -> Result<Vec<String>> {
        Ok(listed(Ops::<T>::of(db).repair().await?.left))
    }

    async fn rebuild_rollups(db: &Database) -> Result<Vec<String>> {
        match T::SPEC.rollups.is_empty() {
            true => Self::repair(db).await,
            false => (Ops::<T>::of(db).rebuild_rollups().await).map(|_| Vec::new()),
        }
    }

    async fn change_capacity(db: &Database, capacity: Capacity) -> Result<()> {
        match capacity {
            Capacity::Narrow => Ops::<T::Narrow>::of(db).change_capacity().await,
            Capacity::First => Ops::<T>::of(db).change_capacity().await,
            Capacity::Wide => Ops::<T::Wide>::of(db).change_capacity().await,
        }
    }

    async fn reopen(&self) -> Option<Self> {
        let buckets = T::buckets_in(self.collection().clone());
        buckets.stored_capacity(true).await.ok()
    }

    async fn migrate(
        db: &Database,
        until: impl Future<Output = ()> + Send + 'static,
    ) -> Result<u64> {
        Ops::<Moved>::of(db)
            .migrate_from::<T>(T::moved)
            .until(until)
            .await
    }

    async fn import_flat(&self, db: &Database) -> Result<ImportProgress> {
        let flat = db.collection::<Document>("flat");
        let import = ops(self).import_flat(&flat);
        import.skip_unreadable(|_| ()).await
    }

    async fn import_lines(&self, lines: Vec<String>) -> Result<Imported> {
        let lines = lines.into_iter().map(Ok::<_, Infallible>);
        ops(self).import(iter(lines)).await
    }

    async fn load(&self, items: Vec<(i64, i64)>, session: Session<'_>) -> BTreeMap<i64, Told> {
        let items = Vec::from_iter(items.into_iter().map(|(sensor, n)| T::new(sensor, n)));
        let loaded = awaited!(self.append_many(items), session);
        let failed = loaded
            .as_ref()
            .err()
            .map_or(&[][..], |error| error.failed());
        let failed = failed.iter();
        failed
            .map(|failed| (failed.item.n(), Told::by(&failed.error)))
            .collect()
    }
}

/// An item of a parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
pub(crate) struct Child {
    n: i64,
    #[serde(default)]
    changes: i64,
}

impl Child {
    fn new(n: i64) -> Self {
        Self { n, changes: 0 }
    }
}

macro_rules! families {
    ($($name:ident($(#[$of_items:meta])* items $(, $total:ident)?))+) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
        #[outlier(
            collection = "parents", extras = "buckets", extra_items = "items", reference = "sensor",
            threshold = 2, extras_capacity = 3,
        )]
        pub(crate) struct $name {
            #[serde(rename = "_id")]
            id: i64,
            $(#[$of_items])*
            items: Vec<Child>,
            $(
                #[outlier(total)]
                $total: u64,
            )?
        }

        impl Handle for Outliers<$name> {
            const IS_UNIQUE: bool = $name::SPEC.unique.is_some();

            fn is_in_order() -> bool {
                true
            }

            async fn open(db: &Database, _combine: bool) -> Self {
                let parents = $name::outliers(db).await.expect("an opened collection");
                for id in [0, 1] {
                    let parent = $name { id, items: Vec::new(), $($total: 0)? };
                    let inserted = parents.insert(&parent).await;
                    assert!(inserted.is_ok() || inserted.is_err_and(|it| it.is_already_there()));
                }
                parents
            }

            fn process(&self) -> String {
                self.collection().namespace().db
            }

            async fn append(&self, sensor: i64, n: i64, session: Session<'_>) -> Result<()> {
                awaited!(self.push(&sensor, Child::new(n)), session).map(drop)
            }

            async fn edit(
                &self,
                sensor: i64,
                n: i64,
                removes: bool,
                session: Session<'_>,
            ) -> Result<bool> {
                let of_number = $name::FIELDS.items.item().n.eq(n);
                let change = |child: &mut Child| child.changes += 1;
                Ok(match removes {
                    true => awaited!(self.remove_item(&sensor, of_number), session)?.is_some(),
                    false => {
                        let update = self.update_item(&sensor, of_number, change);
                        awaited!(update, session)?.is_some()
                    }
                })
            }

            fn grown(sensor: i64, numbers: Range<i64>) -> Option<Document> {
                let items = numbers.map(|n| match n % 3 {
                    0 => doc! { "n": n },
                    1 => doc! { "n": n, "changes": 0_i64, "note": n },
                    _ => doc! { "n": n, "changes": 0_i64 },
                });
                let items = Vec::from_iter(items);
                $(let $total = items.len() as i64;)?
                Some(doc! { "_id": sensor, "items": items, $(stringify!($total): $total)? })
            }

            type Watched = NewItem<i64, Child>;

            fn watch(&self) -> Watch<Self::Watched> {
                self.watch_all()
            }

            fn number(watched: &Self::Watched) -> i64 {
                watched.item.n
            }

            async fn read(&self, sensor: i64) -> Result<Vec<i64>> {
                let all = self.get_all(&sensor).await?;
                let items = all.map_or_else(Vec::new, |parent| parent.items);
                Ok(items.iter().map(|child| child.n).collect())
            }

            async fn delete(&self, sensor: i64) -> Result<bool> {
                Self::delete(self, &sensor).await
            }

            async fn verify(db: &Database) -> Result<Vec<String>> {
                Ok(listed(OutlierOps::<$name>::of(db).verify().await?.problems))
            }

            async fn repair(db: &Database) -> Result<Vec<String>> {
                Ok(listed(OutlierOps::<$name>::of(db).repair().await?.left))
            }

            async fn load(
                &self,
                items: Vec<(i64, i64)>,
                mut session: Session<'_>,
            ) -> BTreeMap<i64, Told> {
                let mut failed = BTreeMap::new();
                for id in [0, 1] {
                    let items = items.iter().filter(|(sensor, _)| *sensor == id);
                    let children = Vec::from_iter(items.map(|(_, n)| Child::new(*n)));
                    let push = self.push_many(&id, children);
                    let pushed = awaited!(push, session.as_deref_mut());
                    if let Err(error) = pushed {
                        let told = Told::by(&error.error);
                        failed.extend(error.rest.iter().map(|child| (child.n, told)));
                    }
                }
                failed
            }
        }
    )+};
}

families! {
    Family(#[outlier(items)] items)
    FamilyOnce(#[outlier(items, unique = n)] items)
    FamilyCounted(#[outlier(items)] items, total)
    FamilyOnceCounted(#[outlier(items, unique = n)] items, total)
}
