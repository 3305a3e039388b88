//! Items that are structs: found wherever they are, by conditions of their own type.

use bucket_runtime::{
    Fields, Filter, FoundItem, Outlier, Outliers,
    mongodb::bson::{Bson, doc},
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use super::parts::{Follower, User, follower, inserted as users};
use crate::support::database::Live;

fn named(name: &str) -> Filter<Follower> {
    User::FIELDS.followers.item().user_name.eq(name)
}

/// The item at a place, as the raw driver reads it.
async fn at(users: &Outliers<User>, id: i64, found: &FoundItem<Follower>) -> Bson {
    let (collection, array, id) = match &found.extras_id {
        None => (users.collection(), "followers", Bson::from(id)),
        Some(id) => (users.extras_collection(), "followers_extra", id.clone()),
    };
    let document = collection.find_one(doc! { "_id": id }).await.unwrap();
    document.unwrap().get_array(array).unwrap()[found.index as usize].clone()
}

#[bucket_testkit::test]
async fn an_item_is_found_in_the_parent_and_in_the_extras(db: Live) {
    let users = users(&db).await;
    for n in 0..20 {
        let of = || named(&format!("user{n}"));
        let found = users.find_item(&3, of()).await.unwrap().unwrap();
        assert_eq!(found.item, follower(n));
        assert_eq!(found.extras_id.is_some(), n >= 5, "{n}");
        let stored = at(&users, 3, &found).await;
        let name = stored.as_document().unwrap().get_str("userName");
        assert_eq!(name.unwrap(), format!("user{n}"));
        let in_two = users.find_item(&2, of()).await.unwrap();
        assert_eq!(in_two.is_some(), n < 3);
    }
    for id in [1, 2, 3, 4] {
        assert_eq!(users.find_item(&id, named("nobody")).await.unwrap(), None);
    }
    // The first of several.
    let tagged = Follower::FIELDS.tags.contains("t1");
    let since = User::FIELDS.followers.item().since.gt(4);
    let found = users.find_item(&3, tagged.and(since)).await.unwrap();
    assert_eq!(found.unwrap().item, follower(7));
}

#[bucket_testkit::test]
async fn items_are_selected_by_any_condition_of_their_struct(db: Live) {
    let users = users(&db).await;
    let item = User::FIELDS.followers.item();
    let whole = item.eq(follower(6));
    for (filter, holds) in [
        (
            item.since.between(3..8),
            (|n| (3..8).contains(&n)) as fn(i64) -> bool,
        ),
        (!item.since.between(3..8), |n| !(3..8).contains(&n)),
        (item.tags.contains("t2"), |n| n % 3 == 2),
        (item.tags.contains("t2").and(item.since.lt(9)), |n| {
            n % 3 == 2 && n < 9
        }),
        (whole.clone(), |n| n == 6),
        (whole.clone().or(item.since.gte(18)), |n| n == 6 || n >= 18),
        (!whole.clone().or(item.since.gte(18)), |n| n != 6 && n < 18),
        (whole.and(item.since.gte(18)), |_| false),
        (item.user_name.is(doc! { "$regex": "1$" }), |n| n % 10 == 1),
    ] {
        let expected: Vec<_> = (0..20).filter(|n| holds(*n)).map(follower).collect();
        let read = users.items(&3).filter(filter.clone());
        let found: Vec<_> = read.await.unwrap().try_collect().await.unwrap();
        assert_eq!(found, expected, "{filter:?}");
        let count = users.count(&3).filter(filter.clone()).await.unwrap();
        assert_eq!(count, expected.len() as u64, "{filter:?}");
        let small: Vec<_> = (0..3).filter(|n| holds(*n)).map(follower).collect();
        let read = users.items(&2).filter(filter.clone());
        let found: Vec<_> = read.await.unwrap().try_collect().await.unwrap();
        assert_eq!(found, small, "{filter:?}");
        let count = users.count(&2).filter(filter.clone()).await.unwrap();
        assert_eq!(count, small.len() as u64, "{filter:?}");
    }
    assert_eq!(users.count(&9).filter(item.since.gte(0)).await.unwrap(), 0);
}

/// Items that are arrays, in the parent and in the extras alike.
#[bucket_testkit::test]
async fn whole_items_that_are_arrays_are_compared_alike_everywhere(db: Live) {
    #[derive(Debug, Serialize, Deserialize, Outlier)]
    #[outlier(
        collection = "walks",
        reference = "walk",
        threshold = 2,
        extras_capacity = 3
    )]
    struct Walk {
        _id: i64,
        #[outlier(items)]
        steps: Vec<Vec<i64>>,
    }
    let walks = Walk::outliers(&db).await.unwrap();
    let steps: Vec<_> = (0..10).map(|n| vec![n, n % 3]).collect();
    let walk = Walk {
        _id: 1,
        steps: steps.clone(),
    };
    walks.insert(&walk).await.unwrap();
    let item = Walk::FIELDS.steps.item();
    for (filter, holds) in [
        (
            item.eq(vec![4, 1]),
            (|step| step == [4, 1]) as fn(&[i64]) -> bool,
        ),
        (item.ne(vec![4, 1]), |step| step != [4, 1]),
        (item.contains(1), |step| step.contains(&1)),
        (!item.contains(1), |step| !step.contains(&1)),
        (item.is(doc! { "$gte": 8 }), |step| {
            step.iter().any(|n| *n >= 8)
        }),
        (!item.is(doc! { "$ne": 1 }), |step| step.contains(&1)),
        (item.is_in([vec![4, 1], vec![9, 0]]), |step| {
            step == [4, 1] || step == [9, 0]
        }),
    ] {
        let found = walks.items(&1).filter(filter.clone()).await.unwrap();
        let found: Vec<_> = found.try_collect().await.unwrap();
        let expected = steps.iter().filter(|step| holds(step)).cloned();
        assert_eq!(found, Vec::from_iter(expected), "{filter:?}");
    }
}

#[bucket_testkit::test]
async fn parents_are_found_by_their_own_items_and_not_by_their_extras(db: Live) {
    let users = users(&db).await;
    let followers = User::FIELDS.followers;
    let by = async |filter: Filter<User>| {
        let found = users.find(filter).sort(doc! { "_id": 1 }).await.unwrap();
        let found: Vec<_> = found.try_collect().await.unwrap();
        Vec::from_iter(found.iter().map(|user| user.document._id))
    };
    let item = followers.item();
    assert_eq!(by(followers.any(item.since.eq(1))).await, [2, 3]);
    let one = item.since.gte(3).and(item.user_name.ne("user3"));
    assert_eq!(by(followers.any(one)).await, [3]);
    assert_eq!(by(followers.any(item.since.eq(9))).await, [0_i64; 0]);
}

#[bucket_testkit::test]
async fn extras_come_in_both_directions(db: Live) {
    let users = users(&db).await;
    let forward: Vec<_> = users.extras(&3).await.unwrap().try_collect().await.unwrap();
    assert_eq!(forward.len(), 4);
    let reverse = users.extras(&3).newest_first().await.unwrap();
    let mut reverse: Vec<_> = reverse.try_collect().await.unwrap();
    reverse.reverse();
    assert_eq!(forward, reverse);
}
