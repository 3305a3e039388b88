//! `upsert_item` on parents: replaces the item with the same identity, wherever it is, or pushes it.

use bucket_runtime::{
    Error, Outlier,
    Upserted::{Appended, Replaced},
    mongodb::Database,
};

use super::support::{
    Counted20, Followed, Follower, Text3, User3, User5, assert_each_once, follower,
};
use crate::{
    outlier::support::{fresh, remove},
    support::{
        assert_refused,
        database::{Live, Recorded},
        tasks::JoinSet,
    },
};

#[bucket_testkit::test]
async fn an_item_is_replaced_where_it_is_or_pushed(Recorded(db, record): Recorded) {
    let users = fresh::<User3>(&db).await;
    users.insert(&User3::new(1, [])).await.unwrap();
    for n in 0..8 {
        let new = User3::follower(n, 0);
        assert_eq!(users.upsert_item(&1, new).await.unwrap(), Appended);
        for there in 0..=n {
            let other = User3::outliers(&db).await.unwrap();
            for users in [&users, &other] {
                let since = n * 100 + there;
                let changed = users.upsert_item(&1, User3::follower(there, since));
                assert_eq!(changed.await.unwrap(), Replaced, "{there} of {n}");
            }
        }
    }
    assert_each_once(&users, 1, 0..8).await;
    let all = users.get_all(&1).await.unwrap().unwrap().followers;
    let expected = (0..8).map(|user| User3::follower(user, 700 + user));
    assert_eq!(all, expected.collect::<Vec<_>>(), "O5");

    let sends = async |user: i64| {
        record.take();
        users
            .upsert_item(&1, User3::follower(user, 5))
            .await
            .unwrap();
        record.names().join(" ")
    };
    assert_eq!(sends(1).await, "findAndModify");
    let in_extras = "findAndModify find aggregate findAndModify";
    assert_eq!(sends(7).await, in_extras);
    users.insert(&User3::new(2, [])).await.unwrap();
    record.take();
    users.upsert_item(&2, User3::follower(1, 5)).await.unwrap();
    assert_eq!(record.names().join(" "), "findAndModify update");
    let error = users
        .upsert_item(&9, User3::follower(1, 5))
        .await
        .unwrap_err();
    assert!(error.is_not_found(), "{error}");
}

/// A token knows items by their identity, in the parent and in its extras.
#[bucket_testkit::test]
async fn a_token_holds_its_place_beside_an_item_that_is_replaced(db: Live) {
    let users = fresh::<User3>(&db).await;
    users.insert(&User3::new(1, 0..8)).await.unwrap();
    for before in [1, 2, 4, 5] {
        let read = || users.items(&1).page_of_items(1);
        let mut page = read().await.unwrap();
        while page.items[0].user_id != before {
            page = read().after(&page.next.unwrap()).await.unwrap();
        }
        let next = before + 1;
        let page = read().after(&page.next.unwrap()).await.unwrap();
        let token = page.next.unwrap();
        // The items before the place change their number and their other fields.
        let first = read().await.unwrap().items.remove(0);
        assert!(remove(&users, &1, first).await.unwrap());
        let changed = users.upsert_item(&1, User3::follower(next, before)).await;
        assert_eq!(changed.unwrap(), Replaced);
        let page = read().after(&token).await.unwrap();
        assert_eq!(page.items, [User3::follower(next + 1, 0)], "after {next}");
    }
}

/// Writers of the same items: one of the calls for an item appends it.
#[bucket_testkit::test(multi_thread)]
async fn racing_upserts_store_each_item_once(db: Live) {
    race::<User3>(&db).await;
    race::<Text3>(&db).await;
    race::<Counted20>(&db).await;
}

async fn race<T: Followed>(db: &Database) {
    let users = fresh::<T>(db).await;
    users.insert(&T::new(1, [])).await.unwrap();
    let mut writers = JoinSet::new();
    for writer in 0..12 {
        let users = match writer % 2 {
            0 => users.clone(),
            _ => T::outliers(db).await.unwrap(),
        };
        writers.spawn(async move {
            let mut appended = 0;
            for n in 0..30 {
                let item = T::follower((n + writer * 5) % 30, writer);
                appended += i32::from(users.upsert_item(&1, item).await.unwrap() == Appended);
            }
            appended
        });
    }
    let appended: i32 = writers.join_all().await.into_iter().sum();
    assert_eq!(appended, 30);
    assert_each_once(&users, 1, 0..30).await;
}

#[bucket_testkit::test]
async fn an_item_that_grows_beyond_its_document_is_refused(db: Live) {
    let users = fresh::<User5>(&db).await;
    users.insert(&User5::new(1, [])).await.unwrap();
    let noted = |user, length| Follower {
        note: "x".repeat(length),
        ..follower(user, 0)
    };
    for user in 0..12 {
        users.push(&1, noted(user, 300)).await.unwrap();
    }
    for user in [0, 11] {
        let error = users.upsert_item(&1, noted(user, 1500)).await.unwrap_err();
        assert_refused(&error, Error::is_too_large);
        for length in [300, 10, 290] {
            let done = users.upsert_item(&1, noted(user, length)).await.unwrap();
            assert_eq!(done, Replaced);
        }
    }
    let all = users.get_all(&1).await.unwrap().unwrap().followers;
    let lengths = all.iter().map(|noted| noted.note.len());
    let expected = (0..12).map(|user| if user % 11 == 0 { 290 } else { 300 });
    assert_eq!(Vec::from_iter(lengths), Vec::from_iter(expected));
}
