//! Documents and commands in the style of the MongoDB shell.

use bucket_runtime::mongodb::bson::{Bson, Document};

use crate::text::iso;

/// An array that does not fit on a line shows at most this many elements.
const SHOWN: usize = 4;

/// A command, as one would type it in the shell.
pub(crate) fn command(command: &Document, width: usize) -> String {
    try_command(command, width).unwrap_or_else(|| {
        // Omit the fields that the driver adds to every command.
        let fields = command.clone().into_iter();
        let fields = fields.filter(|(name, _)| !name.starts_with('$') && name != "lsid");
        let typed: Document = fields.collect();
        call("db.runCommand", &[typed.into()], width)
    })
}

/// The shell's form of a command that the stories send.
fn try_command(command: &Document, width: usize) -> Option<String> {
    let (name, collection) = command.iter().next()?;
    let collection = format!("db.{}", collection.as_str()?);
    let on_collection = |function: &str, arguments: &[Bson]| {
        let function = format!("{collection}.{function}");
        Some(call(&function, arguments, width))
    };
    match name.as_str() {
        "find" => {
            let mut arguments = vec![command.get("filter")?.clone()];
            arguments.extend(command.get("projection").cloned());
            let options = ["sort", "skip", "limit"].iter().filter_map(|option| {
                let value = command.get(option)?;
                Some(match value.as_i64() {
                    Some(number) => format!(".{option}({number})"),
                    None => format!(".{option}({})", flat(value)),
                })
            });
            let options: String = options.collect();
            let width = width.saturating_sub(options.chars().count());
            Some(call(&format!("{collection}.find"), &arguments, width) + &options)
        }
        "aggregate" => on_collection("aggregate", &[command.get("pipeline")?.clone()]),
        "insert" => on_collection("insertOne", &[only(command, "documents")?.clone().into()]),
        "update" => {
            let mut options = only(command, "updates")?.clone();
            let (filter, update) = (options.remove("q")?, options.remove("u")?);
            let many = options.remove("multi") == Some(Bson::Boolean(true));
            if options.get("upsert") == Some(&Bson::Boolean(false)) {
                // `upsert: false` is the default.
                options.remove("upsert");
            }
            let mut arguments = vec![filter, update];
            arguments.extend((!options.is_empty()).then(|| options.into()));
            on_collection(if many { "updateMany" } else { "updateOne" }, &arguments)
        }
        "delete" => {
            let delete = only(command, "deletes")?;
            let one = delete.get("limit").and_then(Bson::as_i32) == Some(1);
            let filter = delete.get("q")?.clone();
            on_collection(if one { "deleteOne" } else { "deleteMany" }, &[filter])
        }
        "createIndexes" => {
            let mut options = only(command, "indexes")?.clone();
            on_collection("createIndex", &[options.remove("key")?, options.into()])
        }
        "listIndexes" => on_collection("getIndexes", &[]),
        _ => None,
    }
}

/// The only document of an array.
fn only<'a>(command: &'a Document, name: &str) -> Option<&'a Document> {
    match command.get_array(name).ok()?.as_slice() {
        [Bson::Document(only)] => Some(only),
        _ => None,
    }
}

/// A call with its arguments: on one line if they fit, otherwise one per line.
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
                .map(|(name, value)| format!("{}: {}", key(name), flat(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// A field's name, in quotes if it is a path.
fn key(name: &str) -> String {
    match name.contains('.') {
        true => format!("{name:?}"),
        false => name.to_owned(),
    }
}

/// A value that begins in column `at` of a line indented by `indent`: on one line if it fits,
/// otherwise an array with one element per line, or a document with as many fields per line as fit.
fn layout(value: &Bson, indent: usize, at: usize, width: usize) -> String {
    let line = flat(value);
    // Leave one column for a comma.
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
    // The first field of a document that begins within a line stays on that line.
    let first = if at == indent { inner } else { indent };
    let mut text = "{ ".to_owned();
    let mut column = at + 2;
    let mut after_block = false;
    for (n, (name, value)) in fields.iter().enumerate() {
        let name = key(name);
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
