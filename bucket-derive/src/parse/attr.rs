//! Parses the attributes of the derives: which keys there are, and which kind of value each has.

mod bucket;
mod field;
mod limit;
mod nested;
mod outlier;
mod part;
mod table;

use proc_macro2::Ident;
use syn::{Attribute, Meta, Path};

pub(crate) use self::{
    bucket::{BUCKET, BucketAttr},
    field::{FieldAttr, check_no_attribute},
    limit::Limit,
    nested::{FIELDS, FieldsAttr},
    outlier::{OUTLIER, OutlierAttr},
    part::{PART, PartAttr},
};
use crate::{
    errors::{Errors, did_you_mean, help_for},
    parse::list::{self, Entry},
};

/// A derive, and the attribute that tells it how to store a struct.
pub(crate) struct Derive {
    pub(crate) name: &'static str,
    pub(crate) attribute: &'static str,
    /// The whole attribute, as help lines show it.
    pub(crate) usage: &'static str,
    /// Every key of the struct's attribute with its correct spelling, as help lines show it.
    pub(crate) keys: &'static [(&'static str, &'static str)],
    /// The words of the attribute on a field.
    pub(crate) words: &'static [&'static str],
    /// The keys of the attribute on a field, which take a limit.
    pub(crate) limits: &'static [(&'static str, &'static str)],
}

/// A value together with its key, so that an error can point at either.
pub(crate) struct Spanned<T> {
    pub(crate) key: Ident,
    pub(crate) value: T,
    /// The key with a value, as help lines show it.
    pub(crate) usage: &'static str,
}

/// The content of an attribute, whether or not it makes sense.
#[derive(Default)]
pub(crate) struct Written {
    /// The name of the first attribute of the derive.
    pub(crate) name: Option<Path>,
    /// Every key, also if it is misspelled or has a bad value: none of these is reported as
    /// missing.
    keys: Vec<String>,
    /// A part could not be read, so it may have meant any key.
    unreadable: bool,
}

impl Written {
    /// Whether the user meant to give this key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.unreadable || self.keys.iter().any(|written| written == key)
    }
}

/// A known key, and the entry that it begins.
struct Given {
    key: Ident,
    entry: Entry,
    usage: &'static str,
}

impl Derive {
    /// Reads the keys in the struct's attributes of this derive; `add` reads their values.
    fn read(
        &self,
        attrs: &[Attribute],
        errors: &mut Errors,
        mut add: impl FnMut(Given, &mut Errors),
    ) -> Written {
        let mut written = Written::default();
        for attr in attrs
            .iter()
            .filter(|attr| attr.path().is_ident(self.attribute))
        {
            written.unreadable |= !self.check_is_list(attr, errors);
            written.name.get_or_insert_with(|| attr.path().clone());
        }
        for entry in list::of_own_attributes(attrs, self.attribute, errors) {
            if let Some(given) = self.given(entry, &mut written, errors) {
                add(given, errors);
            }
        }
        written
    }

    fn given(&self, entry: Entry, written: &mut Written, errors: &mut Errors) -> Option<Given> {
        let Some(key) = entry.key.clone() else {
            written.unreadable = true;
            let help = format!("write it as `{}`", self.keys[0].1);
            errors.push(&entry.tokens, "expected `key = value`", help);
            return None;
        };
        let name = key.to_string();
        let Some((_, usage)) = self.keys.iter().find(|(known, _)| *known == name) else {
            written.keys.extend(self.unknown_key(&key, errors));
            return None;
        };
        // Either value may be the one that the user means.
        if written.keys.contains(&name) {
            errors.push(
                &key,
                format_args!("`{name}` is given twice"),
                format_args!("keep one `{usage}`"),
            );
            return None;
        }
        written.keys.push(name);
        Some(Given { key, entry, usage })
    }

    /// `#[bucket]` is read as an empty list; `#[bucket = …]` cannot be read at all.
    fn check_is_list(&self, attr: &Attribute, errors: &mut Errors) -> bool {
        let Meta::NameValue(meta) = &attr.meta else {
            return true;
        };
        errors.push(
            meta,
            format_args!("`{}` takes a list in parentheses", self.attribute),
            self.usage,
        );
        false
    }

    /// Reports the key, and returns the one that the user probably means.
    fn unknown_key(&self, key: &Ident, errors: &mut Errors) -> Option<String> {
        let name = key.to_string();
        let words = self.words.iter().map(|word| (*word, *word));
        let mut of_fields = words.chain(self.limits.iter().copied());
        if let Some((_, usage)) = of_fields.find(|(known, _)| *known == name) {
            let help = format!("put it on that field: #[{}({usage})]", self.attribute);
            errors.push(key, format_args!("`{name}` belongs to a field"), help);
            return Some(name);
        }
        let keys = Vec::from_iter(self.keys.iter().map(|(known, _)| *known));
        let help = help_for(&name, "keys", &keys);
        errors.push(key, format_args!("unknown key `{name}`"), help);
        did_you_mean(&name, keys).map(str::to_owned)
    }
}
