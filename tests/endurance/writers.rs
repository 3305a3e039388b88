//! Writers: each makes one call after another until the load ends, and records what it was told.

use std::{iter, sync::Arc};

use bucket_runtime::{Buckets, Outliers};

use crate::{
    history::Answer::Acknowledged,
    items::{Book, Mark},
    load::{Load, maybe_dropped},
    told::{told, told_of_appended, told_of_pushed},
};

/// The number of items of a bulk call.
const BULK: usize = 12;

/// Appends one item at a time.
pub(crate) async fn append<T: Mark>(buckets: Buckets<T>, writer: usize, load: Arc<Load>) {
    while load.goes_on().await {
        let (k, n) = load.item(writer);
        let (item, begin) = (T::new(k, n), load.log.now());
        let appended = maybe_dropped(buckets.append(&item)).await;
        load.note(writer, begin, [((k, n), told(appended.as_ref()))]);
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
        let (item, begin) = (T::new(k, n), load.log.now());
        while !matches!(maybe_dropped(buckets.append(&item)).await, Some(Ok(_))) {}
        load.note(writer, begin, [((k, n), Acknowledged)]);
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
        let begin = load.log.now();
        while !matches!(
            maybe_dropped(buckets.append_many(marks())).await,
            Some(Ok(_))
        ) {}
        load.note(writer, begin, iter::zip(items, iter::repeat(Acknowledged)));
    }
}

/// Appends many items at once.
pub(crate) async fn append_many<T: Mark>(buckets: Buckets<T>, writer: usize, load: Arc<Load>) {
    while load.goes_on().await {
        let items: Vec<_> = (0..BULK).map(|_| load.item(writer)).collect();
        let mut marks = items.iter().map(|(k, n)| T::new(*k, *n));
        let begin = load.log.now();
        let outcome = maybe_dropped(buckets.append_many(marks.by_ref())).await;
        let taken = items.len() - marks.len();
        let told = told_of_appended(outcome, items.len(), taken);
        load.note(writer, begin, iter::zip(items, told));
    }
}

/// Pushes one value at a time.
pub(crate) async fn push(books: Outliers<Book>, writer: usize, load: Arc<Load>) {
    while load.goes_on().await {
        let (id, n) = load.item(writer);
        let begin = load.log.now();
        let pushed = maybe_dropped(books.push(&id, n)).await;
        load.note(writer, begin, [((id, n), told(pushed.as_ref()))]);
    }
}

/// Pushes many values of one parent at once.
pub(crate) async fn push_many(books: Outliers<Book>, writer: usize, load: Arc<Load>) {
    while load.goes_on().await {
        let (id, first) = load.item(writer);
        let mut values = vec![first];
        values.extend((1..BULK).map(|_| load.log.number()));
        let begin = load.log.now();
        let outcome = maybe_dropped(books.push_many(&id, values.clone())).await;
        let told = told_of_pushed(outcome, values.len());
        let of_parent = values.into_iter().map(|n| (id, n));
        load.note(writer, begin, iter::zip(of_parent, told));
    }
}
