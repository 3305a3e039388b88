//! Changes of the fields of a parent beside its array.

use bucket_core::{
    schema::size::layout::{field, signed},
    value::element::value_size,
};
use mongodb::bson::{Bson, Document, doc};

use super::ParentScope;

/// A field of the struct, as it is stored and as it is to be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FieldChange {
    pub(crate) name: String,
    stored: Option<Bson>,
    pub(crate) after: Option<Bson>,
}

impl FieldChange {
    /// The fields that serde writes before or after a change, in its order. A field that the change
    /// leaves alone stays as it is stored, whatever serde makes of it.
    pub(crate) fn between(stored: &Document, before: &Document, after: &Document) -> Vec<Self> {
        let left_out = before.keys().filter(|name| !after.contains_key(*name));
        let fields = after.keys().chain(left_out).map(|name| Self {
            name: name.clone(),
            stored: stored.get(name).cloned(),
            after: match before.get(name) == after.get(name) {
                true => stored.get(name).cloned(),
                false => after.get(name).cloned(),
            },
        });
        fields.collect()
    }

    pub(crate) fn is_changed(&self) -> bool {
        self.stored != self.after
    }

    /// The bytes by which the fields grow; negative if they shrink.
    pub(crate) fn growth(changes: &[Self]) -> i64 {
        let bytes = |name: &str, value: &Option<Bson>| {
            let value = value.as_ref();
            value.map_or(0, |value| field(name, 0) as i64 + signed(value_size(value)))
        };
        let grown = changes
            .iter()
            .map(|change| bytes(&change.name, &change.after) - bytes(&change.name, &change.stored));
        grown.sum()
    }
}

impl ParentScope {
    /// The parent with an empty array, and its size with the whole one.
    pub(crate) fn without_items(&self) -> [Document; 2] {
        let parent = set_field(self.spec.items, "$$ROOT", doc! { "$literal": [] });
        [
            doc! { "$match": self.parent() },
            doc! { "$project": { "_id": 0, "size": { "$bsonSize": "$$ROOT" }, "parent": parent } },
        ]
    }

    /// The parent, provided that these fields are as they were read, and that it has room for what
    /// they grow by.
    pub(crate) fn unchanged(&self, fields: &[FieldChange]) -> Document {
        let conditions = fields.iter().map(is_as_stored).collect();
        self.provided(conditions, FieldChange::growth(fields))
    }

    /// Writes those of these fields that changed, and no others: a pipeline.
    pub(crate) fn change_fields(&self, fields: &[FieldChange]) -> Vec<Document> {
        let changed = fields.iter().filter(|field| field.is_changed());
        let stages = changed.map(|field| {
            let value = match &field.after {
                Some(value) => doc! { "$literal": value }.into(),
                None => Bson::from("$$REMOVE"),
            };
            doc! { "$replaceWith": set_field(&field.name, "$$ROOT", value) }
        });
        stages.collect()
    }
}

/// The condition that a field is as it was read. A path would read a name with a point in another
/// way.
fn is_as_stored(field: &FieldChange) -> Document {
    let name = doc! { "$literal": &field.name };
    let now = doc! { "$getField": { "field": name, "input": "$$ROOT" } };
    match &field.stored {
        Some(stored) => doc! { "$eq": [now, { "$literal": stored }] },
        None => doc! { "$eq": [{ "$type": now }, "missing"] },
    }
}

/// A document with another value in one field.
fn set_field(name: &str, input: &str, value: impl Into<Bson>) -> Document {
    let name = doc! { "$literal": name };
    doc! { "$setField": { "field": name, "input": input, "value": value.into() } }
}
