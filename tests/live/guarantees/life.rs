//! The whole life of the data at once: tasks append, edit and remove, while another task changes the capacity up and
//! down, and all of them drop some of their calls. Every acknowledged change holds, and at rest the buckets satisfy all
//! guarantees.

pub(crate) mod model;
pub(crate) mod support;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bucket_ops::Ops;
use bucket_runtime::{
    Appended, Buckets,
    mongodb::{Database, bson::Document},
};
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::{
    guarantees::life::{
        model::{ITEMS, Known, Model, Outcome, assert_once, called, in_order},
        support::{
            Entry, Millis4, Millis10, NumberedBytes4, NumberedBytes10, NumberedSum4, NumberedSum10,
            Place, SecondsSum4, SecondsSum10, Step, WindowsBytes4, WindowsBytes10, WindowsSum4,
            WindowsSum10, place, program,
        },
    },
    support::{
        database::{Live, documents, snapshot},
        notes::checked_within,
        tasks::JoinSet,
    },
};

const WRITERS: u64 = 5;
const STEPS: usize = 80;

/// The values that an item may have after its append was dropped, or its removal.
const DROPPED: [Option<i32>; 2] = [None, Some(0)];

/// The least number of changes of the capacity by calls that are not dropped.
const CHANGES: u32 = 4;

/// A writer of its own items, which share buckets with other writers' items.
struct Writer<T> {
    db: Database,
    notes: Buckets<T>,
    next: i64,
    known: BTreeMap<i64, Known<T>>,
}

impl<T: Entry> Writer<T> {
    fn new(db: &Database, notes: Buckets<T>, number: u64) -> Self {
        Self {
            db: db.clone(),
            notes,
            next: i64::try_from(number).unwrap() * ITEMS,
            known: BTreeMap::new(),
        }
    }

    async fn run(mut self, seed: u64) -> BTreeMap<i64, Known<T>> {
        for (step, limit) in program(seed, STEPS) {
            match step {
                Step::Append(place) => self.append(place, limit).await,
                Step::Again(pick) => self.again(pick, limit).await,
                Step::Update(pick) => self.update(pick, limit).await,
                Step::Remove(pick) => self.remove(pick, limit).await,
            }
        }
        self.known
    }

    fn new_item(&mut self, place: Place) -> T {
        self.next += 1;
        T::of(place, self.next)
    }

    fn know(&mut self, item: T, values: &[Option<i32>]) {
        let known = Known {
            values: values.to_vec(),
            in_order: matches!(values, [Some(_)]),
            item,
        };
        self.known.insert(known.item.n(), known);
    }

    /// One of the items that have these values. A dropped call may still change it.
    fn pick(&mut self, pick: usize, is: impl Fn(&[Option<i32>]) -> bool) -> Option<&mut Known<T>> {
        let mut those = Vec::from_iter(self.known.values_mut().filter(|known| is(&known.values)));
        (!those.is_empty()).then(|| those.swap_remove(pick % those.len()))
    }

    async fn append(&mut self, place: Place, limit: Option<u64>) {
        let item = self.new_item(place);
        match called(self.notes.append(&item), limit).await {
            Outcome::Done(done) => {
                assert_eq!(done, Appended::Stored);
                self.know(item, &[Some(0)]);
            }
            Outcome::Refused => {
                self.know(item, &[None]);
                self.open_again().await;
            }
            Outcome::Unknown => self.know(item, &DROPPED),
        }
    }

    /// Takes the capacity that the collection has now, or will have once its change is done.
    async fn open_again(&mut self) {
        loop {
            match T::buckets(&self.db).stored_capacity(true).await {
                Ok(notes) => {
                    self.notes = notes;
                    return;
                }
                Err(error) => assert!(error.is_index_missing(), "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Appends many items at once, but not while the capacity changes.
    async fn load(&mut self, items: u32) {
        let places = (0..items).map(|_| place(&mut rand::rng()));
        let items = Vec::from_iter(places.map(|place| self.new_item(place)));
        let stored = self.notes.append_many(items.clone()).await.unwrap();
        assert_eq!(stored, items.len() as u64);
        for item in items {
            self.know(item, &[Some(0)]);
        }
    }

    /// Repeating a dropped append stores the item if it is missing, and so settles whether it is
    /// stored.
    async fn again(&mut self, pick: usize, limit: Option<u64>) {
        let notes = self.notes.clone();
        if T::SPEC.unique.is_some()
            && let Some(known) = self.pick(pick, |values| values == DROPPED)
            && let Outcome::Done(_) = called(notes.append(&known.item), limit).await
        {
            known.values = vec![Some(0)];
        }
    }

    async fn update(&mut self, pick: usize, limit: Option<u64>) {
        let notes = self.notes.clone();
        let Some(known) = self.pick(pick, |values| matches!(values, [Some(_)])) else {
            return;
        };
        let next = known.values[0].unwrap() + 1;
        let (owner, n) = (*known.item.owner(), known.item.n());
        let up = |note: &mut T| *note.value() += 1;
        match called(notes.update_item(&owner, T::n_is(n), up), limit).await {
            Outcome::Done(now) => {
                let mut now = now.expect("the item");
                assert_eq!((now.n(), *now.value()), (n, next));
                known.values = vec![Some(next)];
            }
            Outcome::Refused => {}
            Outcome::Unknown => known.values.push(Some(next)),
        }
    }

    async fn remove(&mut self, pick: usize, limit: Option<u64>) {
        let notes = self.notes.clone();
        let Some(known) = self.pick(pick, |values| matches!(values, [Some(_)])) else {
            return;
        };
        let (owner, n) = (*known.item.owner(), known.item.n());
        match called(notes.remove_item(&owner, T::n_is(n)), limit).await {
            Outcome::Done(gone) => {
                let mut gone = gone.expect("the item");
                assert_eq!((gone.n(), Some(*gone.value())), (n, known.values[0]));
                known.values = vec![None];
            }
            Outcome::Refused => {}
            Outcome::Unknown => known.values.push(None),
        }
    }
}

/// Changes the capacity up and down until told to stop.
async fn up_and_down<A: Entry, B: Entry>(db: Database, seed: u64, stop: Arc<AtomicBool>) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut done = 0;
    let mut down = true;
    while !stop.load(Ordering::Relaxed) || done < CHANGES {
        // Meanwhile writers open the collection again.
        tokio::time::sleep(Duration::from_millis(random.random_range(0..100))).await;
        let dropped = random.random_range(0..3) == 0;
        let limit = dropped.then(|| random.random_range(0..60_000));
        let change = match down {
            true => called(Ops::<B>::of(&db).change_capacity(), limit).await,
            false => called(Ops::<A>::of(&db).change_capacity(), limit).await,
        };
        if let Some(now) = snapshot(&db.collection::<Document>(A::SPEC.collection)).await {
            let (least, most) = (B::SPEC.capacity.into(), A::SPEC.capacity.into());
            let found = checked_within::<A>(now, least, most);
            assert_once(found.into_values().flatten().map(|(n, _)| n));
        }
        // A dropped call is made again, or the next one finishes its change.
        let is_done = matches!(change, Outcome::Done(()));
        done += u32::from(is_done);
        down ^= is_done || random.random_range(0..2) == 0;
    }
}

/// Waits until no call is on its way any more. A dropped append may pause for 1.6 seconds between two tries.
async fn at_rest(db: &Database, collection: &str) {
    let collection = db.collection::<Document>(collection);
    let (mut before, mut same) = (None, 0);
    while same < 10 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let names = collection.list_index_names().await.unwrap();
        let found = (documents(&collection).await, names);
        same = if before.as_ref() == Some(&found) {
            same + 1
        } else {
            0
        };
        before = Some(found);
    }
}

async fn life<A: Entry, B: Entry>(db: &Database, validated: bool) {
    let seed = rand::random_range(0..1_000_000);
    // The test's output shows this if the test fails.
    println!("seed {seed}");
    if validated {
        A::create_collection(db).await.unwrap();
    }
    let large = A::buckets(db).await.unwrap();
    let alone = A::buckets(db).combine(false).await.unwrap();
    let mut first = Writer::new(db, alone, 1);
    first.load(100).await;
    Ops::<B>::of(db).change_capacity().await.unwrap();
    let small = B::buckets(db).await.unwrap();

    let stop = Arc::new(AtomicBool::new(false));
    let changes = tokio::spawn(up_and_down::<A, B>(db.clone(), seed, Arc::clone(&stop)));
    let (mut of_large, mut of_small) = (JoinSet::new(), JoinSet::new());
    of_large.spawn(first.run(seed + 1));
    for number in 2..=WRITERS {
        match number % 2 {
            0 => of_small.spawn(Writer::new(db, small.clone(), number).run(seed + number)),
            _ => of_large.spawn(Writer::new(db, large.clone(), number).run(seed + number)),
        }
    }
    let mut model = Model::default();
    model.add(of_large.join_all().await);
    model.add(of_small.join_all().await);
    stop.store(true, Ordering::Relaxed);
    changes.await.unwrap();
    at_rest(db, A::SPEC.collection).await;

    // Whichever capacity was the last. No bucket grows above the lower one; larger ones stay as they are.
    let most = A::SPEC.capacity.into();
    Ops::<A>::of(db).change_capacity().await.unwrap();
    model.agrees::<A>(db, most).await;
    let before = in_order(&large).await;
    Ops::<B>::of(db).change_capacity().await.unwrap();
    model.agrees::<B>(db, most).await;
    let mut after = in_order(&small).await;
    // An append that was dropped may still be carried out on a slow machine.
    for (after, before) in after.iter_mut().zip(&before) {
        after.retain(|n| before.contains(n));
    }
    assert_eq!(after, before, "the order changed");
}

macro_rules! lives {
    ($($test:ident: $large:ident $small:ident $validated:literal;)+) => {$(
        #[bucket_testkit::test(multi_thread)]
        async fn $test(db: Live) {
            life::<$large, $small>(&db, $validated).await;
        }
    )+};
}

lives! {
    millis: Millis10 Millis4 false;
    seconds_with_sums: SecondsSum10 SecondsSum4 true;
    numbered_with_sums: NumberedSum10 NumberedSum4 true;
    windows_with_sums: WindowsSum10 WindowsSum4 true;
    numbered_with_bytes: NumberedBytes10 NumberedBytes4 true;
    windows_with_bytes: WindowsBytes10 WindowsBytes4 true;
}
