//! Errors of the driver: what this library reads from them, and what it tells the user.

use std::{fmt::Write as _, io};

use insta::assert_snapshot;
use mongodb::error::{BulkWriteError, Error as DriverError, ErrorKind, WriteFailure};

use super::{Error, predicates};
use crate::error::{
    Kind,
    answers::{command, insertion, refused_argument, statement, write_concern, write_error},
    driver::*,
};

/// Questions about an error, by their names.
type Questions<T> = [(&'static str, fn(&T) -> bool)];

const OF_DRIVER: &Questions<DriverError> = &[
    ("is_aborted", is_aborted),
    ("is_unknown", is_unknown),
    ("is_killed", is_killed),
    ("is_statement_error", is_statement_error),
    ("is_impossible_id", is_impossible_id),
    ("is_repeatable", is_repeatable),
    ("is_too_many_transactions", is_too_many_transactions),
];

/// Those that are not in the table of kinds.
const OF_CALL: &Questions<Error> = &[
    ("is_fatal", Error::is_fatal),
    ("is_refusal", Error::is_refusal),
    ("is_unauthorized", Error::is_unauthorized),
    ("is_maybe_stored", Error::is_maybe_stored),
];

fn holding<T>(questions: &Questions<T>, of: &T) -> Vec<&'static str> {
    let held = questions.iter().filter(|(_, holds)| holds(of));
    held.map(|(name, _)| *name).collect()
}

/// Every answer that a rule is about, each followed by one that differs in the code or in the message alone.
fn answers() -> Vec<ErrorKind> {
    vec![
        command(
            2,
            "BadValue",
            "hint provided does not correspond to an existing index",
        ),
        command(2, "BadValue", "unknown operator"),
        command(9, "FailedToParse", "hint provided does not parse"),
        command(59, "CommandNotFound", "no such command"),
        command(54_321, "ANewError", "of a later version"),
        command(303, "", "Feature not supported: hint"),
        command(303, "SplitHorizonChange", "the horizon changed"),
        command(112, "WriteConflict", "not supported"),
        command(175, "QueryPlanKilled", "index 'bucket_open' dropped"),
        command(175, "QueryPlanKilled", "the collection was renamed"),
        command(237, "CursorKilled", "the collection was dropped"),
        command(280, "ChangeStreamFatalError", "the token is unknown"),
        command(286, "ChangeStreamHistoryLost", "the token is too old"),
        command(290, "TransactionExceededLifetimeLimitSeconds", "too old"),
        command(54_322, "TooManyOpenTransactions", "10000 are open"),
        command(18, "AuthenticationFailed", "Authentication failed."),
        command(13, "Unauthorized", "command find requires authentication"),
        command(13, "Unauthorized", "not allowed here"),
        command(10334, "BSONObjectTooLarge", "the document is too large"),
        statement(17419, "the result of the update is too large"),
        statement(17420, "the result of the push is too large"),
        statement(2, "Failed to apply $inc operations to current value"),
        statement(2, "hint provided does not correspond to an existing index"),
        statement(2, "$max of two types"),
        statement(175, "index 'bucket_open_20' dropped"),
        statement(53, "the id is an array"),
        statement(66, "the id was to be another one"),
        statement(
            11000,
            "E11000 collection: a.b index: bucket_open dup key: { a: 1 }",
        ),
        statement(
            11000,
            "E11000 collection: a.b index: bucket_open_20 dup key: { a: 1 }",
        ),
        statement(
            11000,
            "E11000 collection: a.b index: bucket_opened dup key: { a: 1 }",
        ),
        statement(
            121,
            "E11000 collection: a.b index: bucket_open dup key: { a: 1 }",
        ),
        insertion(
            11000,
            "E11000 collection: a.b index: _id_ dup key: { _id: 1 }",
        ),
        ErrorKind::Write(WriteFailure::WriteConcernError(write_concern())),
        bulk(&[11000, 53]),
        bulk(&[]),
        io::Error::new(io::ErrorKind::ConnectionReset, "reset").into(),
        refused_argument("Message length 50000000 over maximum 48000000"),
        refused_argument("insert document must be within 16777216 bytes"),
        refused_argument("no port"),
        ErrorKind::SessionsNotSupported,
    ]
}

/// A bulk write whose statements failed with these codes, or in which none did and the write concern was not reached.
fn bulk(codes: &[i32]) -> ErrorKind {
    let mut error = BulkWriteError::default();
    let errors = codes.iter().map(|code| write_error(*code, "it failed"));
    error.write_errors = errors.enumerate().collect();
    if codes.is_empty() {
        error.write_concern_errors.push(write_concern());
    }
    ErrorKind::BulkWrite(error)
}

#[test]
fn as_reads_and_as_writes() {
    let mut shown = String::new();
    for kind in answers() {
        let error = DriverError::from(kind);
        let asked = holding(OF_DRIVER, &error).join(", ");
        writeln!(
            shown,
            "{} {:?} {{{asked}}}",
            type_of(&error),
            code_of(&error)
        )
        .unwrap();
        if let Some(index) = duplicate_index(&error) {
            writeln!(shown, "    refused by {index}").unwrap();
        }
        let read = Error::read(error.clone(), "shop.trades");
        let write = Error::write(error, "shop.trades", false);
        for (call, error) in [("read", read), ("write", write)] {
            let asked = [predicates(&error), holding(OF_CALL, &error)].concat();
            let name = error.type_name();
            writeln!(shown, "    {call}: {name} {{{}}} {error}", asked.join(", ")).unwrap();
        }
    }
    assert_snapshot!(shown);
}

/// The server names the command that it refuses.
#[test]
fn as_the_privileges_that_a_command_needs() {
    let commands = [
        "aggregate: \"a\", pipeline: [ { $changeStream: {} } ]",
        "aggregate: \"a\", pipeline: []",
        "find: \"a\"",
        "count: \"a\"",
        "distinct: \"a\"",
        "insert: \"a\"",
        "update: \"a\", updates: [ { q: {}, u: {}, upsert: true } ]",
        "update: \"a\", updates: [ { q: {}, u: {}, upsert: false } ]",
        "findAndModify: \"a\", remove: true",
        "findAndModify: \"a\", update: {}",
        "bulkWrite: 1",
        "delete: \"a\"",
        "listIndexes: \"a\"",
        "createIndexes: \"a\"",
        "dropIndexes: \"a\"",
        "listCollections: 1",
        "create: \"a\"",
        "collMod: \"a\"",
        "shardCollection: \"a.b\"",
        "ping: 1",
    ];
    let mut shown = String::new();
    for sent in commands {
        let message = format!("not authorized on a to execute command {{ {sent} }}");
        let refused = command(13, "Unauthorized", &message);
        let error = Error::read(DriverError::from(refused), "a.a");
        writeln!(shown, "{error}").unwrap();
    }
    assert_snapshot!(shown);
}

#[test]
fn one_of_many_statements_leaves_a_doubt_and_the_whole_command_does_not() {
    let doubt =
        |kind: ErrorKind| Error::write_of_many(kind.into(), "shop.trades", false).is_maybe_stored();
    assert!(doubt(statement(11000, "taken")));
    assert!(!doubt(command(2, "BadValue", "unknown operator")));
}

#[test]
fn a_statement_in_doubt_is_not_refused() {
    let conflict = || DriverError::from(statement(112, "again"));
    let is_refusal =
        |behind_mongos| Error::write(conflict(), "shop.trades", behind_mongos).is_refusal();
    assert!(is_refusal(false) && !is_refusal(true));
}

#[test]
fn the_drivers_error_is_the_source_and_is_handed_back() {
    let driver = || DriverError::from(command(112, "WriteConflict", "again"));
    let of_driver = Error::read(driver(), "shop.trades").with_key("7");
    assert_eq!(
        (of_driver.collection(), of_driver.key()),
        ("shop.trades", Some("7"))
    );
    assert_eq!(
        of_driver.driver().map(ToString::to_string),
        Some(driver().to_string())
    );
    let source = std::error::Error::source(&of_driver).unwrap();
    assert_eq!(source.to_string(), driver().to_string());
    assert_eq!(
        DriverError::from(of_driver).to_string(),
        driver().to_string()
    );

    let other = Error::new(Kind::Stopped, "shop.trades").with_source("it ended".into());
    assert!(other.driver().is_none());
    assert!(other.is(&Kind::Stopped) && !other.is(&Kind::Dropped));
    assert_eq!(
        std::error::Error::source(&other).unwrap().to_string(),
        "it ended"
    );
    let custom = DriverError::from(other);
    assert!(
        custom
            .get_custom::<Error>()
            .is_some_and(|error| error.is(&Kind::Stopped))
    );
}
