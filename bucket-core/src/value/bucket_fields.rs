//! The fields of a stored bucket.

use mongodb::bson::{Bson, Document, RawArray, RawDocument};

use crate::{
    schema::{names::SEALED, spec::BucketSpec},
    value::shell::shell,
};

/// The fields of a bucket, with its items as they are stored; the same code for all structs.
pub struct BucketFields<'r> {
    pub id: String,
    pub key: Vec<Bson>,
    pub items: &'r RawArray,
    pub sealed: bool,
    /// The stored rollup; empty if there is none.
    pub rollup: Document,
}

impl<'r> BucketFields<'r> {
    pub fn of(spec: &BucketSpec, row: &'r RawDocument) -> Result<Self, String> {
        let (mut id, mut key) = (None, vec![None; spec.key.len()]);
        let (mut items, mut sealed, mut rollup) = (None, false, Document::new());
        for field in row {
            let (name, value) = field.map_err(|error| error.to_string())?;
            // Text in bson 2, and text without a NUL in bson 3.
            let name = AsRef::<str>::as_ref(name);
            let mut keys = spec.key.iter();
            let of_key = keys.position(|key| key.name == name || key.aliases.contains(&name));
            let owned = |value| Bson::try_from(value).map_err(|error| format!("{name}: {error}"));
            if name == spec.items {
                let found = value.element_type();
                let is_other = || format!("`{name}` is not an array: its type is {found:?}");
                items = Some(value.as_array().ok_or_else(is_other)?);
            } else if let Some(index) = of_key {
                key[index] = Some(owned(value)?);
            } else if name == "_id" {
                // In the manual's example, extras have an `ObjectId`.
                id = Some(match owned(value)? {
                    Bson::String(id) => id,
                    other => shell(&other),
                });
            } else if !spec.rollups.is_empty() && name == spec.rollup {
                if let Bson::Document(stored) = owned(value)? {
                    rollup = stored;
                }
            } else {
                sealed |= name == SEALED;
            }
        }
        let items = items.ok_or_else(|| missing(spec.items))?;
        let id = id.ok_or_else(|| missing("_id"))?;
        let key = key.into_iter().zip(spec.key);
        let key = key.map(|(value, key)| value.ok_or_else(|| missing(key.name)));
        Ok(Self {
            id,
            key: key.collect::<Result<_, _>>()?,
            items,
            sealed,
            rollup,
        })
    }
}

fn missing(name: &str) -> String {
    format!("there is no field `{name}`")
}
