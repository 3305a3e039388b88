//! Doubles that are given, or that other programs wrote.

use bucket_ops::{OutlierOps, ProblemKind as Kind};
use bucket_runtime::{
    Outlier,
    mongodb::bson::{Document, doc},
};

use super::support::{Followed, User3, assert_each_once};
use crate::support::problems::{Expected, assert_found, expected};
use crate::{outlier::support::fresh, support::database::Live};

fn followers(of: &[i64]) -> Vec<Document> {
    let followers = of
        .iter()
        .map(|user| doc! { "userId": user, "since": 0_i64 });
    followers.collect()
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
        doc! { "_id": 5_i64, "followers": followers(&[1, 2, 3, 4]), "has_extras": true },
    ];
    users.insert_many(parents).await.unwrap();
    let extra = doc! { "_id": "5_0000000000", "user_id": 5_i64, "count": 1, "followers_extra": followers(&[4]) };
    extras.insert_one(extra).await.unwrap();
    let repaired = OutlierOps::<User3>::of(&db).repair().await.unwrap();
    assert_eq!(repaired.repaired, [(Kind::TooLarge, 1)].into());
    let of_twins = repaired.left.iter().filter(|it| it.kind == Kind::Twins);
    let of_twins = Vec::from_iter(of_twins.cloned());
    let expected = [
        twins(1, "identity null: item 3 (from 0), item 4 (from 0);"),
        twins(2, "identity Long(\"2\"): item 1 (from 0), item 4 (from 0);"),
        twins(
            5,
            "identity Long(\"4\"): item 3 (from 0), extras document \"5_0000000000\";",
        ),
    ];
    assert_found(&of_twins, &expected);
    let [first, second, _] = &repaired.refused[..] else {
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
