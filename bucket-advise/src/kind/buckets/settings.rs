//! What the indexes and the documents of a collection of this library show of its struct's
//! attributes.

use std::collections::BTreeMap;

use bucket_runtime::bson::{Bson, Document};
use bucket_runtime::mongodb::IndexModel;
use bucket_runtime::mongodb::options::IndexOptions;

use super::{BucketLayout, IdOrdinal};
use crate::shape::DocumentShape;
use crate::shape::value::{ValueKind, ValueShape};

/// Before this second are all windows that ids can hold; the open index has a bound one window
/// earlier.
const BEFORE_WINDOWS: i64 = -10_000_000_000;

/// The attributes of a struct, as far as its collection shows them.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct OwnSettings {
    /// After how many seconds the server removes a bucket.
    pub(crate) expire_after: Option<u64>,
    /// The name of the rollup field.
    pub(crate) rollup: Option<String>,
    /// The words of each field's attribute.
    pub(crate) words: BTreeMap<String, Vec<&'static str>>,
    /// The paths of indexes inside of each field, in the stored names.
    pub(crate) inner_paths: BTreeMap<String, Vec<String>>,
    /// Paths of indexes that lead to no field of the struct.
    pub(crate) other_paths: Vec<String>,
}

impl OwnSettings {
    pub(crate) fn of(indexes: &[IndexModel], shape: &DocumentShape, layout: &BucketLayout) -> Self {
        let mut found = Self::default();
        for index in indexes {
            let options = index.options.clone().unwrap_or_default();
            match options.name.as_deref() {
                Some("bucket_unique") => {
                    let path = index.keys.keys().last();
                    found.add_word(path.and_then(|path| layout.field_of(path)), "unique");
                }
                Some("bucket_expiry") => {
                    found.expire_after = options.expire_after.map(|after| after.as_secs());
                }
                Some(name) if !name.starts_with("bucket_") => {
                    found.add_index(index, &options, shape, layout)
                }
                _ => {}
            }
        }
        found.add_rollups(shape, layout);
        found
    }

    fn add_word(&mut self, field: Option<&str>, word: &'static str) {
        if let Some(field) = field {
            let words = self.words.entry(field.to_owned()).or_default();
            words.extend((!words.contains(&word)).then_some(word));
        }
    }

    /// An index that finds all documents by a field of the key or of the items.
    fn add_index(
        &mut self,
        index: &IndexModel,
        options: &IndexOptions,
        shape: &DocumentShape,
        layout: &BucketLayout,
    ) {
        let is_plain = options.partial_filter_expression.is_none()
            && options.collation.is_none()
            && options.sparse != Some(true);
        let Some((path, Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_))) =
            index.keys.iter().next()
        else {
            return;
        };
        let is_key = (layout.ids.iter()).any(|ids| ids.key.iter().any(|(_, name)| name == path));
        match layout.field_of(path) {
            _ if !is_plain => {}
            None => self.add_word(Some(path.as_str()).filter(|_| is_key), "index"),
            Some(inside) if inside.contains('.') => {
                let (field, inner) = inside.split_once('.').unwrap_or_default();
                let items = shape.get(&layout.items);
                match items.is_some_and(|items| has_field(items, inside)) {
                    true => {
                        let inner_paths = self.inner_paths.entry(field.to_owned()).or_default();
                        inner_paths.push(inner.to_owned());
                    }
                    false => self.other_paths.push(path.to_string()),
                }
            }
            Some(field) => self.add_word(Some(field), "index"),
        }
    }

    /// The field with the sums, minima and maxima, and the words that ask for these.
    fn add_rollups(&mut self, shape: &DocumentShape, layout: &BucketLayout) {
        let inside = |value: &ValueShape| {
            value.document.as_deref().is_some_and(|fields| {
                fields.fields.iter().all(|field| is_rollup(&field.value))
                    && !fields.fields.is_empty()
            })
        };
        let Some(rollup) = shape.fields.iter().find(|field| inside(&field.value)) else {
            return;
        };
        let items = shape
            .get(&layout.items)
            .and_then(|value| value.items.as_deref());
        let element = items.and_then(|items| items.document.as_deref());
        for field in rollup
            .value
            .document
            .iter()
            .flat_map(|document| &document.fields)
        {
            let value = element.and_then(|element| element.get(&field.name));
            let words = field.value.document.iter().flat_map(|words| &words.fields);
            let words = words.filter_map(|word| {
                ["sum", "min", "max"]
                    .into_iter()
                    .find(|known| *known == word.name)
            });
            for word in words.filter(|_| value.is_some_and(can_be_rolled_up)) {
                self.add_word(Some(&field.name), word);
            }
        }
        self.rollup = Some(rollup.name.clone());
    }
}

/// Whether the path leads through documents that become structs, also in lists, to a field.
fn has_field(value: &ValueShape, path: &str) -> bool {
    let inside = value.items.as_deref().unwrap_or(value);
    let Some(document) = inside.document.as_deref() else {
        return false;
    };
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    let is_struct = !document.is_map() && inside.types() == [ValueKind::Document];
    let field = document.get(name).filter(|_| is_struct);
    field.is_some_and(|field| rest.is_empty() || has_field(field, rest))
}

/// Whether the values are those of one field's rollup.
fn is_rollup(value: &ValueShape) -> bool {
    value.document.as_deref().is_some_and(|words| {
        let is_word = |name: &str| ["count", "missing", "sum", "min", "max"].contains(&name);
        words.get("count").is_some() && words.fields.iter().all(|word| is_word(&word.name))
    })
}

/// Whether the struct's type for these values can be added up or compared.
fn can_be_rolled_up(value: &ValueShape) -> bool {
    let numbers = [ValueKind::Int32, ValueKind::Int64, ValueKind::Double];
    let types = value.types();
    matches!(types[..], [ValueKind::Decimal | ValueKind::Date])
        || !types.is_empty() && types.iter().all(|kind| numbers.contains(kind))
}

impl BucketLayout {
    /// The field of the items, if the path is that of one.
    fn field_of<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(&*self.items)?.strip_prefix('.')
    }

    /// Takes the length of windows from the open index; ids alone show a multiple of it.
    pub(crate) fn read_window(&mut self, indexes: &[IndexModel]) {
        let options = indexes.iter().filter_map(|index| index.options.as_ref());
        let mut open = options.filter(|options| {
            options
                .name
                .as_ref()
                .is_some_and(|name| name.starts_with("bucket_open"))
        });
        let filter = open
            .next()
            .and_then(|open| open.partial_filter_expression.as_ref());
        let bound =
            |bound: &Document| Some(bound.get_datetime("$gte").ok()?.timestamp_millis() / 1000);
        let mut bounds = filter.into_iter().flat_map(Document::values);
        let bound = bounds.find_map(|value| bound(value.as_document()?));
        if let Some(IdOrdinal::Window(_, seconds)) = self.ids.as_mut().map(|ids| &mut ids.ordinal)
            && let Some(length) = bound.and_then(|bound| u64::try_from(BEFORE_WINDOWS - bound).ok())
        {
            *seconds = length;
        }
    }
}
