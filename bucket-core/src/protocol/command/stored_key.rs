//! The key of a bucket as it is stored, to judge documents that other programs may have written.

use mongodb::bson::{Bson, Document, doc};
use serde::Deserialize;

use super::KeyScope;
use crate::schema::{key::KeyPart, spec::BucketSpec};

/// The id of a document, and what it stores as its key.
#[derive(Debug, Deserialize)]
pub struct StoredKey {
    #[serde(rename = "_id")]
    pub id: Bson,
    key: Vec<Bson>,
    window: Bson,
}

/// Reads the values of a key; an error is the index of the first unreadable field.
pub type ReadKey = fn(Vec<Bson>) -> Result<Vec<KeyPart>, usize>;

/// A [`StoredKey`], as an expression.
pub fn stored_key(spec: &BucketSpec) -> Document {
    let field = |name: &str| format!("${name}");
    let key = spec.key.iter().map(|key| {
        let names = std::iter::once(&key.name).chain(key.aliases);
        let mut values: Vec<Bson> = names.map(|name| field(name).into()).collect();
        values.push(Bson::Null);
        doc! { "$ifNull": values }
    });
    let window = spec.window_name().map(|name| Bson::from(field(name)));
    doc! {
        "_id": "$_id",
        "key": key.collect::<Vec<_>>(),
        "window": window.unwrap_or_else(|| doc! { "$literal": null }.into()),
    }
}

impl StoredKey {
    /// The key, or the name of the field that is unreadable.
    pub fn scope(
        &self,
        spec: &'static BucketSpec,
        read: ReadKey,
    ) -> Result<KeyScope, &'static str> {
        let parts = read(self.key.clone()).map_err(|field| spec.key[field].name)?;
        let scope = KeyScope::new(spec, parts);
        let Some(name) = spec.window_name() else {
            return Ok(scope);
        };
        let scope = scope.at(self.window.as_datetime().copied());
        match scope.window {
            Some(start) if Bson::from(start) == self.window => Ok(scope),
            _ => Err(name),
        }
    }

    /// Whether the document has an id of this key.
    pub fn has_id_of(&self, scope: &KeyScope) -> bool {
        self.id.as_str().is_some_and(|id| scope.owns(id))
    }
}
