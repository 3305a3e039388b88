//! An error as text: the place, the kind's text or advice, what is stored, and the cause.

use std::fmt;

use super::{Error, Inner, Kind, Source, advice, cause};
use crate::schema::{names::EXPIRY_INDEX, open_index::is_open_index};

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            kind,
            collection,
            key,
            source,
            maybe_stored,
            stored,
        } = &*self.0;
        write!(f, "{collection}")?;
        if let Some(key) = key {
            write!(f, ", key {key}")?;
        }
        let text = match (kind, source) {
            (Kind::Driver, _) if *maybe_stored => {
                "the write failed but may have been carried out; check before you repeat it".into()
            }
            (Kind::Driver, Some(Source::Driver(error))) => advice::of(error),
            _ => kind.text(collection),
        };
        write!(f, ": {text}")?;
        if *maybe_stored && !self.has_doubt_in_text() {
            f.write_str(" (it may have been carried out; check before you repeat it)")?;
        }
        if *stored > 0 {
            let items = match stored {
                1 => "the first item is".to_owned(),
                _ => format!("the first {stored} items are"),
            };
            write!(f, " ({items} stored)")?;
        }
        let cause = match source {
            Some(Source::Driver(error)) => cause::of_driver(error),
            Some(Source::Other(error)) => cause::line(&error.to_string()),
            None => return Ok(()),
        };
        write!(f, ": {cause}")?;
        match self.is_deserialize() {
            true => f.write_str(remedy(&cause)),
            false => Ok(()),
        }
    }
}

/// The remedy for what serde cannot read.
fn remedy(cause: &str) -> &'static str {
    if cause.contains("missing field `") {
        "; if older documents lack the field, put `#[serde(default)]` on it"
    } else if cause.contains("floating point") {
        "; another program wrote a double: correct it by an update with `$toLong`, or read it as `f64`"
    } else {
        ""
    }
}

/// Equal to [`Display`](fmt::Display), since `main` and `unwrap` print it.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The text about an index that has one of our names.
pub(super) fn foreign_index(name: &str, is: &str) -> String {
    let remedy = if is_open_index(name) {
        ", and may guard the buckets of another struct; give this struct a collection of its own, or, if \
         somebody has changed the struct's own index, create it again as `indexes()` lists it"
    } else {
        "; if nothing else uses it, drop it and open the collection again"
    };
    format!("the index `{name}` ({is}) is not the one that this struct needs{remedy}")
}

/// The text about buckets that expire after another time than the struct's, in seconds.
pub(super) fn expiry_mismatch(stored: u64, derived: Option<u64>, collection: &str) -> String {
    let keep = format!("write `expire_after = \"{stored}s\"`");
    let differs = match derived {
        Some(derived) => {
            let name = collection.split_once('.').map_or("", |(_, name)| name);
            format!(
                "the struct says {derived}; {keep}, or change the collection with \
                 db.runCommand({{collMod: {name:?}, index: {{name: \"{EXPIRY_INDEX}\", \
                 expireAfterSeconds: {derived}}}}})"
            )
        }
        None => format!("the struct sets no expiry; {keep}, or drop the index `{EXPIRY_INDEX}`"),
    };
    format!(
        "the collection's buckets expire {stored} seconds after their newest item, but {differs}"
    )
}

/// A call of this collection in MongoDB's shell.
pub(super) fn shell_call(collection: &str, call: &str) -> String {
    let name = collection.split_once('.').map_or("", |(_, name)| name);
    format!("db.getCollection({name:?}).{call}")
}

/// A number of things, such as "1 item" and "2 items".
pub fn count(n: u64, thing: &str) -> String {
    match n {
        1 => format!("1 {thing}"),
        _ => format!("{n} {thing}s"),
    }
}
