//! Advice about a call that changed nothing: by who refused it, and why.

use mongodb::error::{Error as DriverError, ErrorKind};

use super::{Code, refusal};

const WRONG_USER: &str = "the server does not accept the user or the password; correct them in the URI, where \
     `authSource` names the database that the user belongs to";
const NO_RUNTIME: &str = "the tokio runtime in which the client was made has ended, and the client with it; open the \
     client and its handles in the runtime that uses them (a `static` outlives the runtime of a `#[tokio::test]`)";
const NO_USER: &str = "the server demands a user, and the client names none; put the user into the URI \
     (`mongodb://user:password@host/`) and repeat the call";

/// Why the call failed, and what to do.
pub(super) fn of(error: &DriverError) -> String {
    let advice = match (&*error.kind, refusal(error)) {
        (ErrorKind::Authentication { .. }, _) | (_, Some((Code::AuthenticationFailed, _))) => {
            WRONG_USER
        }
        (_, Some((Code::Unauthorized, message))) => match needed(message) {
            Some(privilege) => return format!("{privilege}; grant it and repeat the call"),
            None if message.contains("requires authentication") => NO_USER,
            None => "the user may not do this; grant the privilege and repeat the call",
        },
        (ErrorKind::ServerSelection { message, .. }, _) if sees_primary(message) => NO_RUNTIME,
        (
            ErrorKind::Io(_)
            | ErrorKind::ServerSelection { .. }
            | ErrorKind::DnsResolve { .. }
            | ErrorKind::ConnectionPoolCleared { .. },
            _,
        ) => {
            "the server could not be reached; check its address and the network, and repeat the call"
        }
        (
            ErrorKind::Command(_)
            | ErrorKind::Write(_)
            | ErrorKind::BulkWrite(_)
            | ErrorKind::InsertMany(_)
            | ErrorKind::Transaction { .. },
            _,
        ) => "the server refused the call; fix the cause and repeat the call",
        _ => "the driver did not carry out the call; fix the cause and repeat the call",
    };
    advice.to_owned()
}

/// Whether the driver knows a primary, and finds no server to read from the primary: its tasks are
/// gone.
fn sees_primary(message: &str) -> bool {
    let knows = ["Type: RsPrimary", "Type: Mongos"].map(|known| message.contains(known));
    message.contains("ReadPreference(Primary)") && knows.contains(&true)
}

/// The privileges that a refused command needs. The server names the command, not the privilege.
fn needed(message: &str) -> Option<String> {
    let (_, command) = message.split_once("to execute command { ")?;
    let (name, arguments) = command.split_once(':')?;
    let privileges: &[&str] = match name {
        "aggregate" if arguments.contains("$changeStream") => &["find", "changeStream"],
        "find" | "aggregate" | "count" | "distinct" => &["find"],
        "insert" => &["insert"],
        "update" if arguments.contains("upsert: true") => &["update", "insert"],
        "update" => &["update"],
        "findAndModify" if arguments.contains("remove: true") => &["find", "remove"],
        "findAndModify" => &["find", "update"],
        "bulkWrite" => &["insert", "update"],
        "delete" => &["remove"],
        "listIndexes" => &["listIndexes"],
        "createIndexes" => &["createIndex"],
        "dropIndexes" => &["dropIndex"],
        "listCollections" => &["listCollections"],
        "create" => &["createCollection"],
        "collMod" => &["collMod"],
        "shardCollection" => &["enableSharding"],
        _ => return None,
    };
    let privileges = privileges.iter().map(|privilege| format!("`{privilege}`"));
    let privileges = privileges.collect::<Vec<_>>().join(" and ");
    Some(format!(
        "the user lacks a privilege: `{name}` needs {privileges}"
    ))
}
