//! Doubles that are given, or that other programs wrote.

use bucket_runtime::{
    Outlier, OutlierProblem, Outliers,
    mongodb::bson::{Bson, Document, doc},
};

use super::support::{Followed, User3, assert_each_once, push, stored};
use crate::{
    outlier::support::{fresh, repair, verify},
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

fn twins(parent: i64, identities: &[i64]) -> Vec<OutlierProblem> {
    let twins = identities.iter().map(|identity| OutlierProblem::Twins {
        parent: Bson::Int64(parent),
        identity: Bson::Int64(*identity),
    });
    twins.collect()
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
    let error = users.split_existing().await.unwrap_err();
    assert!(
        error.is_not_unique() && error.key() == Some("\"1\""),
        "{error}"
    );
    assert_each_once(&users, 3, 1..=6).await;
    assert_eq!(stored(&users, 3).await.0.len(), 3);

    let found = verify(&users).await.unwrap();
    let of_twins = found
        .iter()
        .filter(|problem| problem.kind() == "Twins")
        .cloned();
    let expected = [twins(1, &[1]), twins(2, &[5]), twins(4, &[4])].concat();
    assert_eq!(Vec::from_iter(of_twins), expected);
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

/// The manual's own extras documents have no number and no count, so the unique index does not see them.
#[bucket_testkit::test]
async fn items_in_documents_of_the_manuals_are_there(db: Live) {
    let users = fresh::<User3>(&db).await;
    store(&users, 1, &[0, 1, 2], true).await;
    let extra = doc! { "user_id": 1_i64, "followers_extra": followers(&[3, 4, 5]) };
    users.extras_collection().insert_one(extra).await.unwrap();
    for user in 0..6 {
        assert!(!push(&users, 1, user).await, "{user}");
    }
    let many = (0..9).map(|user| User3::follower(user, 0));
    assert_eq!(users.push_many(&1, many).await.unwrap(), 3);
    assert!(!push(&users, 1, 4).await && !push(&users, 1, 8).await);
    for user in 0..9 {
        let item = User3::follower(user, 7);
        users.upsert_item(&1, item).await.unwrap();
    }
    let all = users.get_all(&1).await.unwrap().unwrap().followers;
    let expected = (0..9).map(|user| User3::follower(user, 7));
    assert_eq!(all, expected.collect::<Vec<_>>());
    assert_eq!(verify(&users).await.unwrap(), []);
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
