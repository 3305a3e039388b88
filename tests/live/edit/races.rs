//! Several tasks append, edit and remove at once, in the same buckets, and some of their calls are
//! dropped: every acknowledged change holds, and no page is ever broken.

use std::{
    collections::BTreeMap,
    future::IntoFuture,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bucket_runtime::{
    Buckets, Result,
    mongodb::{Database, bson::Document},
};
use bucket_testkit::{Fate, Proxy};
use rand::{Rng, seq::IteratorRandom};
use tokio::time::timeout;

use crate::support::{
    database::{Live, documents, items, pages, server, snapshot},
    notes::{Note, checked, checked_documents, created, for_all_notes},
    tasks::JoinSet,
};

const WRITERS: i64 = 6;
const STEPS: i64 = 60;

/// The first owner's item that every writer increments.
const COMMON: i64 = 0;

/// A writer's knowledge of its own items: the values that each may have now, `None` if it may be
/// missing.
type Known = BTreeMap<i64, Vec<Option<i32>>>;

/// The output of a call, or `None` if the call was dropped.
async fn called<O>(call: impl IntoFuture<Output = Result<O>>, patient: bool) -> Option<O> {
    if patient {
        return Some(call.await.unwrap());
    }
    let micros = rand::rng().random_range(0..6000);
    let done = timeout(Duration::from_micros(micros), call.into_future()).await;
    done.ok().map(Result::unwrap)
}

/// Writes at random. Returns what it knows in the end, and how often it has incremented, for certain
/// and at most.
async fn write<T: Note>(notes: Buckets<T>, writer: i64, drops: bool) -> (Known, i32, i32) {
    let mut known = Known::new();
    let (mut counted, mut tried) = (0, 0);
    for step in 0..STEPS {
        let (choice, patient, mine) = {
            let mut random = rand::rng();
            // A dropped call may still be on its way, so its item is left alone.
            let certain = known
                .iter()
                .filter(|(_, values)| matches!(values[..], [Some(_)]));
            let mine = certain.map(|(n, _)| *n).choose(&mut random);
            (random.random_range(0..10), !drops || random.random(), mine)
        };
        match (choice, mine) {
            (0..=1, Some(n)) => {
                let values = known.get_mut(&n).unwrap();
                match called(notes.remove_item(&(n % 2), T::n_is(n)), patient).await {
                    Some(gone) => {
                        assert_eq!(Some(*gone.expect("it is stored").value()), values[0]);
                        *values = vec![None];
                    }
                    None => values.push(None),
                }
            }
            (2..=3, Some(n)) => {
                let values = known.get_mut(&n).unwrap();
                let next = values[0].unwrap() + 1;
                let up = |note: &mut T| *note.value() += 1;
                match called(notes.update_item(&(n % 2), T::n_is(n), up), patient).await {
                    Some(now) => {
                        assert_eq!(*now.expect("it is stored").value(), next);
                        *values = vec![Some(next)];
                    }
                    None => values.push(Some(next)),
                }
            }
            (4, _) => {
                let up = |note: &mut T| *note.value() += 1;
                tried += 1;
                let update = notes.update_item(&0, T::n_is(COMMON), up);
                counted += i32::from(called(update, patient).await.is_some());
            }
            _ => {
                let n = writer * 1000 + step;
                let append = notes.append(&T::new(n % 2, n, 5));
                let values = match called(append, patient).await {
                    Some(_) => vec![Some(5)],
                    None => vec![Some(5), None],
                };
                known.insert(n, values);
            }
        }
    }
    (known, counted, tried)
}

/// Reads all the time until told to stop.
async fn read<T: Note>(notes: Buckets<T>, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        for page in pages(&notes, &0).await {
            assert!(page.items.len() <= T::SPEC.capacity as usize);
        }
        let mut numbers = Vec::from_iter(items(&notes, &1).await.iter().map(T::n));
        numbers.sort_unstable();
        assert!(
            numbers.windows(2).all(|pair| pair[0] < pair[1]),
            "{numbers:?}"
        );
        if let Some(documents) = snapshot(notes.collection()).await {
            checked_documents::<T>(documents);
        }
    }
}

async fn at_once<T: Note>(db: &Database, drops: bool) {
    let notes = created::<T>(db).await;
    notes.append(&T::new(0, COMMON, 0)).await.unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let reader = tokio::spawn(read(notes.clone(), stop.clone()));
    let mut writers = JoinSet::new();
    for writer in 1..=WRITERS {
        writers.spawn(write(notes.clone(), writer, drops));
    }
    let known = writers.join_all().await;
    stop.store(true, Ordering::Relaxed);
    reader.await.unwrap();

    let stored = at_rest(&notes, drops).await;
    let problems = T::verify_in(notes.collection().clone()).await;
    assert_eq!(problems.unwrap().problems, []);
    let stored = stored
        .into_iter()
        .flat_map(|(owner, notes)| notes.into_iter().map(move |(n, value)| (n, (owner, value))));
    let all = Vec::from_iter(stored);
    let mut stored = BTreeMap::from_iter(all.iter().copied());
    assert_eq!(stored.len(), all.len(), "an item is stored twice");
    let (_, common) = stored.remove(&COMMON).unwrap();
    let counted: i32 = known.iter().map(|(_, counted, _)| counted).sum();
    let tried: i32 = known.iter().map(|(_, _, tried)| tried).sum();
    assert!(
        (counted..=tried).contains(&common),
        "{counted} ≤ {common} ≤ {tried}"
    );
    for (n, values) in known.into_iter().flat_map(|(known, _, _)| known) {
        let found = stored.remove(&n);
        assert!(found.is_none_or(|(owner, _)| owner == n % 2), "G4: {n}");
        let value = found.map(|(_, value)| value);
        assert!(
            values.contains(&value),
            "item {n}: {value:?} is not one of {values:?}"
        );
    }
    assert_eq!(stored, BTreeMap::new(), "nobody wrote these");
}

/// The stored items once no call is on its way any more. Where calls were dropped, a bucket that one of
/// them emptied may remain.
async fn at_rest<T: Note>(notes: &Buckets<T>, drops: bool) -> BTreeMap<i64, Vec<(i64, i32)>> {
    let mut before: Option<Vec<Document>> = None;
    loop {
        let found = documents(notes.collection()).await;
        if before.as_ref() == Some(&found) {
            break;
        }
        before = Some(found);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    match drops {
        true => checked_documents::<T>(documents(notes.collection()).await),
        false => checked(notes).await,
    }
}

#[bucket_testkit::test(multi_thread)]
async fn what_was_acknowledged_holds(db: Live) {
    for_all_notes!(at_once(&db, false));
}

#[bucket_testkit::test(multi_thread)]
async fn calls_dropped_at_random_points(db: Live) {
    for_all_notes!(at_once(&db, true));
}

/// An edit is carried out once although its answer, or its command, is lost.
async fn lost<T: Note>(proxy: &Proxy, direct: &Database) {
    let notes = created::<T>(&proxy.database(direct.name()).unwrap()).await;
    for n in 0..3 {
        notes.append(&T::new(1, n, 0)).await.unwrap();
    }
    for (times, fate) in (1..).zip([Fate::CutBefore, Fate::CutAfter]) {
        proxy.next("findAndModify", [fate]);
        let up = |note: &mut T| *note.value() += 1;
        let now = notes.update_item(&1, T::n_is(1), up).await.unwrap();
        assert!(proxy.is_done());
        assert_eq!(*now.unwrap().value(), times);
        proxy.next("findAndModify", [fate]);
        let gone = notes.remove_item(&1, Default::default()).await.unwrap();
        assert!(proxy.is_done());
        assert!(gone.is_some());
        notes.append(&T::new(1, 9, 0)).await.unwrap();
    }
    let left = Vec::from_iter(items(&notes, &1).await.iter().map(T::n));
    assert_eq!(left, [2, 9, 9]);
}

#[bucket_testkit::test]
async fn an_edit_is_carried_out_once_although_the_connection_breaks(db: Live) {
    let proxy = Proxy::start(server().await.uri()).await.unwrap();
    for_all_notes!(lost(&proxy, &db));
}
