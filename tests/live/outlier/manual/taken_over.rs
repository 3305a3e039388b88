//! Extras documents that the manual's commands wrote: their parents' items are an error until a repair moves them.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bucket_ops::ProblemKind;
use bucket_runtime::{
    Error, Filter, Outlier, Outliers,
    mongodb::bson::{Bson, DateTime, Document, Uuid, doc, oid::ObjectId},
};
use futures_util::TryStreamExt;

use crate::{
    outlier::{
        identity::support::CountedPlain3,
        support::{Book3x2, assert_in_order, fresh, items, reads_agree, repaired, stored, verify},
    },
    support::{
        database::{Live, documents},
        tasks::JoinSet,
    },
};

/// Ids of several types, in the order in which the server sorts them. One has our prefix, and no number.
fn ids(parent: i64) -> Vec<Bson> {
    vec![
        Bson::Int32(parent as i32),
        Bson::Double(parent as f64 + 0.5),
        format!("extras of {parent}").into(),
        format!("{parent}_first").into(),
        doc! { "of": parent, "n": 1 }.into(),
        Uuid::from_bytes([parent as u8; 16]).into(),
        ObjectId::from_bytes([parent as u8; 12]).into(),
        DateTime::from_millis(parent).into(),
    ]
}

/// Stores a parent as the manual's commands do: the first four values in its array, since these commands read before
/// they write, and two values in each of some extras documents.
async fn store<T: Outlier>(of: &Outliers<T>, parent: i64, ids: &[Bson]) -> Vec<i64> {
    let (spec, parent) = (T::SPEC, parent as i32);
    let manual = doc! {
        "_id": parent, "title": format!("book {parent}"), spec.items: [0, 1, 2, 3], spec.flag: true,
    };
    of.collection().insert_one(manual).await.unwrap();
    for (n, id) in (2..).zip(ids) {
        let extras =
            doc! { "_id": id, spec.reference: parent, spec.extra_items: [2 * n, 2 * n + 1] };
        of.extras_collection().insert_one(extras).await.unwrap();
    }
    Vec::from_iter(0..4 + 2 * ids.len() as i64)
}

/// The error names the document and the way out.
fn assert_refused(error: &Error, parent: i64, ids: &[Bson]) {
    crate::support::assert_refused(error, Error::is_deserialize);
    assert!(error.collection().contains(".extra_"), "{error}");
    assert_eq!(error.key(), Some(&*format!("\"{parent}\"")));
    let text = error.to_string();
    let shown = |id: &Bson| match id {
        Bson::String(id) => text.contains(&format!("{id:?}")),
        Bson::ObjectId(id) => text.contains(&format!("ObjectId(\"{id}\")")),
        _ => text.contains("_id "),
    };
    assert!(ids.iter().any(shown) && text.contains("`repair`"), "{text}");
}

/// What each call says of a parent, whose extras of another program hold this value.
async fn errors(of: &Outliers<Book3x2>, parent: i64, value: i64) -> Vec<Error> {
    let is = || Book3x2::FIELDS.buyers.item().eq(value);
    let all = || of.items(&parent);
    fn skipped(error: Error) {
        panic!("skipped: {error}");
    }
    let reads = [
        all(),
        all().newest_first(),
        all().limit(100),
        all().limit(100).newest_first(),
        all().filter(is()),
        all().filter(is()).newest_first(),
        all().skip(3).limit(100),
        all().skip_unreadable(skipped),
        all().limit(100).skip_unreadable(skipped),
    ];
    let mut errors = Vec::new();
    for read in reads {
        let read = async { read.await?.try_collect::<Vec<_>>().await };
        errors.push(read.await.unwrap_err());
    }
    let extras = async { of.extras(&parent).await?.try_collect::<Vec<_>>().await };
    errors.push(extras.await.unwrap_err());
    let page = all().filter(is()).page_of_items(100).await;
    errors.extend([
        page.unwrap_err(),
        of.get_all(&parent).await.unwrap_err(),
        of.find_item(&parent, is()).await.unwrap_err(),
        of.remove_item(&parent, is()).await.unwrap_err(),
        of.update_item(&parent, is(), |_| ()).await.unwrap_err(),
    ]);
    let removed = of.remove_items(&parent, is()).await.unwrap_err();
    let updated = of.update_items(&parent, Filter::default(), |_| ()).await;
    errors.extend([removed, updated.unwrap_err()].map(Into::into));
    errors
}

/// Pages lead to the error, in both directions.
async fn error_of_pages(of: &Outliers<Book3x2>, parent: i64, newest_first: bool) -> Error {
    let list = || match newest_first {
        false => of.items(&parent).page_of_items(1),
        true => of.items(&parent).newest_first().page_of_items(1),
    };
    let mut page = list().await;
    for _ in 0..100 {
        page = match page {
            Ok(read) => list().after(&read.next.expect("it is the last page")).await,
            Err(error) => return error,
        };
    }
    panic!("a hundred pages: {page:?}");
}

#[bucket_testkit::test]
async fn o1_extras_of_another_program_are_an_error_until_a_repair_takes_them_over(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    let all = ids(99).len();
    for (parent, pushed) in (1..=all as i64).flat_map(|n| [(2 * n, 0), (2 * n + 1, 3)]) {
        // Each type by itself.
        let ids = &ids(parent)[(parent as usize / 2 - 1)..(parent as usize / 2)];
        let mut model = store(&books, parent, ids).await;
        let last = model.len() as i64;
        // The document with our prefix leaves no number to go on with.
        let has_prefix = ids[0].as_str().is_some_and(|id| id.ends_with("_first"));
        let pushed = if has_prefix { 0 } else { pushed };
        books.push_many(&parent, last..last + pushed).await.unwrap();
        model.extend(last..last + pushed);
        for error in errors(&books, parent, 5).await {
            assert_refused(&error, parent, ids);
        }
        for newest_first in [false, true] {
            let error = error_of_pages(&books, parent, newest_first).await;
            assert_refused(&error, parent, ids);
        }
        let own = books.get(&parent).await.unwrap().unwrap().document;
        assert_eq!(own.buyers, [0, 1, 2, 3]);
        assert_eq!(books.count(&parent).await.unwrap(), model.len() as u64);
        let mut found = verify(&books).await.unwrap();
        found.retain(|problem| problem.kind == ProblemKind::ForeignId);
        let foreign = &found[0];
        assert_eq!((&foreign.ids[..], foreign.is_repairable()), (ids, true));
        assert_eq!(foreign.key, Some(parent.to_string()));

        let done = repaired(&books).await.unwrap();
        assert_eq!(done.left, [], "{:?}", done.refused);
        let kinds = [(ProblemKind::ForeignId, 1), (ProblemKind::TooLarge, 1)];
        assert_eq!(done.repaired, kinds.into());
        let stored = stored(&books).await.remove(&parent).unwrap();
        assert_eq!((stored.all(), stored.parent.len()), (model, 3));
        reads_agree(&books, parent, &stored).await;
        books.delete(&parent).await.unwrap();
    }
}

/// One parent has documents of all types, whose items come in the order of their ids.
#[bucket_testkit::test(multi_thread)]
async fn o1_a_repair_beside_writers_keeps_every_item_in_its_place(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    let mut model = Vec::new();
    for parent in 1..30 {
        let mut ids = ids(parent);
        // It would stop the writers.
        ids.retain(|id| id.as_str().is_none_or(|id| !id.ends_with("_first")));
        model = store(&books, parent, &ids).await;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for writer in 1..5_i64 {
        let (books, stop) = (books.clone(), Arc::clone(&stop));
        writers.spawn(async move {
            let mut pushed = 0;
            while pushed < 200 && !stop.load(Ordering::SeqCst) {
                for parent in 1..30 {
                    books.push(&parent, writer * 1000 + pushed).await.unwrap();
                }
                pushed += 1;
            }
            pushed
        });
    }
    while !repaired(&books).await.unwrap().left.is_empty() {}
    stop.store(true, Ordering::SeqCst);
    let pushed: i64 = writers.join_all().await.into_iter().sum();
    for (parent, stored) in &stored(&books).await {
        let all = stored.all();
        let (first, new) = all.split_at(model.len());
        assert_eq!((first, new.len() as i64), (&model[..], pushed), "{parent}");
        assert_in_order(new, |value| value / 1000);
        reads_agree(&books, *parent, stored).await;
    }
    assert_eq!(verify(&books).await.unwrap(), []);
}

/// A document with a count takes the place of the open one.
#[bucket_testkit::test]
async fn extras_that_block_pushes_are_taken_over(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    store(&books, 1, &[]).await;
    let open = doc! { "_id": "mine", "book_id": 1_i64, "count": 1, "buyers_extra": [4] };
    books.extras_collection().insert_one(open).await.unwrap();
    let error = books.push_many(&1, 5..8).await.unwrap_err().error;
    assert_refused(&error, 1, &["mine".into()]);
    assert_eq!(repaired(&books).await.unwrap().left, []);
    let stored = stored(&books).await.remove(&1).unwrap();
    assert_eq!(stored.all()[..5], [0, 1, 2, 3, 4]);
}

/// The unique index does not see documents without a count, and an id of theirs may begin as ours do.
#[bucket_testkit::test]
async fn o1_items_with_an_identity_are_not_stored_beside_extras_of_another_program(db: Live) {
    let readers = fresh::<CountedPlain3>(&db).await;
    let texts = [ObjectId::from_bytes([1; 12]).into(), "2_first 0".into()];
    for (parent, text) in (1..).zip(texts) {
        let ids = [text, Bson::Int32(parent as i32)];
        store(&readers, parent, &ids).await;
        let total = doc! { "$set": { "total": 8_i64 } };
        let parents = readers.collection();
        parents.update_one(doc! {}, total).await.unwrap();
        let is = |value: i64| CountedPlain3::FIELDS.followers.item().eq(value);
        for value in [4, 5, 8] {
            let pushed = readers.push(&parent, value).await.unwrap_err();
            assert_refused(&pushed, parent, &ids);
            let many = readers.push_many(&parent, [value, value + 1]).await;
            assert_refused(&many.unwrap_err().error, parent, &ids);
            let upserted = readers.upsert_item(&parent, value).await.unwrap_err();
            assert_refused(&upserted, parent, &ids);
            let removed = readers.remove_item(&parent, is(value)).await;
            assert_refused(&removed.unwrap_err(), parent, &ids);
        }
        let before = documents(readers.extras_collection()).await;
        assert_eq!(before.len(), 2, "{before:?}");
        assert_eq!(repaired(&readers).await.unwrap().left, []);
        for value in 0..8 {
            let pushed = readers.push(&parent, value).await.unwrap();
            assert_eq!(pushed, bucket_runtime::Appended::AlreadyThere, "{value}");
        }
        readers.push(&parent, 8).await.unwrap();
        let removed = readers.remove_item(&parent, is(5)).await.unwrap();
        assert_eq!(removed, Some(5));
        let all = readers.get_all(&parent).await.unwrap().unwrap();
        assert_eq!(
            (all.followers, all.total),
            (vec![0, 1, 2, 3, 6, 7, 4, 8], 8)
        );
        readers.delete(&parent).await.unwrap();
    }
}

/// What cannot be moved stays, and is told.
#[bucket_testkit::test]
async fn a_repair_goes_on_after_extras_that_it_cannot_take_over(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    for parent in [1, 2] {
        store(&books, parent, &ids(parent)[..2]).await;
    }
    let damaged = doc! { "$set": { "buyers_extra": "none" } };
    let extras = books.extras_collection();
    extras.update_one(doc! { "_id": 1 }, damaged).await.unwrap();
    let before: Vec<Document> = documents(extras).await;
    let done = repaired(&books).await.unwrap();
    let kinds = [(ProblemKind::ForeignId, 2), (ProblemKind::TooLarge, 1)];
    assert_eq!(done.repaired, kinds.into());
    let of_first = |text: &String| text.contains("_id 1 ");
    assert!(done.refused.iter().all(of_first), "{:?}", done.refused);
    assert_eq!(items(&books, 2).await, Vec::from_iter(0..8));
    let of_first = |mut extras: Vec<Document>| {
        extras.retain(|document| document.get_i32("book_id") == Ok(1));
        extras
    };
    assert_eq!(of_first(documents(extras).await), of_first(before));
}
