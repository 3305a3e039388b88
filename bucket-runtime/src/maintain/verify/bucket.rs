//! The problems that a single bucket shows.

use mongodb::bson::{Bson, DateTime};

use super::{
    BucketProblem as Problem,
    find::{BucketFacts, SurveyedBucket, Verifier},
    look::Look,
};
use crate::{
    error::error_text,
    protocol::command::KeyScope,
    schema::{id, names::NEWEST},
    value::{
        element::whole,
        rollup::{
            Totals,
            check::{self, Fault, Values},
        },
    },
};

impl Verifier {
    /// The problems that a bucket shows.
    pub(super) fn problems_of(&self, row: &SurveyedBucket) -> Vec<Problem> {
        let facts = &row.facts;
        let bucket = || facts.id.clone();
        let scope = match self.scope(facts) {
            Ok(scope) => scope,
            Err(field) => {
                let bucket = bucket();
                return vec![Problem::NoKey { bucket, field }];
            }
        };
        let key = || scope.key_text();
        let Some(items) = facts.items else {
            let (bucket, key, array) = (bucket(), key(), self.spec.items);
            return vec![Problem::NoArray { bucket, key, array }];
        };
        let look = (self.look)(&row.bucket);
        let mut problems = self.problems_of_facts(&scope, facts, items);
        if self.is_own_id(&scope, facts) {
            problems.extend(find_outside(&scope, &look, facts));
        }
        problems.extend(self.problems_of_rollup(row, &look, &scope));
        problems.extend(look.unreadable.into_iter().map(|item| Problem::Unreadable {
            bucket: bucket(),
            key: key(),
            place: item.place,
            error: error_text(&item.error),
        }));
        problems
    }

    /// The problems that the server's facts show of a bucket with this number of items.
    fn problems_of_facts(&self, scope: &KeyScope, facts: &BucketFacts, items: u32) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut add = |is_there: bool, problem: fn(Bson, String, u64) -> Problem| {
            if is_there {
                problems.push(problem(facts.id.clone(), scope.key_text(), items.into()));
            }
        };
        add(!self.is_own_id(scope, facts), |bucket, key, _| {
            Problem::ForeignId { bucket, key }
        });
        add(
            whole(&facts.count) != Some(items.into()),
            |bucket, key, items| Problem::WrongCount { bucket, key, items },
        );
        let is_over_full = items > self.spec.capacity && !self.may_exceed;
        add(is_over_full, |bucket, key, items| Problem::OverFull {
            bucket,
            key,
            items,
        });
        add(facts.own_seal == Some(false), |bucket, key, _| {
            Problem::WrongSeal { bucket, key }
        });
        if let Some(field) = self.spec.unique.filter(|_| facts.twins) {
            let (bucket, key) = (facts.id.clone(), scope.key_text());
            problems.push(Problem::Twins { bucket, key, field });
        }
        problems
    }

    fn problems_of_rollup(
        &self,
        row: &SurveyedBucket,
        look: &Look,
        scope: &KeyScope,
    ) -> Vec<Problem> {
        let faults = self.faults_of_rollup(row, look);
        let is_possible = faults.is_empty() || self.totals(look).is_some();
        let problem = |(field, fault)| {
            let (bucket, key) = (row.facts.id.clone(), scope.key_text());
            match fault {
                _ if !is_possible => Problem::NoRollup { bucket, key, field },
                Fault::Blocks { path, stored } => Problem::BlockedRollup {
                    bucket,
                    key,
                    field,
                    path,
                    stored,
                },
                Fault::Incomplete => Problem::IncompleteRollup { bucket, key, field },
                Fault::Wrong { part, stored } => Problem::FalseRollup {
                    bucket,
                    key,
                    field,
                    part,
                    stored,
                },
            }
        };
        faults.into_iter().map(problem).collect()
    }

    /// The faults of the bucket's rollup; none while an item is unreadable, since its values are unknown.
    pub(super) fn faults_of_rollup(
        &self,
        row: &SurveyedBucket,
        look: &Look,
    ) -> Vec<(&'static str, Fault)> {
        if !look.unreadable.is_empty() {
            return Vec::new();
        }
        let stored = |name| Bson::try_from(row.bucket.get(name).ok()??).ok();
        let values: Vec<Values> = look.items.iter().map(|item| item.values.clone()).collect();
        let items = row.facts.items.unwrap_or(0).into();
        let rollup = stored(self.spec.rollup);
        let mut faults = check::faults(self.spec, rollup.as_ref(), items, Some(&values));
        // By this field the server removes the bucket.
        let newest = stored(NEWEST).unwrap_or(Bson::Null);
        let is_false = |time: DateTime| newest != time.into();
        if self.spec.expire_after.is_some() && look.newest().is_some_and(is_false) {
            let (part, stored) = (NEWEST, newest);
            let fault = Fault::Wrong { part, stored };
            faults.push((self.spec.time.unwrap_or_default(), fault));
        }
        faults
    }

    /// The totals of these items, which must be all of the bucket; `None` if only the server can compute them.
    pub(super) fn totals(&self, look: &Look) -> Option<Totals> {
        Totals::of(self.spec, look.items.iter().map(|item| item.values.clone()))
    }
}

/// Finds the items outside the bucket's window, if buckets have windows.
fn find_outside(scope: &KeyScope, look: &Look, facts: &BucketFacts) -> Vec<Problem> {
    let Some(start) = scope.window else {
        return Vec::new();
    };
    let is_inside =
        |time: i64| id::window_start(scope.spec.id.ordinal, time) == Some(start.timestamp_millis());
    let items = look.items.iter().filter_map(|item| {
        let time = item.time?;
        (!is_inside(time.timestamp_millis())).then(|| Problem::OutsideWindow {
            bucket: facts.id.clone(),
            key: scope.key_text(),
            place: item.place,
            time,
        })
    });
    items.collect()
}
