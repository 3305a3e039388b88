//! Why there is no advice.

use std::io;

use bucket_runtime::mongodb::error::{Error, ErrorKind};

use crate::__private::{FAILED, Failure, PROBLEMS, USAGE};

/// Why there is no advice: the exit code, and a sentence.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: u8,
    pub(super) text: String,
}

impl Refusal {
    /// There is nothing to look at.
    pub(super) fn nothing(text: impl Into<String>) -> Self {
        Self {
            code: PROBLEMS,
            text: text.into(),
        }
    }

    /// A call failed.
    pub(super) fn failed(text: impl Into<String>) -> Self {
        Self {
            code: FAILED,
            text: text.into(),
        }
    }

    /// The failure of a command of a struct's own command line.
    pub(super) fn into_failure(self) -> Failure {
        self.text.into()
    }

    /// The arguments do not fit the collection.
    pub(super) fn usage(text: impl Into<String>) -> Self {
        Self {
            code: USAGE,
            text: text.into(),
        }
    }
}

/// The driver's error as the failure of a command of a struct's own command line.
pub fn failure(error: Error) -> Failure {
    Refusal::from(error).into_failure()
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let text = match &*error.kind {
            ErrorKind::InvalidArgument { message, .. } => {
                return Self::usage(format!("the connection string is wrong: {message}"));
            }
            ErrorKind::Command(command) if is_unauthorized(&error) => {
                // The rest of the message is the whole command.
                let message = command.message.split(':').next().unwrap_or_default();
                format!(
                    "the user lacks a privilege; grant the role `read`: {}",
                    message.replace("{ ", "")
                )
            }
            ErrorKind::Authentication { message, .. } => {
                format!("the server does not take the user or the password: {message}")
            }
            ErrorKind::ServerSelection { message, .. } => {
                // The rest of the message is the driver's view of the topology.
                let reason = message.split(" Topology: ").next().unwrap_or(message);
                format!("no server answers: {reason}")
            }
            ErrorKind::Io(error) => format!("the server is gone: {error}"),
            ErrorKind::Command(command) => {
                format!(
                    "{} ({} {})",
                    command.message, command.code, command.code_name
                )
            }
            other => other.to_string(),
        };
        Self::failed(text)
    }
}

/// Whether the user lacks a privilege.
pub(super) fn is_unauthorized(error: &Error) -> bool {
    matches!(&*error.kind, ErrorKind::Command(command) if command.code == UNAUTHORIZED)
}

/// The server's code for a missing privilege.
const UNAUTHORIZED: i32 = 13;
