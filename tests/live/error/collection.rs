//! The errors of a collection that is not as it should be; and following the advice in each error's
//! text helps.

use bucket_runtime::{Buckets, Error, mongodb::Database};

use crate::support::{
    assert_refused,
    database::{Live, documents, fresh, items},
    zoo::entries::{Entry, Numbered10, Seconds10},
};

pub(crate) async fn append<T: Entry>(
    entries: &Buckets<T>,
    k: &str,
    n: impl IntoIterator<Item = i64>,
) -> Result<(), Error> {
    for n in n {
        entries.append(&T::new(k, n)).await?;
    }
    Ok(())
}

pub(crate) async fn read<T: Entry>(entries: &Buckets<T>, k: &str) -> Vec<i64> {
    items(entries, k).await.iter().map(T::n).collect()
}

/// The error of an opening.
pub(crate) async fn refused<T: Entry>(db: &Database) -> Error {
    let error = T::buckets(db).await.expect_err("the collection is refused");
    assert_eq!(error.collection(), format!("{}.entries", db.name()));
    assert!(error.to_string().contains(error.collection()), "{error}");
    assert!(!error.is_maybe_stored(), "{error}");
    error
}

async fn missing_index<T: Entry>(db: &Database) {
    let entries = fresh::<T>(db).await;
    for k in ["fresh", "begun"] {
        append(&entries, "begun", [0]).await.unwrap();
        // It remembers no bucket, which it would fill by its id.
        let other = T::buckets(db).await.unwrap();
        let names = entries.collection().list_index_names().await.unwrap();
        let is_open = |name: &&String| name.starts_with("bucket_open");
        let open = names.iter().find(is_open).unwrap();
        entries.collection().drop_index(open).await.unwrap();
        let before = documents(entries.collection()).await;
        let error = append(&other, k, [1]).await.unwrap_err();
        assert_refused(&error, Error::is_index_missing);
        assert_eq!(error.key(), Some(&*format!("{k:?}")));
        let said = "open the collection again with `buckets`";
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!(documents(entries.collection()).await, before);
        // The old handle works again, too.
        let _ = T::buckets(db).await.unwrap();
        append(&other, k, [2]).await.unwrap();
        assert_eq!(read(&entries, k).await.last(), Some(&2));
    }
}

#[bucket_testkit::test]
async fn without_the_index_nothing_is_stored_until_the_collection_is_opened_again(db: Live) {
    missing_index::<Seconds10>(&db).await;
    missing_index::<Numbered10>(&db).await;
}
