//! Items are edited and removed one by one: reads return what a list would hold, and the buckets stay
//! valid.

use std::collections::BTreeMap;

use bucket_runtime::{
    Bucket, Buckets, Error,
    mongodb::{
        Database,
        bson::{DateTime, doc},
    },
};
use bucket_testkit::{Fate, Proxy};
use proptest::prelude::*;

use crate::support::{
    assert_refused, assert_sound,
    database::{Live, Recorded, documents, items, pages, server},
    notes::{
        CAPACITY, DyingSum, Note, Numbered, Seconds, Windows, checked, created, for_all_notes,
        moment,
    },
    random::for_any,
    scale::scaled,
};

/// A step of a program: the owner whose items it changes, and the change.
#[derive(Debug, Clone)]
enum Step {
    Append(i64, i32),
    /// Removes the first item that has this value.
    Remove(i64, i32),
    /// Gives the first item that has this value another value.
    Update(i64, i32, i32),
    /// Removes the owner's first item.
    RemoveFirst(i64),
    /// Moves the first item that has this value in time, within its window.
    Delay(i64, i32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let owner = || 1..3_i64;
    let value = || 0..6_i32;
    let step = prop_oneof![
        10 => (owner(), value()).prop_map(|(owner, value)| Step::Append(owner, value)),
        4 => (owner(), value()).prop_map(|(owner, value)| Step::Remove(owner, value)),
        4 => (owner(), value(), value())
            .prop_map(|(owner, value, to)| Step::Update(owner, value, to)),
        1 => owner().prop_map(Step::RemoveFirst),
        1 => (owner(), value()).prop_map(|(owner, value)| Step::Delay(owner, value)),
    ];
    proptest::collection::vec(step, 20..70)
}

async fn as_a_list_would<T: Note>(db: &Database, steps: &[Step]) {
    let notes = created::<T>(db).await;
    let mut lists = BTreeMap::<i64, Vec<T>>::new();
    for (n, step) in (0..).zip(steps) {
        let first = |list: &[T], value: i32| {
            let mut list = list.iter().cloned();
            list.position(|mut note| *note.value() == value)
        };
        match *step {
            Step::Append(owner, value) => {
                let note = T::new(owner, n, value);
                notes.append(&note).await.unwrap();
                lists.entry(owner).or_default().push(note);
            }
            Step::Remove(owner, value) => {
                let list = lists.entry(owner).or_default();
                let expected = first(list, value).map(|at| list.remove(at));
                let gone = notes.remove_item(&owner, T::value_is(value)).await;
                assert_eq!(gone.unwrap(), expected);
            }
            Step::RemoveFirst(owner) => {
                let list = lists.entry(owner).or_default();
                let expected = (!list.is_empty()).then(|| list.remove(0));
                let gone = notes.remove_item(&owner, Default::default()).await;
                assert_eq!(gone.unwrap(), expected);
            }
            Step::Update(owner, value, to) => {
                let list = lists.entry(owner).or_default();
                let expected = first(list, value).map(|at| {
                    *list[at].value() = to;
                    list[at].clone()
                });
                let update =
                    notes.update_item(&owner, T::value_is(value), |note| *note.value() = to);
                assert_eq!(update.await.unwrap(), expected);
            }
            Step::Delay(owner, value) => {
                let list = lists.entry(owner).or_default();
                let to = |at: DateTime| {
                    DateTime::from_millis(at.timestamp_millis() / 60_000 * 60_000 + 59_999)
                };
                let expected = first(list, value).map(|at| {
                    let moment = list[at].at();
                    *moment = to(*moment);
                    list[at].clone()
                });
                let update = notes.update_item(&owner, T::value_is(value), |note| {
                    let moment = note.at();
                    *moment = to(*moment);
                });
                assert_eq!(update.await.unwrap(), expected);
            }
        }
    }
    let stored = checked(&notes).await;
    assert_sound(&notes).await;
    for owner in 1..3 {
        let list = lists.remove(&owner).unwrap_or_default();
        assert_eq!(items(&notes, &owner).await, list);
        assert_eq!(notes.count(&owner).await.unwrap(), list.len() as u64);
        let told = list.into_iter().map(|mut note| (note.n(), *note.value()));
        let stored = stored.get(&owner).cloned().unwrap_or_default();
        assert_eq!(stored, Vec::from_iter(told));
    }
}

/// The same programs with each struct, on collections with validators.
#[bucket_testkit::test(multi_thread)]
async fn any_program_leaves_what_a_list_would_hold(db: Live) {
    for_any(scaled(8), steps(), async |steps| {
        for_all_notes!(as_a_list_would(&db, &steps))
    });
}

async fn filled<T: Note>(db: &Database, notes: i64) -> Buckets<T> {
    let buckets = created::<T>(db).await;
    for n in 0..notes {
        buckets.append(&T::new(1, n, n as i32)).await.unwrap();
    }
    buckets
}

/// The pages and items that are left after all items of a full bucket are removed.
async fn pages_after_emptying<T: Note>(db: &Database) -> (Vec<usize>, Vec<i64>) {
    let notes = filled::<T>(db, CAPACITY * 2 + 1).await;
    for n in CAPACITY..CAPACITY * 2 {
        let gone = notes.remove_item(&1, T::n_is(n)).await.unwrap();
        assert_eq!(gone.unwrap().n(), n);
    }
    notes.append(&T::new(1, 8, 8)).await.unwrap();
    checked(&notes).await;
    let pages = pages(&notes, &1).await;
    let sizes = pages.iter().map(|page| page.items.len());
    let left = pages.iter().flat_map(|page| &page.items).map(T::n);
    (sizes.collect(), left.collect())
}

#[bucket_testkit::test]
async fn an_emptied_bucket_goes_where_no_number_would_be_given_anew(db: Live) {
    let left = vec![0, 1, 2, 6, 8];
    let timed = pages_after_emptying::<Seconds>(&db).await;
    assert_eq!(timed, (vec![3, 2], left.clone()));
    let numbered = pages_after_emptying::<Numbered>(&db).await;
    assert_eq!(numbered, (vec![3, 0, 2], left.clone()));
    let windows = pages_after_emptying::<Windows>(&db).await;
    assert_eq!(windows, (vec![3, 2], left));
}

#[bucket_testkit::test]
async fn an_item_that_would_belong_elsewhere_is_not_changed(db: Live) {
    let notes = filled::<Windows>(&db, 5).await;
    let before = documents(notes.collection()).await;
    let second = || Windows::n_is(2);
    let other = |note: &mut Windows| *note.owner() = 2;
    let error = notes.update_item(&1, second(), other).await.unwrap_err();
    assert_refused(&error, Error::is_item_moved);
    assert!(error.to_string().contains("changed the key"), "{error}");
    let late = |note: &mut Windows| *note.at() = moment(20);
    let error = notes.update_item(&1, second(), late).await.unwrap_err();
    assert_refused(&error, Error::is_item_moved);
    assert!(error.to_string().contains("time window"), "{error}");
    let never = |note: &mut Windows| *note.at() = DateTime::MAX;
    let error = notes.update_item(&1, second(), never).await.unwrap_err();
    assert_refused(&error, Error::is_out_of_range);
    assert_eq!(documents(notes.collection()).await, before);
}

#[bucket_testkit::test]
async fn an_edit_is_a_read_and_a_write(Recorded(db, record): Recorded) {
    let notes = created::<Seconds>(&db).await;
    for n in 0..4 {
        notes.append(&Seconds::new(1, n, 0)).await.unwrap();
    }
    record.take();
    let update = notes.update_item(&1, Seconds::n_is(1), |note| *note.value() = 7);
    update.await.unwrap();
    assert_eq!(record.names(), ["aggregate", "findAndModify"]);
    // The last removal deletes the bucket that it empties.
    for n in [1, 2, 0] {
        notes.remove_item(&1, Seconds::n_is(n)).await.unwrap();
        assert_eq!(record.names(), ["aggregate", "findAndModify"]);
    }
    // A call that is not awaited sends nothing.
    drop(notes.remove_item(&1, Seconds::n_is(3)));
    drop(notes.update_item(&1, Seconds::n_is(3), |note| *note.value() = 1));
    assert_eq!(record.names(), Vec::<String>::new());
}

/// Fields that the struct does not have belong to the element and are replaced with it. A bucket that
/// holds its key under a former name belongs to that key.
#[bucket_testkit::test]
async fn an_item_is_replaced_as_a_whole_wherever_its_bucket_has_its_key(db: Live) {
    #[derive(Debug, Clone, PartialEq, Bucket)]
    #[bucket(collection = "named", id = "{owner}_{#}", capacity = 3)]
    struct Named {
        #[serde(alias = "user")]
        owner: i64,
        n: i64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    }
    let named = Named::buckets(&db).await.unwrap();
    let element = |n: i64| doc! { "n": n, "by": "another program" };
    let bucket = doc! { "_id": "1_0000000000", "user": 1_i64, "count": 3, "items": [element(0), element(1), element(2)] };
    named.collection().insert_one(bucket).await.unwrap();
    let field = Named::FIELDS.n;
    let update = named.update_item(&1, field.eq(1), |named| named.text = Some("$$ROOT".into()));
    let now = update.await.unwrap().unwrap();
    assert_eq!(now.text.as_deref(), Some("$$ROOT"));
    named.remove_item(&1, field.eq(0)).await.unwrap().unwrap();
    let expected = doc! {
        "_id": "1_0000000000", "user": 1_i64, "count": 2,
        "items": [{ "n": 1_i64, "text": "$$ROOT" }, element(2)], "sealed": "1_0000000000",
    };
    assert_eq!(documents(named.collection()).await, [expected]);
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
    lost::<Seconds>(&proxy, &db).await;
    lost::<DyingSum>(&proxy, &db).await;
}
