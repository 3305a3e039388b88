//! Writers: each makes one call after another until the load ends, and records what it was told.

use std::sync::Arc;

use bucket_runtime::{Buckets, Outliers};

use crate::{
    history::Answer::{Acknowledged, InDoubt, Refused},
    items::{Book, Mark},
    load::{Load, answer, maybe_dropped},
};

/// The number of items of a bulk call.
const BULK: usize = 12;

/// Appends one item at a time.
pub(crate) async fn append<T: Mark>(buckets: Buckets<T>, writer: usize, load: Arc<Load>) {
    while load.goes_on().await {
        let (k, n) = load.item(writer);
        let item = T::new(k, n);
        let told = match maybe_dropped(buckets.append(&item)).await {
            None => InDoubt,
            Some(Ok(_)) => Acknowledged,
            Some(Err(error)) => answer(&error),
        };
        load.note(writer, [(k, n)], told);
    }
}

/// Appends one item at a time, and repeats each until it is acknowledged.
pub(crate) async fn append_until_stored<T: Mark>(
    buckets: Buckets<T>,
    writer: usize,
    load: Arc<Load>,
) {
    while load.goes_on().await {
        let (k, n) = load.item(writer);
        let item = T::new(k, n);
        while !matches!(maybe_dropped(buckets.append(&item)).await, Some(Ok(_))) {}
        load.note(writer, [(k, n)], Acknowledged);
    }
}

/// Appends many items at once, and repeats them all until the call succeeds.
pub(crate) async fn append_many_until_stored<T: Mark>(
    buckets: Buckets<T>,
    writer: usize,
    load: Arc<Load>,
) {
    while load.goes_on().await {
        let items: Vec<_> = (0..BULK).map(|_| load.item(writer)).collect();
        let marks = || items.iter().map(|(k, n)| T::new(*k, *n));
        while !matches!(
            maybe_dropped(buckets.append_many(marks())).await,
            Some(Ok(_))
        ) {}
        load.note(writer, items, Acknowledged);
    }
}

/// Appends many items at once.
pub(crate) async fn append_many<T: Mark>(buckets: Buckets<T>, writer: usize, load: Arc<Load>) {
    while load.goes_on().await {
        let items: Vec<_> = (0..BULK).map(|_| load.item(writer)).collect();
        let mut marks = items.iter().map(|(k, n)| T::new(*k, *n));
        let outcome = maybe_dropped(buckets.append_many(marks.by_ref())).await;
        let Some(outcome) = outcome else {
            load.note(writer, items, InDoubt);
            continue;
        };
        // Items that the call did not take from the iterator were not sent.
        let taken = items.len() - marks.len();
        let failed = match outcome {
            Ok(_) => Vec::new(),
            Err(error) => error.into_failed(),
        };
        for (index, item) in items.iter().enumerate() {
            let failed = failed.iter().find(|failed| failed.index == index as u64);
            let told = match failed {
                Some(failed) => answer(&failed.error),
                None if index < taken => Acknowledged,
                None => Refused,
            };
            load.note(writer, [*item], told);
        }
    }
}

/// Pushes one value at a time.
pub(crate) async fn push(books: Outliers<Book>, writer: usize, load: Arc<Load>) {
    while load.goes_on().await {
        let (id, n) = load.item(writer);
        let told = match maybe_dropped(books.push(&id, n)).await {
            None => InDoubt,
            Some(Ok(_)) => Acknowledged,
            Some(Err(error)) => answer(&error),
        };
        load.note(writer, [(id, n)], told);
    }
}

/// Pushes many values of one parent at once.
pub(crate) async fn push_many(books: Outliers<Book>, writer: usize, load: Arc<Load>) {
    while load.goes_on().await {
        let (id, first) = load.item(writer);
        let mut values = vec![first];
        values.extend((1..BULK).map(|_| load.number()));
        let of_parent = |values: &[i64]| values.iter().map(|n| (id, *n)).collect::<Vec<_>>();
        match maybe_dropped(books.push_many(&id, values.clone())).await {
            None => load.note(writer, of_parent(&values), InDoubt),
            Some(Ok(_)) => load.note(writer, of_parent(&values), Acknowledged),
            Some(Err(failed)) => {
                let stored = &values[..values.len() - failed.rest.len()];
                load.note(writer, of_parent(stored), Acknowledged);
                load.note(writer, of_parent(&failed.rest), answer(&failed.error));
            }
        }
    }
}
