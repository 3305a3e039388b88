//! `update`: the fields of a parent change, and its array goes on.

use bucket_runtime::{
    Outlier, Outliers,
    mongodb::bson::{Bson, Document, doc},
};
use serde::{Deserialize, Serialize};

use crate::{
    outlier::support::{fresh, remove, verify},
    support::{
        database::{Live, Recorded},
        tasks::JoinSet,
    },
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[serde(rename_all = "camelCase")]
#[outlier(
    collection = "users",
    reference = "user_id",
    threshold = 5,
    extras_capacity = 4,
    max_bytes = 2000
)]
struct User {
    #[serde(rename = "_id")]
    id: i64,
    full_name: String,
    visits: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    motto: Option<String>,
    #[serde(default, rename = "$a.b")]
    odd: i64,
    #[serde(default)]
    any: Document,
    #[serde(default, alias = "town")]
    city: String,
    #[outlier(items)]
    followers: Vec<i64>,
    #[outlier(total)]
    #[serde(default)]
    number: u64,
    #[outlier(flag)]
    #[serde(default)]
    more: bool,
}

fn user(id: i64, followers: i64) -> User {
    User {
        id,
        full_name: "alice".into(),
        visits: 0,
        motto: None,
        odd: 1,
        any: doc! {},
        city: String::new(),
        followers: (0..followers).collect(),
        number: 0,
        more: false,
    }
}

async fn stored(users: &Outliers<User>, id: i64) -> Document {
    let found = users.collection().find_one(doc! { "_id": id }).await;
    found.unwrap().unwrap()
}

#[bucket_testkit::test]
async fn an_update_writes_the_fields_that_the_closure_changes(Recorded(db, record): Recorded) {
    let users = fresh::<User>(&db).await;
    users.insert(&user(1, 8)).await.unwrap();
    // Another type, a field of another program's, and a document that serde would read as something else.
    let others = doc! { "visits": 7_i32, "theirs": [1], "any": { "x": { "$oid": "5f0000000000000000000000" } } };
    let parents = users.collection().clone_with_type::<Document>();
    let set = doc! { "$replaceWith": { "$mergeObjects": ["$$ROOT", { "$literal": others }] } };
    let set = parents.update_one(doc! { "_id": 1 }, vec![set]);
    set.await.unwrap();
    let before = stored(&users, 1).await;

    record.take();
    let changed = users.update(&1, |user| {
        assert_eq!((user.followers.len(), user.number, user.more), (0, 8, true));
        user.full_name = "bob".into();
        user.odd = 2;
        user.motto = Some("on".into());
    });
    assert!(changed.await.unwrap());
    assert_eq!(record.names(), ["aggregate", "findAndModify"]);
    let mut expected = before.clone();
    expected.extend(doc! { "fullName": "bob", "$a.b": 2_i64, "motto": "on" });
    assert_eq!(stored(&users, 1).await, expected);

    record.take();
    assert!(!users.update(&1, |user| user.odd = 2).await.unwrap());
    assert_eq!(record.names(), ["aggregate"]);

    assert!(users.update(&1, |user| user.motto = None).await.unwrap());
    expected.remove("motto");
    assert_eq!(stored(&users, 1).await, expected);

    let error = users.update(&2, |user| user.odd = 2).await.unwrap_err();
    assert!(error.is_not_found() && !error.is_maybe_stored(), "{error}");
}

#[bucket_testkit::test]
async fn an_update_refuses_what_it_never_writes(db: Live) {
    let users = fresh::<User>(&db).await;
    users.insert(&user(1, 3)).await.unwrap();
    let before = stored(&users, 1).await;
    let changes: [fn(&mut User); 5] = [
        |user| user.id = 2,
        |user| user.followers.push(1),
        |user| user.number += 1,
        |user| user.more = true,
        |user| (user.visits, user.more) = (1, true),
    ];
    for change in changes {
        let error = users.update(&1, change).await.unwrap_err();
        assert!(error.is_item_moved() && !error.is_maybe_stored(), "{error}");
    }
    let error = users
        .update(&1, |user| user.full_name = "x".repeat(3000))
        .await
        .unwrap_err();
    assert!(error.is_too_large() && !error.is_maybe_stored(), "{error}");
    assert_eq!(stored(&users, 1).await, before);
    // What could not be read again: the field would be there under both of its names.
    let parents = users.collection().clone_with_type::<Document>();
    let rename = doc! { "$rename": { "city": "town" } };
    parents.update_one(doc! { "_id": 1 }, rename).await.unwrap();
    let error = users
        .update(&1, |user| user.city = "Paris".into())
        .await
        .unwrap_err();
    assert!(error.is_serialize(), "{error}");
    assert!(users.update(&1, |user| user.visits = 3).await.unwrap());
    assert_eq!(stored(&users, 1).await.get("visits"), Some(&Bson::Int64(3)));
}

/// Writers change fields, others push across the threshold and take items out: no change is lost, and no item.
#[bucket_testkit::test(multi_thread)]
async fn updates_beside_pushes_lose_nothing(db: Live) {
    const EACH: i64 = 12;
    let users = fresh::<User>(&db).await;
    users.insert(&user(1, 0)).await.unwrap();
    let mut writers = JoinSet::new();
    for writer in 0..12 {
        let users = users.clone();
        writers.spawn(async move {
            for n in 0..EACH {
                match writer % 3 {
                    0 => {
                        let changed = users.update(&1, |user| {
                            user.visits += 1;
                            user.any.insert(format!("w{writer}n{n}"), true);
                        });
                        assert!(changed.await.unwrap());
                    }
                    1 => drop(users.push(&1, writer * 100 + n).await.unwrap()),
                    _ => {
                        users.push(&1, writer * 100 + n).await.unwrap();
                        assert!(remove(&users, &1, writer * 100 + n).await.unwrap());
                    }
                }
            }
        });
    }
    writers.join_all().await;
    let all = users.get_all(&1).await.unwrap().unwrap();
    assert_eq!((all.visits, all.any.len() as i64), (4 * EACH, 4 * EACH));
    let mut followers = all.followers;
    followers.sort_unstable();
    let pushed = (0..12).filter(|writer| writer % 3 == 1);
    let pushed = pushed.flat_map(|writer| writer * 100..writer * 100 + EACH);
    assert_eq!(followers, pushed.collect::<Vec<_>>());
    assert_eq!(all.number, 4 * EACH as u64);
    assert_eq!(verify(&users).await.unwrap(), []);
}

#[bucket_testkit::test]
async fn an_update_is_part_of_a_transaction(db: Live) {
    let users = fresh::<User>(&db).await;
    users.insert(&user(1, 3)).await.unwrap();
    let before = stored(&users, 1).await;
    let mut session = db.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    for _ in 0..3 {
        let changed = users
            .update(&1, |user| user.visits += 1)
            .session(&mut session);
        assert!(changed.await.unwrap());
    }
    users.push(&1, 5).session(&mut session).await.unwrap();
    session.abort_transaction().await.unwrap();
    assert_eq!(stored(&users, 1).await, before);
}
