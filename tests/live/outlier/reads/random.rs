//! O5, beside a plain `Vec`: every read gives what the `Vec` has, in its order or in reverse, and a page goes on
//! where the last one ended while items come and go.

use bucket_runtime::{ItemPage, ItemToken, Outliers, mongodb::Database};
use futures_util::TryStreamExt;
use proptest::prelude::*;

use crate::{
    outlier::support::{Book, Book1x1, Book3x2, Book4x5, Condition, fresh, items, remove, stored},
    support::{database::Live, random::for_any, scale::scaled},
};

#[derive(Debug, Clone)]
enum Step {
    /// This many new values.
    Push(usize),
    /// One of the values, by its place.
    Remove(usize),
    /// The first page of a list.
    Open(Condition, bool, u64),
    Next(u64),
    Previous(u64),
    Read(Condition, bool, u64, Option<u64>),
}

fn conditions() -> impl Strategy<Value = Condition> {
    prop_oneof![
        2 => Just(Condition::Any),
        1 => Just(Condition::Even),
        1 => (0..20_i64, 0..20_i64).prop_map(|(above, not)| Condition::AboveBut(above, not)),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let limit = proptest::option::of(0..9_u64);
    let step = prop_oneof![
        4 => (1..5_usize).prop_map(Step::Push),
        3 => any::<prop::sample::Index>().prop_map(|at| Step::Remove(at.index(1000))),
        2 => (conditions(), any::<bool>(), 1..7_u64).prop_map(|(of, newest, n)| Step::Open(of, newest, n)),
        5 => (1..7_u64).prop_map(Step::Next),
        3 => (1..7_u64).prop_map(Step::Previous),
        4 => (conditions(), any::<bool>(), 0..15_u64, limit).prop_map(|(of, newest, skip, limit)| {
            Step::Read(of, newest, skip, limit)
        }),
    ];
    proptest::collection::vec(step, 1..25)
}

/// A token, and the place that it must hold: the number of values before it.
#[derive(Debug, Clone)]
struct Mark {
    token: ItemToken,
    place: usize,
    /// The value beside it, which no step removes: what a token does without it has tests of its own.
    beside: Option<i64>,
}

/// The page that was read last.
struct Paging {
    of: Condition,
    newest_first: bool,
    next: Option<Mark>,
    previous: Option<Mark>,
}

struct Program<T> {
    books: Outliers<T>,
    model: Vec<i64>,
    pushed: i64,
    paging: Option<Paging>,
}

impl<T: Book> Program<T> {
    async fn step(&mut self, step: &Step) {
        match step {
            Step::Push(values) => {
                let values = self.pushed..self.pushed + *values as i64;
                self.pushed = values.end;
                self.books.push_many(&7, values.clone()).await.unwrap();
                self.model.extend(values);
            }
            Step::Remove(at) => self.remove(*at).await,
            Step::Open(of, newest_first, limit) => {
                let paging = Paging {
                    of: *of,
                    newest_first: *newest_first,
                    next: None,
                    previous: None,
                };
                self.page(paging, None, false, *limit).await;
            }
            Step::Next(limit) => {
                if let Some(paging) = self.paging.take_if(|paging| paging.next.is_some()) {
                    let mark = paging.next.clone();
                    self.page(paging, mark, false, *limit).await;
                }
            }
            Step::Previous(limit) => {
                if let Some(paging) = self.paging.take_if(|paging| paging.previous.is_some()) {
                    let mark = paging.previous.clone();
                    self.page(paging, mark, true, *limit).await;
                }
            }
            Step::Read(of, newest_first, skip, limit) => {
                let mut read = self.books.items(&7).filter(of.filter()).skip(*skip);
                if *newest_first {
                    read = read.newest_first();
                }
                if let Some(limit) = limit {
                    read = read.limit(*limit);
                }
                let found: Vec<i64> = read.await.unwrap().try_collect().await.unwrap();
                let mut expected = self.matching(*of, *newest_first, 0, true);
                expected = expected.into_iter().skip(*skip as usize).collect();
                expected.truncate(limit.unwrap_or(u64::MAX) as usize);
                assert_eq!(found, expected, "{step:?} of {:?}", self.model);
                let count = self.books.count(&7).filter(of.filter()).await.unwrap();
                let all = self.matching(*of, false, 0, true);
                assert_eq!(count, all.len() as u64, "{step:?}");
                let first = self.books.find_item(&7, of.filter()).await.unwrap();
                assert_eq!(first.map(|found| found.item), all.first().copied());
            }
        }
    }

    /// The values from a place on, in the order of a read.
    fn matching(&self, of: Condition, newest_first: bool, place: usize, all: bool) -> Vec<i64> {
        let mut found = match (all, newest_first) {
            (true, _) => self.model.clone(),
            (false, false) => self.model[place..].to_vec(),
            (false, true) => self.model[..place].to_vec(),
        };
        found.retain(|value| of.holds(*value));
        if newest_first {
            found.reverse();
        }
        found
    }

    async fn remove(&mut self, at: usize) {
        let Some(value) = self.model.get(at % self.model.len().max(1)).copied() else {
            return;
        };
        let mut marks = Vec::new();
        if let Some(paging) = &mut self.paging {
            marks.extend(paging.next.as_mut());
            marks.extend(paging.previous.as_mut());
        }
        if marks.iter().any(|mark| mark.beside == Some(value)) {
            return;
        }
        let place = self.model.iter().position(|other| *other == value).unwrap();
        for mark in marks {
            mark.place -= usize::from(place < mark.place);
        }
        self.model.remove(place);
        assert!(remove(&self.books, &7, value).await.unwrap());
    }

    /// Reads a page from a mark on, or the page before it, and compares it with the values.
    async fn page(&mut self, paging: Paging, from: Option<Mark>, backwards: bool, limit: u64) {
        let Paging {
            of, newest_first, ..
        } = paging;
        let mut list = self.books.items(&7).filter(of.filter());
        if newest_first {
            list = list.newest_first();
        }
        let mut read = list.page_of_items(limit);
        if let Some(mark) = &from {
            read = match backwards {
                false => read.after(&mark.token),
                true => read.before(&mark.token),
            };
        }
        let page = read.await.unwrap();
        let reads_reverse = newest_first ^ backwards;
        let place = from.as_ref().map_or(0, |mark| mark.place);
        let mut expected = self.matching(of, reads_reverse, place, from.is_none());
        let has_more = expected.len() > limit as usize;
        expected.truncate(limit as usize);
        let last = expected.last().copied();
        if backwards {
            expected.reverse();
        }
        let ItemPage {
            items,
            next,
            previous,
            ..
        } = page;
        assert_eq!(items, expected, "a page of {of:?} of {:?}", self.model);
        let (beyond, given) = match backwards {
            false => (next, previous),
            true => (previous, next),
        };
        assert_eq!(beyond.is_some(), has_more, "of {:?}", self.model);
        assert_eq!(given, from.as_ref().map(|mark| mark.token.clone()));
        let beyond = beyond.map(|token| {
            let place = last.and_then(|last| self.model.iter().position(|value| *value == last));
            Mark {
                // A token is text in between.
                token: token.to_string().parse().unwrap(),
                place: place.unwrap() + usize::from(!reads_reverse),
                beside: last,
            }
        });
        let (next, previous) = match backwards {
            false => (beyond, from),
            true => (from, beyond),
        };
        self.paging = Some(Paging {
            of,
            newest_first,
            next,
            previous,
        });
    }
}

async fn any_program<T: Book>(db: &Database) {
    let books = fresh::<T>(db).await;
    for_any(scaled(60), (0..12_i64, steps()), async |(own, steps)| {
        books.delete(&7).await.unwrap();
        let model: Vec<_> = (0..own).collect();
        books.insert(&T::new(7, model.clone())).await.unwrap();
        let mut program = Program {
            books: books.clone(),
            pushed: own,
            model,
            paging: None,
        };
        for step in &steps {
            program.step(step).await;
        }
        assert_eq!(items(&program.books, 7).await, program.model);
        let stored = stored(&program.books).await.remove(&7).unwrap();
        assert_eq!(stored.all(), program.model);
    });
}

#[bucket_testkit::test(multi_thread)]
async fn o5_any_program_reads_what_a_vec_has(db: Live) {
    any_program::<Book1x1>(&db).await;
    any_program::<Book3x2>(&db).await;
    any_program::<Book4x5>(&db).await;
}
