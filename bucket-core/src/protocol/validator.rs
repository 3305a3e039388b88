//! Validators: what the server refuses from every writer. Pure functions from facts to documents.

use mongodb::bson::{Bson, Document, doc};

use crate::{
    protocol::command::{has_twins, is_unsealed},
    schema::{
        names::{NEWEST, SEALED},
        spec::{BucketSpec, OutlierSpec},
    },
};

/// The validator that every bucket of this library satisfies. `key` holds the stored types of the
/// key fields, in order; a missing entry or `None` means that the type is unknown.
pub fn of_bucket(spec: &BucketSpec, key: &[Option<&str>]) -> Document {
    let mut fields = SchemaFields::default();
    fields.require("_id", of_type("string"));
    let types = key.iter().copied().chain(std::iter::repeat(None));
    for (name, kind) in spec.key.iter().zip(types) {
        fields.require(name.name, kind.map(of_type).unwrap_or_default());
    }
    if let Some(window) = spec.window_name() {
        fields.require(window, of_type("date"));
    }
    fields.require(spec.count, of_type("number"));
    fields.require(spec.items, array_of_at_most(spec.capacity));
    if !spec.rollups.is_empty() {
        fields.require(spec.rollup, of_type("object"));
    }
    if spec.expire_after.is_some() {
        fields.require(NEWEST, of_type("date"));
    }
    // A null would take the place of the open bucket in the open index.
    fields.properties.insert(SEALED, of_type("string"));
    doc! { "$jsonSchema": fields.schema(), "$expr": { "$and": equations(spec) } }
}

/// The conditions that a schema of types cannot express: which fields have to be equal.
fn equations(spec: &BucketSpec) -> Vec<Document> {
    let count = format!("${}", spec.count);
    let items = format!("${}", spec.items);
    // `$size` of a value other than an array is an error, and the schema refuses such a value
    // anyway.
    let size = doc! { "$cond": [{ "$isArray": [&items] }, { "$size": &items }, null] };
    let is_own_seal = doc! { "$eq": [format!("${SEALED}"), "$_id"] };
    let mut equations = vec![
        doc! { "$eq": [&count, size] },
        doc! { "$or": [is_unsealed(), is_own_seal] },
    ];
    equations.extend((spec.rollups.iter()).map(|field| {
        let rolled_up = format!("${}.{}.count", spec.rollup, field.name);
        doc! { "$eq": [rolled_up, &count] }
    }));
    equations.extend((spec.unique.iter()).map(|field| {
        let twins = has_twins(spec, field);
        doc! { "$not": [twins] }
    }));
    equations
}

/// The validator that every parent satisfies. An empty array may be left out
/// (`skip_serializing_if`).
pub fn of_parent(spec: &OutlierSpec, id: Option<&str>) -> Document {
    let mut fields = SchemaFields::default();
    fields.require("_id", id.map(of_type).unwrap_or_default());
    let array = array_of_at_most(spec.threshold);
    fields.properties.insert(spec.items, array);
    doc! { "$jsonSchema": fields.schema() }
}

#[derive(Default)]
struct SchemaFields {
    required: Vec<Bson>,
    properties: Document,
}

impl SchemaFields {
    fn require(&mut self, name: &str, is: Document) {
        self.required.push(name.into());
        self.properties.insert(name, is);
    }

    fn schema(self) -> Document {
        doc! { "bsonType": "object", "required": self.required, "properties": self.properties }
    }
}

fn of_type(name: &str) -> Document {
    doc! { "bsonType": name }
}

fn array_of_at_most(length: u32) -> Document {
    doc! { "bsonType": "array", "maxItems": i32::try_from(length).unwrap_or(i32::MAX) }
}
