//! Reads the server's answers to the statements of a batch.

use bucket_core::{
    error::{duplicate_index, is_impossible_id},
    protocol::{
        budget::Budget,
        next_step::{Answer, Facts, Known, Next, next},
    },
    schema::names::{OPEN_INDEX, UNIQUE_INDEX},
};
use mongodb::error::Error as DriverError;

use super::{Batch, Carried, Engine, NewestBucket, SendMode};
use crate::Result;

impl Engine {
    /// Updates the batch by the server's answer to a statement.
    pub(crate) fn note_outcome(
        &self,
        batch: &mut Batch,
        carried: Carried,
        result: Result<bool, DriverError>,
        mode: SendMode,
    ) -> Result<()> {
        let answer = self.answer(&result);
        // An item may be there already, in this bucket or in another one.
        batch.retry_state.may_be_present |=
            batch.scope.spec.unique.is_some() && answer != Answer::Stored;
        let facts = batch.facts(&carried);
        batch.retry_state.has_lost |= answer == Answer::OtherOpen;
        let next = next(answer, facts);
        bucket_core::reached!(
            "an append, {:?} known: {answer:?}, so {next:?}",
            facts.known
        );
        match (next, result) {
            (Next::GoOn, _) => batch.record_stored(carried),
            (Next::Stop, Err(error)) => {
                batch.retry_state.failed_entries = carried.range();
                return Err(self.target_of(&batch.scope).write_error(error));
            }
            (Next::SendAgain, _) => batch.newest_bucket = NewestBucket::Unknown,
            (Next::ReadNewest, _) => batch.newest_bucket = NewestBucket::MustRead,
            (Next::ReadLast, _) => batch.newest_bucket = NewestBucket::NoneOpen,
            // Only errors lead to these.
            (Next::Stop, Ok(_)) => {}
        }
        self.remember(batch, mode);
        Ok(())
    }

    /// Reads the server's answer to a statement.
    pub(crate) fn answer(&self, result: &Result<bool, DriverError>) -> Answer {
        let error = match result {
            Ok(true) => return Answer::Stored,
            Ok(false) => return Answer::NoMatch,
            Err(error) => error,
        };
        if is_impossible_id(error) {
            return Answer::MustNotOpen;
        }
        if self.server.was_broken_off(error) {
            return Answer::BrokenOff;
        }
        match duplicate_index(error) {
            Some("_id_") => Answer::IdTaken,
            Some(OPEN_INDEX) => Answer::OtherOpen,
            Some(UNIQUE_INDEX) => Answer::ItemThere,
            _ => Answer::Refused,
        }
    }
}

impl Batch {
    fn facts(&self, carried: &Carried) -> Facts {
        let spec = self.scope.spec;
        let budget = Budget::of(&self.scope);
        let next = budget.as_ref().zip(self.front());
        let oversize = next.map(|(budget, next)| budget.oversize(next.size));
        Facts {
            known: match self.newest_bucket {
                NewestBucket::Unknown => Known::Nothing,
                NewestBucket::Open { .. } => Known::OpenBucket,
                _ => Known::Other,
            },
            is_single: carried.items == 1,
            tries: self.retry_state.tries,
            counts_bytes: budget.is_some(),
            is_large: oversize.is_some_and(|oversize| oversize > 0),
            is_numbered: spec.id.ordinal.counts(),
            is_unique: spec.unique.is_some(),
            has_lost: self.retry_state.has_lost,
        }
    }
}
