//! The driver's error in one line of text. The error itself, whose text includes the server's reply
//! as bytes, remains the source.

use mongodb::error::{Error as DriverError, ErrorKind, WriteConcernError, WriteFailure};

use super::code::Code;

/// Longer texts are cut to this many characters.
const MAX_LENGTH: usize = 500;

/// The driver's error in one line: the code's name and number, and the message.
pub fn of_driver(error: &DriverError) -> String {
    match &*error.kind {
        ErrorKind::Command(error) => coded(Some(&error.code_name), error.code, &error.message),
        ErrorKind::Write(WriteFailure::WriteError(error)) => {
            coded(error.code_name.as_deref(), error.code, &error.message)
        }
        ErrorKind::Write(WriteFailure::WriteConcernError(error)) => unconfirmed(error),
        ErrorKind::InsertMany(error) => {
            let refused = error.write_errors.iter().flatten().next();
            let refused =
                refused.map(|error| coded(error.code_name.as_deref(), error.code, &error.message));
            let unconfirmed = || error.write_concern_error.as_ref().map(unconfirmed);
            refused.or_else(unconfirmed).unwrap_or_default()
        }
        ErrorKind::BulkWrite(bulk) => {
            let first = bulk.write_errors.iter().min_by_key(|(at, _)| **at);
            let refused = first
                .map(|(_, error)| coded(error.code_name.as_deref(), error.code, &error.message));
            let unconfirmed = || bulk.write_concern_errors.first().map(unconfirmed);
            let ended = || {
                let source = std::error::Error::source(error)?;
                source.downcast_ref().map(of_driver)
            };
            let any = ended().or(refused).or_else(unconfirmed);
            any.unwrap_or_default()
        }
        other => line(&other.to_string()),
    }
}

fn unconfirmed(error: &WriteConcernError) -> String {
    let told = coded(Some(&error.code_name), error.code, &error.message);
    format!("the write concern was not reached: {told}")
}

/// The server leaves out the name of some codes.
fn coded(name: Option<&str>, number: i32, message: &str) -> String {
    let name = name.filter(|name| !name.is_empty());
    let name = name
        .or_else(|| Code::of(number).map(Code::name))
        .unwrap_or("error");
    format!("{name} ({number}): {}", line(message))
}

/// A text in one line, cut to a readable length, without parts that are meant for a log.
pub(super) fn line(text: &str) -> String {
    let text = without_command(&without_dumps(text));
    // The planner's errors hold the whole query, one line for each condition, and end with the
    // cause.
    let text = match text.rsplit_once(" :: caused by :: ") {
        Some((before, cause)) if before.contains('\n') => cause,
        _ => &text,
    };
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words = words.filter(|word| !word.is_empty());
    let mut line = words.collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(MAX_LENGTH) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// Removes the command, with the items in it, that the server repeats to a user who lacks a
/// privilege. The command's name stays.
fn without_command(text: &str) -> String {
    const BEFORE: &str = "to execute command ";

    match text.split_once(&format!("{BEFORE}{{ ")) {
        Some((before, command)) => {
            let name = command.split(':').next().unwrap_or_default();
            format!("{before}{BEFORE}{name}")
        }
        None => text.to_owned(),
    }
}

/// Removes the labels, sources and replies that the driver puts into its messages.
fn without_dumps(text: &str) -> String {
    const LAST: &str = "server response: ";

    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, dump)) = rest.split_once(", labels: {") {
        kept.push_str(before);
        let reply = dump.split_once(LAST).map_or("", |(_, reply)| reply);
        rest = match reply.strip_prefix("None") {
            Some(rest) => rest,
            None => reply.split_once("\" })").map_or("", |(_, rest)| rest),
        };
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_tree_is_left_out_and_the_cause_is_not() {
        let planner = "error processing query: ns=db.trades\nTree: $and\n    customerId $eq 123\n    \
                       sealed not exists\nSort: {}\nProj: {}\n planner returned error :: caused by :: \
                       hint provided does not correspond to an existing index";
        assert_eq!(
            line(planner),
            "hint provided does not correspond to an existing index"
        );
        let caused = "the move failed :: caused by :: a conflict";
        assert_eq!(line(caused), caused);
        assert_eq!(line("one\ntwo\t three\u{0}"), "one two three");
    }

    #[test]
    fn the_bytes_of_a_reply_are_left_out() {
        let cleared = "Connection pool for h:1 cleared because another operation failed with: Kind: I/O \
                       error: reset, labels: {\"A\", \"B\"}, source: None, server response: \
                       Some(RawDocumentBuf { data: \"7001ff\" }); and more, labels: {}, source: None, \
                       server response: None }";
        assert_eq!(
            line(cleared),
            "Connection pool for h:1 cleared because another operation failed with: Kind: I/O error: \
             reset; and more }"
        );
    }

    #[test]
    fn a_command_that_the_user_may_not_send_is_left_out() {
        let message = "not authorized on shop to execute command { update: \"trades\", updates: [ { q: \
                       { customerId: 123 }, u: { $push: { history: \"secret: 7\" } } } ] }";
        assert_eq!(
            line(message),
            "not authorized on shop to execute command update"
        );
        assert_eq!(
            line("command update requires authentication"),
            "command update requires authentication"
        );
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(line(&"ä".repeat(10_000)).chars().count(), MAX_LENGTH + 1);
    }
}
