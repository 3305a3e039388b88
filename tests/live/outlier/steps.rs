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
            Book, Book3x2, Stored, dense, fresh, items, numbers, reads_agree, remove, repaired,
            stored, survey,
        },
    },
    support::{
        database::{Live, documents},
        transactions::end_transactions,
    },
};

/// The handle whose calls are dropped, and another one.
struct Both {
    cut: Outliers<Book3x2>,
    books: Outliers<Book3x2>,
    events: Events,
}

impl Both {
    async fn open(db: &Database) -> Self {
        let books = fresh::<Book3x2>(db).await;
        let (db, events) = counted(&books.collection().namespace().db).await;
        Self {
            cut: Book3x2::outliers(&db).await.unwrap(),
            books,
            events,
        }
    }

    async fn begin(&self, values: i64) {
        self.books.delete(&7).await.unwrap();
        let book = Book3x2::new(7, (0..values).collect());
        self.books.insert(&book).await.unwrap();
    }

    /// The stored parents, now and at rest. Both times O2 to O4 are checked.
    async fn look(&self) -> Stored {
        stored(&self.books).await;
        at_rest(&self.books).await;
        stored(&self.books).await.remove(&7).unwrap_or_default()
    }

    /// How many values are stored: the first ones, in order.
    async fn look_at_first_values(&self) -> i64 {
        let all = self.look().await.all();
        let stored = all.len() as i64;
        assert_eq!(all, Vec::from_iter(0..stored), "O1, O5");
        stored
    }
}

/// Pushes of one and of many values, dropped at every event: to a parent with room, without, with an open page and with
/// a full one, by a handle that knows of its extras or not.
async fn push<const N: i64>(db: &Database) {
    let both = Both::open(db).await;
    let beginnings: &[i64] = if N == 1 { &[2, 3, 4, 5] } else { &[0, 3, 4] };
    let handles = beginnings
        .iter()
        .flat_map(|begin| [(*begin, false), (*begin, true)]);
    for (begin, is_known) in handles.filter(|(begin, is_known)| !is_known || *begin >= 3) {
        for stop in 1.. {
            both.begin(begin).await;
            let mut before = begin;
            if is_known {
                both.cut.push(&7, before).await.unwrap();
                before += 1;
            }
            let end = before + N;
            let done = match N {
                1 => both.events.cut(stop, both.cut.push(&7, before)).await,
                _ => {
                    let push = both.cut.push_many(&7, before..end);
                    both.events.cut(stop, push).await
                }
            };
            // The first few values are stored, and all of them if the call completed.
            let stored = both.look_at_first_values().await;
            assert!((before..=end).contains(&stored), "O1: {stored}");
            assert!(!done || stored == end, "O1: {stored}");
            both.books.push_many(&7, stored..20).await.unwrap();
            both.cut.push(&7, 20).await.unwrap();
            let stored = dense(&both.books).await.remove(&7).unwrap();
            assert_eq!(stored.all(), Vec::from_iter(0..=20));
            if done {
                break;
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
            let book = Book3x2::new(7, (0..values).collect());
            let done = both.events.cut(stop, both.cut.insert(&book)).await;
            let stored = both.look_at_first_values().await;
            assert!(stored <= values && (!done || stored == values));
            // Either the parent can be inserted again, or the other values can be pushed.
            match both.books.insert(&book).await {
                Ok(()) => assert!(stored == 0 && !done),
                Err(error) => {
                    assert!(error.is_already_there(), "{error}");
                    both.books.push_many(&7, stored..values).await.unwrap();
                }
            }
            let stored = dense(&both.books).await.remove(&7).unwrap();
            assert_eq!(stored.all(), Vec::from_iter(0..values));
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
        let book = Book3x2::new(7, begin.clone());
        both.books.insert(&book).await.unwrap();
        let zero = Book3x2::FIELDS.buyers.item().eq(0);
        let removal = both.cut.remove_items(&7, zero);
        let done = both.events.cut(stop, removal).await;
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
        // All values, or no read finds what the delete has left.
        let left = if found.parents.is_empty() { 0 } else { 9 };
        assert_eq!(items(&both.books, 7).await, Vec::from_iter(0..left));
        assert_eq!(both.books.count(&7).await.unwrap(), left as u64);
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
            let length = if is_foreign { 5 } else { 10 };
            let long = doc! { "_id": 7_i64, "title": "book 7", "buyers": &all[..length] };
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
            let (own, extra) = (both.cut.collection(), both.cut.extras_collection());
            let ops = OutlierOps::<Book3x2>::in_collections(own.clone(), extra.clone());
            let done = both.events.cut(stop, ops.repair()).await;
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
                assert_eq!(read, Some(Book3x2::new(7, all.clone())));
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
