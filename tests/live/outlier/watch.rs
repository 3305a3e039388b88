//! Parents are watched: each pushed item comes once, wherever it goes and in the order of a read, and nothing else
//! comes.

use std::collections::BTreeMap;

use bucket_ops::ProblemKind;
use bucket_runtime::{
    NewItem, Outlier, Outliers, WatchToken,
    action::Watch,
    mongodb::bson::{Document, doc},
};
use futures_util::{StreamExt, TryStreamExt};
use rand::{Rng, seq::IndexedRandom};
use serde::{Deserialize, Serialize};

use crate::{
    outlier::support::{Book, Book4x5, Counted4x5, dense, fresh, items, remove, repaired, stored},
    support::{database::Live, tasks::JoinSet},
};

/// The value that is pushed last of all to a parent.
const LAST: i64 = 1_000_000;

/// What a watch gives up to the last value of some parents. It is broken off at random places, and resumed from its
/// token as text.
async fn all<I: Send + 'static>(
    watch: impl Fn() -> Watch<I>,
    beginning: &WatchToken,
    parents: usize,
    value: impl Fn(&I) -> i64,
) -> Vec<I> {
    let (mut given, mut last) = (Vec::new(), 0);
    let mut token = beginning.clone();
    while last < parents {
        let text = token.to_string();
        let mut stream = watch().resume_after(&text.parse().unwrap()).await.unwrap();
        for _ in 0..rand::rng().random_range(1..20) {
            let item = stream
                .try_next()
                .await
                .unwrap()
                .expect("a stream without end");
            token = stream.token().clone();
            match value(&item) {
                LAST => last += 1,
                _ => given.push(item),
            }
            if last == parents {
                break;
            }
        }
    }
    given
}

fn by_parent(given: Vec<NewItem<i64, i64>>) -> BTreeMap<i64, Vec<i64>> {
    let mut by_parent = BTreeMap::<i64, Vec<i64>>::new();
    for NewItem { parent, item, .. } in given {
        by_parent.entry(parent).or_default().push(item);
    }
    by_parent
}

/// Pushes values of its own to the parents 1 to 3, alone and several at once, and inserts parents with many values.
async fn write(books: Outliers<Book4x5>, writer: i64) -> BTreeMap<i64, Vec<i64>> {
    let mut acknowledged = BTreeMap::<i64, Vec<i64>>::new();
    for step in 0..20 {
        let (parent, first) = (1 + step % 3, writer * 10_000 + step * 10);
        let values = Vec::from_iter(first..first + 1 + step % 5);
        match values.as_slice() {
            [value] => drop(books.push(&parent, *value).await.unwrap()),
            values => drop(books.push_many(&parent, values.to_vec()).await.unwrap()),
        }
        acknowledged.entry(parent).or_default().extend(values);
    }
    let parent = Book4x5::new(100 + writer, (0..writer * 2).collect());
    books.insert(&parent).await.unwrap();
    acknowledged.insert(parent.id, parent.buyers);
    acknowledged
}

#[bucket_testkit::test(multi_thread)]
async fn o1_o5_all_that_is_pushed_comes_once_and_in_order_from_any_place_again(db: Live) {
    let books = fresh::<Book4x5>(&db).await;
    books.insert(&Book4x5::new(1, vec![-1])).await.unwrap();
    books.insert(&Book4x5::new(2, vec![])).await.unwrap();
    let one = books.watch(&1).await.unwrap().token().clone();
    let every = books.watch_all().await.unwrap().token().clone();
    // A parent that the watch has never seen.
    books.insert(&Book4x5::new(3, vec![])).await.unwrap();
    let mut writers = JoinSet::new();
    for writer in 1..6 {
        writers.spawn(write(books.clone(), writer));
    }
    let ended = tokio::spawn({
        let books = books.clone();
        async move {
            let acknowledged = writers.join_all().await;
            for parent in 1..4 {
                books.push(&parent, LAST).await.unwrap();
            }
            acknowledged
        }
    });
    // While they write, and once more when all is written.
    for _ in 0..2 {
        let of_one = all(|| books.watch(&1), &one, 1, |value| *value).await;
        let told = by_parent(all(|| books.watch_all(), &every, 3, |new| new.item).await);
        assert_eq!(told[&1], of_one, "both tell the same of a parent");
        let mut read = BTreeMap::new();
        for (parent, stored) in dense(&books).await {
            let mut values = stored.all();
            values.retain(|value| ![-1, LAST].contains(value));
            read.insert(parent, values);
        }
        read.retain(|_, values| !values.is_empty());
        assert_eq!(told, read, "O5: as the raw driver reads them");
    }
    let acknowledged = ended.await.unwrap();
    let told = by_parent(all(|| books.watch_all(), &every, 3, |new| new.item).await);
    for (parent, values) in acknowledged.into_iter().flatten() {
        for value in values {
            let times = told[&parent].iter().filter(|told| **told == value).count();
            assert_eq!(times, 1, "O1: {value} of {parent}");
        }
    }
}

/// Pushes, removals, edits, changes of the title and splits at random, until arrays and extras are emptied and filled
/// again. The own array of an outlier loses nothing.
async fn only_pushes_come<T: Book>(db: &Live, rename: fn(&mut T)) {
    let books = &fresh::<T>(db).await;
    let parent = T::new(7, vec![]);
    let is = |value: i64| Book4x5::FIELDS.buyers.item().eq(value);
    books.insert(&parent).await.unwrap();
    let mut stream = books.watch(&7).await.unwrap();
    // An emptied parent and emptied extras are filled again.
    let mut pushed = vec![-1, -2, -3, -4, -5, -6, -7, -8, -9, -10];
    books.push_many(&7, [-1, -2]).await.unwrap();
    assert!(remove(books, &7, -1).await.unwrap() && remove(books, &7, -2).await.unwrap());
    assert!(stored(books).await[&7].parent.is_empty());
    books.push_many(&7, (-8..=-3).rev()).await.unwrap();
    assert!(remove(books, &7, -7).await.unwrap() && remove(books, &7, -8).await.unwrap());
    assert!(stored(books).await[&7].flagged && stored(books).await[&7].extras.is_empty());
    books.push_many(&7, [-9, -10]).await.unwrap();
    for n in 0..250 {
        let of_parent = stored(books).await.remove(&7).unwrap();
        let removable = match of_parent.flagged {
            true => of_parent.extras.clone(),
            false => of_parent.all(),
        };
        let any = removable.choose(&mut rand::rng()).copied();
        let choice = rand::rng().random_range(0..14);
        match (choice, any) {
            (0..=4, Some(value)) => assert!(remove(books, &7, value).await.unwrap()),
            (12, Some(value)) => {
                let removed = books.remove_item(&7, is(value)).await.unwrap();
                assert_eq!(removed, Some(value));
            }
            (13, Some(value)) => {
                let update = books.update_item(&7, is(value), |item| *item = 2 * LAST + n);
                assert!(update.await.unwrap().is_some());
            }
            (5, _) => drop(books.update(&7, rename).await.unwrap()),
            (6, _) => {
                pushed.extend([n * 10, n * 10 + 1]);
                books.push_many(&7, [n * 10, n * 10 + 1]).await.unwrap();
            }
            (7, _) => drop(repaired(books).await.unwrap()),
            (8, _) if n % 3 == 0 => {
                books.delete(&7).await.unwrap();
                books.insert(&parent).await.unwrap();
            }
            _ => {
                pushed.push(n * 10);
                books.push(&7, n * 10).await.unwrap();
            }
        }
    }
    books.push(&7, LAST).await.unwrap();
    let mut told = Vec::new();
    loop {
        match stream.try_next().await.unwrap().unwrap() {
            LAST => break,
            value => told.push(value),
        }
    }
    assert_eq!(told, pushed);
}

#[bucket_testkit::test]
async fn what_is_removed_or_changed_does_not_come(db: Live) {
    only_pushes_come::<Counted4x5>(&db, |book| book.title.push('x')).await;
    only_pushes_come::<Book4x5>(&db, |book| book.title.push('x')).await;
}

/// A split moves items into extras documents, in each of the places where it can put them.
#[bucket_testkit::test]
async fn what_moves_to_extras_does_not_come_again(db: Live) {
    let books = fresh::<Book4x5>(&db).await;
    let raw = books.collection();
    let document = |id: i64, length: i64| {
        doc! { "_id": id, "title": "", "buyers": Vec::from_iter(0..length) }
    };
    raw.insert_one(document(1, 3)).await.unwrap();
    books.push_many(&1, [3, 4]).await.unwrap();
    let mut stream = books.watch_all().await.unwrap();
    // Parents grow beyond the threshold by programs that do not know it, with extras and without.
    let push = doc! { "$push": { "buyers": { "$each": [5_i64, 6_i64] } } };
    raw.update_one(doc! { "_id": 1 }, push).await.unwrap();
    raw.insert_one(document(2, 12)).await.unwrap();
    let repaired = repaired(&books).await.unwrap().repaired;
    assert_eq!(repaired, [(ProblemKind::TooLarge, 2)].into());
    for parent in [1, 2] {
        books.push_many(&parent, [20, 21, 22, LAST]).await.unwrap();
    }
    let mut told = Vec::new();
    while told
        .iter()
        .filter(|new: &&NewItem<i64, i64>| new.item == LAST)
        .count()
        < 2
    {
        told.push(stream.try_next().await.unwrap().unwrap());
    }
    let told = by_parent(told);
    assert_eq!(told[&1], [5, 6, 20, 21, 22, LAST]);
    assert_eq!(told[&2], Vec::from_iter((0..12).chain([20, 21, 22, LAST])));
    assert_eq!(items(&books, 2).await, told[&2]);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, bucket_runtime::Fields)]
struct Follower {
    user: i64,
    muted: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(collection = "users", reference = "user_id", threshold = 2)]
struct User {
    #[serde(rename = "_id")]
    id: String,
    #[outlier(items, unique = user)]
    followers: Vec<Follower>,
    #[outlier(total)]
    many: i64,
}

/// Nor does an item that is there already. The id of this parent has characters that its extras' ids encode.
#[bucket_testkit::test]
async fn what_is_replaced_does_not_come(db: Live) {
    let users = fresh::<User>(&db).await;
    let id = "a_%\u{1}é";
    let user = User {
        id: id.into(),
        followers: Vec::new(),
        many: 0,
    };
    users.insert(&user).await.unwrap();
    let mut every = users.watch_all().await.unwrap();
    let follower = |user: i64, muted: bool| Follower { user, muted };
    for user in 0..5 {
        users.push(id, follower(user, false)).await.unwrap();
        users.push(id, follower(user, false)).await.unwrap();
        users.upsert_item(id, follower(user, true)).await.unwrap();
    }
    users.upsert_item(id, follower(LAST, true)).await.unwrap();
    for user in (0..5).chain([LAST]) {
        let NewItem { parent, item, .. } = every.try_next().await.unwrap().unwrap();
        assert_eq!((parent.as_str(), item), (id, follower(user, user == LAST)));
    }
}

#[bucket_testkit::test]
async fn a_dropped_collection_is_an_error_and_the_end(db: Live) {
    for of_extras in [false, true] {
        let books = fresh::<Book4x5>(&db).await;
        let mut stream = books.watch(&1).await.unwrap();
        let book = Book4x5::new(1, (0..5).collect());
        books.insert(&book).await.unwrap();
        match of_extras {
            true => books.extras_collection().drop().await.unwrap(),
            false => books.collection().drop().await.unwrap(),
        }
        for value in 0..5 {
            assert_eq!(stream.try_next().await.unwrap(), Some(value));
        }
        let error = stream.try_next().await.unwrap_err();
        assert!(error.is_collection_dropped(), "{error}");
        assert!(stream.next().await.is_none());
    }
}

#[bucket_testkit::test]
async fn what_cannot_be_read_is_an_error(db: Live) {
    let books = fresh::<Book4x5>(&db).await;
    let mut stream = books.watch(&1).await.unwrap();
    let unreadable = doc! { "_id": 1, "title": "", "buyers": ["text"] };
    books.collection().insert_one(unreadable).await.unwrap();
    let error = stream.try_next().await.unwrap_err();
    assert!(error.is_deserialize(), "{error}");
}

/// Two databases have no common order of events.
#[bucket_testkit::test]
async fn collections_in_two_databases_are_refused(db: Live) {
    let other = db.client().database(&format!("{}_2", db.name()));
    let extras = other.collection::<Document>("extra_books");
    let books = Book4x5::outliers_in(db.collection("books"), extras)
        .await
        .unwrap();
    let Err(error) = books.watch(&1).await else {
        panic!("it was not refused");
    };
    assert!(error.is_unsupported(), "{error}");
    other.drop().await.unwrap();
}
