//! Writers, removers and a deleter at once on a few parents: they leave behind only what a delete that
//! races with a push may leave.

use bucket_ops::{Problem, ProblemKind as Kind};
use bucket_runtime::{Outliers, mongodb::Database};
use rand::Rng;

use crate::{
    outlier::support::{
        Book, Book1x2, Book20x1000, fresh, numbers, reads_agree, remove, repair, survey, verify,
    },
    support::{
        database::Live,
        problems::{assert_found, expected},
        tasks::JoinSet,
    },
};

const PARENTS: i64 = 4;
const WRITERS: i64 = 6;
const VALUES: i64 = 300;

/// Pushes this task's values to all parents in turn, one or a few at a time. Returns the values that
/// were acknowledged.
async fn write<T: Book>(books: Outliers<T>, writer: i64) -> Vec<i64> {
    let mut acknowledged = Vec::new();
    let values: Vec<i64> = (writer * 1000..writer * 1000 + VALUES).collect();
    for (nth, values) in values.chunks(3).enumerate() {
        let id = (nth as i64 + writer) % PARENTS;
        let done = match nth % 2 {
            0 => match books.push_many(&id, values.to_vec()).await {
                Ok(_) => values.len(),
                Err(error) => {
                    assert!(error.error.is_not_found(), "{error}");
                    assert!(values.ends_with(&error.rest), "{values:?}: {error:?}");
                    values.len() - error.rest.len()
                }
            },
            _ => match books.push(&id, values[0]).await {
                Ok(_) => 1,
                Err(error) if error.is_not_found() => 0,
                Err(error) => panic!("{error}"),
            },
        };
        acknowledged.extend(&values[..done]);
    }
    acknowledged
}

/// Removes random values. Returns those that the replies reported as removed.
async fn remove_some<T: Book>(books: Outliers<T>) -> Vec<i64> {
    let mut removed = Vec::new();
    for _ in 0..VALUES {
        let random = |below: i64| rand::rng().random_range(0..below);
        let (id, value) = (random(PARENTS), random(WRITERS) * 1000 + random(VALUES));
        if remove(&books, &id, value).await.unwrap() {
            removed.push(value);
        }
    }
    removed
}

/// Deletes a parent now and then, and either always inserts it again at once or never.
async fn delete<T: Book>(books: Outliers<T>, again: bool) {
    for nth in 0..25 {
        let id = nth % PARENTS;
        if books.delete(&id).await.unwrap() && again {
            books.insert(&T::new(id, vec![])).await.unwrap();
        }
        tokio::time::sleep(std::time::Duration::from_millis(15)).await;
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Deleter {
    None,
    Deletes,
    InsertsAgain,
}

async fn mixed<T: Book>(db: &Database, deleter: Deleter) {
    let books = fresh::<T>(db).await;
    for id in 0..PARENTS {
        books.insert(&T::new(id, vec![])).await.unwrap();
    }
    let other = T::outliers(db).await.unwrap();
    let mut writers = JoinSet::new();
    let mut removers = JoinSet::new();
    for writer in 0..WRITERS {
        let books = if writer % 2 == 0 { &books } else { &other };
        writers.spawn(write(books.clone(), writer));
    }
    for books in [&books, &other] {
        removers.spawn(remove_some(books.clone()));
    }
    if deleter != Deleter::None {
        delete(other.clone(), deleter == Deleter::InsertsAgain).await;
    }
    let acknowledged = writers.join_all().await.concat();
    let removed = removers.join_all().await.concat();

    let found = survey(&books).await;
    let mut values: Vec<i64> = found
        .parents
        .values()
        .flat_map(|stored| stored.all())
        .collect();
    values.sort_unstable();
    let with_doubles = values.len();
    values.dedup();
    assert_eq!(values.len(), with_doubles, "O1: a value was stored twice");
    if deleter == Deleter::None {
        let mut expected = acknowledged;
        expected.retain(|value| !removed.contains(value));
        expected.sort_unstable();
        assert_eq!(values, expected, "O1");
    }
    let of_parent = |kind, id: &i64, text: String| expected(kind, [*id], &*id.to_string(), text);
    let orphans = found.orphans.iter().map(|(id, pages)| {
        let pages = pages.iter().map(|page| numbers(page, T::SPEC.extra_items));
        let (documents, items) = pages.fold((0, 0), |(n, all), page| (n + 1, all + page.len()));
        let text = format!(
            "has {items} item{} in {documents} extras",
            if items == 1 { "" } else { "s" }
        );
        of_parent(Kind::NoParent, id, text)
    });
    // A push on its way to a deleted parent may reach the parent that took its id.
    let unflagged = found.unflagged.iter();
    let unflagged = unflagged.map(|id| of_parent(Kind::NoFlag, id, String::new()));
    assert!(
        deleter == Deleter::InsertsAgain || found.unflagged.is_empty(),
        "O3: {found:?}"
    );
    // Likewise, its number may follow those of the deleted extras.
    let others = |mut problems: Vec<Problem>| {
        let is_gap = |problem: &Problem| problem.kind == Kind::Gap;
        problems.retain(|problem| deleter != Deleter::InsertsAgain || !is_gap(problem));
        problems
    };
    let mut problems = others(verify(&books).await.unwrap());
    problems.sort_by_key(|problem| (problem.kind, problem.key.clone()));
    let mut expected: Vec<_> = orphans.chain(unflagged).collect();
    expected.sort_by_key(|problem| (problem.kind, problem.key.clone()));
    assert_found(&problems, &expected);

    assert_eq!(others(repair(&books).await.unwrap()), []);
    assert_eq!(others(verify(&books).await.unwrap()), []);
    let after = survey(&books).await;
    assert!(after.orphans.is_empty(), "{:?}", after.orphans);
    let mut mended = found.parents;
    for id in &found.unflagged {
        mended.get_mut(id).unwrap().flagged = true;
    }
    assert_eq!(after.parents, mended, "repair changed something else");
    for (id, stored) in &after.parents {
        reads_agree(&books, *id, stored).await;
    }
}

#[bucket_testkit::test(multi_thread)]
async fn mixed_writers_and_removers(db: Live) {
    mixed::<Book1x2>(&db, Deleter::None).await;
    mixed::<Book20x1000>(&db, Deleter::None).await;
}

#[bucket_testkit::test(multi_thread)]
async fn mixed_with_parents_deleted(db: Live) {
    for deleter in [Deleter::Deletes, Deleter::InsertsAgain] {
        mixed::<Book1x2>(&db, deleter).await;
        mixed::<Book20x1000>(&db, deleter).await;
    }
}
