//! Which types need no default where their value is missing.

use std::collections::{BTreeMap, HashMap};

use mongodb::bson::Document;

/// A type that serde reads even where the value is missing: an `Option`, under any name.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` that is not always stored needs a default",
    label = "where it is left out, the rest could not be read back",
    note = "help: #[serde(default)]"
)]
pub trait OptionalField {}

impl<T> OptionalField for Option<T> {}
impl<T: OptionalField> OptionalField for Box<T> {}

/// A type that serde reads from no fields at all when it is flattened.
#[diagnostic::on_unimplemented(
    message = "a flattened `{Self}` that is not always stored may not be readable",
    label = "where its fields are left out, the rest could not be read back",
    note = "help: remove it: an empty map writes nothing anyway; for a struct, use an `Option`"
)]
pub trait OptionalParts {}

impl<T> OptionalParts for Option<T> {}
impl<T: OptionalParts> OptionalParts for Box<T> {}
impl<K, V, S> OptionalParts for HashMap<K, V, S> {}
impl<K, V> OptionalParts for BTreeMap<K, V> {}
impl OptionalParts for Document {}
