//! What the driver's errors mean.

use mongodb::error::{Error as DriverError, ErrorKind, WriteError, WriteFailure};

use crate::{command::OPEN_INDEX, open_index::is_open_index};

/// Whether the driver refused to send a message of more than 48 MB, or to insert a document of more
/// than 16 MB.
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

/// Whether a command names an index that is not there.
pub(super) fn is_missing_hint((code, message): (i32, &str)) -> bool {
    code == 2 && message.contains("hint provided")
}

/// Whether the index by which a statement looks was dropped meanwhile (QueryPlanKilled). An update may
/// have changed its document before that.
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

/// Whether a document was to be made that can have no such id (InvalidIdField, or ImmutableField if
/// it was to have another one).
pub(crate) fn is_impossible_id(error: &DriverError) -> bool {
    write_error(error).is_some_and(|error| matches!(error.code, 53 | 66))
}

/// The name of the index that refused a write with E11000. The server tells it in the message only
/// (`… index: NAME dup key: …`), since the driver drops `keyPattern`.
pub(crate) fn duplicate_index(error: &DriverError) -> Option<&str> {
    let (11000, message) = write_code(error)? else {
        return None;
    };
    let name = message.split_once(" index: ")?.1.split_once(" dup key")?.0;
    // Its name may tell a capacity, too.
    Some(if is_open_index(name) {
        OPEN_INDEX
    } else {
        name
    })
}

/// Whether the index is not there by which the command was to be carried out. It was refused.
pub(crate) fn is_missing_index(error: &DriverError) -> bool {
    write_code(error).is_some_and(is_missing_hint)
}

/// Whether a statement was broken off since the index was dropped by which it looked. What became of
/// it, the server tells when it is asked again by its number.
pub(crate) fn is_killed(error: &DriverError) -> bool {
    write_code(error).is_some_and(is_broken_off)
}

/// Whether a write that failed so may have been carried out nevertheless. Only what is known to
/// mean "refused" or "never sent" is not in doubt.
pub(crate) fn maybe_stored(error: &DriverError) -> bool {
    match &*error.kind {
        ErrorKind::Write(WriteFailure::WriteError(error)) => {
            is_broken_off((error.code, &error.message))
        }
        ErrorKind::ServerSelection { .. }
        | ErrorKind::DnsResolve { .. }
        | ErrorKind::Authentication { .. }
        | ErrorKind::InvalidArgument { .. }
        | ErrorKind::InvalidTlsConfig { .. }
        | ErrorKind::BsonSerialization(_)
        | ErrorKind::IncompatibleServer { .. }
        | ErrorKind::SessionsNotSupported
        | ErrorKind::Transaction { .. } => false,
        // The server refuses a whole command before it begins, unless it was interrupted (the
        // codes of the drivers' retryable-writes specification, and maxTimeMSExpired).
        ErrorKind::Command(command) => {
            !error.contains_label("NoWritesPerformed")
                && (error.contains_label("RetryableWriteError")
                    || INTERRUPTIONS.contains(&command.code))
        }
        _ => true,
    }
}

const INTERRUPTIONS: [i32; 14] = [
    6, 7, 50, 64, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436,
];
