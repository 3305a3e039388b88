//! The one error type.

use std::error::Error as StdError;
use std::fmt;

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a server could not be started or used.
///
/// Its text says what to install or which variable to set, where that helps,
/// and holds the last lines of mongod's log, where there is one.
///
/// ```no_run
/// # async fn example() {
/// match bucket_testkit::Server::start().await {
///     Ok(server) => println!("{}", server.uri()),
///     Err(error) => eprintln!("{error}"),
/// }
/// # }
/// ```
pub struct Error {
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    /// `doing` completes the sentence "… failed".
    pub(crate) fn caused(
        doing: impl fmt::Display,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        let source = source.into();
        Self {
            message: format!("{doing} failed: {source}"),
            source: Some(source),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

// A test that returns this error prints it with `Debug`, and its text, which
// has several lines, must be readable there.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}
