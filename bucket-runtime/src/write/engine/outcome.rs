//! What the server's answers mean.

use mongodb::error::Error as DriverError;

use super::{Batch, Engine, NewestBucket, Statement};
use crate::{
    Result,
    error::{duplicate_index, is_impossible_id, is_killed, is_missing_index},
    schema::names::{OPEN_INDEX, UNIQUE_INDEX},
};

impl Engine {
    /// Draws the conclusion from the server's answer to a statement.
    pub(crate) fn note_outcome(
        &self,
        batch: &mut Batch,
        statement: Statement,
        result: Result<bool, DriverError>,
    ) -> Result<()> {
        // An item of it may be there already, in this bucket or in another one.
        batch.doubtful |= batch.scope.spec.unique.is_some() && !matches!(result, Ok(true));
        let error = match result {
            // It would have had to make a document, and must not.
            Err(error) if is_impossible_id(&error) => {
                batch.newest_bucket = match batch.newest_bucket {
                    // What was looked up is outdated before it is used.
                    NewestBucket::Open { .. } if batch.is_contended() => NewestBucket::Unknown,
                    _ => NewestBucket::MustRead,
                };
                return Ok(());
            }
            Ok(true) => {
                batch.stored(statement);
                return Ok(());
            }
            Ok(false) => {
                // There is no open bucket, or one with less room.
                batch.newest_bucket = match statement.items {
                    1 if !batch.has_to_look() => NewestBucket::NoneOpen,
                    _ => NewestBucket::MustRead,
                };
                return Ok(());
            }
            Err(error) => error,
        };
        let was_dropped = is_killed(&error) && self.server.breaks_off_before_writing();
        if was_dropped || is_missing_index(&error) {
            batch.newest_bucket = NewestBucket::Unknown;
            batch.missing = Some(self.refused(&batch.scope, error).not_sent());
            return Ok(());
        }
        let single = batch.newest_bucket == NewestBucket::Unknown && statement.items == 1;
        batch.newest_bucket = match duplicate_index(&error) {
            // A full or sealed bucket has that id already.
            Some("_id_") if single => NewestBucket::NoneOpen,
            // Somebody opened the bucket first: it is there now. Who loses that race twice looks
            // whether it was one, or whether something is in the way.
            Some(OPEN_INDEX) if single && batch.tries != 2 && !batch.may_be_cramped() => {
                NewestBucket::Unknown
            }
            // Where bytes count, what is open may have no room for the item, which only a look tells.
            Some(OPEN_INDEX | "_id_") if single || batch.is_bounded() || !batch.is_contended() => {
                NewestBucket::MustRead
            }
            // What was looked up is outdated before it is used.
            Some(OPEN_INDEX | "_id_") => NewestBucket::Unknown,
            Some(UNIQUE_INDEX) if batch.scope.spec.unique.is_some() => NewestBucket::MustRead,
            _ => {
                batch.in_doubt = statement.items;
                return Err(self.refused(&batch.scope, error));
            }
        };
        Ok(())
    }
}
