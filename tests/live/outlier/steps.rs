//! A crash between any two steps: the future of each call is dropped at each of its commands, once
//! after it was sent and once after its answer arrived. What is stored obeys O2 and O3 at every moment
//! and O1 as far as calls were acknowledged, and calls can be repeated or continued.

use bucket_ops::OutlierOps;
use bucket_runtime::{
    Outlier, Outliers,
    mongodb::{Database, bson::doc},
};

use crate::{
    outlier::{
        events::{Events, at_rest, counted, stops},
        support::{
            Book, Stored, books, dense, fresh, items, numbers, reads_agree, remove, repaired,
            stored, survey,
        },
    },
    support::{
        database::{Live, documents},
        transactions::end_transactions,
    },
};

books! {
    Book3(3, 2)
}

/// The handle whose calls are dropped, and another one.
struct Both {
    cut: Outliers<Book3>,
    books: Outliers<Book3>,
    events: Events,
}

impl Both {
    async fn open(db: &Database) -> Self {
        let books = fresh::<Book3>(db).await;
        let (db, events) = counted(&books.collection().namespace().db).await;
        Self {
            cut: Book3::outliers(&db).await.unwrap(),
            books,
            events,
        }
    }

    async fn begin(&self, values: i64) {
        self.books.delete(&7).await.unwrap();
        let book = Book3::new(7, (0..values).collect());
        self.books.insert(&book).await.unwrap();
    }

    /// The stored parents, now and at rest. Both times O2 to O4 are checked.
    async fn look(&self) -> Stored {
        stored(&self.books).await;
        at_rest(&self.books).await;
        stored(&self.books).await.remove(&7).unwrap_or_default()
    }
}

#[bucket_testkit::test]
async fn a_push_to_no_parent_stores_nothing_and_says_so(db: Live) {
    let both = Both::open(&db).await;
    let books = &both.books;
    for _ in 0..2 {
        let error = books.push(&7, 1).await.unwrap_err();
        assert!(error.is_not_found() && !error.is_maybe_stored(), "{error}");
        assert_eq!(
            error.collection(),
            books.collection().namespace().to_string()
        );
        assert_eq!(error.key(), Some("\"7\""));
        let many = books.push_many(&7, 1..10).await.unwrap_err();
        assert!(many.error.is_not_found(), "{many}");
        assert_eq!(many.rest, (1..10).collect::<Vec<_>>());
        assert_eq!(documents(books.collection()).await, []);
        assert_eq!(documents(books.extras_collection()).await, []);
        assert!(!remove(books, &7, 1).await.unwrap());
        assert!(!books.delete(&7).await.unwrap());
        assert!(items(books, 7).await.is_empty());
        // A parent that this handle knew as an outlier, deleted by another handle.
        let book = Book3::new(7, (0..4).collect());
        books.insert(&book).await.unwrap();
        books.push(&7, 4).await.unwrap();
        assert!(both.cut.delete(&7).await.unwrap());
    }
}

/// Pushes of one and of many values, dropped at every event: to a parent with room, without, with an open page and with
/// a full one, by a handle that knows of its extras or not.
async fn push<const N: i64>(db: &Database) {
    let both = Both::open(db).await;
    let beginnings: &[i64] = if N == 1 { &[2, 3, 4, 5] } else { &[0, 3, 4] };
    for &begin in beginnings {
        for known in [false, true] {
            if known && begin < 3 {
                continue;
            }
            for stop in 1.. {
                both.begin(begin).await;
                let mut before = begin;
                if known {
                    both.cut.push(&7, before).await.unwrap();
                    before += 1;
                }
                let values = before..before + N;
                let done = match N {
                    1 => both.events.cut(stop, both.cut.push(&7, before)).await,
                    _ => {
                        both.events
                            .cut(stop, both.cut.push_many(&7, values.clone()))
                            .await
                    }
                };
                let stored = both.look().await;
                let all = stored.all();
                // The first few values are stored, and all of them if the call completed.
                assert!(
                    all.len() as i64 >= before && all.len() as i64 <= values.end,
                    "{all:?}"
                );
                assert_eq!(all, (0..all.len() as i64).collect::<Vec<_>>(), "O1, O5");
                assert!(!done || all.len() as i64 == values.end);
                both.books
                    .push_many(&7, all.len() as i64..20)
                    .await
                    .unwrap();
                both.cut.push(&7, 20).await.unwrap();
                let stored = dense(&both.books).await.remove(&7).unwrap();
                assert_eq!(stored.all(), (0..=20).collect::<Vec<_>>());
                if done {
                    break;
                }
            }
        }
    }
}

#[bucket_testkit::test]
async fn a_push_dropped_at_every_command(db: Live) {
    push::<1>(&db).await;
}

#[bucket_testkit::test]
async fn a_push_of_many_dropped_at_every_command(db: Live) {
    push::<8>(&db).await;
}

#[bucket_testkit::test]
async fn an_insert_dropped_at_every_command_leaves_a_first_part(db: Live) {
    let both = Both::open(&db).await;
    for values in [3, 4, 9] {
        for stop in 1.. {
            both.books.delete(&7).await.unwrap();
            let book = Book3::new(7, (0..values).collect());
            let done = both.events.cut(stop, both.cut.insert(&book)).await;
            let all = both.look().await.all();
            assert_eq!(all, (0..all.len() as i64).collect::<Vec<_>>(), "O1, O5");
            assert!(all.len() as i64 <= values && (!done || all.len() as i64 == values));
            // Either the parent can be inserted again, or the other values can be pushed.
            match both.books.insert(&book).await {
                Ok(()) => assert!(all.is_empty() && !done),
                Err(error) => {
                    assert!(error.is_already_there(), "{error}");
                    both.books
                        .push_many(&7, all.len() as i64..values)
                        .await
                        .unwrap();
                }
            }
            let stored = dense(&both.books).await.remove(&7).unwrap();
            assert_eq!(stored.all(), (0..values).collect::<Vec<_>>());
            reads_agree(&both.books, 7, &stored).await;
            if done {
                break;
            }
        }
    }
}

#[bucket_testkit::test]
async fn a_remove_dropped_at_every_command_is_finished_by_the_next(db: Live) {
    let both = Both::open(&db).await;
    // The value is everywhere, and one page holds nothing else.
    let begin = vec![1, 0, 2, 0, 3, 0, 0, 4, 0];
    for stop in 1.. {
        both.books.delete(&7).await.unwrap();
        let book = Book3::new(7, begin.clone());
        both.books.insert(&book).await.unwrap();
        let done = {
            let zero = Book3::FIELDS.buyers.item().eq(0);
            let remove = both.cut.remove_items(&7, zero);
            both.events.cut(stop, remove).await
        };
        let mut all = both.look().await.all();
        all.retain(|value| *value != 0);
        assert_eq!(all, [1, 2, 3, 4]);
        remove(&both.books, &7, 0).await.unwrap();
        both.books.push_many(&7, 5..12).await.unwrap();
        let stored = both.look().await;
        assert_eq!(stored.all(), (1..12).collect::<Vec<_>>());
        reads_agree(&both.books, 7, &stored).await;
        if done {
            break;
        }
    }
}

#[bucket_testkit::test]
async fn a_delete_dropped_at_every_command_is_finished_by_the_next(db: Live) {
    let both = Both::open(&db).await;
    for stop in 1.. {
        both.begin(9).await;
        let done = both.events.cut(stop, both.cut.delete(&7)).await;
        at_rest(&both.books).await;
        let found = survey(&both.books).await;
        assert!(found.unflagged.is_empty(), "O3: {found:?}");
        match found.parents.get(&7) {
            Some(stored) => assert_eq!(stored.all(), (0..9).collect::<Vec<_>>(), "all values"),
            None => assert!(
                items(&both.books, 7).await.is_empty(),
                "reads find what the delete left"
            ),
        }
        assert_eq!(
            both.books.count(&7).await.unwrap(),
            if found.parents.is_empty() { 0 } else { 9 }
        );
        both.books.delete(&7).await.unwrap();
        assert_eq!(documents(both.books.collection()).await, []);
        assert_eq!(documents(both.books.extras_collection()).await, []);
        if done {
            break;
        }
    }
}

/// The parent is too long, and in some rounds has extras of another program; then come some of ours.
#[bucket_testkit::test]
async fn a_repair_dropped_at_every_command_is_finished_by_the_next(db: Live) {
    let both = Both::open(&db).await;
    let books = &both.books;
    let (parents, extras) = (books.collection(), books.extras_collection());
    for (pushed, is_foreign) in [(0, false), (3, false), (3, true)] {
        for stop in stops() {
            books.delete(&7).await.unwrap();
            let all = Vec::from_iter(0..10 + pushed);
            let own = if is_foreign { 5 } else { 10 };
            let long = doc! { "_id": 7_i64, "title": "book 7", "buyers": &all[..own] };
            parents.insert_one(&long).await.unwrap();
            if is_foreign {
                let flag = doc! { "$set": { "has_extras": true } };
                parents.update_one(doc! {}, flag).await.unwrap();
                for foreign in [&all[5..7], &all[7..10]] {
                    let foreign = doc! { "book_id": 7_i64, "buyers_extra": foreign };
                    extras.insert_one(foreign).await.unwrap();
                }
            }
            for value in &all[10..] {
                books.push(&7, *value).await.unwrap();
            }
            let repair = OutlierOps::<Book3>::in_collections(
                both.cut.collection().clone(),
                both.cut.extras_collection().clone(),
            )
            .repair();
            let done = both.events.cut(stop, repair).await;
            at_rest(books).await;
            // The server would end the call's transaction only after a minute.
            end_transactions(parents.client(), &parents.namespace().db).await;
            // All values are moved or none, and each is in exactly one place.
            let mut found = Vec::new();
            for document in documents(parents).await {
                found.extend(numbers(&document, "buyers"));
            }
            for document in documents(extras).await {
                found.extend(numbers(&document, "buyers_extra"));
            }
            found.sort_unstable();
            assert_eq!(found, all, "after {stop} events");
            if let Ok(read) = books.get_all(&7).await {
                assert_eq!(read, Some(Book3::new(7, all.clone())));
            }
            let again = repaired(books).await;
            let again = again.unwrap_or_else(|error| panic!("after {stop} events: {error}"));
            assert_eq!(again.left, [], "after {stop} events");
            let stored = both.look().await;
            assert_eq!(stored.all(), all);
            assert_eq!(stored.parent, [0, 1, 2]);
            reads_agree(books, 7, &stored).await;
            if done {
                break;
            }
        }
    }
}
