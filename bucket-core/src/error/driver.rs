//! Reads the driver's errors: the server's code and message, and the index that refused.

use mongodb::error::{Error as DriverError, ErrorKind, WriteError, WriteFailure};

use super::code::Code;
use crate::schema::{names::OPEN_INDEX, open_index::is_open_index};

/// The name of a code that MongoDB 9.0 adds. Its number is not in the list of codes that this crate
/// follows.
pub(super) const TOO_MANY_TRANSACTIONS: &str = "TooManyOpenTransactions";

/// Whether the driver refused to send a message of more than 48 MB, or to insert a document of more
/// than 16 MB.
pub(super) fn is_too_long(error: &DriverError) -> bool {
    matches!(&*error.kind, ErrorKind::InvalidArgument { message, .. }
        if message.contains("over maximum") || message.contains("must be within"))
}

/// The kind of error, in one word: `Command`, `Io`, `ServerSelection`.
#[cfg(feature = "tracing")]
pub(crate) fn type_of(error: &DriverError) -> String {
    first_word(&*error.kind)
}

/// The code with which the server answered.
#[cfg(feature = "tracing")]
pub(crate) fn code_of(error: &DriverError) -> Option<i32> {
    answer(error).map(|(number, _)| number)
}

/// The name of a variant.
#[cfg(any(test, feature = "tracing"))]
pub(super) fn first_word(variant: &dyn std::fmt::Debug) -> String {
    let text = format!("{variant:?}");
    let end = text.find(|letter: char| !letter.is_alphanumeric());
    text[..end.unwrap_or(text.len())].to_owned()
}

/// The server's answer: the code, if it is a known one, and the message.
pub fn refusal(error: &DriverError) -> Option<(Code, &str)> {
    let (number, message) = answer(error)?;
    Some((Code::of(number)?, message))
}

/// The server's answer: the code as a number, and the message.
fn answer(error: &DriverError) -> Option<(i32, &str)> {
    Some(match &*error.kind {
        ErrorKind::Command(error) => (error.code, &error.message),
        ErrorKind::InsertMany(error) => {
            let first = error.write_errors.as_ref()?.first()?;
            (first.code, &first.message)
        }
        _ => {
            let error = write_error(error)?;
            (error.code, &error.message)
        }
    })
}

/// Whether the server answered with this code.
pub fn is_code(error: &DriverError, code: Code) -> bool {
    refusal(error).is_some_and(|(found, _)| found == code)
}

/// Whether the server has aborted the command's transaction, so that it can begin again. An
/// operation that ends because its transaction is too old has no label (seen on 6.0.5).
pub(crate) fn is_aborted(error: &DriverError) -> bool {
    error.contains_label(mongodb::error::TRANSIENT_TRANSACTION_ERROR)
        || is_code(error, Code::TransactionExceededLifetimeLimitSeconds)
}

/// Whether the server does not know a command or one of its options.
pub fn is_unknown(error: &DriverError) -> bool {
    let codes = [
        Code::BadValue,
        Code::FailedToParse,
        Code::CommandNotFound,
        Code::InvalidOptions,
        Code::CommandNotSupported,
        Code::NotImplemented,
        Code::IDLUnknownField,
    ];
    refusal(error).is_some_and(|refusal| {
        codes.contains(&refusal.0) && !is_missing_hint(refusal) || is_of_document_db(refusal)
    })
}

/// Whether Amazon DocumentDB answers that it lacks a feature. Its number means something else on
/// MongoDB.
fn is_of_document_db((code, message): (Code, &str)) -> bool {
    code == Code::SplitHorizonChange && message.to_lowercase().contains("not supported")
}

/// Whether a command's hint names an index that does not exist.
pub(super) fn is_missing_hint((code, message): (Code, &str)) -> bool {
    code == Code::BadValue && message.contains("hint provided")
}

/// Whether the index that a statement used was dropped meanwhile (QueryPlanKilled). An update may
/// have changed its document before that.
pub(crate) fn is_broken_off((code, message): (Code, &str)) -> bool {
    code == Code::QueryPlanKilled && message.contains("dropped")
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

/// Whether an upsert was to insert a document under an impossible id. ImmutableField says that the
/// id was to be another one.
pub fn is_impossible_id(error: &DriverError) -> bool {
    let code = write_error(error).and_then(|error| Code::of(error.code));
    matches!(code, Some(Code::InvalidIdField | Code::ImmutableField))
}

/// The name of the index that refused a write with E11000. Only the message contains it
/// (`… index: NAME dup key: …`), since the driver drops `keyPattern`.
pub fn duplicate_index(error: &DriverError) -> Option<&str> {
    let (Code::DuplicateKey, message) = refusal(error)? else {
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

/// Whether a standalone server has refused a transaction. The driver replaces its message by advice
/// that changes nothing, so this brings the message back.
pub(super) fn restore_refusal_of_transactions(error: &mut DriverError) -> bool {
    let ErrorKind::Command(refusal) = &mut *error.kind else {
        return false;
    };
    let advice = "does not support retryable writes";
    let is_refusal =
        refusal.code == Code::IllegalOperation as i32 && refusal.message.contains(advice);
    if is_refusal {
        refusal.message =
            "Transaction numbers are only allowed on a replica set member or mongos".into();
    }
    is_refusal
}

/// Whether the server ended a statement's plan: an index was dropped, or changed by the first array
/// in it. Sending the statement again under its number tells whether it was carried out.
pub(crate) fn is_killed(error: &DriverError) -> bool {
    is_code(error, Code::QueryPlanKilled)
}

/// Whether the server has too many open transactions to begin another one.
pub(crate) fn is_too_many_transactions(error: &DriverError) -> bool {
    matches!(&*error.kind, ErrorKind::Command(error) if error.code_name == TOO_MANY_TRANSACTIONS)
}

/// Whether the error is one after which the driver retries its own writes.
pub fn is_repeatable(error: &DriverError) -> bool {
    matches!(
        *error.kind,
        ErrorKind::Io(_) | ErrorKind::ConnectionPoolCleared { .. }
    ) || error.contains_label("RetryableWriteError")
}
