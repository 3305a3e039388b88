//! The report of a command about one struct.

use std::collections::BTreeMap;
use std::io::{self, Write};

use bucket_advise::__private::counted;
use bucket_ops::{Problem, ProblemKind};
use bucket_runtime::bson::Bson;
use serde_json::{Value, json};

use crate::arguments::Listed;

/// The report of a command about one struct, for people and for programs.
#[derive(Debug)]
pub(crate) struct Report {
    /// The text for people.
    pub(crate) lines: Vec<String>,
    /// The JSON for programs.
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

    /// Adds what is left or refused, and whether that is bad.
    pub(crate) fn with_bad(mut self, is_bad: bool, lines: Vec<String>) -> Self {
        self.is_bad = is_bad;
        self.lines.extend(lines);
        self
    }

    /// The commands that create missing indexes, or none.
    pub(crate) fn of_missing(commands: &[String]) -> Self {
        let missing = commands
            .iter()
            .map(|command| format!("missing: {command};"));
        Self {
            value: json!({ "missing": commands }),
            is_bad: !commands.is_empty(),
            lines: if commands.is_empty() {
                vec!["all indexes are there".to_owned()]
            } else {
                missing.collect()
            },
        }
    }

    /// The report of a verify: how many documents were read, and the problems, if any.
    pub(crate) fn of_problems(read: &[(&str, u64)], problems: &[Problem], listed: &Listed) -> Self {
        let mut value = json!({ "problems": values(problems) });
        for (thing, n) in read {
            // An extras document is one of the `extras`.
            let thing = thing.trim_end_matches("s document");
            value[format!("{thing}s")] = json!(n);
        }
        let read = read.iter().map(|(thing, n)| counted(*n, thing));
        let read = read.collect::<Vec<_>>().join(", ");
        let summary = match problems.len() {
            0 => format!("no problems in {read}"),
            n => format!("{} in {read}", counted(n as u64, "problem")),
        };
        Self::of_left(vec![summary], value, problems, listed)
    }

    /// Adds how many of these problems a repair would solve.
    pub(crate) fn with_dry_repair(mut self, problems: &[Problem], delete_orphans: bool) -> Self {
        let twins = problems
            .iter()
            .filter(|problem| problem.kind == ProblemKind::Twins);
        let twins = Vec::from_iter(twins.map(|problem| &problem.ids));
        let would_solve = |problem: &&Problem| match problem.kind {
            ProblemKind::NoParent => delete_orphans,
            // Which of the twins is the right one, only a person knows.
            ProblemKind::TooLarge => !twins.contains(&&problem.ids),
            _ => problem.is_repairable(),
        };
        let mut solved = BTreeMap::<_, u64>::new();
        for problem in problems.iter().filter(would_solve) {
            *solved.entry(name(problem.kind)).or_default() += 1;
        }
        self.value["would_repair"] = json!(solved);
        let line = match listed_kinds(&solved) {
            none if none.is_empty() => "nothing would be repaired".to_owned(),
            solved => format!("would be repaired: {solved}"),
        };
        self.lines.push(line);
        self
    }

    /// The report of a repair: the repaired problems, and those that are left.
    pub(crate) fn of_repaired(
        repaired: &BTreeMap<ProblemKind, u64>,
        left: &[Problem],
        listed: &Listed,
    ) -> Self {
        let repaired = repaired.iter().map(|(kind, n)| (name(*kind), *n));
        let repaired = BTreeMap::from_iter(repaired);
        let done = listed_kinds(&repaired);
        let done = if done.is_empty() {
            "nothing was repaired".to_owned()
        } else {
            format!("repaired: {done}")
        };
        let summary = match left.len() {
            0 => "no problems are left".to_owned(),
            1 => "1 problem is left".to_owned(),
            n => format!("{n} problems are left"),
        };
        let value = json!({ "repaired": repaired, "left": values(left) });
        Self::of_left(vec![done, summary], value, left, listed)
    }

    fn of_left(summary: Vec<String>, value: Value, problems: &[Problem], listed: &Listed) -> Self {
        let lines = grouped(problems, listed);
        Self::of_lines([lines, summary].concat(), value).with_bad(!problems.is_empty(), Vec::new())
    }

    /// There is no collection.
    pub(crate) fn of_nothing(why: &str) -> Self {
        Self {
            lines: vec![why.to_owned()],
            value: json!({ "missing_collection": why }),
            is_bad: true,
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
        for line in self.lines.iter().flat_map(|text| text.lines()) {
            let indent = if line.is_empty() { "" } else { "  " };
            writeln!(out, "{indent}{line}")?;
        }
        Ok(())
    }
}

/// How many problems there are of each kind, such as "1 NoFlag, 7 TooLarge".
fn listed_kinds(kinds: &BTreeMap<String, u64>) -> String {
    let kinds = kinds.iter().map(|(kind, n)| format!("{n} {kind}"));
    kinds.collect::<Vec<_>>().join(", ")
}

/// A line for each kind of problem, which counts them, and the first few of it below.
fn grouped(problems: &[Problem], listed: &Listed) -> Vec<String> {
    let mut kinds = BTreeMap::<_, Vec<_>>::new();
    for problem in problems {
        kinds
            .entry(name(problem.kind))
            .or_default()
            .push(problem.to_string());
    }
    let mut lines = Vec::new();
    for (kind, problems) in kinds {
        let all = problems.len();
        lines.push(format!("{all} {kind}"));
        let texts = listed.shorten(problems, all as u64);
        let texts = texts.iter().flat_map(|text| text.lines());
        lines.extend(texts.map(|text| format!("  {text}")));
    }
    lines
}

/// Problems as JSON, the ids of their documents as extended JSON.
fn values(problems: &[Problem]) -> Vec<Value> {
    let id = |id: &Bson| serde_json::to_value(id).unwrap_or(Value::Null);
    let value = |problem: &Problem| {
        json!({
            "kind": name(problem.kind),
            "ids": Vec::from_iter(problem.ids.iter().map(id)),
            "key": problem.key,
            "repairable": problem.is_repairable(),
            "remedy": problem.remedy(),
            "text": problem.to_string(),
        })
    };
    problems.iter().map(value).collect()
}

/// The kind of a problem as one word.
fn name(kind: ProblemKind) -> String {
    format!("{kind:?}")
}
