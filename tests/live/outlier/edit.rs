//! Items of a parent change and go by a condition, in the parent's array and in the extras.

mod race;
mod random;

use bucket_runtime::{
    Error, Filter, Outlier, Outliers,
    mongodb::bson::{Document, doc},
};
use futures_util::TryStreamExt;

use crate::{
    outlier::{
        identity::support::{Counted5, Followed, Follower, User5, follower},
        support::{fresh, verify},
    },
    support::{
        assert_refused,
        database::{Live, Recorded, documents, number},
    },
};

/// The follower with this number.
pub(crate) fn is(user: i64) -> Filter<Follower> {
    User5::FIELDS.followers.item().user_id.eq(user)
}

async fn numbers<T: Followed<Item = Follower>>(users: &Outliers<T>, id: i64) -> Vec<i64> {
    let items = users.items(&id).await.unwrap();
    let items: Vec<Follower> = items.try_collect().await.unwrap();
    items.into_iter().map(|item| item.user_id).collect()
}

/// Both collections, as the raw driver reads them.
async fn stored<T: Followed>(users: &Outliers<T>) -> [Vec<Document>; 2] {
    [
        documents(users.collection()).await,
        documents(users.extras_collection()).await,
    ]
}

#[bucket_testkit::test]
async fn o1_an_item_changes_and_goes_wherever_it_is(Recorded(db, record): Recorded) {
    let users = fresh::<User5>(&db).await;
    users.insert(&User5::new(1, 0..14)).await.unwrap();
    let [own, ours] = [
        "aggregate findAndModify",
        "aggregate aggregate findAndModify",
    ];
    for (user, sent) in [(3, own), (9, ours)] {
        record.take();
        let changed = users.update_item(&1, is(user), |item| item.since += 7);
        let expected = follower(user, 7);
        assert_eq!(changed.await.unwrap(), Some(expected.clone()));
        assert_eq!(record.names().join(" "), sent);
        let found = users.find_item(&1, is(user)).await.unwrap().unwrap();
        assert_eq!(found.item, expected);

        record.take();
        let removed = users.remove_item(&1, is(user)).await.unwrap();
        assert_eq!(removed, Some(expected));
        assert_eq!(record.names().join(" "), sent);
        assert_eq!(users.remove_item(&1, is(user)).await.unwrap(), None);
    }
    assert_eq!(
        numbers(&users, 1).await,
        [0, 1, 2, 4, 5, 6, 7, 8, 10, 11, 12, 13]
    );
    // The parent's free room stays, and so does the order.
    users.push(&1, follower(20, 0)).await.unwrap();
    assert_eq!(numbers(&users, 1).await.last(), Some(&20), "O5");
    // After a push the handle knows that no program left extras without a number.
    record.take();
    users.remove_item(&1, is(20)).await.unwrap().unwrap();
    assert_eq!(record.names().join(" "), ours);

    users.insert(&User5::new(2, 0..3)).await.unwrap();
    record.take();
    assert_eq!(users.remove_item(&2, is(7)).await.unwrap(), None);
    assert_eq!(users.update_item(&9, is(7), |_| ()).await.unwrap(), None);
    let same = users.update_item(&2, is(1), |_| ()).await.unwrap();
    assert_eq!(same, Some(follower(1, 0)));
    assert_eq!(record.names(), ["aggregate"; 3]);
    assert_eq!(verify(&users).await.unwrap(), []);
}

#[bucket_testkit::test]
async fn o1_all_items_that_match_change_and_go(Recorded(db, record): Recorded) {
    let users = fresh::<User5>(&db).await;
    users.insert(&User5::new(1, 0..14)).await.unwrap();
    let user = User5::FIELDS.followers.item().user_id;
    let even = || user.is(doc! { "$mod": [2, 0] });
    let mut seen = Vec::new();
    let changed = users
        .update_items(&1, even().and(user.gte(2)), |item| {
            item.since = item.user_id % 4
        })
        .on_progress(|so_far| seen.push((so_far.buckets, so_far.items)));
    // 2, 6 and 10 differ; the parent has 2 and 4, the extras have 6, 8, 10 and 12.
    assert_eq!(changed.await.unwrap(), 3);
    assert_eq!(seen, [(1, 1), (2, 2), (3, 3)]);
    record.take();
    let removed = users.remove_items(&1, even()).await.unwrap();
    assert_eq!(removed, 7);
    assert_eq!(
        record.names().join(" "),
        "aggregate findAndModify aggregate aggregate findAndModify aggregate findAndModify"
    );
    assert_eq!(numbers(&users, 1).await, [1, 3, 5, 7, 9, 11, 13]);
    assert_eq!(users.remove_items(&1, Filter::default()).await.unwrap(), 7);
    assert_eq!(users.remove_items(&1, Filter::default()).await.unwrap(), 0);
    assert_eq!(verify(&users).await.unwrap(), []);
}

#[bucket_testkit::test]
async fn o1_a_refused_edit_changes_nothing(db: Live) {
    let users = fresh::<User5>(&db).await;
    users.insert(&User5::new(1, 0..14)).await.unwrap();
    let before = stored(&users).await;
    for user in [3, 9] {
        let moved = users.update_item(&1, is(user), |item| item.user_id += 100);
        let error = moved.await.unwrap_err();
        assert!(error.is_item_moved() && !error.is_maybe_stored(), "{error}");
        let moved = users.update_items(&1, is(user), |item| item.user_id += 100);
        assert!(moved.await.unwrap_err().error().is_item_moved());
        for bytes in [1_900, 3_000] {
            let large = users.update_item(&1, is(user), |item| item.note = "x".repeat(bytes));
            let error = large.await.unwrap_err();
            assert!(error.is_too_large() && !error.is_maybe_stored(), "{error}");
        }
    }
    assert_eq!(stored(&users).await, before);
    // It may grow as far as its document has room, and shrink again.
    for (user, bytes) in [(3, 1_000), (3, 900), (9, 1_000), (9, 0)] {
        let fits = users.update_item(&1, is(user), |item| item.note = "x".repeat(bytes));
        fits.await.unwrap().unwrap();
    }
    assert_eq!(verify(&users).await.unwrap(), []);
}

#[bucket_testkit::test]
async fn o1_an_unreadable_item_stays_unless_it_is_removed(db: Live) {
    let users = fresh::<User5>(&db).await;
    users.insert(&User5::new(1, 0..9)).await.unwrap();
    let parents = users.collection().clone_with_type::<Document>();
    let broken = doc! { "$set": { "followers.2.since": "many" } };
    parents.update_one(doc! { "_id": 1 }, broken).await.unwrap();
    let extras = users.extras_collection().clone_with_type::<Document>();
    let broken = doc! { "$set": { "followers_extra.1.since": "many" } };
    let of_user = doc! { "user_id": 1 };
    extras.update_one(of_user, broken).await.unwrap();
    let before = stored(&users).await;
    for user in [2, 6] {
        let error = users.update_item(&1, is(user), |_| ()).await.unwrap_err();
        assert!(error.is_deserialize(), "{error}");
        let error = users.remove_item(&1, is(user)).await.unwrap_err();
        assert_refused(&error, Error::is_deserialize);
    }
    let error = users.update_item(&1, is(2), |_| ()).await.unwrap_err();
    assert!(error.to_string().contains("the parent with _id"), "{error}");
    assert_eq!(stored(&users).await, before);
    // The other documents are done: here the second extras document, with 8.
    users.push(&1, follower(9, 0)).await.unwrap();
    users.push(&1, follower(10, 0)).await.unwrap();
    let all = users.update_items(&1, Filter::default(), |item| item.since += 1);
    let error = all.await.unwrap_err();
    assert!(error.error().is_deserialize(), "{error}");
    let changed = documents(&extras).await;
    let since = |page: &Document, n: usize| {
        let item = page.get_array("followers_extra").unwrap()[n].as_document();
        number(item.unwrap().get("since"))
    };
    assert_eq!((since(&changed[0], 0), since(&changed[1], 0)), (0, 1));
    assert_eq!(users.remove_items(&1, is(2).or(is(6))).await.unwrap(), 2);
    assert_eq!(numbers(&users, 1).await, [0, 1, 3, 4, 5, 7, 8, 9, 10]);
}

#[bucket_testkit::test]
async fn edits_are_part_of_a_transaction(db: Live) {
    let users = fresh::<Counted5>(&db).await;
    users.insert(&Counted5::new(1, 0..14)).await.unwrap();
    let before = stored(&users).await;
    let mut session = db.client().start_session().await.unwrap();
    for commits in [false, true] {
        session.start_transaction().await.unwrap();
        for user in [3, 9] {
            let removed = users.remove_item(&1, is(user)).session(&mut session);
            removed.await.unwrap().unwrap();
            let changed = users.update_item(&1, is(user + 1), |item| item.since = 1);
            changed.session(&mut session).await.unwrap().unwrap();
        }
        let removed = users
            .remove_items(&1, is(0).or(is(6)))
            .session(&mut session);
        assert_eq!(removed.await.unwrap(), 2);
        match commits {
            true => session.commit_transaction().await.unwrap(),
            false => {
                session.abort_transaction().await.unwrap();
                assert_eq!(stored(&users).await, before);
            }
        }
    }
    assert_eq!(numbers(&users, 1).await, [1, 2, 4, 5, 7, 8, 10, 11, 12, 13]);
    let parent = &stored(&users).await[0][0];
    assert_eq!(number(parent.get("total")), 10);
    assert_eq!(verify(&users).await.unwrap(), []);
}
