//! Doubles that are given, or that other programs wrote.

use bucket_runtime::{
    Outlier, Outliers, ProblemKind as Kind,
    mongodb::bson::{Document, doc},
};

use super::support::{Followed, User3, assert_each_once, stored};
use crate::support::problems::{Expected, assert_found, expected};
use crate::{
    outlier::support::{fresh, repair, repaired, verify},
    support::database::Live,
};

fn followers(of: &[i64]) -> Vec<Document> {
    let followers = of
        .iter()
        .map(|user| doc! { "userId": user, "since": 0_i64 });
    followers.collect()
}

async fn store(users: &Outliers<User3>, id: i64, of: &[i64], flag: bool) {
    let mut user = doc! { "_id": id, "followers": followers(of) };
    if flag {
        user.insert("has_extras", true);
    }
    users.collection().insert_one(user).await.unwrap();
}

fn twins(parent: i64, text: &str) -> Expected {
    expected(Kind::Twins, [parent], &*parent.to_string(), text)
}

#[bucket_testkit::test]
async fn a_parent_with_doubles_is_not_inserted(db: Live) {
    let users = fresh::<User3>(&db).await;
    for of in [&[1, 1][..], &[1, 2, 3, 4, 1], &[1, 2, 3, 4, 5, 6, 5]] {
        let error = users.insert(&User3::new(1, of.to_vec())).await.unwrap_err();
        assert!(error.is_not_unique() && !error.is_maybe_stored(), "{error}");
        assert!(users.get(&1).await.unwrap().is_none());
    }
    users.insert(&User3::new(1, 0..9)).await.unwrap();
    assert_each_once(&users, 1, 0..9).await;
}

#[bucket_testkit::test]
async fn a_split_leaves_parents_with_doubles_and_goes_on(db: Live) {
    let users = fresh::<User3>(&db).await;
    store(&users, 1, &[1, 2, 3, 4, 5, 1], false).await;
    store(&users, 2, &[1, 2, 3, 4, 5, 5], false).await;
    store(&users, 3, &[1, 2, 3, 4, 5, 6], false).await;
    store(&users, 4, &[1, 2, 3, 4], true).await;
    let extra = doc! { "_id": "4_0000000000", "user_id": 4_i64, "count": 1, "followers_extra": followers(&[4]) };
    users.extras_collection().insert_one(extra).await.unwrap();
    let refused = repaired(&users).await.unwrap().refused;
    assert_eq!(refused.len(), 3, "{refused:?}");
    assert_each_once(&users, 3, 1..=6).await;
    assert_eq!(stored(&users, 3).await.0.len(), 3);

    let found = verify(&users).await.unwrap();
    let of_twins = found
        .iter()
        .filter(|problem| problem.kind == Kind::Twins)
        .cloned();
    let expected = [
        twins(1, "identity Long(\"1\"): item 0 (from 0), item 5 (from 0);"),
        twins(2, "identity Long(\"5\"): item 4 (from 0), item 5 (from 0);"),
        twins(
            4,
            "identity Long(\"4\"): item 3 (from 0), extras document \"4_0000000000\";",
        ),
    ];
    assert_found(&Vec::from_iter(of_twins), &expected);
    assert_eq!(found.len(), 6, "{found:?}");
    // A repair guesses nothing, and loses nothing.
    assert_eq!(repair(&users).await.unwrap(), found);
    let parents = users.collection().clone_with_type::<Document>();
    for (id, last) in [(1, 5), (2, 4), (4, 3)] {
        let kept = doc! { "$push": { "followers": { "$each": [], "$slice": last } } };
        parents.update_one(doc! { "_id": id }, kept).await.unwrap();
    }
    assert_eq!(repair(&users).await.unwrap(), []);
    for (id, last) in [(1, 5), (2, 4), (4, 4)] {
        assert_each_once(&users, id, 1..=last).await;
    }
}

/// Collections that were never opened, with parents that cannot be split: a repair creates the indexes that are missing,
/// splits all others, and says of each one why it could not.
#[bucket_testkit::test]
async fn o1_a_repair_goes_on_after_parents_that_it_cannot_split(db: Live) {
    let (users, extras) = (User3::SPEC.collection, User3::SPEC.extras);
    let users = db.collection::<Document>(users);
    let extras = db.collection::<Document>(extras);
    let nameless = vec![doc! { "since": 0_i64 }; 2];
    let some_nameless = [followers(&[1, 2, 3]), nameless].concat();
    let parents = [
        doc! { "_id": 1_i64, "followers": some_nameless },
        doc! { "_id": 2_i64, "followers": followers(&[1, 2, 3, 4, 2]) },
        doc! { "_id": "three", "followers": followers(&[1, 2, 3, 4]) },
        doc! { "_id": 4_i64, "followers": followers(&[1, 2, 3, 4, 5, 6]) },
    ];
    users.insert_many(parents).await.unwrap();
    let repaired = User3::repair(&db).await.unwrap();
    assert_eq!(repaired.repaired, [(Kind::TooLarge, 1)].into());
    let of_twins = repaired.left.iter().filter(|it| it.kind == Kind::Twins);
    let of_twins = Vec::from_iter(of_twins.cloned());
    let expected = [
        twins(1, "identity null: item 3 (from 0), item 4 (from 0);"),
        twins(2, "identity Long(\"2\"): item 1 (from 0), item 4 (from 0);"),
    ];
    assert_found(&of_twins, &expected);
    let [first, second] = &repaired.refused[..] else {
        panic!("{:?}", repaired.refused);
    };
    assert!(first.contains("\"1\"") && first.contains("null"), "{first}");
    assert!(
        second.contains("\"2\"") && second.contains("identity Long(\"2\")"),
        "{second}"
    );
    let mut indexes = extras.list_index_names().await.unwrap();
    // A cluster has the index of the shard key, too.
    indexes.retain(|name| !name.ends_with("_hashed"));
    indexes.sort();
    assert_eq!(
        indexes,
        ["_id_", "bucket_open", "bucket_unique", "user_id_1__id_1"]
    );
    let opened = User3::outliers(&db).await.unwrap();
    assert_each_once(&opened, 4, 1..=6).await;
}

#[bucket_testkit::test]
async fn extras_with_doubles_are_not_opened(db: Live) {
    let users = fresh::<User3>(&db).await;
    users.insert(&User3::new(1, 0..5)).await.unwrap();
    users
        .extras_collection()
        .drop_index("bucket_unique")
        .await
        .unwrap();
    let double = doc! { "_id": "1_0000000001", "user_id": 1_i64, "count": 1, "followers_extra": followers(&[4]) };
    users.extras_collection().insert_one(double).await.unwrap();
    let error = User3::outliers(&db).await.unwrap_err();
    assert!(error.is_not_unique(), "{error}");
}
