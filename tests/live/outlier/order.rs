//! O5: one writer's values come back in the order in which it pushed them, also across the threshold
//! and after removals.

use bucket_runtime::Outliers;

use crate::{
    outlier::support::{Book, Book3x2, Stored, fresh, reads_agree, remove, stored, verify},
    support::database::{Live, number},
};

async fn one<T: Book>(books: &Outliers<T>) -> Stored {
    stored(books).await.remove(&7).unwrap()
}

/// The count of each page, and whether it is sealed.
fn pages(stored: &Stored) -> Vec<(i64, bool)> {
    let pages = stored.pages.iter().map(|page| {
        let sealed = page.get("sealed");
        assert!(sealed.is_none() || sealed == page.get("_id"), "{page}");
        (number(page.get("count")), sealed.is_some())
    });
    pages.collect()
}

/// A full page is sealed when a value is removed from it: later values must not come before others.
#[bucket_testkit::test]
async fn what_is_removed_leaves_room_that_nobody_fills(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    let book = Book3x2::new(7, (0..9).collect());
    books.insert(&book).await.unwrap();
    // From the parent, from the first page, and from the last one, which is full.
    for value in [1, 3, 8] {
        assert!(remove(&books, &7, value).await.unwrap(), "{value}");
    }
    assert_eq!(
        pages(&one(&books).await),
        [(1, true), (2, false), (1, true)]
    );
    books.push(&7, 20).await.unwrap();
    books.push_many(&7, [21, 22]).await.unwrap();
    let after = one(&books).await;
    assert_eq!(after.parent, [0, 2]);
    assert_eq!(after.all(), [0, 2, 4, 5, 6, 7, 20, 21, 22]);
    assert_eq!(pages(&after)[3..], [(2, false), (1, false)]);
    reads_agree(&books, 7, &after).await;
    // An open page that is emptied is gone. A sealed page stays, so that its number is never used again.
    assert!(remove(&books, &7, 22).await.unwrap());
    assert!(remove(&books, &7, 4).await.unwrap());
    let emptied = one(&books).await;
    assert_eq!(
        pages(&emptied),
        [(0, true), (2, false), (1, true), (2, false)]
    );
    for value in emptied.all() {
        assert!(remove(&books, &7, value).await.unwrap());
    }
    books.push_many(&7, 30..40).await.unwrap();
    let again = one(&books).await;
    assert_eq!(again.extras, Vec::from_iter(30..40), "O5");
    assert!(again.parent.is_empty(), "a flagged parent takes no values");
    assert_eq!(verify(&books).await.unwrap(), []);
}

#[bucket_testkit::test]
async fn a_full_parent_without_extras_takes_values_again_after_a_removal(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    books.insert(&Book3x2::new(7, vec![0, 1, 2])).await.unwrap();
    remove(&books, &7, 1).await.unwrap();
    books.push_many(&7, [3, 4]).await.unwrap();
    let stored = one(&books).await;
    assert_eq!((stored.parent, stored.extras), (vec![0, 2, 3], vec![4]));
}
