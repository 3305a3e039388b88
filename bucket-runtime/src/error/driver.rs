//! What the driver's errors mean.

use mongodb::error::{Error as DriverError, ErrorKind, WriteError, WriteFailure};

use crate::schema::{names::OPEN_INDEX, open_index::is_open_index};

/// Whether the driver refused to send a message of more than 48 MB, or to insert a document of more than
/// 16 MB.
pub(super) fn is_too_long(error: &DriverError) -> bool {
    matches!(&*error.kind, ErrorKind::InvalidArgument { message, .. }
        if message.contains("over maximum") || message.contains("must be within"))
}

/// The code and the message of a refused write.
pub(crate) fn write_code(error: &DriverError) -> Option<(i32, &str)> {
    match &*error.kind {
        ErrorKind::Command(error) => Some((error.code, &error.message)),
        ErrorKind::InsertMany(error) => {
            let first = error.write_errors.as_ref()?.first()?;
            Some((first.code, &first.message))
        }
        _ => write_error(error).map(|error| (error.code, &*error.message)),
    }
}

/// Whether the server answered with this code.
pub(crate) fn is_code(error: &DriverError, code: i32) -> bool {
    write_code(error).is_some_and(|(found, _)| found == code)
}

/// Whether the server has aborted the command's transaction, so that it can begin again. An operation
/// that ends because its transaction is too old has no label (290; seen on 6.0.5).
pub(crate) fn is_aborted(error: &DriverError) -> bool {
    const TRANSACTION_EXCEEDED_LIFETIME: i32 = 290;
    error.contains_label(mongodb::error::TRANSIENT_TRANSACTION_ERROR)
        || is_code(error, TRANSACTION_EXCEEDED_LIFETIME)
}

/// Whether a collection or a view already exists (NamespaceExists).
pub(crate) fn is_there_already(error: &DriverError) -> bool {
    is_code(error, 48)
}

/// Whether the server does not know a command or one of its options (BadValue, FailedToParse,
/// CommandNotFound, InvalidOptions, CommandNotSupported, NotImplemented, unknown field; Amazon
/// DocumentDB answers 303).
pub(crate) fn is_unknown(error: &DriverError) -> bool {
    const CODES: [i32; 8] = [2, 9, 59, 72, 115, 238, 303, 40415];
    write_code(error).is_some_and(|refusal| CODES.contains(&refusal.0) && !is_missing_hint(refusal))
}

/// Whether a command's hint names an index that does not exist.
pub(super) fn is_missing_hint((code, message): (i32, &str)) -> bool {
    code == 2 && message.contains("hint provided")
}

/// Whether the index that a statement used was dropped meanwhile (QueryPlanKilled). An update may have
/// changed its document before that.
pub(crate) fn is_broken_off((code, message): (i32, &str)) -> bool {
    code == 175 && message.contains("dropped")
}

/// The refusal of a single statement.
pub(super) fn write_error(error: &DriverError) -> Option<&WriteError> {
    match &*error.kind {
        ErrorKind::Write(WriteFailure::WriteError(error)) => Some(error),
        _ => None,
    }
}

/// Whether the error is the answer to a single statement.
pub(crate) fn is_statement_error(error: &DriverError) -> bool {
    write_error(error).is_some()
}

/// Whether an upsert was to insert a document under an impossible id (InvalidIdField, or ImmutableField
/// if the id was to be another one).
pub(crate) fn is_impossible_id(error: &DriverError) -> bool {
    write_error(error).is_some_and(|error| matches!(error.code, 53 | 66))
}

/// The name of the index that refused a write with E11000. Only the message contains it (`… index: NAME
/// dup key: …`), since the driver drops `keyPattern`.
pub(crate) fn duplicate_index(error: &DriverError) -> Option<&str> {
    let (11000, message) = write_code(error)? else {
        return None;
    };
    let name = message.split_once(" index: ")?.1.split_once(" dup key")?.0;
    // The name of the open index may contain a capacity.
    Some(if is_open_index(name) {
        OPEN_INDEX
    } else {
        name
    })
}

/// Whether the index that the command's hint names is missing. The command was refused.
pub(crate) fn is_missing_index(error: &DriverError) -> bool {
    write_code(error).is_some_and(is_missing_hint)
}

/// Whether a statement was interrupted because the index it used was dropped. Sending it again under its
/// number tells whether it was carried out.
pub(crate) fn is_killed(error: &DriverError) -> bool {
    write_code(error).is_some_and(is_broken_off)
}

/// Whether the error is one after which the driver retries its own writes.
pub(crate) fn is_repeatable(error: &DriverError) -> bool {
    matches!(
        *error.kind,
        ErrorKind::Io(_) | ErrorKind::ConnectionPoolCleared { .. }
    ) || error.contains_label("RetryableWriteError")
}
