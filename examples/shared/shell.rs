//! Documents and commands in the style of the MongoDB shell.

use bucket_runtime::mongodb::bson::{Bson, Document};

use crate::text::iso;

/// An array that does not fit on a line shows no more elements than this.
const SHOWN: usize = 4;

/// A command, as one would type it.
pub(crate) fn command(command: &Document, width: usize) -> String {
    try_command(command, width)
        .unwrap_or_else(|| call("db.runCommand", &[command.clone().into()], width))
}

/// One of the commands that the stories send.
fn try_command(command: &Document, width: usize) -> Option<String> {
    let (name, collection) = command.iter().next()?;
    let collection = format!("db.{}", collection.as_str()?);
    match name.as_str() {
        "find" => {
            let filter = command.get("filter")?.clone();
            let find = call(&format!("{collection}.find"), &[filter], width);
            let options = ["sort", "skip", "limit"].iter().filter_map(|option| {
                let value = command.get(option)?;
                Some(match value.as_i64() {
                    Some(number) => format!(".{option}({number})"),
                    None => format!(".{option}({})", flat(value)),
                })
            });
            Some(find + &options.collect::<String>())
        }
        "update" => {
            let mut options = only(command, "updates")?.clone();
            let (filter, update) = (options.remove("q")?, options.remove("u")?);
            let arguments = [filter, update, options.into()];
            Some(call(&format!("{collection}.updateOne"), &arguments, width))
        }
        "createIndexes" => {
            let mut options = only(command, "indexes")?.clone();
            let arguments = [options.remove("key")?, options.into()];
            let function = format!("{collection}.createIndex");
            Some(call(&function, &arguments, width))
        }
        "listIndexes" => Some(call(&format!("{collection}.getIndexes"), &[], width)),
        _ => None,
    }
}

/// The document in an array that holds one.
fn only<'a>(command: &'a Document, name: &str) -> Option<&'a Document> {
    match command.get_array(name).ok()?.as_slice() {
        [Bson::Document(only)] => Some(only),
        _ => None,
    }
}

/// A call with its arguments: on one line if they fit, else each on its own.
fn call(function: &str, arguments: &[Bson], width: usize) -> String {
    let line: Vec<_> = arguments.iter().map(flat).collect();
    let line = format!("{function}({})", line.join(", "));
    if line.chars().count() <= width {
        return line;
    }
    let lines = arguments
        .iter()
        .map(|argument| format!("  {}", layout(argument, 2, 2, width)));
    format!("{function}(\n{}\n)", lines.collect::<Vec<_>>().join(",\n"))
}

/// A value: on one line if it fits.
pub(crate) fn value(value: &Bson, width: usize) -> String {
    layout(value, 0, 0, width)
}

/// A value on one line.
fn flat(value: &Bson) -> String {
    match value {
        Bson::String(text) => format!("{text:?}"),
        Bson::Int64(number) => format!("Long({number})"),
        Bson::DateTime(date) => format!("ISODate({:?})", iso(*date)),
        Bson::Array(items) if items.is_empty() => "[]".to_owned(),
        Bson::Array(items) => {
            let items: Vec<_> = items.iter().map(flat).collect();
            format!("[ {} ]", items.join(", "))
        }
        Bson::Document(fields) if fields.is_empty() => "{}".to_owned(),
        Bson::Document(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{name}: {}", flat(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// A value that begins in column `at` of a line indented by `indent`: on one line if it fits, else
/// the elements of an array on a line each, and of a document as many fields to a line as fit.
fn layout(value: &Bson, indent: usize, at: usize, width: usize) -> String {
    let line = flat(value);
    // One column is left for a comma.
    if at + line.chars().count() < width {
        return line;
    }
    match value {
        Bson::Array(items) => broken_array(items, indent, width),
        Bson::Document(fields) => broken_document(fields, indent, at, width),
        _ => line,
    }
}

fn broken_array(items: &[Bson], indent: usize, width: usize) -> String {
    let inner = indent + 2;
    let mut lines: Vec<_> = items
        .iter()
        .map(|item| layout(item, inner, inner, width))
        .collect();
    if lines.len() > SHOWN {
        let hidden = SHOWN - 2..lines.len() - 1;
        let more = format!("… {} more", hidden.len());
        lines.splice(hidden, [more]);
    }
    let lines: Vec<_> = lines
        .iter()
        .map(|line| format!("{:inner$}{line}", ""))
        .collect();
    format!("[\n{}\n{:indent$}]", lines.join(",\n"), "")
}

fn broken_document(fields: &Document, indent: usize, at: usize, width: usize) -> String {
    let inner = indent + 2;
    // What a document in the midst of a line begins with stays with that line.
    let first = if at == indent { inner } else { indent };
    let mut text = "{ ".to_owned();
    let mut column = at + 2;
    let mut after_block = false;
    for (n, (name, value)) in fields.iter().enumerate() {
        let field = format!("{name}: {}", flat(value));
        let joins = !after_block && column + 2 + field.chars().count() + 2 < width;
        if n > 0 && joins {
            text += ", ";
            column += 2;
        } else if n > 0 {
            text += &format!(",\n{:inner$}", "");
            column = inner;
        }
        let indent = if n == 0 { first } else { inner };
        let value = layout(value, indent, column + name.len() + 2, width);
        let field = format!("{name}: {value}");
        column += field.chars().count();
        after_block = field.contains('\n');
        text += &field;
    }
    text + " }"
}
