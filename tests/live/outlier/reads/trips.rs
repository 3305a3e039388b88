//! Round trips: a typical parent takes one, whatever is asked of its items.

use bucket_runtime::{Outlier, Outliers, mongodb::bson::doc};
use futures_util::TryStreamExt;

use crate::{
    outlier::support::{Book, Book20x10},
    support::database::Recorded,
};

async fn books(db: &bucket_runtime::mongodb::Database) -> Outliers<Book20x10> {
    let books = Book20x10::outliers(db).await.unwrap();
    for (id, buyers) in [(1, 15), (2, 200)] {
        let book = Book20x10::new(id, (0..buyers).collect());
        books.insert(&book).await.unwrap();
    }
    books
}

#[bucket_testkit::test]
async fn a_typical_parent_answers_in_one_round_trip(Recorded(db, record): Recorded) {
    let books = books(&db).await;
    let item = Book20x10::FIELDS.buyers.item();
    let list = || books.items(&1);
    for (what, read) in [
        ("all", list()),
        ("newest first", list().newest_first()),
        ("a filter", list().filter(item.gt(3))),
        (
            "a filter that nothing matches",
            list().filter(item.gt(99)).newest_first(),
        ),
        ("a limit", list().limit(3).newest_first()),
        ("a skip", list().skip(4).limit(3)),
        ("a skip beyond the end", list().skip(40).newest_first()),
    ] {
        record.take();
        let _: Vec<i64> = read.await.unwrap().try_collect().await.unwrap();
        assert_eq!(record.take().len(), 1, "{what}");
    }
    let page = |items| list().newest_first().page_of_items(items);
    let next = page(4).await.unwrap().next.unwrap();
    assert_eq!(record.take().len(), 1, "a page");
    let after = page(40).after(&next).await.unwrap().items;
    assert_eq!((after.len(), record.take().len()), (11, 1), "after it");
    page(40).before(&next).await.unwrap();
    assert_eq!(record.take().len(), 1, "the page before it");
    books.find_item(&1, item.eq(9)).await.unwrap().unwrap();
    assert_eq!(record.take().len(), 1, "an item that is there");
    assert_eq!(books.find_item(&1, item.eq(90)).await.unwrap(), None);
    assert_eq!(record.take().len(), 1, "an item that is not");
    assert_eq!(books.count(&1).filter(item.lt(9)).await.unwrap(), 9);
    assert_eq!(record.take().len(), 1, "a count");
    assert_eq!(books.find_item(&3, item.eq(9)).await.unwrap(), None);
    assert_eq!(record.take().len(), 1, "no such parent");
    let whole = Some(Book20x10::new(1, (0..15).collect()));
    assert_eq!(books.get_all(&1).await.unwrap(), whole);
    assert_eq!(record.take().len(), 1, "all of it");
    assert_eq!(books.count(&1).await.unwrap(), 15);
    assert_eq!(record.take().len(), 1, "a count of all");
}

#[bucket_testkit::test]
async fn an_outlier_takes_the_round_trips_of_the_guide(Recorded(db, record): Recorded) {
    let books = books(&db).await;
    let item = Book20x10::FIELDS.buyers.item();
    record.take();
    let parent = books.get(&2).await.unwrap().unwrap();
    assert_eq!((parent.has_extras, record.take().len()), (true, 1), "get");
    let found = books.find(doc! {}).sort(doc! { "_id": -1 });
    let found = found.skip(1).limit(2).await.unwrap();
    let found = found.map_ok(|found| (found.document.id, found.has_extras));
    assert_eq!(found.try_collect::<Vec<_>>().await.unwrap(), [(1, false)]);
    assert_eq!(record.take().len(), 1, "find");
    assert_eq!(books.count(&2).await.unwrap(), 200);
    assert_eq!(record.take().len(), 2, "a count of all");
    let first = books.items(&2).page_of_items(15).await.unwrap().items;
    assert_eq!((first.len(), record.take().len()), (15, 1), "first");
    let newest = || books.items(&2).newest_first();
    let page = newest().page_of_items(15).await.unwrap();
    assert_eq!((page.items[14], record.take().len()), (185, 2), "newest");
    let after = newest().page_of_items(15).after(&page.next.unwrap());
    let after = after.await.unwrap().items;
    assert_eq!((after[14], record.take().len()), (170, 1), "after it");
    let found = books.find_item(&2, item.eq(7)).await.unwrap().unwrap();
    assert_eq!((found.index, record.take().len()), (7, 1), "in the parent");
    let found = books.find_item(&2, item.eq(70)).await.unwrap().unwrap();
    assert_eq!((found.index, record.take().len()), (0, 2), "in the extras");
    assert_eq!(books.count(&2).filter(item.lt(70)).await.unwrap(), 70);
    assert_eq!(record.take().len(), 2, "a count");
    let read = books.items(&2).skip(150).limit(3).await.unwrap();
    let read: Vec<i64> = read.try_collect().await.unwrap();
    let sent = record.take().len();
    assert_eq!((read, sent), (vec![150, 151, 152], 2), "a skip");
    let read = newest().skip(150).limit(3).await.unwrap();
    let read: Vec<i64> = read.try_collect().await.unwrap();
    assert_eq!((read, record.take().len()), (vec![49, 48, 47], 3), "a skip");
}
