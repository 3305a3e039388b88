//! Reads `#[serde(…)]`, as far as stored names and the checks need it.
//!
//! serde itself interprets these attributes on the generated structs. It also reports the entries
//! that this module ignores because it does not know them.

use syn::{Attribute, LitStr};

use crate::parse::{
    list::{self, Entry, Value},
    rename::{self, RenameRule},
};

/// The attributes of the struct.
pub(crate) struct Container {
    pub(crate) entries: Vec<Entry>,
    /// How names are written.
    pub(crate) write: RenameRule,
    /// How names are read.
    pub(crate) read: RenameRule,
    /// The names of rules that do not exist.
    pub(crate) unknown_rules: Vec<LitStr>,
}

impl Container {
    pub(crate) fn read(attrs: &[Attribute]) -> Self {
        let entries = list::of_attributes(attrs, "serde");
        let (write, read) = names(&entries, "rename_all");
        let rule = |name: &Option<LitStr>| RenameRule::named(&name.as_ref()?.value());
        // An unknown rule that reading and writing share is reported once.
        let text = |name: &Option<LitStr>| name.as_ref().map(LitStr::value);
        let differs = text(&read) != text(&write);
        let both = write.iter().chain(read.iter().filter(|_| differs));
        Self {
            write: rule(&write).unwrap_or(RenameRule::Unchanged),
            read: rule(&read).unwrap_or(RenameRule::Unchanged),
            unknown_rules: both
                .filter(|name| RenameRule::named(&name.value()).is_none())
                .cloned()
                .collect(),
            entries,
        }
    }

    pub(crate) fn find(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.is(key))
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// Whether there are no other attributes than these.
    pub(crate) fn has_only(&self, keys: &str) -> bool {
        has_only(&self.entries, keys)
    }
}

/// The attributes of a variant.
pub(crate) struct SerdeVariant {
    /// The name that it is written under, unless serde writes no name, or not the variant.
    pub(crate) write: Option<String>,
    /// The names that it is read from; the first one is the main one.
    pub(crate) read: Vec<String>,
    /// The attributes that hold for the variant's fields.
    pub(crate) fields: Container,
    /// Whether the user's own functions write the variant's content.
    pub(crate) has_own_format: bool,
}

impl SerdeVariant {
    pub(crate) fn read(attrs: &[Attribute], name: &str, of: &Container) -> Self {
        let mut fields = Container::read(attrs);
        if !fields.has("rename_all") {
            let (write, read) = names(&of.entries, "rename_all_fields");
            let rule = |name: Option<LitStr>| RenameRule::named(&name?.value());
            fields.write = rule(write).unwrap_or(RenameRule::Unchanged);
            fields.read = rule(read).unwrap_or(RenameRule::Unchanged);
        }
        let of_enum = |rule: Option<LitStr>| match rule {
            Some(rule) => rename::variant(&rule.value(), name),
            None => name.to_owned(),
        };
        let (write, read) = names(&fields.entries, "rename");
        let (write_all, read_all) = names(&of.entries, "rename_all");
        let write = write.map_or_else(|| of_enum(write_all), |name| name.value());
        let mut all_read = vec![read.map_or_else(|| of_enum(read_all), |name| name.value())];
        all_read.extend(aliases(&fields.entries).map(|name| name.value()));
        let is_any = |words: &[&str]| words.iter().any(|word| fields.has(word));
        if is_any(&["skip", "skip_deserializing", "untagged"]) {
            all_read.clear();
        }
        let is_written = !is_any(&["skip", "skip_serializing", "untagged"]);
        Self {
            write: is_written.then_some(write),
            read: all_read,
            has_own_format: is_any(&["with", "serialize_with"]),
            fields,
        }
    }
}

/// The attributes of a field.
pub(crate) struct SerdeField {
    pub(crate) entries: Vec<Entry>,
    /// The name that the field is written under, if it has one.
    pub(crate) write: Option<String>,
    /// The names that the field is read from; the first one is the main one.
    pub(crate) read: Vec<String>,
}

impl SerdeField {
    pub(crate) fn read(attrs: &[Attribute], name: &str, container: &Container) -> Self {
        let entries = list::of_attributes(attrs, "serde");
        let (write, read) = names(&entries, "rename");
        let write = write.map_or_else(|| container.write.apply(name), |name| name.value());
        let read = read.map_or_else(|| container.read.apply(name), |name| name.value());
        let mut names = vec![read];
        names.extend(aliases(&entries).map(|name| name.value()));
        let mut field = Self {
            write: Some(write),
            read: names,
            entries,
        };
        if field.has("skip") || field.has("flatten") || field.has("skip_serializing") {
            field.write = None;
        }
        if field.has("skip") || field.has("flatten") || field.has("skip_deserializing") {
            field.read.clear();
        }
        field
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// Whether there are no other attributes than these.
    pub(crate) fn has_only(&self, keys: &str) -> bool {
        has_only(&self.entries, keys)
    }

    /// Whether the field was meant to be stored under this name, in either direction.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        let (write, read) = names(&self.entries, "rename");
        let mut given = write.iter().chain(&read);
        given.any(|given| given.value() == name)
            || self.write.as_deref() == Some(name)
            || self.read.first().is_some_and(|read| read == name)
    }

    pub(crate) fn find(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.is(key))
    }
}

fn has_only(entries: &[Entry], keys: &str) -> bool {
    let is_one = |entry: &Entry| keys.split(' ').any(|key| entry.is(key));
    entries.iter().all(is_one)
}

/// The further names that a field is read from: `alias = "…"`, and each `rename` for reading after
/// the first.
fn aliases(entries: &[Entry]) -> impl Iterator<Item = LitStr> {
    let aliases = entries.iter().filter(|entry| entry.is("alias"));
    let further = of_side(entries, "rename", "deserialize").skip(1);
    aliases.filter_map(Entry::string).chain(further)
}

/// The names for writing and for reading in `key = "both"` or `key(serialize = "…", …)`: as serde
/// does, the first of each.
fn names(entries: &[Entry], key: &str) -> (Option<LitStr>, Option<LitStr>) {
    let first = |side| of_side(entries, key, side).next();
    (first("serialize"), first("deserialize"))
}

/// All names for this side.
fn of_side(entries: &[Entry], key: &str, side: &str) -> impl Iterator<Item = LitStr> {
    let entries = entries.iter().filter(move |entry| entry.is(key));
    entries.flat_map(move |entry| match &entry.value {
        Value::List(sides) => {
            let sides = sides.iter().filter(|entry| entry.is(side));
            sides.filter_map(Entry::string).collect()
        }
        _ => Vec::from_iter(entry.string()),
    })
}
