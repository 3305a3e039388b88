//! O1: a parent that does not exist is an error, and nothing is stored, whatever a deletion has left of its extras.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use bucket_runtime::{
    Error, Outlier, Outliers,
    mongodb::bson::{Document, doc},
};
use tokio::time::timeout;

use crate::{
    outlier::{
        identity::support::{Followed, User3},
        support::{Book, Book2x2, Counted3x2, fresh, remove, survey},
    },
    support::{
        assert_refused,
        database::{Live, Recorded, documents},
        scale::scaled,
        tasks::JoinSet,
    },
};

/// Deletes the parent, and puts an extras document back as a push leaves it that was on its way, or a deletion that was
/// cut short.
async fn leave_extras<T: Outlier<Id = i64>>(other: &Outliers<T>, id: i64) -> Vec<Document> {
    assert!(other.delete(&id).await.unwrap());
    let spec = T::SPEC;
    let extras = doc! {
        "_id": format!("{id}_0000000007"), spec.reference: id, "count": 0, spec.extra_items: [],
    };
    other.extras_collection().insert_one(extras).await.unwrap();
    documents(other.extras_collection()).await
}

/// No parent at all, and then one that the handle knew as an outlier.
async fn stores_nothing<T: Book>(db: &Live) {
    let books = fresh::<T>(db).await;
    let other = T::outliers(db).await.unwrap();
    let refused = async || {
        let error = books.push(&7, 5).await.unwrap_err();
        let many = books.push_many(&7, [5, 6, 7]).await.unwrap_err();
        assert_eq!(many.rest, [5, 6, 7]);
        let parents = books.collection().namespace().to_string();
        for error in [error, many.error] {
            assert_refused(&error, Error::is_not_found);
            assert_eq!(error.collection(), parents);
            assert_eq!(error.key(), Some("\"7\""));
        }
        assert!(!remove(&books, &7, 1).await.unwrap());
        assert_eq!(documents(books.collection()).await, []);
        documents(books.extras_collection()).await
    };
    assert_eq!(refused().await, []);
    assert!(!books.delete(&7).await.unwrap());

    books.insert(&T::new(7, vec![0, 1])).await.unwrap();
    books.push_many(&7, [2, 3, 4]).await.unwrap();
    assert!(other.delete(&7).await.unwrap());
    assert_eq!(refused().await, []);
    books.insert(&T::new(7, vec![0, 1])).await.unwrap();
    books.push_many(&7, [2, 3, 4]).await.unwrap();
    let left = leave_extras(&other, 7).await;
    assert_eq!(refused().await, left);

    // A parent that is inserted again is no outlier yet.
    let again = doc! { "_id": 7_i64, "title": "book 7", "buyers": [] };
    books.collection().insert_one(again).await.unwrap();
    books.push(&7, 8).await.unwrap();
    assert_eq!(survey(&books).await.parents[&7].parent, [8]);
}

#[bucket_testkit::test]
async fn o1_a_push_to_no_parent_stores_nothing_and_says_so(db: Live) {
    stores_nothing::<Book2x2>(&db).await;
    stores_nothing::<Counted3x2>(&db).await;
}

#[bucket_testkit::test]
async fn o1_an_upsert_of_an_item_of_a_deleted_parent_replaces_nothing(db: Live) {
    let users = fresh::<User3>(&db).await;
    let other = User3::outliers(&db).await.unwrap();
    users.insert(&User3::new(7, 0..3)).await.unwrap();
    users.push(&7, User3::follower(3, 0)).await.unwrap();
    leave_extras(&other, 7).await;
    let item = doc! { "userId": 3_i64, "since": 0_i64 };
    let held = doc! { "$push": { "followers_extra": item }, "$inc": { "count": 1 } };
    let extras = other.extras_collection();
    extras.update_one(doc! {}, held).await.unwrap();
    let left = documents(extras).await;
    for user in [3, 4] {
        let upserted = users.upsert_item(&7, User3::follower(user, 1)).await;
        assert!(upserted.unwrap_err().is_not_found());
        let pushed = users.push(&7, User3::follower(user, 1)).await;
        assert!(pushed.unwrap_err().is_not_found());
    }
    assert_eq!(documents(extras).await, left);
}

#[bucket_testkit::test]
async fn a_push_of_nothing_sends_nothing(Recorded(db, record): Recorded) {
    let books = fresh::<Book2x2>(&db).await;
    let users = fresh::<User3>(&db).await;
    let book = Book2x2::new(7, (0..5).collect());
    books.insert(&book).await.unwrap();
    books.push(&7, 5).await.unwrap();
    record.take();
    for id in [7, 8] {
        assert_eq!(books.push_many(&id, [0; 0]).await.unwrap(), 0);
        let none: [<User3 as Outlier>::Item; 0] = [];
        assert_eq!(users.push_many(&id, none).await.unwrap(), 0);
    }
    assert_eq!(record.names(), [""; 0]);
}

/// Pushes of writers who know the parent as an outlier, beside its deletion, of which the first may be dropped. The
/// oracle is what each writer saw before its call: whether a deletion was acknowledged.
#[bucket_testkit::test(multi_thread)]
async fn o1_no_push_is_stored_that_begins_after_an_acknowledged_deletion(db: Live) {
    const WRITERS: i64 = 12;
    let parents = scaled(60_i64);
    let books = fresh::<Book2x2>(&db).await;
    let handles = [books.clone(), Book2x2::outliers(&db).await.unwrap()];
    let deleter = Book2x2::outliers(&db).await.unwrap();
    let mut late_pushes = 0;
    for id in 0..parents {
        let begin = Book2x2::new(id, vec![-1, -2]);
        books.insert(&begin).await.unwrap();
        for handle in &handles {
            handle.push(&id, -3).await.unwrap();
        }
        let is_gone = Arc::new(AtomicBool::new(false));
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let handle = handles[(writer % 2) as usize].clone();
            let is_gone = Arc::clone(&is_gone);
            writers.spawn(async move {
                let mut late = Vec::new();
                for n in 0.. {
                    let (item, is_late) = (writer * 1000 + n, is_gone.load(SeqCst));
                    let pushed = handle.push(&id, item).await;
                    if is_late {
                        let refused = pushed.is_err_and(|error| error.is_not_found());
                        late.push((item, refused));
                    }
                    if late.len() == 5 {
                        break;
                    }
                }
                late
            });
        }
        if id % 2 == 0 {
            let cut = deleter.delete(&id);
            let _ = timeout(Duration::from_micros(700), cut.into_future()).await;
        }
        deleter.delete(&id).await.unwrap();
        is_gone.store(true, SeqCst);
        let late = writers.join_all().await.into_iter().flatten();
        let late = Vec::from_iter(late);
        let left = survey(&books).await.orphans.remove(&id).unwrap_or_default();
        let stored = |item: i64| {
            let mut items = left
                .iter()
                .flat_map(|it| it.get_array("buyers_extra").unwrap());
            items.any(|held| held.as_i64() == Some(item))
        };
        for (item, refused) in late {
            assert!(refused && !stored(item), "{item} of parent {id}: {left:?}");
            late_pushes += 1;
        }
        books.delete(&id).await.unwrap();
    }
    assert_eq!(late_pushes, parents * WRITERS * 5);
}
