//! The answers of calls with items that are there, and the commands that these take.

use bucket_runtime::{
    Appended::{AlreadyThere, Stored},
    Outlier,
};

use super::support::{Counted20, Followed, Text3, User3, assert_each_once, push, stored};
use crate::{
    outlier::support::{fresh, remove},
    support::database::{Live, Recorded},
};

#[bucket_testkit::test]
async fn o1_a_push_says_whether_the_item_was_there_wherever_it_is(db: Live) {
    let users = fresh::<User3>(&db).await;
    users.insert(&User3::new(1, [])).await.unwrap();
    for n in 0..9 {
        assert!(push(&users, 1, n).await, "{n}");
        for there in 0..=n {
            // A handle that has seen nothing yet, and one that knows the parent.
            let other = User3::outliers(&db).await.unwrap();
            for users in [&users, &other] {
                assert!(!push(users, 1, there).await, "{there} of {n}");
            }
        }
    }
    assert_each_once(&users, 1, 0..9).await;
    // The item as it was first.
    let all = users.get_all(&1).await.unwrap().unwrap();
    assert!(all.followers.iter().all(|follower| follower.since == 1));
    // What is removed can be pushed again, and goes to the extras.
    for user in [1, 7] {
        assert!(remove(&users, &1, User3::follower(user, 1)).await.unwrap());
        assert!(push(&users, 1, user).await);
        assert!(!push(&users, 1, user).await);
    }
    assert_each_once(&users, 1, 0..9).await;
    assert_eq!(stored(&users, 1).await.0.len(), 2);
    let error = users.push(&2, User3::follower(1, 1)).await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
}

#[bucket_testkit::test]
async fn a_parent_that_takes_nothing_new_is_not_flagged(db: Live) {
    let users = fresh::<User3>(&db).await;
    users.insert(&User3::new(1, 0..3)).await.unwrap();
    assert!(!push(&users, 1, 2).await);
    assert_eq!(
        users
            .push_many(&1, [0, 1, 2].map(|user| User3::follower(user, 5)))
            .await
            .unwrap(),
        0
    );
    assert!(!users.get(&1).await.unwrap().unwrap().has_extras);
}

#[bucket_testkit::test]
async fn many_items_are_stored_without_doubles(db: Live) {
    for (begin, items) in [(0, 2), (0, 3), (2, 9), (3, 2500), (9, 30)] {
        let users = fresh::<Text3>(&db).await;
        users.insert(&Text3::new(1, 0..begin)).await.unwrap();
        let twice = (0..items)
            .chain(0..items)
            .map(|user| Text3::follower(user, 0));
        let pushed = users.push_many(&1, twice).await.unwrap();
        assert_eq!(pushed as i64, (items - begin).max(0));
        assert_each_once(&users, 1, 0..items.max(begin)).await;
        let all = users.get_all(&1).await.unwrap().unwrap().followers;
        let in_order = (0..items.max(begin)).map(|user| Text3::follower(user, 0));
        assert_eq!(all, in_order.collect::<Vec<_>>(), "O5");
    }
}

#[bucket_testkit::test]
async fn a_push_of_many_that_fails_returns_what_is_not_stored(db: Live) {
    let users = fresh::<Text3>(&db).await;
    users.insert(&Text3::new(1, [1])).await.unwrap();
    let users_of = |of: &[i64]| {
        of.iter()
            .map(|user| Text3::follower(*user, 0))
            .collect::<Vec<_>>()
    };
    let mut items = users_of(&[0, 1, 0, 2, 3, 4]);
    items.insert(4, "x".repeat(5 << 20));
    let error = users.push_many(&1, items.clone()).await.unwrap_err();
    assert!(error.error.is_too_large(), "{error}");
    assert_eq!(error.rest, items[4..]);
    assert_each_once(&users, 1, 0..3).await;
}

#[bucket_testkit::test]
async fn pushes_of_identified_items_take_few_commands(Recorded(db, record): Recorded) {
    let users = fresh::<User3>(&db).await;
    users.insert(&User3::new(1, [])).await.unwrap();
    let sends = async |user: i64, expected: bool| {
        record.take();
        assert_eq!(push(&users, 1, user).await, expected);
        record.names().join(" ")
    };
    // A typical parent.
    assert_eq!(sends(0, true).await, "update");
    assert_eq!(sends(0, false).await, "update find");
    sends(1, true).await;
    sends(2, true).await;
    assert_eq!(sends(2, false).await, "update find");
    // It crosses the threshold: the flag, a look for documents of other programs, and a new extras document.
    assert_eq!(
        sends(3, true).await,
        "update find update find update aggregate find update"
    );
    // An outlier.
    assert_eq!(sends(4, true).await, "update update");
    assert_eq!(sends(1, false).await, "update find");
    sends(5, true).await;
    assert_eq!(sends(4, false).await, "update update aggregate");
    let other = User3::outliers(&db).await.unwrap();
    record.take();
    other.push(&1, User3::follower(6, 0)).await.unwrap();
    assert_eq!(record.names().join(" "), "update find update find update");
}

#[bucket_testkit::test]
async fn o1_identity_holds_in_the_callers_transactions(db: Live) {
    let users = fresh::<Counted20>(&db).await;
    users.insert(&Counted20::new(1, 0..22)).await.unwrap();
    let mut session = db.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    for (user, expected) in [
        (0, AlreadyThere),
        (21, AlreadyThere),
        (22, Stored),
        (22, AlreadyThere),
    ] {
        let pushed = users
            .push(&1, Counted20::follower(user, 0))
            .session(&mut session);
        assert_eq!(pushed.await.unwrap(), expected, "{user}");
    }
    let many = (15..30).map(|user| Counted20::follower(user, 0));
    let pushed = users
        .push_many(&1, many)
        .session(&mut session)
        .await
        .unwrap();
    assert_eq!(pushed, 7);
    session.commit_transaction().await.unwrap();
    assert_each_once(&users, 1, 0..30).await;
}
