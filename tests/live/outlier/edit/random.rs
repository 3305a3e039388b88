//! O1 to O5, beside a plain `Vec`: pushes, edits and removals by a condition leave what the `Vec` has, in its order,
//! through a handle that knows the parent or not, and a repair changes none of it.

use bucket_runtime::{Outliers, mongodb::Database};
use proptest::prelude::*;

use crate::{
    outlier::support::{
        Book, Book1x1, Book3x2, Book4x5, Condition, Counted3x2, fresh, items, reads_agree,
        repaired, stored, verify,
    },
    support::{
        database::{Live, documents, number},
        random::for_any,
        scale::scaled,
    },
};

#[derive(Debug, Clone)]
enum Step {
    Push(i64),
    PushMany(Vec<i64>),
    RemoveItem(Condition),
    RemoveItems(Condition),
    UpdateItem(Condition, i64),
    UpdateItems(Condition, i64),
    Repair,
    /// Another process, which knows nothing of the parent yet.
    Reopen,
}

/// Few values, so that many are equal.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let value = 0..12_i64;
    let condition = || {
        prop_oneof![
            1 => Just(Condition::Any),
            5 => (0..14_i64).prop_map(Condition::Is),
            2 => (0..14_i64).prop_map(Condition::Below),
            1 => Just(Condition::Even),
        ]
    };
    let step = prop_oneof![
        3 => value.clone().prop_map(Step::Push),
        4 => proptest::collection::vec(value, 0..14).prop_map(Step::PushMany),
        4 => condition().prop_map(Step::RemoveItem),
        1 => condition().prop_map(Step::RemoveItems),
        4 => (condition(), 0..3_i64).prop_map(|(of, by)| Step::UpdateItem(of, by)),
        2 => (condition(), 0..3_i64).prop_map(|(of, by)| Step::UpdateItems(of, by)),
        1 => Just(Step::Repair),
        1 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..20)
}

/// Does the step to the parent and to the values, and compares the answers.
async fn step<T: Book>(books: &mut Outliers<T>, model: &mut Vec<i64>, step: &Step) {
    let first = |model: &[i64], of: Condition| model.iter().position(|value| of.holds(*value));
    match step {
        Step::Push(value) => {
            books.push(&7, *value).await.unwrap();
            model.push(*value);
        }
        Step::PushMany(values) => {
            books.push_many(&7, values.clone()).await.unwrap();
            model.extend(values);
        }
        Step::RemoveItem(of) => {
            let removed = books.remove_item(&7, of.filter()).await.unwrap();
            let expected = first(model, *of).map(|at| model.remove(at));
            assert_eq!(removed, expected, "{step:?} of {model:?}");
        }
        Step::RemoveItems(of) => {
            let removed = books.remove_items(&7, of.filter()).await.unwrap();
            let before = model.len();
            model.retain(|value| !of.holds(*value));
            assert_eq!(removed as usize, before - model.len(), "{step:?}");
        }
        Step::UpdateItem(of, by) => {
            let changed = books.update_item(&7, of.filter(), |value| *value += by);
            let expected = first(model, *of).map(|at| {
                model[at] += by;
                model[at]
            });
            assert_eq!(changed.await.unwrap(), expected, "{step:?} of {model:?}");
        }
        Step::UpdateItems(of, by) => {
            let changed = books.update_items(&7, of.filter(), |value| *value += by);
            let matching = model.iter_mut().filter(|value| of.holds(**value));
            let matching = matching.map(|value| *value += by).count();
            let expected = if *by == 0 { 0 } else { matching };
            assert_eq!(changed.await.unwrap() as usize, expected, "{step:?}");
        }
        Step::Repair => assert_eq!(repaired(books).await.unwrap().repaired, [].into()),
        Step::Reopen => {
            let both = (books.collection(), books.extras_collection());
            let opened = T::outliers_in(both.0.clone(), both.1.clone()).await;
            *books = opened.unwrap();
        }
    }
}

async fn any_program<T: Book>(db: &Database) {
    let books = fresh::<T>(db).await;
    let begin = proptest::collection::vec(0..12_i64, 0..10);
    for_any(scaled(60), (begin, steps()), async |(mut model, steps)| {
        books.delete(&7).await.unwrap();
        books.insert(&T::new(7, model.clone())).await.unwrap();
        let mut opened = books.clone();
        for each in &steps {
            step(&mut opened, &mut model, each).await;
            let stored = stored(&books).await.remove(&7).unwrap();
            assert_eq!(stored.all(), model, "O1, after {each:?}");
        }
        let stored = stored(&books).await.remove(&7).unwrap();
        match T::SPEC.total {
            None => reads_agree(&books, 7, &stored).await,
            Some(total) => {
                assert_eq!(items(&books, 7).await, model, "O5");
                let parent = &documents(books.collection()).await[0];
                assert_eq!(number(parent.get(total)), model.len() as i64);
            }
        }
        assert_eq!(verify(&books).await.unwrap(), []);
    });
}

#[bucket_testkit::test(multi_thread)]
async fn o5_any_program_of_edits_leaves_what_a_vec_has(db: Live) {
    any_program::<Book1x1>(&db).await;
    any_program::<Book3x2>(&db).await;
    any_program::<Book4x5>(&db).await;
    any_program::<Counted3x2>(&db).await;
}
