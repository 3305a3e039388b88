//! The problems that a single bucket shows.

use bucket_core::{
    error::count,
    protocol::command::KeyScope,
    schema::{id, names::NEWEST},
    value::{number::whole, rollup::Totals, shell::shell},
};
use mongodb::bson::{Bson, DateTime};

use super::{
    Problem, ProblemKind as Kind,
    find::{BucketFacts, SurveyedBucket, Verifier},
    look::Look,
    rollup::{self, Fault, Values},
};

impl Verifier {
    /// The problems that a bucket shows.
    pub(super) fn problems_of(&self, row: &SurveyedBucket) -> Vec<Problem> {
        let facts = &row.facts;
        let scope = match self.scope(facts) {
            Ok(scope) => scope,
            Err(field) => return vec![Problem::no_key(&facts.key.id, field)],
        };
        let Some(items) = facts.items else {
            let key = scope.key_text();
            return vec![Problem::no_array(&facts.key.id, key, self.spec.items)];
        };
        let look = (self.look)(&row.bucket);
        let mut problems = self.problems_of_facts(&scope, facts, items);
        if facts.key.has_id_of(&scope) {
            problems.extend(find_outside(&scope, &look, facts));
        }
        problems.extend(self.problems_of_rollup(row, &look, &scope));
        let unreadable = look.unreadable.iter();
        let of_item = |item| Problem::unreadable(&facts.key.id, scope.key_text(), item);
        problems.extend(unreadable.map(of_item));
        problems
    }

    /// The problems that the server's facts show of a bucket with this number of items.
    fn problems_of_facts(&self, scope: &KeyScope, facts: &BucketFacts, items: u32) -> Vec<Problem> {
        let mut problems = Vec::new();
        if !facts.key.has_id_of(scope) {
            let (key, are_extras) = (scope.key_text(), self.spec.are_extras);
            problems.push(Problem::foreign_id(&facts.key.id, key, are_extras));
        }
        let mut add = |is_there: bool, kind, text: &dyn Fn(String) -> String| {
            if is_there {
                problems.push(Problem::of(kind, &facts.key.id, scope.key_text(), text));
            }
        };
        let held = || count(items.into(), "item");
        let is_wrong = whole(&facts.count) != Some(items.into());
        add(is_wrong, Kind::WrongCount, &|bucket| {
            format!("bucket {bucket} holds {}, but its count differs", held())
        });
        let is_over_full = items > self.spec.capacity && !self.may_exceed;
        add(is_over_full, Kind::OverFull, &|bucket| {
            format!("bucket {bucket} holds {}, more than the capacity", held())
        });
        add(facts.own_seal == Some(false), Kind::WrongSeal, &|bucket| {
            format!("`sealed` of bucket {bucket} is not its own _id")
        });
        if let Some(field) = self.spec.unique {
            add(facts.twins, Kind::Twins, &|bucket| {
                format!(
                    "items of bucket {bucket} have the same value in the `unique` field `{field}`"
                )
            });
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
        let problem = |(field, fault): (&str, Fault)| {
            let id = shell(&row.facts.key.id);
            let rollup = format!("the rollup of `{field}` in bucket {id}");
            let (kind, text) = match fault {
                _ if !is_possible => (
                    Kind::NoRollup,
                    format!(
                        "{rollup} is not that of its items, and no rollup can be: a sum would exceed 64 bits or 34 \
                         digits, or a decimal is not a number"
                    ),
                ),
                Fault::Blocks { path, stored } => (
                    Kind::BlockedRollup,
                    format!(
                        "`{path}` of bucket {id} is {}, so the server refuses to append to the bucket",
                        shell(&stored)
                    ),
                ),
                Fault::Incomplete => (
                    Kind::IncompleteRollup,
                    format!("{rollup} does not cover all its items"),
                ),
                Fault::Wrong { part, stored } => (
                    Kind::FalseRollup,
                    format!(
                        "{rollup} is false: its items have another `{part}` than {}",
                        shell(&stored)
                    ),
                ),
            };
            Problem::new(
                kind,
                [row.facts.key.id.clone()],
                Some(scope.key_text()),
                text,
            )
        };
        faults.into_iter().map(problem).collect()
    }

    /// The faults of the bucket's rollup; none while an item is unreadable, since its values are
    /// unknown.
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
        let mut faults = rollup::faults(self.spec, rollup.as_ref(), items, &values);
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

    /// The totals of these items, which must be all of the bucket; `None` if only the server can
    /// compute them.
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
        (!is_inside(time.timestamp_millis())).then(|| {
            Problem::of(Kind::OutsideWindow, &facts.key.id, scope.key_text(), |bucket| {
                let (place, time) = (item.place, shell(&time.into()));
                format!(
                    "item {place} (from 0) of bucket {bucket} is of {time}, outside the bucket's time window, so \
                     reads by time miss it"
                )
            })
        })
    });
    items.collect()
}
