//! What the server's answers mean.

use mongodb::error::Error as DriverError;

use super::{Batch, Engine, Statement, Tail};
use crate::{
    Result,
    error::{duplicate_index, is_impossible_id, is_killed, is_missing_index},
    schema::names::{OPEN_INDEX, UNIQUE_INDEX},
};

impl Engine {
    /// Draws the conclusion from the server's answer to a statement.
    pub(crate) fn learn(
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
                batch.tail = match batch.tail {
                    // What was looked up is outdated before it is used.
                    Tail::Open { .. } if batch.is_contended() => Tail::Unknown,
                    _ => Tail::Look,
                };
                return Ok(());
            }
            Ok(true) => {
                batch.stored(statement);
                return Ok(());
            }
            Ok(false) => {
                // There is no open bucket, or one with less room.
                batch.tail = match statement.carries {
                    1 if !batch.has_to_look() => Tail::Shut,
                    _ => Tail::Look,
                };
                return Ok(());
            }
            Err(error) => error,
        };
        let was_dropped = is_killed(&error) && self.server.breaks_off_before_writing();
        if was_dropped || is_missing_index(&error) {
            batch.tail = Tail::Unknown;
            batch.missing = Some(self.refused(&batch.scope, error).not_sent());
            return Ok(());
        }
        let single = batch.tail == Tail::Unknown && statement.carries == 1;
        batch.tail = match duplicate_index(&error) {
            // A full or sealed bucket has that id already.
            Some("_id_") if single => Tail::Shut,
            // Somebody opened the bucket first: it is there now. Who loses that race twice looks
            // whether it was one, or whether something is in the way.
            Some(OPEN_INDEX) if single && batch.tries != 2 && !batch.may_be_cramped() => {
                Tail::Unknown
            }
            // Where bytes count, what is open may have no room for the item, which only a look tells.
            Some(OPEN_INDEX | "_id_") if single || batch.is_bounded() || !batch.is_contended() => {
                Tail::Look
            }
            // What was looked up is outdated before it is used.
            Some(OPEN_INDEX | "_id_") => Tail::Unknown,
            Some(UNIQUE_INDEX) if batch.scope.spec.unique.is_some() => Tail::Look,
            _ => {
                batch.concerned = statement.carries;
                return Err(self.refused(&batch.scope, error));
            }
        };
        Ok(())
    }
}
