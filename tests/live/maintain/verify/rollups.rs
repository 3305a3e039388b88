//! `verify` finds rollups that are not those of the items, items outside their window and gaps in numbers, and
//! nothing of that while writers are active; `repair` and `rebuild_rollups` compute rollups from the items.

mod places;

use std::collections::BTreeMap;

use bucket_ops::{Ops, ProblemKind as Kind};
use bucket_runtime::{
    Bucket, Buckets, Filter,
    mongodb::bson::{Bson, DateTime, Decimal128, Document, doc},
};

use crate::{
    maintain::verify::damage::{Note, Numbered, damage, id},
    support::{
        assert_sound,
        database::{Live, documents, items},
        problems::{assert_found, expected},
        tasks::JoinSet,
    },
};

/// A measurement with a payload that is not equal to itself in Rust, but on the server.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "readings", id = "{place}_{#}", capacity = 4)]
struct Reading {
    place: i64,
    #[bucket(sum, min, max)]
    celsius: f64,
    #[bucket(sum, min, max)]
    price: Option<Decimal128>,
    #[bucket(min, max)]
    at: DateTime,
    payload: Document,
}

/// The readings in a program that keeps no rollups.
mod before {
    use super::{Bucket, DateTime, Decimal128, Document};

    #[derive(Debug, Clone, PartialEq, Bucket)]
    #[bucket(collection = "readings", id = "{place}_{#}", capacity = 4)]
    pub(super) struct Reading {
        pub(super) place: i64,
        pub(super) celsius: f64,
        pub(super) price: Option<Decimal128>,
        pub(super) at: DateTime,
        pub(super) payload: Document,
    }
}

fn reading(place: i64, n: i32) -> Reading {
    let price = format!("{n}.{n}");
    Reading {
        place,
        // Not exact in any sum.
        celsius: f64::from(n) * 0.1 - 1e7 * f64::from(n % 3),
        price: (n % 5 > 0).then(|| price.parse().unwrap()),
        at: DateTime::from_millis(i64::from(n % 7) * 1000),
        payload: doc! { "n": n, "nan": f64::NAN, "list": [{ "x": 1_i64 }, Bson::Null] },
    }
}

async fn filled(db: &Live) -> Buckets<Reading> {
    let readings = Reading::buckets(db).await.unwrap();
    for place in 0..3 {
        let all = (0..10).map(|n| reading(place, n));
        readings.append_many(all).await.unwrap();
    }
    readings
}

/// Each kind of damage to the first bucket, and the problem that it makes.
fn damages() -> Vec<(Document, Kind, &'static str)> {
    use Kind::{BlockedRollup, FalseRollup, IncompleteRollup};
    let at = DateTime::from_millis(1);
    let set = [
        ("celsius.sum", 1.5.into(), FalseRollup),
        ("celsius.sum", f64::NAN.into(), FalseRollup),
        ("celsius.min", 1e9.into(), FalseRollup),
        ("celsius.max", "1".into(), FalseRollup),
        ("price.sum", 7.into(), FalseRollup),
        ("price.missing", 0.into(), FalseRollup),
        ("at.max", at.into(), FalseRollup),
        ("at.min", Bson::Null, FalseRollup),
        ("celsius.count", 3.into(), IncompleteRollup),
        ("celsius.sum", "x".into(), BlockedRollup),
        ("celsius.sum", Bson::Null, BlockedRollup),
        ("price.missing", Bson::Null, BlockedRollup),
        ("at.count", "4".into(), BlockedRollup),
        ("price", 5.into(), BlockedRollup),
    ];
    let set = set.map(|(path, value, kind)| {
        let (field, _) = path.split_once('.').unwrap_or((path, ""));
        let update = doc! { "$set": { format!("rollup.{path}"): value } };
        (update, kind, field)
    });
    let unset = doc! { "$unset": { "rollup.at": "" } };
    [&set[..], &[(unset, IncompleteRollup, "at")]].concat()
}

#[bucket_testkit::test]
async fn each_false_rollup_is_found_and_computed_again(db: Live) {
    let readings = filled(&db).await;
    let sound = documents(readings.collection()).await;
    let before = items(&readings, &0).await;
    for (update, kind, field) in damages() {
        let bucket = id(&damage(&readings, doc! { "_id": "0_0000000000" }, update.clone()).await);
        let verified = Ops::<Reading>::of(&db).verify().await.unwrap();
        assert_eq!((verified.buckets, verified.items), (9, 30));
        let problem = expected(kind, [bucket], "0", field);
        assert_found(&verified.problems, &[problem]);
        let problem = &verified.problems[0];
        let text = problem.to_string();
        assert!(text.contains("\"0_0000000000\""), "{text}");
        let way_out = "`repair` computes it from the items";
        assert!(text.ends_with(way_out), "{text}");
        assert!(problem.is_repairable());

        let done = Ops::<Reading>::of(&db).repair().await.unwrap();
        assert_eq!(done.repaired, BTreeMap::from([(kind, 1)]));
        assert_eq!(done.left, []);
        // Adding in another order gives another last bit.
        assert_sound(&readings).await;
        // NaN is not equal to itself.
        let after = items(&readings, &0).await;
        assert_eq!(format!("{after:?}"), format!("{before:?}"));
        let others = |all: &[Document]| format!("{:?}", &all[1..]);
        let all = documents(readings.collection()).await;
        assert_eq!(others(&all), others(&sound));
        readings.rollup(&0).await.unwrap();
    }
}

/// The server refuses each append to a bucket whose sum is not a number.
#[bucket_testkit::test]
async fn a_blocked_bucket_takes_items_after_the_repair(db: Live) {
    let readings = filled(&db).await;
    let open = doc! { "place": 1, "count": { "$lt": 4 } };
    let update = doc! { "$set": { "rollup.celsius.sum": "x" } };
    damage(&readings, open, update).await;
    let refused = readings.append(&reading(1, 10)).await.unwrap_err();
    assert!(!refused.is_maybe_stored(), "{refused}");
    let done = Ops::<Reading>::of(&db).rebuild_rollups().await.unwrap();
    assert_eq!((done.buckets, done.rebuilt, done.left), (9, 1, vec![]));
    readings.append(&reading(1, 10)).await.unwrap();
    assert_eq!(readings.rollup(&1).await.unwrap().count(), 11);
    assert_sound(&readings).await;
}

/// Fields that are marked later: buckets of the old program get rollups while the new one writes.
#[bucket_testkit::test(multi_thread)]
async fn fields_that_are_marked_later_get_their_rollups_beside_writers(db: Live) {
    let old = before::Reading::buckets(&db).await.unwrap();
    let all = (0..60).flat_map(|n| (0..15).map(move |place| reading(place, n)));
    let old_items = all.map(|it| before::Reading {
        place: it.place,
        celsius: it.celsius,
        price: it.price,
        at: it.at,
        payload: it.payload,
    });
    old.append_many(old_items).await.unwrap();
    let new = Reading::buckets(&db).await.unwrap();
    assert!(new.rollup_all().await.unwrap_err().is_incomplete_rollup());

    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let new = new.clone();
        writers.spawn(async move {
            for n in 0..60 {
                let place = i64::from((writer * 60 + n) % 15);
                new.append(&reading(place, 60 + n)).await.unwrap();
                if n % 4 == 0 {
                    let lower = |it: &mut Reading| it.celsius -= 1.0;
                    let cold = Reading::FIELDS.celsius.lt(0.0);
                    new.update_item(&place, cold, lower).await.unwrap();
                }
                if n % 10 == 0 {
                    new.remove_item(&place, Filter::default()).await.unwrap();
                }
            }
        });
    }
    let mut seen = Vec::new();
    let rebuild = Ops::<Reading>::of(&db)
        .rebuild_rollups()
        .on_progress(|at| seen.push(at.buckets));
    let done = rebuild.await.unwrap();
    assert_eq!(done.left, []);
    assert!(done.rebuilt > 150, "{done:?}");
    assert_eq!(seen.last(), Some(&done.buckets));
    writers.join_all().await;

    assert_sound(&new).await;
    let all = new.rollup_all().await.unwrap();
    assert_eq!(all.count(), 15 * 60 + 8 * 60 - 8 * 6);
    let again = Ops::<Reading>::of(&db).rebuild_rollups().await.unwrap();
    assert_eq!((again.rebuilt, again.left), (0, vec![]));
}

/// An unreadable item is the problem; the rollup follows when it is gone.
#[bucket_testkit::test]
async fn a_rollup_waits_for_its_unreadable_items(db: Live) {
    let readings = filled(&db).await;
    let update = doc! { "$unset": { "items.1.celsius": "" }, "$set": { "rollup.at.count": 1 } };
    damage(&readings, doc! { "_id": "0_0000000000" }, update).await;
    let done = Ops::<Reading>::of(&db).rebuild_rollups().await.unwrap();
    assert_eq!((done.buckets, done.rebuilt), (9, 0));
    let text = "item 1 (from 0)";
    let unreadable = expected(Kind::Unreadable, ["0_0000000000"], "0", text);
    assert_found(&done.left, &[unreadable]);
    let repaired = Ops::<Reading>::of(&db).repair().await.unwrap();
    assert_eq!(repaired.repaired, BTreeMap::new());
    assert_eq!(repaired.left, done.left);

    let lost = Reading::FIELDS.celsius.exists(false);
    readings.remove_stored(&0, lost).await.unwrap().unwrap();
    Ops::<Reading>::of(&db).repair().await.unwrap();
    assert_sound(&readings).await;
}

/// Values that no rollup can hold are no promise of `repair`.
#[bucket_testkit::test]
async fn a_sum_that_no_rollup_can_hold_is_left(db: Live) {
    let notes = Numbered::buckets(&db).await.unwrap();
    for n in 0..3 {
        notes.append(&Numbered::new("a", 1, n)).await.unwrap();
    }
    let most = doc! { "$set": { "items.$[].n": i64::MAX } };
    damage(&notes, doc! { "count": 3 }, most).await;
    let verified = Ops::<Numbered>::of(&db).verify().await.unwrap();
    let [problem] = &verified.problems[..] else {
        panic!("{verified:?}")
    };
    assert_eq!(problem.kind, Kind::NoRollup);
    let text = problem.to_string();
    assert!(text.contains("the rollup of `n`"), "{text}");
    assert!(!problem.is_repairable(), "{problem}");
    let done = Ops::<Numbered>::of(&db).repair().await.unwrap();
    assert_eq!(done.repaired, BTreeMap::new());
    assert_eq!(done.left, verified.problems);
}
