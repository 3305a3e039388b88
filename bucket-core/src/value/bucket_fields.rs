//! The fields of a stored bucket, apart from its items.

use mongodb::bson::{Bson, Document, RawArray, RawBsonRef, RawDocument};

use crate::{
    schema::{names::SEALED, spec::BucketSpec},
    value::shell::shell,
};

/// The fields of a bucket except its items; the same code for all structs.
pub struct BucketFields {
    id: Option<String>,
    key: Vec<Option<Bson>>,
    sealed: bool,
    pub rollup: Option<Document>,
}

impl BucketFields {
    /// Reads all fields, and finds the items.
    pub fn of<'r>(spec: &BucketSpec, row: &'r RawDocument) -> Result<(Self, &'r RawArray), String> {
        let mut fields = Self {
            id: None,
            key: vec![None; spec.key.len()],
            sealed: false,
            rollup: None,
        };
        let mut items = None;
        for field in row {
            let (name, value) = field.map_err(|error| error.to_string())?;
            // Text in bson 2, and text without a NUL in bson 3.
            let name = AsRef::<str>::as_ref(name);
            if name == spec.items {
                items = Some(array(value, name)?);
            } else {
                fields.read(spec, name, value)?;
            }
        }
        let items = items.ok_or_else(|| missing(spec.items))?;
        Ok((fields, items))
    }

    fn read(&mut self, spec: &BucketSpec, name: &str, value: RawBsonRef<'_>) -> Result<(), String> {
        let of_key = spec
            .key
            .iter()
            .position(|key| key.name == name || key.aliases.contains(&name));
        let owned = |value| Bson::try_from(value).map_err(|error| format!("{name}: {error}"));
        if let Some(index) = of_key {
            self.key[index] = Some(owned(value)?);
        } else if name == "_id" {
            // In the manual's example, extras have an `ObjectId`.
            self.id = Some(match owned(value)? {
                Bson::String(id) => id,
                other => shell(&other),
            });
        } else if !spec.rollups.is_empty() && name == spec.rollup {
            self.rollup = match owned(value)? {
                Bson::Document(rollup) => Some(rollup),
                _ => None,
            };
        } else {
            self.sealed |= name == SEALED;
        }
        Ok(())
    }

    pub fn finish(self, spec: &BucketSpec) -> Result<(String, Vec<Bson>, bool), String> {
        let id = self.id.ok_or_else(|| missing("_id"))?;
        let key = self.key.into_iter().zip(spec.key);
        let key = key
            .map(|(value, key)| value.ok_or_else(|| missing(key.name)))
            .collect::<Result<_, _>>()?;
        Ok((id, key, self.sealed))
    }
}

fn array<'r>(value: RawBsonRef<'r>, name: &str) -> Result<&'r RawArray, String> {
    match value {
        RawBsonRef::Array(items) => Ok(items),
        other => {
            let found = other.element_type();
            Err(format!("`{name}` is not an array: its type is {found:?}"))
        }
    }
}

fn missing(name: &str) -> String {
    format!("there is no field `{name}`")
}
