//! What a command says about one struct.

use std::io::{self, Write};

use serde_json::{Value, json};

/// What a command says about one struct.
#[derive(Debug)]
pub struct Report {
    /// For people.
    pub(crate) lines: Vec<String>,
    /// For programs.
    pub(crate) value: Value,
    /// Whether there are problems.
    pub(crate) is_bad: bool,
}

impl Report {
    /// All is well, in one line.
    pub(crate) fn new(line: impl Into<String>, value: Value) -> Self {
        Self::of_lines(vec![line.into()], value)
    }

    /// All is well.
    pub(crate) fn of_lines(lines: Vec<String>, value: Value) -> Self {
        Self {
            lines,
            value,
            is_bad: false,
        }
    }

    /// The commands that create missing indexes, or none.
    pub(crate) fn of_missing(commands: &[String]) -> Self {
        let missing = commands
            .iter()
            .map(|command| format!("missing: {command};"));
        Self {
            value: json!({ "missing": commands }),
            is_bad: !commands.is_empty(),
            lines: match commands.is_empty() {
                true => vec!["all indexes are there".to_owned()],
                false => missing.collect(),
            },
        }
    }

    /// These problems, or none.
    pub(crate) fn of_problems(problems: Vec<String>) -> Self {
        Self {
            value: json!({ "problems": problems }),
            is_bad: !problems.is_empty(),
            lines: match problems.is_empty() {
                true => vec!["no problems".to_owned()],
                false => problems,
            },
        }
    }

    pub(crate) fn write(
        &self,
        out: &mut dyn Write,
        name: &str,
        collection: &str,
        as_json: bool,
    ) -> io::Result<()> {
        if as_json {
            let mut value = json!({ "struct": name, "collection": collection });
            if let (Some(all), Some(more)) = (value.as_object_mut(), self.value.as_object()) {
                all.extend(more.clone());
            }
            return writeln!(out, "{value}");
        }
        writeln!(out, "{name} ({collection})")?;
        let lines = self.lines.iter().flat_map(|text| text.lines());
        lines
            .into_iter()
            .try_for_each(|line| match line.is_empty() {
                true => writeln!(out),
                false => writeln!(out, "  {line}"),
            })
    }
}
