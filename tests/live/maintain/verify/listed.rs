//! Damage that could only be repaired by guessing is listed, with the way out, and left alone.

use std::slice;

use bucket_ops::{Ops, ProblemKind as Kind};
use bucket_runtime::{
    Bucket, Buckets, Ordinal,
    mongodb::{
        Database,
        bson::{Bson, DateTime, doc, oid::ObjectId},
        options::UpdateModifications,
    },
};

use crate::{
    maintain::verify::damage::{
        Millis, Note, Timed, Windowed, damage, for_each_ordinal, healthy, id, raw, repair, verify,
    },
    support::{
        database::{Live, documents},
        problems::{Expected, assert_found, expected},
    },
};

/// The key of the damaged buckets.
const KEY: &str = "a_b, 1";

/// Damages a full bucket of a healthy collection: `verify` finds exactly this problem of it, and `repair` leaves it
/// alone.
async fn damage_is_left<T: Note>(
    db: &Database,
    update: impl Into<UpdateModifications>,
    (kind, key, text): (Kind, Option<&str>, &str),
    way_out: &str,
) {
    let notes = healthy::<T>(db).await;
    let bucket = id(&damage(&notes, doc! { "topic": "a_b", "count": 3 }, update).await);
    is_left(&notes, expected(kind, [bucket], key, text), way_out).await;
}

/// `verify` finds exactly this problem, and `repair` leaves the documents alone.
async fn is_left<T: Note>(notes: &Buckets<T>, problem: Expected, way_out: &str) {
    let before = documents(notes.collection()).await;
    let found = verify(notes).await;
    assert_found(&found, slice::from_ref(&problem));
    assert_eq!(repair(notes).await, found);
    assert_eq!(documents(notes.collection()).await, before);
    assert!(!found[0].is_repairable());
    assert!(found[0].to_string().contains(way_out), "{}", found[0]);
}

for_each_ordinal! {
    what_holds_too_many_items_is_listed
    an_id_that_is_none_of_its_keys_is_listed
    what_is_no_bucket_is_listed
}

async fn what_holds_too_many_items_is_listed<T: Note>(db: &Database) {
    let another = doc! {
        "$push": { "items": { "at": DateTime::from_millis(-1), "n": 1 } },
        "$inc": { "count": 1, "rollup.n.count": 1, "rollup.n.sum": 1 },
    };
    let problem = (Kind::OverFull, Some(KEY), "holds 4 items");
    let way_out = "`migrate_from` divides its items again";
    damage_is_left::<T>(db, another, problem, way_out).await;
}

async fn an_id_that_is_none_of_its_keys_is_listed<T: Note>(db: &Database) {
    let notes = healthy::<T>(db).await;
    let window = matches!(T::SPEC.id.ordinal, Ordinal::Window { .. });
    let sealed = |id: Bson| {
        let mut bucket = doc! {
            "_id": id.clone(), "topic": "a_b", "user": 1, "count": 1, "sealed": id,
            "items": [{ "at": DateTime::from_millis(3_600_000), "n": 1 }],
            "rollup": { "n": { "count": 1, "sum": 1 } },
        };
        if window {
            bucket.insert("window", DateTime::from_millis(3_600_000));
        }
        bucket
    };
    let own = match T::SPEC.id.ordinal {
        Ordinal::Millis => "a%5Fb_1_0000003600000",
        _ => "a%5Fb_1_0000003600",
    };
    let suffixed = format!("{own}_000001");
    for foreign in [
        Bson::ObjectId(ObjectId::new()),
        7.into(),
        // Not escaped; another user's; no digits; other characters; too many digits; two malformed
        // suffixes.
        own.replace("%5F", "_").into(),
        own.replace("_1_", "_2_").into(),
        "a%5Fb_1_".into(),
        "a%5Fb_1_x".into(),
        format!("{own}0").into(),
        format!("{own}_1").into(),
        format!("{own}_000001x").into(),
    ] {
        let raw = raw(&notes);
        raw.insert_one(sealed(foreign.clone())).await.unwrap();
        let text = "can have the _id";
        let problem = expected(Kind::ForeignId, [foreign.clone()], KEY, text);
        is_left(&notes, problem, "append its items again").await;
        raw.delete_one(doc! { "_id": foreign }).await.unwrap();
    }
    for own in [own, &suffixed] {
        raw(&notes).insert_one(sealed(own.into())).await.unwrap();
    }
    let mut found = verify(&notes).await;
    // A number among the others' is one that follows a gap.
    if T::SPEC.id.ordinal == Ordinal::Number {
        assert_eq!(found.pop().map(|gap| gap.kind), Some(Kind::Gap));
        assert_found(&found, &[expected(Kind::ForeignId, [suffixed], KEY, "")]);
    } else {
        assert_eq!(found, []);
    }
}

async fn what_is_no_bucket_is_listed<T: Note>(db: &Database) {
    for (update, field) in [
        (doc! { "$unset": { "topic": "" } }, "`topic`"),
        (doc! { "$set": { "topic": Bson::Null } }, "`topic`"),
        (doc! { "$set": { "user": "1" } }, "`user`"),
        (doc! { "$set": { "user": 1.5 } }, "`user`"),
    ] {
        let problem = (Kind::NoKey, None, field);
        damage_is_left::<T>(db, update, problem, "set the field").await;
    }
    for items in [Bson::Null, 3.into(), doc! { "0": 1 }.into()] {
        let update = doc! { "$set": { "items": items } };
        let problem = (Kind::NoArray, Some(KEY), "`items`");
        damage_is_left::<T>(db, update, problem, "another collection").await;
    }
}

#[bucket_testkit::test]
async fn an_id_that_is_none_of_its_keys_is_listed_with_milliseconds(db: Live) {
    an_id_that_is_none_of_its_keys_is_listed::<Millis>(&db).await;
}

#[bucket_testkit::test]
async fn a_window_that_is_none_of_the_ids_is_listed(db: Live) {
    for window in [
        Bson::Null,
        DateTime::from_millis(-3_600_000 + 1).into(),
        "1970".into(),
    ] {
        let update = doc! { "$set": { "window": window } };
        let problem = (Kind::NoKey, None, "`window`");
        damage_is_left::<Windowed>(&db, update, problem, "set the field").await;
    }
    let update = doc! { "$set": { "window": DateTime::from_millis(36_000_000) } };
    let problem = (Kind::ForeignId, Some(KEY), "");
    damage_is_left::<Windowed>(&db, update, problem, "no read of the key finds it").await;
}

#[bucket_testkit::test]
async fn a_key_under_an_older_name_is_one(db: Live) {
    let notes = healthy::<Timed>(&db).await;
    let update = doc! { "$rename": { "user": "author" } };
    damage(&notes, doc! { "topic": "a_b", "count": 3 }, update.clone()).await;
    damage(&notes, doc! { "topic": "a", "count": 3 }, update).await;
    assert_eq!(verify(&notes).await, []);
}

#[bucket_testkit::test]
async fn what_is_not_there_is_an_error_and_so_is_an_index_for_something_else(db: Live) {
    for error in [
        Ops::<Timed>::of(&db).verify().await.unwrap_err(),
        Ops::<Timed>::of(&db).repair().await.unwrap_err(),
        Ops::<Timed>::of(&db).rebuild_rollups().await.unwrap_err(),
    ] {
        assert!(error.is_collection_missing(), "{error}");
        assert!(error.to_string().contains("does not exist"), "{error}");
    }
    assert!(db.list_collection_names().await.unwrap().is_empty());

    let _ = Windowed::buckets(&db).await.unwrap();
    let verified = Ops::<Windowed>::of(&db).verify().await.unwrap();
    assert_eq!((verified.buckets, verified.items), (0, 0));
    assert_eq!(verified.problems, []);
    let error = Ops::<Timed>::of(&db).verify().await.unwrap_err();
    assert!(error.is_index_conflict(), "{error}");
    let error = Ops::<Timed>::of(&db).repair().await.unwrap_err();
    assert!(error.is_index_conflict(), "{error}");
}
