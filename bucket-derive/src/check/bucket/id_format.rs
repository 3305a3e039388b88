//! The rules of id formats, by which ids sort as their buckets do and no two keys share one.

mod suffix;
mod text;

use std::ops::Range;

use syn::LitStr;

pub(super) use self::text::example;
use self::{
    suffix::wrong_window,
    text::{begins_well, separator, span_in},
};
use crate::{
    errors::{Errors, did_you_mean},
    model::{bucket::BucketModel, guess},
    parse::{
        attr::BucketAttr,
        id_format::{MAX_KEYS, MILLIS, Part, PartKind, Suffix},
    },
};

/// The format under check, and its errors.
struct Rules<'c, 'e> {
    model: &'c BucketModel<'c>,
    literal: &'c LitStr,
    text: String,
    errors: &'e mut Errors,
}

pub(super) fn check(model: &BucketModel<'_>, is_struct: bool, errors: &mut Errors) {
    let BucketAttr { id: Some(id), .. } = &model.attr else {
        return;
    };
    let mut rules = Rules {
        model,
        literal: &id.value,
        text: id.value.value(),
        errors,
    };
    for error in &model.format_errors {
        rules.push(&error.at, &error.message, &error.help);
    }
    if is_struct {
        rules.check_fields();
    }
    rules.check_suffixes();
    rules.check_repeated();
    rules.check_number_is_last();
    rules.check_number_of_keys();
    // Next to a part that could not be read, the other rules would mislead.
    if model.format_errors.is_empty() {
        rules.check_separators();
        rules.check_ordinal();
    }
}

impl<'c> Rules<'c, '_> {
    /// Placeholders name fields of the struct.
    fn check_fields(&mut self) {
        let names = || self.model.fields.iter().map(|field| field.name.as_str());
        for (part, name) in self.fields() {
            if self.model.field(name).is_some() {
                continue;
            }
            let help = match did_you_mean(name, names()) {
                Some(meant) => format!("did you mean `{{{meant}}}`?"),
                None => format!("the fields are `{}`", Vec::from_iter(names()).join("`, `")),
            };
            let message = format!(
                "`{}` in the id format: there is no field `{name}`",
                self.written(part)
            );
            self.push(&part.at, message, help);
        }
    }

    /// Only a time has a unit, in which it is written, or a window, the length of time of a bucket.
    fn check_suffixes(&mut self) {
        let last = self.model.format.parts.len().saturating_sub(1);
        for (n, part) in self.model.format.parts.iter().enumerate() {
            let PartKind::Field {
                name,
                suffix: Some(suffix),
            } = &part.kind
            else {
                continue;
            };
            let written = self.written(part);
            let plain = format!("write `{{{name}}}`");
            match suffix {
                Suffix::Unit(_) | Suffix::Window(_) if n < last => {
                    let what = match suffix {
                        Suffix::Unit(_) => "unit",
                        Suffix::Window(_) => "window",
                    };
                    let message = format!("`{written}` in the id format: a key has no {what}");
                    self.push(&part.at, message, plain);
                }
                Suffix::Window(length) => {
                    if let Some((wrong, help)) = wrong_window(name, length) {
                        let message = format!("`{written}` in the id format: {wrong}");
                        self.push(&part.at, message, help);
                    }
                }
                Suffix::Unit(unit) if unit == MILLIS => {}
                Suffix::Unit(unit) => {
                    let help = match did_you_mean(unit, [MILLIS]) {
                        Some(meant) => format!("did you mean `{{{name}:{meant}}}`?"),
                        None => format!("write `{{{name}}}` for seconds, or `{{{name}:{MILLIS}}}`"),
                    };
                    let message =
                        format!("`{written}` in the id format: there is no unit `{unit}`");
                    self.push(&part.at, message, help);
                }
            }
        }
    }

    /// A field that is in the id twice adds nothing.
    fn check_repeated(&mut self) {
        let last = self.model.format.parts.last();
        let fields = self.fields();
        for (n, (part, name)) in fields.iter().enumerate() {
            if !fields[..n].iter().any(|(_, earlier)| earlier == name) {
                continue;
            }
            if last.is_some_and(|last| last.at == part.at) {
                let message =
                    format!("`{name}` is both a key field and the ordinal in the id format");
                self.push(
                    &part.at,
                    message,
                    "end the format in another field, or in `{#}`",
                );
            } else {
                let message = format!("`{}` stands twice in the id format", self.written(part));
                self.push(&part.at, message, "remove one of them");
            }
        }
    }

    /// The number of a bucket is counted within its key, so the key comes first.
    fn check_number_is_last(&mut self) {
        let parts = &self.model.format.parts;
        let before = &parts[..parts.len().saturating_sub(1)];
        for part in before.iter().filter(|part| part.kind == PartKind::Number) {
            let message = "`{#}` must be the end of the id format";
            let fields = self.fields().into_iter().map(|(_, name)| name);
            let fields = Vec::from_iter(fields.filter(|name| !self.is_time(name)));
            let help = match fields.is_empty() {
                true => example(self.model),
                false => format!("id = \"{{{}}}_{{#}}\"", fields.join("}_{")),
            };
            self.push(&part.at, message, help);
        }
    }

    fn check_number_of_keys(&mut self) {
        let count = self.model.format.keys().count();
        if count > MAX_KEYS {
            let message =
                format!("the id format names {count} key fields; the maximum is {MAX_KEYS}");
            self.push(
                &(0..self.text.len()),
                message,
                "put several of them into one field",
            );
        }
    }

    /// The character after a key's text is escaped within that text. This is what keeps "12" and
    /// "12_3" apart; `%` begins an escape, and letters and digits are too common to be escaped.
    fn check_separators(&mut self) {
        for pair in self.model.format.parts.windows(2) {
            let (before, after) = (&pair[0], &pair[1]);
            let written = self.written(before);
            match (&before.kind, &after.kind) {
                (PartKind::Literal(_), _) | (PartKind::Number, _) => {}
                (PartKind::Field { .. }, PartKind::Literal(text)) => {
                    if !begins_well(text) {
                        let message = format!(
                            "`{text}` after `{written}` in the id format must begin with ASCII punctuation other than `%`"
                        );
                        let rest = text.trim_start_matches('%');
                        let between = if begins_well(rest) { "" } else { "_" };
                        self.push(&after.at, message, format!("`{written}{between}{rest}`"));
                    }
                }
                (PartKind::Field { .. }, _) => {
                    let after_written = self.written(after);
                    let message =
                        format!("`{written}` and `{after_written}` touch in the id format");
                    let at = before.at.start..after.at.end;
                    self.push(&at, message, format!("`{written}_{after_written}`"));
                }
            }
        }
    }

    /// An id needs a key, so that it belongs to somebody, and an ordinal, so that it is unique.
    fn check_ordinal(&mut self) {
        let parts = &self.model.format.parts;
        let placeholders = parts
            .iter()
            .filter(|part| !matches!(part.kind, PartKind::Literal(_)))
            .count();
        let whole = 0..self.text.len();
        let (message, help) = match parts.last().map(|part| &part.kind) {
            None => ("the id format is empty".to_owned(), example(self.model)),
            Some(_) if placeholders == 0 => (
                format!("`{}` names no key field", self.text),
                example(self.model),
            ),
            Some(PartKind::Literal(text)) => (
                format!("the id format ends in `{text}`, but must end in its ordinal"),
                match self.ends_in_time() {
                    true => format!("id = \"{}\"", self.text.trim_end_matches(text.as_str())),
                    false => format!("id = \"{}{}{{#}}\"", self.text, separator(text)),
                },
            ),
            Some(PartKind::Number) if placeholders == 1 => (
                "the id format names no key field before `{#}`".to_owned(),
                example(self.model),
            ),
            Some(PartKind::Field { name, .. }) if placeholders == 1 => (
                format!(
                    "the id format has one placeholder, `{{{name}}}`, but needs a key and an ordinal"
                ),
                match (self.is_time(name), self.other(name)) {
                    (true, Some(key)) => format!("id = \"{{{key}}}_{{{name}}}\""),
                    _ => format!("id = \"{{{name}}}_{{#}}\""),
                },
            ),
            Some(_) => return,
        };
        self.push(&whole, message, help);
    }

    fn fields(&self) -> Vec<(&'c Part, &'c str)> {
        let parts = self.model.format.parts.iter();
        let fields = parts.filter_map(|part| match &part.kind {
            PartKind::Field { name, .. } => Some((part, name.as_str())),
            _ => None,
        });
        fields.collect()
    }

    fn written(&self, part: &Part) -> String {
        self.text
            .get(part.at.clone())
            .unwrap_or_default()
            .to_owned()
    }

    /// Whether there are several placeholders, and the last one looks like a time.
    fn ends_in_time(&self) -> bool {
        match self.fields().as_slice() {
            [_, .., (_, name)] => self.is_time(name),
            _ => false,
        }
    }

    fn is_time(&self, name: &str) -> bool {
        self.model.field(name).is_some_and(guess::is_time)
    }

    /// Another field, which may be the key.
    fn other(&self, name: &str) -> Option<&str> {
        let key = guess::key(&self.model.fields)?;
        (key.name != name).then_some(&key.name)
    }

    fn push(&mut self, at: &Range<usize>, message: impl AsRef<str>, help: impl AsRef<str>) {
        let span = span_in(self.literal, &self.text, at);
        self.errors.push_at(span, message.as_ref(), help.as_ref());
    }
}
