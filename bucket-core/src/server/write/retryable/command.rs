//! A command of several updates, and the server's answer.

use mongodb::{
    bson::{Bson, Deserializer, Document},
    error::{Error as DriverError, ErrorKind, WriteConcernError, WriteError, WriteFailure},
    options::WriteConcern,
};
use serde::{Deserialize, Serialize};

use crate::{
    error::Code,
    server::write::results::{Results, results},
};

/// The command `update`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Command<'c> {
    #[serde(rename = "update")]
    pub(super) collection: &'c str,
    #[serde(rename = "updates")]
    pub(super) statements: &'c [Document],
    pub(super) ordered: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) write_concern: Option<&'c WriteConcern>,
    pub(super) txn_number: i64,
}

/// The server's answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::server) struct Reply {
    /// How many documents were found or inserted.
    #[serde(default)]
    pub(super) n: i64,
    #[serde(default)]
    write_errors: Vec<RefusedStatement>,
    /// The indexes of those statements that the server had carried out before, under the same
    /// number.
    #[serde(default)]
    retried_stmt_ids: Vec<usize>,
    write_concern_error: Option<WriteConcernError>,
    #[serde(default)]
    error_labels: Vec<String>,
}

#[derive(Deserialize)]
struct RefusedStatement {
    index: usize,
    #[serde(flatten)]
    error: WriteError,
}

impl Reply {
    pub(in crate::server) fn read(reply: Document) -> Result<Self, DriverError> {
        let reply = Self::deserialize(Deserializer::new(Bson::Document(reply)));
        reply.map_err(|error| DriverError::custom(error.to_string()))
    }

    /// Whether the server answered while it stepped down as primary.
    pub(super) fn is_interrupted(&self) -> bool {
        (self.error_labels.iter()).any(|label| label == "RetryableWriteError")
    }

    /// Whether the server ended the plan of a statement, which may have been carried out.
    pub(super) fn is_broken_off(&self) -> bool {
        let is_killed =
            |refused: &RefusedStatement| refused.error.code == Code::QueryPlanKilled as i32;
        self.write_errors.iter().any(is_killed)
    }

    /// Whether each of these statements found a document, if the answer tells.
    pub(super) fn found(&self, statements: usize) -> Option<Vec<bool>> {
        let (found, refused) = (self.n as usize, self.write_errors.len());
        if found + refused >= statements {
            return Some(vec![true; statements]);
        }
        let before = &self.retried_stmt_ids;
        (found == before.len()).then(|| (0..statements).map(|at| before.contains(&at)).collect())
    }

    /// The results of `statements` statements.
    pub(in crate::server) fn results(self, statements: usize) -> Result<Results, DriverError> {
        // A write that did not reach the write concern may be lost again, so it does not count as
        // stored.
        if let Some(error) = self.write_concern_error {
            return Err(ErrorKind::Write(WriteFailure::WriteConcernError(error)).into());
        }
        let refused = self.write_errors.into_iter();
        let refused = refused.map(|refused| (refused.index, refused.error));
        Ok(results(refused, statements))
    }
}
