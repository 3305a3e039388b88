//! The results of a command of several statements.

use mongodb::error::{Error as DriverError, ErrorKind, WriteError, WriteFailure};

/// The result of each statement of a command. In an ordered command no statement after the first
/// error was carried out, whatever its result says; see `Server::unless_in_doubt`.
pub(crate) type Results = Vec<Result<(), DriverError>>;

/// The result of each statement, and whether it found a document.
pub(crate) type FoundResults = Vec<Result<bool, DriverError>>;

/// The results of `statements` statements, of which these were refused.
pub(in crate::server) fn results(
    refused: impl IntoIterator<Item = (usize, WriteError)>,
    statements: usize,
) -> Results {
    let mut results: Results = (0..statements).map(|_| Ok(())).collect();
    for (at, error) in refused {
        if let Some(result) = results.get_mut(at) {
            *result = Err(ErrorKind::Write(WriteFailure::WriteError(error)).into());
        }
    }
    results
}
