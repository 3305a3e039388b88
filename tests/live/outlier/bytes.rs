//! Neither a parent nor an extras document exceeds its bytes, and nothing that fits is refused.

use bucket_ops::ProblemKind;
use bucket_runtime::{
    Outlier, Outliers,
    mongodb::{
        Collection,
        bson::{Bson, Document, RawDocumentBuf, doc},
    },
};
use futures_util::{TryStreamExt, future::try_join_all};
use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::support::problems::{assert_found, expected};
use crate::{
    outlier::support::{repaired, verify},
    support::database::{Live, documents, number},
};

const MAX: i64 = 5000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "books",
    extras = "extra_books",
    reference = "book",
    threshold = 12,
    extras_capacity = 7,
    max_bytes = 5000
)]
struct Book {
    #[serde(rename = "_id")]
    id: i64,
    title: String,
    #[outlier(items)]
    notes: Vec<String>,
}

fn book(id: i64, title: usize, notes: Vec<String>) -> Book {
    let title = "t".repeat(title);
    Book { id, title, notes }
}

/// A text that names its writer and its place, and takes at least this many bytes.
fn note(writer: usize, n: usize, bytes: usize) -> String {
    format!("{writer}:{n}:{}", "x".repeat(bytes))
}

fn place(note: &str) -> (usize, usize) {
    let mut parts = note.split(':').map(str::parse);
    let mut next = || parts.next().unwrap().unwrap();
    (next(), next())
}

/// Most notes are short, some nearly fill a document.
fn bytes() -> usize {
    let mut random = rand::rng();
    let most = [1, 90, 600, 4700][random.random_range(0..4)];
    random.random_range(1..=most)
}

async fn sizes(of: Collection<Document>) -> Vec<i64> {
    let size = doc! { "$project": { "bytes": { "$bsonSize": "$$ROOT" } } };
    let found = of.aggregate([size]).await.unwrap();
    let found: Vec<Document> = found.try_collect().await.unwrap();
    found.iter().map(|size| number(size.get("bytes"))).collect()
}

/// No document exceeds the bound, except parents whose other fields do; `verify` finds nothing.
async fn bounded(books: &Outliers<Book>, title: usize) {
    let parents = sizes(books.collection().clone_with_type()).await;
    let extras = sizes(books.extras_collection().clone_with_type()).await;
    let most = MAX.max(title as i64 + 100);
    assert!(parents.iter().all(|bytes| *bytes <= most), "{parents:?}");
    assert!(extras.iter().all(|bytes| *bytes <= MAX), "{extras:?}");
    assert_eq!(verify(books).await.unwrap(), []);
}

/// The size of the parent with one more note of this size.
fn with_another(parent: &Document, bytes: usize) -> i64 {
    let mut parent = parent.clone();
    parent.insert("has_extras", true);
    let notes = parent.get_array_mut("notes").unwrap();
    notes.push(Bson::String("x".repeat(bytes)));
    let bytes = RawDocumentBuf::try_from(&parent).unwrap();
    bytes.as_bytes().len() as i64
}

#[bucket_testkit::test(multi_thread)]
async fn o1_o2_o4_notes_of_any_size_by_many_writers(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    for (id, title) in [(1, 10), (2, 4000), (3, 6000)] {
        books.insert(&book(id, title, Vec::new())).await.unwrap();
    }
    let writers = (0..8).map(|writer| {
        let books = books.clone();
        tokio::spawn(async move {
            let mut n = 0;
            while n < 40 {
                let several = rand::rng().random_range(1..5);
                let notes: Vec<_> = (n..n + several).map(|n| note(writer, n, bytes())).collect();
                for id in 1..=3 {
                    match several {
                        1 => drop(books.push(&id, notes[0].clone()).await.unwrap()),
                        _ => drop(books.push_many(&id, notes.clone()).await.unwrap()),
                    }
                }
                n += several;
            }
            n
        })
    });
    let written = try_join_all(writers).await.unwrap();
    bounded(&books, 6000).await;
    for id in 1..=3 {
        let all = books.get_all(&id).await.unwrap().unwrap().notes;
        assert_eq!(all.len(), written.iter().sum::<usize>(), "O1 of {id}");
        for (writer, count) in written.iter().enumerate() {
            let of_writer = all.iter().map(|note| place(note));
            let of_writer = of_writer.filter(|place| place.0 == writer);
            let pushed = (0..*count).map(|n| (writer, n));
            assert!(of_writer.eq(pushed), "O1, O5 of {id}");
        }
    }
    for parent in documents(books.collection()).await {
        assert!(parent.get_bool("has_extras").unwrap());
        let length = parent.get_array("notes").unwrap().len();
        assert!(length <= 12, "O2: {length}");
        // Otherwise the parent is so large that the largest note might not fit.
        let is_full = length == 12 || with_another(&parent, 4700) > MAX;
        assert!(is_full, "{parent}");
    }
}

#[bucket_testkit::test]
async fn a_parent_is_flagged_when_the_next_note_does_not_fit_and_not_before(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    books.insert(&book(1, 10, Vec::new())).await.unwrap();
    let stored = async || documents(books.collection()).await.remove(0);
    for n in 0..4 {
        books.push(&1, note(0, n, 1000)).await.unwrap();
        assert!(!stored().await.contains_key("has_extras"));
    }
    // The longest note that would fit without the few bytes that are reserved for the flag.
    let parent = stored().await;
    let fits = (0..2000).take_while(|bytes| with_another(&parent, *bytes) <= MAX);
    let fits = fits.last().unwrap();
    books.push(&1, note(0, 4, fits)).await.unwrap();
    let parent = stored().await;
    assert_eq!(parent.get_array("notes").unwrap().len(), 4);
    assert!(parent.get_bool("has_extras").unwrap());
    assert_eq!(books.count(&1).await.unwrap(), 5);
    bounded(&books, 0).await;

    books.insert(&book(2, 10, Vec::new())).await.unwrap();
    for n in 0..4 {
        books.push(&2, note(0, n, 1000)).await.unwrap();
    }
    books.push(&2, note(0, 4, fits - 60)).await.unwrap();
    let parent = books.get(&2).await.unwrap().unwrap();
    assert_eq!(parent.document.notes.len(), 5);
    bounded(&books, 0).await;
}

#[bucket_testkit::test]
async fn a_parent_is_inserted_with_as_many_as_fit(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    for (id, title, kept) in [(1, 10, 4), (2, 2500, 2), (3, 7000, 0)] {
        let notes: Vec<_> = (0..20).map(|n| note(0, n, 1000)).collect();
        let book = book(id, title, notes);
        books.insert(&book).await.unwrap();
        assert_eq!(books.get_all(&id).await.unwrap(), Some(book));
        let parent = books.get(&id).await.unwrap().unwrap();
        assert_eq!(parent.document.notes.len(), kept);
        assert!(parent.has_extras);
    }
    bounded(&books, 7000).await;
}

#[bucket_testkit::test]
async fn what_no_document_can_hold_is_refused_and_handed_back(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    let huge = "x".repeat(5000);
    let whole = book(1, 1, vec!["a".to_owned(), huge.clone()]);
    let error = books.insert(&whole).await.unwrap_err();
    assert!(error.is_too_large() && !error.is_maybe_stored(), "{error}");
    assert!(error.to_string().contains("5005 bytes"), "{error}");
    assert_eq!(documents(books.collection()).await, []);

    books.insert(&book(1, 1, Vec::new())).await.unwrap();
    let error = books.push(&1, huge.clone()).await.unwrap_err();
    assert!(error.is_too_large() && !error.is_maybe_stored(), "{error}");
    let notes = ["b", &huge, "c"].map(str::to_owned);
    let failed = books.push_many(&1, notes.clone()).await.unwrap_err();
    assert!(failed.error.is_too_large(), "{failed}");
    assert_eq!(failed.rest, notes[1..]);
    let parent = documents(books.collection()).await.remove(0);
    assert_eq!(parent.get_array("notes").unwrap().len(), 1);
    assert!(!parent.contains_key("has_extras"), "{parent}");
}

#[bucket_testkit::test]
async fn what_is_too_large_already_is_split(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    let raw = books.collection().clone_with_type::<Document>();
    let mut all = Vec::new();
    for (id, count, bytes) in [(1, 3, 10), (2, 8, 1000), (3, 40, 700), (4, 60, 20)] {
        let notes: Vec<_> = (0..count).map(|n| note(0, n, bytes)).collect();
        let parent = doc! { "_id": id, "title": "", "notes": &notes };
        raw.insert_one(parent).await.unwrap();
        all.push((id, notes));
    }
    let expected = [(2, 8), (3, 40), (4, 60)].map(|(id, items)| {
        let (key, text) = (id.to_string(), format!("with {items} items"));
        expected(ProblemKind::TooLarge, [i64::from(id)], &*key, text)
    });
    assert_found(&verify(&books).await.unwrap(), &expected);
    let done = repaired(&books).await.unwrap();
    assert_eq!(done.repaired, [(ProblemKind::TooLarge, 3)].into());
    for (id, notes) in &mut all {
        let read = books.get_all(id).await.unwrap().unwrap();
        assert_eq!(read.notes, *notes);
        let late = note(0, notes.len(), 900);
        books.push(id, late.clone()).await.unwrap();
        notes.push(late);
        let read = books.get_all(id).await.unwrap().unwrap();
        assert_eq!(read.notes, *notes, "O5");
    }
    bounded(&books, 0).await;
    assert_eq!(repaired(&books).await.unwrap().repaired, [].into());
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "proved",
    extras = "more_proved",
    reference = "proved",
    threshold = 50,
    extras_capacity = 70,
    max_bytes = 3720
)]
struct Proved {
    #[serde(rename = "_id")]
    #[outlier(max_len = 20)]
    id: String,
    #[outlier(max_len = 100)]
    title: Option<String>,
    #[serde(skip)]
    seen: u32,
    year: i32,
    #[outlier(items, max_len = 40)]
    names: Vec<String>,
}

#[bucket_testkit::test]
async fn full_documents_are_no_larger_than_proved(db: Live) {
    const { assert!(Proved::SPEC.is_bounded) };
    const { assert!(!Book::SPEC.is_bounded) };
    let all = Proved::outliers(&db).await.unwrap();
    let proved = Proved {
        // Every character is escaped in the ids of extras.
        id: "_".repeat(20),
        title: Some("ä".repeat(50)),
        seen: 0,
        year: i32::MIN,
        names: vec!["ö".repeat(20); 130],
    };
    all.insert(&proved).await.unwrap();
    assert_eq!(all.get_all(&proved.id).await.unwrap(), Some(proved));
    let mut largest = sizes(all.extras_collection().clone_with_type()).await;
    largest.extend(sizes(all.collection().clone_with_type()).await);
    assert!(largest.iter().all(|bytes| *bytes <= 3720), "{largest:?}");
    // The proved bound is close to the actual size.
    assert!(largest.iter().any(|bytes| *bytes > 3500), "{largest:?}");
}

#[bucket_testkit::test]
async fn what_is_longer_than_max_len_is_refused_before_anything_is_sent(db: Live) {
    let all = Proved::outliers(&db).await.unwrap();
    let fit = Proved {
        id: "a".into(),
        title: None,
        seen: 0,
        year: 1,
        names: vec!["b".into()],
    };
    let mut unfit = [fit.clone(), fit.clone(), fit.clone()];
    unfit[0].id = "x".repeat(21);
    unfit[1].title = Some("x".repeat(101));
    unfit[2].names.push("x".repeat(41));
    for (unfit, name) in unfit.iter().zip(["id", "title", "names"]) {
        let error = all.insert(unfit).await.unwrap_err();
        assert!(error.is_too_long() && !error.is_maybe_stored(), "{error}");
        assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
    }
    assert_eq!(documents(all.collection()).await, []);
    all.insert(&fit).await.unwrap();
    let error = all.push("a", "x".repeat(41)).await.unwrap_err();
    assert!(error.is_too_long() && !error.is_maybe_stored(), "{error}");
    let names = ["c".to_owned(), "x".repeat(41)];
    let failed = all.push_many("a", names.clone()).await.unwrap_err();
    assert!(failed.error.is_too_long(), "{failed}");
    assert_eq!(failed.rest, names);
    assert_eq!(all.get_all("a").await.unwrap(), Some(fit));
}
