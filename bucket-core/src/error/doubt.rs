//! Whether a failed write may have been carried out anyway.
//!
//! `server/target.rs` sends requests, and gives their errors the collection and key.
//! `error/code.rs` lists the server's codes as one enum, each with what it proves. This module
//! decides: a write is in doubt unless its error proves that the server refused it. An interruption
//! fails the whole command, and some of its statements may be carried out; a refusal is reported
//! for its statement (`tests/live/server_claims/doubt.rs`). So a failed command stored nothing only
//! if its code is a known refusal; a failed statement on a `mongod` stored nothing, unless its code
//! is a known interruption. A `mongos` passes the error of a shard's whole command on as errors of
//! its statements, so there a statement, too, needs a known refusal; in an ordered command the
//! shard may also have carried out the statements after it (`server/write/many.rs`).
//! `error/error_codes.txt` is an extract of the server's list, and a test compares the enum with
//! it. A write concern error proves nothing.

use std::error::Error as _;

use mongodb::{
    bson::RawDocument,
    error::{BulkWriteError, Error as DriverError, ErrorKind, WriteError, WriteFailure},
};

use super::{
    code::{refuses_command, refuses_statement},
    driver::TOO_MANY_TRANSACTIONS,
};

/// Whether a write that failed with this error may have been carried out anyway: yes, unless the
/// error proves that it was not sent, was refused before it began, or was refused as a whole. A
/// `mongos` proves less than a `mongod`.
pub fn maybe_stored(error: &DriverError, behind_mongos: bool) -> bool {
    let evidence = Evidence {
        behind_mongos,
        nothing_written: error.contains_label("NoWritesPerformed"),
        // The server has aborted the command's transaction.
        aborted: error.contains_label(mongodb::error::TRANSIENT_TRANSACTION_ERROR),
        write_concern: error
            .server_response()
            .is_some_and(|reply| has_write_concern_error(reply)),
        source: error.source().and_then(|source| source.downcast_ref()),
    };
    let is_refused = evidence.proves_refusal(&error.kind);
    crate::reached!("a failed write, refused: {is_refused}");
    !is_refused
}

/// The facts of an error, besides its kind, that show whether the write may be stored.
#[derive(Debug, Default)]
struct Evidence<'e> {
    behind_mongos: bool,
    nothing_written: bool,
    aborted: bool,
    /// Whether the reply holds a write concern error.
    write_concern: bool,
    /// The error that ended a bulk write.
    source: Option<&'e DriverError>,
}

impl Evidence<'_> {
    fn proves_refusal(&self, kind: &ErrorKind) -> bool {
        if self.write_concern {
            return false;
        }
        match kind {
            ErrorKind::ServerSelection { .. }
            | ErrorKind::DnsResolve { .. }
            | ErrorKind::Authentication { .. }
            | ErrorKind::InvalidArgument { .. }
            | ErrorKind::InvalidTlsConfig { .. }
            | ErrorKind::BsonSerialization(_)
            | ErrorKind::IncompatibleServer { .. }
            | ErrorKind::SessionsNotSupported
            | ErrorKind::Shutdown
            | ErrorKind::Transaction { .. } => true,
            ErrorKind::Command(error) => {
                let is_transaction_refused = error.code_name == TOO_MANY_TRANSACTIONS;
                self.nothing_written
                    || self.aborted
                    || is_transaction_refused
                    || refuses_command(error.code)
            }
            ErrorKind::Write(WriteFailure::WriteError(error)) => {
                self.nothing_written || self.aborted || self.refuses_statement(error)
            }
            ErrorKind::BulkWrite(error) => self.proves_refusal_of_all(error),
            _ => false,
        }
    }

    /// Whether the error proves that no statement of a bulk write was carried out.
    fn proves_refusal_of_all(&self, error: &BulkWriteError) -> bool {
        let is_ended =
            |source| error.write_errors.is_empty() && !maybe_stored(source, self.behind_mongos);
        let is_refused = || {
            let mut errors = error.write_errors.values();
            !error.write_errors.is_empty() && errors.all(|error| self.refuses_statement(error))
        };
        error.partial_result.is_none()
            && error.write_concern_errors.is_empty()
            && self.source.map_or_else(is_refused, is_ended)
    }

    fn refuses_statement(&self, error: &WriteError) -> bool {
        refuses_statement(error.code, self.behind_mongos)
    }
}

fn has_write_concern_error(reply: &RawDocument) -> bool {
    !matches!(reply.get("writeConcernError"), Ok(None))
}

#[cfg(test)]
mod tests {
    use mongodb::bson::rawdoc;

    use super::*;
    use crate::error::answers::{self, insertion, write_concern};

    fn command(code: i32) -> ErrorKind {
        answers::command(code, "a name", "it failed")
    }

    fn write_error(code: i32) -> WriteError {
        answers::write_error(code, "it failed")
    }

    fn statement(code: i32) -> ErrorKind {
        answers::statement(code, "it failed")
    }

    fn doubt(kind: ErrorKind) -> bool {
        maybe_stored(&kind.into(), false)
    }

    /// Interruptions, lost primaries, exceeded times, networks.
    const UNFINISHED: [i32; 16] = [
        6, 7, 50, 64, 89, 91, 175, 189, 262, 9001, 10107, 11600, 11601, 11602, 13435, 13436,
    ];

    #[test]
    fn a_command_is_in_doubt_unless_it_was_refused_before_it_began() {
        for code in UNFINISHED.into_iter().chain([0, 112, 217, 251, 54_321]) {
            assert!(doubt(command(code)), "{code}");
        }
        for code in [2, 9, 13, 14, 18, 59, 72, 73, 10334, 40415] {
            assert!(!doubt(command(code)), "{code}");
        }
    }

    #[test]
    fn a_refused_statement_was_not_carried_out_and_an_interrupted_one_may_have_been() {
        for code in UNFINISHED {
            assert!(doubt(statement(code)), "{code}");
        }
        for code in [2, 53, 66, 112, 121, 11000, 17419, 54_321] {
            assert!(!doubt(statement(code)), "{code}");
        }
        let behind_mongos = |code| maybe_stored(&statement(code).into(), true);
        for code in UNFINISHED.into_iter().chain([112, 433, 453, 54_321]) {
            assert!(behind_mongos(code), "{code}");
        }
        for code in [2, 53, 66, 121, 11000, 17419] {
            assert!(!behind_mongos(code), "{code}");
        }
    }

    #[test]
    fn labels_prove_that_nothing_was_written() {
        let nothing_written = Evidence {
            nothing_written: true,
            ..Evidence::default()
        };
        assert!(nothing_written.proves_refusal(&command(91)));
        assert!(nothing_written.proves_refusal(&statement(91)));
        let aborted = Evidence {
            aborted: true,
            ..Evidence::default()
        };
        assert!(aborted.proves_refusal(&command(112)));
        assert!(aborted.proves_refusal(&statement(91)));
        // The label of a lost connection, set by the driver itself.
        let io = std::io::ErrorKind::ConnectionReset;
        assert!(!aborted.proves_refusal(&io.into()));
    }

    #[test]
    fn whatever_comes_with_a_write_concern_error_is_in_doubt() {
        let reply = rawdoc! { "ok": 0.0, "code": 2, "writeConcernError": { "code": 11601 } };
        assert!(has_write_concern_error(&reply));
        assert!(!has_write_concern_error(&rawdoc! { "ok": 0.0, "code": 2 }));
        let evidence = Evidence {
            nothing_written: true,
            write_concern: true,
            ..Evidence::default()
        };
        for kind in [command(2), command(11601), statement(11000)] {
            assert!(!evidence.proves_refusal(&kind), "{kind:?}");
        }
        let failure = WriteFailure::WriteConcernError(write_concern());
        assert!(doubt(ErrorKind::Write(failure)));
    }

    /// The documents before the refused one are inserted.
    #[test]
    fn an_insertion_of_several_documents_is_in_doubt() {
        assert!(doubt(insertion(11000, "taken")));
    }

    fn bulk(codes: &[i32]) -> BulkWriteError {
        let mut error = BulkWriteError::default();
        let errors = codes.iter().map(|code| write_error(*code));
        error.write_errors = errors.enumerate().collect();
        error
    }

    #[test]
    fn a_bulk_write_is_in_doubt_unless_all_of_it_was_refused() {
        assert!(!doubt(ErrorKind::BulkWrite(bulk(&[11000, 53]))));
        assert!(doubt(ErrorKind::BulkWrite(bulk(&[11000, 11601]))));
        assert!(doubt(ErrorKind::BulkWrite(bulk(&[]))));
        let mut unconfirmed = bulk(&[11000]);
        unconfirmed.write_concern_errors.push(write_concern());
        assert!(doubt(ErrorKind::BulkWrite(unconfirmed)));
        for (code, refused) in [(13, true), (11601, false)] {
            let source = DriverError::from(command(code));
            let evidence = Evidence {
                source: Some(&source),
                ..Evidence::default()
            };
            let proven = evidence.proves_refusal(&ErrorKind::BulkWrite(bulk(&[])));
            assert_eq!(proven, refused, "{code}");
        }
    }

    #[test]
    fn what_was_never_sent_was_not_carried_out() {
        let never = [ErrorKind::SessionsNotSupported, ErrorKind::Shutdown];
        for kind in never {
            assert!(!doubt(kind));
        }
        assert!(doubt(std::io::ErrorKind::TimedOut.into()));
    }
}
