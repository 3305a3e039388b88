//! Reads the server's answers to the statements of a batch.

use mongodb::error::Error as DriverError;

use super::{Batch, Carried, Engine, NewestBucket};
use crate::{
    Result,
    error::{duplicate_index, is_impossible_id, is_killed, is_missing_index},
    protocol::next::{Answer, Facts, Known, Next, next},
    schema::names::{OPEN_INDEX, UNIQUE_INDEX},
    server::call::{self, Again},
};

impl Engine {
    /// Updates the batch by the server's answer to a statement.
    pub(crate) fn note_outcome(
        &self,
        batch: &mut Batch,
        carried: Carried,
        result: Result<bool, DriverError>,
    ) -> Result<()> {
        let answer = self.answer(&result);
        // An item may be there already, in this bucket or in another one.
        batch.doubtful |= batch.scope.spec.unique.is_some() && answer != Answer::Stored;
        let facts = batch.facts(&carried);
        if is_lost_race(answer, facts) {
            call::again(Again::LostRace);
        }
        let next = next(answer, facts);
        match (next, result) {
            (Next::GoOn, _) => batch.stored(carried),
            (Next::AwaitIndex, Err(error)) => {
                batch.newest_bucket = NewestBucket::Unknown;
                batch.missing = Some(self.target_of(&batch.scope).write_error(error).not_sent());
            }
            (Next::Stop, Err(error)) => {
                batch.in_doubt = carried.range();
                return Err(self.target_of(&batch.scope).write_error(error));
            }
            (Next::SendAgain, _) => batch.newest_bucket = NewestBucket::Unknown,
            (Next::ReadOpen, _) => batch.newest_bucket = NewestBucket::MustRead,
            (Next::ReadLast, _) => batch.newest_bucket = NewestBucket::NoneOpen,
            // Only errors lead to these.
            (Next::AwaitIndex | Next::Stop, Ok(_)) => {}
        }
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
        let was_killed = is_killed(error) && self.server.breaks_off_before_writing();
        if was_killed || is_missing_index(error) {
            return Answer::NoIndex;
        }
        match duplicate_index(error) {
            Some("_id_") => Answer::IdTaken,
            Some(OPEN_INDEX) => Answer::OtherOpen,
            Some(UNIQUE_INDEX) => Answer::ItemThere,
            _ => Answer::Refused,
        }
    }
}

/// Whether another writer opened the bucket, or took the number that was read to be the next one.
fn is_lost_race(answer: Answer, facts: Facts) -> bool {
    match answer {
        Answer::OtherOpen => true,
        Answer::IdTaken => facts.is_numbered && facts.known == Known::Other,
        _ => false,
    }
}

impl Batch {
    fn facts(&self, carried: &Carried) -> Facts {
        let spec = self.scope.spec;
        Facts {
            known: match self.newest_bucket {
                NewestBucket::Unknown => Known::Nothing,
                NewestBucket::Open { .. } => Known::OpenBucket,
                _ => Known::Other,
            },
            is_single: carried.items == 1,
            tries: self.tries,
            counts_bytes: self.is_bounded(),
            is_large: self.is_next_large(),
            is_numbered: spec.id.ordinal.counts(),
            is_unique: spec.unique.is_some(),
        }
    }
}
