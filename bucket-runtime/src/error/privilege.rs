//! Which privilege a user lacks.

use mongodb::error::Error as DriverError;

use super::{Code, refusal};

/// The privileges that a refused command needs, by the answer that the user is not authorized. The server
/// names the command, not the privilege.
pub(super) fn needed(error: &DriverError) -> Option<String> {
    let (Code::Unauthorized, message) = refusal(error)? else {
        return None;
    };
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
