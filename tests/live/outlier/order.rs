//! O5: one writer's values come back in the order in which it pushed them, also across the threshold
//! and after removals.

use bucket_runtime::Outliers;

use crate::{
    outlier::support::{Book, Stored, books, dense, fresh, reads_agree, remove, stored, verify},
    support::database::{Live, number},
};

books! {
    Book3x2(3, 2)
}

async fn one<T: Book>(books: &Outliers<T>) -> Stored {
    stored(books).await.remove(&7).unwrap()
}

/// Pushes every number of values onto every filling of the parent and the open page, and then the same
/// number again.
#[bucket_testkit::test]
async fn push_many_of_all_sizes_comes_back_in_order(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    for begin in 0..8 {
        for more in 0..8 {
            let book = Book3x2::new(7, (0..begin).collect());
            books.insert(&book).await.unwrap();
            books.push_many(&7, begin..begin + more).await.unwrap();
            let after = begin + more;
            books.push_many(&7, after..after + more).await.unwrap();
            books.push(&7, after + more).await.unwrap();
            let stored = dense(&books).await.remove(&7).unwrap();
            assert_eq!(stored.all(), (0..=after + more).collect::<Vec<_>>());
            reads_agree(&books, 7, &stored).await;
            books.delete(&7).await.unwrap();
        }
    }
}

/// A full page is sealed when a value is removed from it: later values must not come before others.
#[bucket_testkit::test]
async fn what_is_removed_leaves_room_that_nobody_fills(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    let book = Book3x2::new(7, (0..9).collect());
    books.insert(&book).await.unwrap();
    assert!(remove(&books, &7, 1).await.unwrap(), "from the parent");
    assert!(remove(&books, &7, 3).await.unwrap(), "from the first page");
    assert!(
        remove(&books, &7, 8).await.unwrap(),
        "from the last page, which is full"
    );
    let sealed = |stored: &Stored| -> Vec<_> {
        let sealed = stored.pages.iter().map(|page| {
            assert!(
                page.get("sealed")
                    .is_none_or(|sealed| Some(sealed) == page.get("_id"))
            );
            (number(page.get("count")), page.contains_key("sealed"))
        });
        sealed.collect()
    };
    let before = one(&books).await;
    assert_eq!(before.all(), [0, 2, 4, 5, 6, 7]);
    assert!(before.flagged);
    assert_eq!(sealed(&before), [(1, true), (2, false), (1, true)]);
    books.push(&7, 20).await.unwrap();
    books.push_many(&7, [21, 22]).await.unwrap();
    let after = one(&books).await;
    assert_eq!(after.parent, [0, 2]);
    assert_eq!(after.all(), [0, 2, 4, 5, 6, 7, 20, 21, 22]);
    assert_eq!(
        sealed(&after),
        [(1, true), (2, false), (1, true), (2, false), (1, false)]
    );
    reads_agree(&books, 7, &after).await;
    // An open page that is emptied is gone. A sealed page stays, so that its number is never used again.
    assert!(remove(&books, &7, 22).await.unwrap());
    assert!(remove(&books, &7, 4).await.unwrap());
    assert_eq!(
        sealed(&one(&books).await),
        [(0, true), (2, false), (1, true), (2, false)]
    );
    books.push(&7, 23).await.unwrap();
    let end = one(&books).await;
    assert_eq!(end.all(), [0, 2, 5, 6, 7, 20, 21, 23]);
    assert_eq!(
        sealed(&end),
        [(0, true), (2, false), (1, true), (2, false), (1, false)]
    );
    for value in end.all() {
        assert!(remove(&books, &7, value).await.unwrap());
    }
    assert!(one(&books).await.all().is_empty());
    books.push_many(&7, 30..40).await.unwrap();
    let again = one(&books).await;
    assert_eq!(again.all(), (30..40).collect::<Vec<_>>());
    assert!(
        again.parent.is_empty(),
        "new values went into a flagged parent"
    );
    assert_eq!(verify(&books).await.unwrap(), []);
}

#[bucket_testkit::test]
async fn a_full_parent_without_extras_takes_values_again_after_a_removal(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    books.insert(&Book3x2::new(7, vec![0, 1, 2])).await.unwrap();
    remove(&books, &7, 1).await.unwrap();
    books.push_many(&7, [3, 4]).await.unwrap();
    let stored = one(&books).await;
    assert_eq!(
        (stored.parent.as_slice(), stored.extras.as_slice()),
        (&[0, 2, 3][..], &[4][..])
    );
}
