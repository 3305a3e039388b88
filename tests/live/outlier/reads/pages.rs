//! Tokens hold their place when the items beside it are gone, and belong to one list.

use bucket_runtime::{ItemToken, Outlier, Outliers, action::ParentItems};

use crate::{
    outlier::support::{Book, Book20x10, fresh, remove},
    support::database::Live,
};

async fn fifty(db: &Live) -> Outliers<Book20x10> {
    let books = fresh::<Book20x10>(db).await;
    let book = Book20x10::new(7, (0..50).collect());
    books.insert(&book).await.unwrap();
    books
}

/// The items of the book, in this order.
fn items(books: &Outliers<Book20x10>, newest_first: bool) -> ParentItems<'static, Book20x10> {
    let items = books.items(&7);
    match newest_first {
        true => items.newest_first(),
        false => items,
    }
}

/// Removes values on both sides of the end of a page, which lies in the parent or in the extras.
#[bucket_testkit::test]
async fn o5_a_page_goes_on_at_its_place_when_its_neighbours_are_gone(db: Live) {
    for (newest_first, end) in [(false, 10), (false, 35), (true, 25), (true, 40)] {
        let books = fifty(&db).await;
        let list = || items(&books, newest_first);
        let mut all = Vec::from_iter(0..50_i64);
        if newest_first {
            all.reverse();
        }
        let first = list().page_of_items(end as u64).await.unwrap();
        assert_eq!(first.items, all[..end]);
        let next = first.next.unwrap();
        // The three values before the place, two farther ones, and the one behind it.
        for at in [end - 3, end - 2, end - 1, end - 7, end - 8, end] {
            assert!(remove(&books, &7, all[at]).await.unwrap());
        }
        books.push(&7, 50).await.unwrap();
        let page = list().page_of_items(5).after(&next).await.unwrap();
        assert_eq!(page.items, all[end + 1..end + 6], "{newest_first}, {end}");
        let back = list().page_of_items(4).before(&next).await.unwrap();
        let before = [end - 9, end - 6, end - 5, end - 4].map(|at| all[at]);
        assert_eq!(back.items, before, "{newest_first}, {end}");
    }
}

/// Equal values are told apart by their number.
#[bucket_testkit::test]
async fn o5_equal_items_each_come_once(db: Live) {
    let books = fresh::<Book20x10>(&db).await;
    let values: Vec<_> = (0..45).map(|n| n / 20).collect();
    let book = Book20x10::new(7, values.clone());
    books.insert(&book).await.unwrap();
    let mut found = Vec::new();
    let mut page = books.items(&7).page_of_items(4).await.unwrap();
    loop {
        found.extend(page.items);
        let Some(next) = page.next else { break };
        page = books.items(&7).page_of_items(4).after(&next).await.unwrap();
    }
    assert_eq!(found, values);
}

#[bucket_testkit::test]
async fn a_token_of_another_list_is_refused(db: Live) {
    let books = fifty(&db).await;
    let book = Book20x10::new(71, (0..50).collect());
    books.insert(&book).await.unwrap();
    let item = Book20x10::FIELDS.buyers.item();
    let list = || books.items(&7).filter(item.gt(3));
    let token = list().page_of_items(30).await.unwrap().next.unwrap();
    let it = list().page_of_items(1).after(&token).await;
    assert_eq!(it.unwrap().items, [34]);
    for other in [
        books.items(&71).filter(item.gt(3)),
        books.items(&7),
        books.items(&7).filter(item.gt(4)),
        books.items(&7).filter(item.gte(3)),
    ] {
        let error = other.page_of_items(1).after(&token).await.unwrap_err();
        assert!(error.is_token_mismatch(), "{error}");
        let parents = books.collection().namespace().to_string();
        assert_eq!(error.collection(), parents);
    }
    // Text that somebody made up gives another place of the same list at most.
    let text = token.to_string();
    for at in 0..text.len() {
        let mut forged = text.clone().into_bytes();
        forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
        let Ok(forged) = String::from_utf8(forged).unwrap().parse::<ItemToken>() else {
            continue;
        };
        match list().page_of_items(60).after(&forged).await {
            Ok(page) => assert!(page.items.iter().all(|value| *value > 3 && *value < 50)),
            Err(error) => assert!(error.is_token_mismatch(), "{error}"),
        }
    }
}
