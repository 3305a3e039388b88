//! Rust types for the values that were seen.

use std::collections::BTreeSet;

use super::fields;
use super::names;
use super::rename::{self, Rename};
use crate::figures::percent;
use crate::plan::members;
use crate::shape::value::{ValueKind, ValueShape};
use crate::shape::{DocumentShape, is_odd};

/// The minimum number of times that each variant of an enum was seen.
const SEEN: u64 = 5;

/// The types that a struct needs: what to import, and what to define.
#[derive(Debug, Default)]
pub(super) struct Types {
    /// Whether the code may show values of the data.
    has_values: bool,
    imports: BTreeSet<&'static str>,
    taken: BTreeSet<String>,
    /// The definitions of nested types, in the order in which they are needed.
    pub(super) definitions: Vec<Vec<String>>,
}

/// A Rust type, and what has to be said of it.
#[derive(Debug)]
pub(super) struct RustType {
    pub(super) name: String,
    pub(super) remarks: Vec<String>,
}

impl From<&str> for RustType {
    fn from(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            remarks: Vec::new(),
        }
    }
}

impl Types {
    pub(super) fn new(has_values: bool) -> Self {
        Self {
            has_values,
            ..Self::default()
        }
    }

    /// A name for a type that is not taken yet.
    pub(super) fn type_name(&mut self, name: &str) -> String {
        names::type_name(name, &mut self.taken)
    }

    /// Imports this path.
    pub(super) fn import(&mut self, path: &'static str) {
        self.imports.insert(path);
    }

    /// The lines that import everything.
    pub(super) fn imports(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut left: Vec<_> = self.imports.iter().copied().collect();
        for krate in ["bucket_runtime::bson::", "bucket_runtime::", "serde::"] {
            let (paths, others): (Vec<_>, Vec<_>) =
                left.iter().partition(|path| path.starts_with(krate));
            left = others;
            let names: Vec<_> = paths.iter().map(|path| &path[krate.len()..]).collect();
            match names[..] {
                [] => {}
                [one] => lines.push(format!("use {krate}{one};")),
                _ => lines.push(format!("use {krate}{{{}}};", names.join(", "))),
            }
        }
        lines
    }

    /// The type of values that are never null; `name` is that of the field.
    pub(super) fn of(&mut self, name: &str, value: &ValueShape) -> RustType {
        match value.types()[..] {
            [] => RustType {
                remarks: vec!["only null, or nothing, was seen here".to_owned()],
                name: self.bson("bucket_runtime::bson::Bson"),
            },
            [kind] => self.of_kind(kind, name, value),
            [ValueKind::Int32, ValueKind::Int64] => "i64".into(),
            [ValueKind::Int32 | ValueKind::Int64, ValueKind::Double]
            | [ValueKind::Int32, ValueKind::Int64, ValueKind::Double] => RustType {
                remarks: vec![format!("{}: `f64` reads all of them", kinds(value))],
                name: "f64".to_owned(),
            },
            _ => RustType {
                remarks: vec![format!("{}: `Bson` reads all of them", kinds(value))],
                name: self.bson("bucket_runtime::bson::Bson"),
            },
        }
    }

    /// The type of values of this kind.
    pub(super) fn of_kind(&mut self, kind: ValueKind, name: &str, value: &ValueShape) -> RustType {
        match kind {
            ValueKind::Bool => "bool".into(),
            ValueKind::Int32 => "i32".into(),
            ValueKind::Int64 => "i64".into(),
            ValueKind::Double => "f64".into(),
            ValueKind::Text => self.of_texts(name, value),
            ValueKind::Date => self.imported("bucket_runtime::bson::DateTime"),
            ValueKind::ObjectId => self.imported("bucket_runtime::bson::oid::ObjectId"),
            ValueKind::Uuid => self.imported("bucket_runtime::bson::Uuid"),
            ValueKind::Decimal => self.imported("bucket_runtime::bson::Decimal128"),
            ValueKind::Bytes => self.imported("bucket_runtime::bson::Binary"),
            ValueKind::Timestamp => self.imported("bucket_runtime::bson::Timestamp"),
            ValueKind::Array => self.of_arrays(name, value),
            ValueKind::Document => match value.document.as_deref() {
                Some(document) => self.of_documents(name, document),
                None => self.imported("bucket_runtime::bson::Document"),
            },
            ValueKind::Null | ValueKind::Other => self.imported("bucket_runtime::bson::Bson"),
        }
    }

    fn imported(&mut self, path: &'static str) -> RustType {
        RustType {
            name: self.bson(path),
            remarks: Vec::new(),
        }
    }

    /// Imports a type of `bson`, and gives its name.
    fn bson(&mut self, path: &'static str) -> String {
        self.import(path);
        path.rsplit("::").next().unwrap_or(path).to_owned()
    }

    fn of_arrays(&mut self, name: &str, value: &ValueShape) -> RustType {
        let Some(items) = value.items.as_deref() else {
            let name = format!("Vec<{}>", self.bson("bucket_runtime::bson::Bson"));
            return RustType {
                name,
                remarks: vec!["only empty arrays were seen here".to_owned()],
            };
        };
        let mut item = self.of(&names::singular(name), items);
        let is_option = items.count(ValueKind::Null) > 0 && !items.types().is_empty();
        item.name = match is_option {
            true => format!("Vec<Option<{}>>", item.name),
            false => format!("Vec<{}>", item.name),
        };
        item
    }

    /// An enum if there are few texts, and each came often.
    fn of_texts(&mut self, name: &str, value: &ValueShape) -> RustType {
        let texts = value.few_texts();
        let is_word = |text: &String| {
            text.starts_with(|first: char| first.is_ascii_alphabetic())
                && text
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || " _-".contains(letter))
        };
        let is_enum = self.has_values
            && texts.len() >= 2
            && texts
                .iter()
                .all(|(text, seen)| *seen >= SEEN && is_word(text));
        if !is_enum {
            return "String".into();
        }
        let name = self.type_name(name);
        let mut taken = BTreeSet::new();
        let variants = texts
            .keys()
            .map(|text| (names::type_name(text, &mut taken), text.clone()));
        let variants: Vec<_> = variants.collect();
        self.define_enum(&name, &variants);
        RustType {
            remarks: vec![format!(
                "no other texts were seen; with others in store, take `String` for `{name}`"
            )],
            name,
        }
    }

    fn define_enum(&mut self, name: &str, variants: &[(String, String)]) {
        self.import("serde::Deserialize");
        self.import("serde::Serialize");
        let rule = rename::rule_of_variants(variants);
        let mut lines =
            vec!["#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]".to_owned()];
        lines.extend(rule.map(|rule| format!("#[serde(rename_all = {:?})]", rule.name())));
        lines.push(format!("pub enum {name} {{"));
        for (variant, text) in variants {
            if rule.is_none() && variant != text {
                lines.push(format!("    #[serde(rename = {text:?})]"));
            }
            lines.push(format!("    {variant},"));
        }
        lines.push("}".to_owned());
        self.definitions.push(lines);
    }

    /// A struct, or a document whose names are data.
    fn of_documents(&mut self, name: &str, document: &DocumentShape) -> RustType {
        let odd = document.fields.iter().find(|field| is_odd(&field.name));
        if document.is_map() {
            let why = match odd {
                Some(odd) if self.has_values => format!(
                    "a name such as `{}` is data: `Document` reads any",
                    odd.name.escape_debug()
                ),
                _ => "the names in here look like data: `Document` reads any".to_owned(),
            };
            return RustType {
                name: self.bson("bucket_runtime::bson::Document"),
                remarks: vec![why],
            };
        }
        let name = self.type_name(name);
        // Before the types inside, which follow it.
        let place = self.definitions.len();
        self.definitions.push(Vec::new());
        for path in [
            "bucket_runtime::Fields",
            "serde::Deserialize",
            "serde::Serialize",
        ] {
            self.import(path);
        }
        let mut lines =
            vec!["#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]".to_owned()];
        let members = members(document, &[]);
        let (rule, body) = fields::write(self, &members, |_, _, _| None);
        lines.extend(rule.map(|rule: Rename| format!("#[serde(rename_all = {:?})]", rule.name())));
        lines.push(format!("pub struct {name} {{"));
        lines.extend(body);
        lines.push("}".to_owned());
        self.definitions[place] = lines;
        RustType {
            name,
            remarks: Vec::new(),
        }
    }
}

/// The types of the values, each with its share.
fn kinds(value: &ValueShape) -> String {
    let share = |kind: ValueKind| {
        format!(
            "{} in {}",
            kind.name(),
            percent(value.count(kind), value.present())
        )
    };
    let all: Vec<_> = value.types().into_iter().map(share).collect();
    all.join(", ")
}
