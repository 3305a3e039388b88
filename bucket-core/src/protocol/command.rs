//! The commands, as pure functions from facts to documents. Nothing here talks to a server.

mod append;
mod edit;
mod identity;
mod index;
mod shard_key;
mod stored_key;

use std::ops::Deref;

use mongodb::bson::{Bson, DateTime, Document, doc};

pub(crate) use self::index::open_index_filter;
pub use self::{
    append::{AppendedItems, size},
    edit::{KeptFields, Places, StoredItems},
    identity::{has_twins, identity, identity_path, twins},
    index::{before_all_windows, open_index_keys},
    shard_key::{allows, hashed, shard_key, window_shard_key},
    stored_key::{ReadKey, StoredKey, stored_key},
};
use crate::{
    error::Kind,
    schema::{
        id,
        key::KeyPart,
        names::{NEWEST, SEALED},
        open_index::OpenIndex,
        spec::{BucketSpec, Ordinal},
    },
    value::shell::shell,
};

/// One key of one collection, or one time window of a key, in the form that commands need.
#[derive(Debug, Clone)]
pub struct KeyScope {
    pub spec: &'static BucketSpec,
    pub parts: Vec<KeyPart>,
    /// The window's start. Writing treats it as one more part of the key; reading knows only keys.
    pub window: Option<DateTime>,
    /// The prefix of the ids of all buckets of the key or window.
    pub prefix: String,
}

/// A key, and the collection's open index as it was last read: what depends on the capacity needs
/// both. Dereferences to the key.
#[derive(Debug, Clone)]
pub struct IndexedScope {
    pub key: KeyScope,
    pub open: OpenIndex,
}

impl Deref for IndexedScope {
    type Target = KeyScope;

    fn deref(&self) -> &KeyScope {
        &self.key
    }
}

/// One statement of an `update` command.
#[derive(Debug, Clone, PartialEq)]
#[allow(unreachable_pub, reason = "the simulation of the engine reads it")]
pub struct Update {
    /// Matches the document.
    pub filter: Document,
    /// Changes it.
    pub update: Document,
    /// Whether a document is inserted if there is none.
    pub upsert: bool,
    /// The index that finds the document.
    pub hint: Option<&'static str>,
}

impl Update {
    /// An update of one document that is there.
    #[doc(hidden)]
    pub fn new(filter: Document, update: Document) -> Self {
        Self {
            filter,
            update,
            upsert: false,
            hint: None,
        }
    }

    /// Makes the server refuse the update if it finds no document: a new one could not have such an
    /// id.
    pub(crate) fn or_be_refused(self) -> Self {
        self.or_insert(Vec::<Bson>::new())
    }

    /// Inserts a document with this id if it finds none.
    fn or_insert(mut self, id: impl Into<Bson>) -> Self {
        (self.update).insert("$setOnInsert", doc! { "_id": id });
        self.upsert = true;
        self
    }

    /// Lets the update raise the bucket's time of the newest item to this one.
    #[doc(hidden)]
    pub fn with_newest(mut self, newest: DateTime) -> Self {
        // An update can have only one `$max`, for all fields.
        let mut max = (self.update.get_document("$max").cloned()).unwrap_or_default();
        max.insert(NEWEST, newest);
        self.update.insert("$max", max);
        self
    }

    /// The update as a statement of an `update` command.
    pub(crate) fn into_statement(self) -> Document {
        let mut statement = doc! { "q": self.filter, "u": self.update, "upsert": self.upsert };
        if let Some(hint) = self.hint {
            statement.insert("hint", hint);
        }
        statement
    }
}

impl KeyScope {
    pub fn new(spec: &'static BucketSpec, parts: Vec<KeyPart>) -> Self {
        let prefix = id::prefix(&spec.id, &parts);
        Self {
            spec,
            parts,
            window: None,
            prefix,
        }
    }

    /// The key "a" of numbered buckets of four items.
    #[cfg(test)]
    pub(crate) fn numbered() -> Self {
        use crate::schema::spec::{IdFormat, KeyName};
        const ID: IdFormat = IdFormat::new("", &["_"], Ordinal::Number);
        const SPEC: BucketSpec = BucketSpec::new("tests", ID, 4, &[KeyName::new("k")]);
        Self::new(&SPEC, vec![KeyPart::of::<String>("a")])
    }

    /// Joins the key with the open index that its commands depend on.
    pub fn by(self, open: OpenIndex) -> IndexedScope {
        IndexedScope { key: self, open }
    }

    /// Narrows the scope to the window of this moment, if buckets have windows. A moment that no id
    /// can hold has no window; `item::opening_id` refuses it.
    pub fn at(mut self, time: Option<DateTime>) -> Self {
        let ordinal = self.spec.id.ordinal;
        if let (Ordinal::Window { .. }, Some(time)) = (ordinal, time)
            && let Some(start) = id::window_start(ordinal, time.timestamp_millis())
        {
            self.window = Some(DateTime::from_millis(start));
            self.prefix.extend(id::time(ordinal, start));
        }
        self
    }

    /// The top-level fields that a bucket has because of its key and window.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, Bson)> {
        let window = self.spec.window_name().zip(self.window);
        let window = window.map(|(name, start)| (name, start.into()));
        self.key_fields().chain(window)
    }

    /// These fields, as they are stored.
    pub fn document(&self) -> Document {
        let fields = self.fields();
        fields
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    /// The key fields.
    fn key_fields(&self) -> impl Iterator<Item = (&'static str, Bson)> {
        let key = self.spec.key_names().zip(&self.parts);
        key.map(|(name, part)| (name, part.value.clone()))
    }

    /// The fields that all buckets of the key or window share, as conditions.
    pub(crate) fn equalities(&self) -> Document {
        conditions(self.fields())
    }

    /// The ids of all buckets of the key or window: a range, which the `_id` index answers alone.
    /// Never a regex.
    pub fn ids(&self) -> Document {
        id_range(&self.prefix)
    }

    /// The ids of all buckets of these keys.
    pub fn ids_of_any(scopes: &[&IndexedScope]) -> Document {
        doc! { "$or": scopes.iter().map(|scope| scope.ids()).collect::<Vec<_>>() }
    }

    /// All buckets of the key or window. Of a parent, all extras documents under whatever id: a
    /// read has to notice those of other programs.
    pub fn all(&self) -> Document {
        self.with_key(match self.spec.are_extras {
            true => Document::new(),
            false => self.ids(),
        })
    }

    /// The buckets with these ids that have the key fields. That excludes documents of other
    /// programs among those ids, but includes buckets that have a key field under an older name. A
    /// `mongos` asks one shard for them, unless a field may have an older name.
    pub fn with_key(&self, mut ids: Document) -> Document {
        let mut renamed = Vec::new();
        for (key, part) in self.spec.key.iter().zip(&self.parts) {
            if key.aliases.is_empty() {
                ids.insert(key.name, equality(&part.value));
                continue;
            }
            let names = std::iter::once(&key.name).chain(key.aliases);
            let any = names.map(|name| doc! { *name: equality(&part.value) });
            renamed.push(doc! { "$or": any.collect::<Vec<_>>() });
        }
        let window = self.spec.window_name().zip(self.window);
        ids.extend(window.map(|(name, start)| (name.to_owned(), start.into())));
        if !renamed.is_empty() {
            ids.insert("$and", renamed);
        }
        ids
    }

    /// The ids of the buckets that start at the moment of `base`, an id without a suffix.
    pub fn ids_of_moment(base: &str) -> Document {
        doc! { "_id": { "$gte": base, "$lte": id::last_suffix(base) } }
    }

    pub fn id(&self, ordinal: &str) -> String {
        format!("{}{ordinal}", self.prefix)
    }

    /// Whether a bucket of the key, or of its window, can have this id.
    pub fn owns(&self, id: &str) -> bool {
        match (id.strip_prefix(&self.prefix), self.spec.id.ordinal) {
            (None, _) => false,
            (Some(suffix), Ordinal::Window { .. }) => id::is_suffix(suffix),
            (Some(rest), ordinal) => id::is_ordinal_of(ordinal, rest),
        }
    }

    /// The error of a document with this id that reads of the key find, although no bucket of it
    /// can have that id.
    pub fn foreign(&self, id: &Bson) -> Kind {
        match self.spec.are_extras {
            true => Kind::ForeignExtras(shell(id)),
            false => Kind::ForeignId(shell(id)),
        }
    }

    /// The key as readable text: its fields, separated by commas.
    pub fn key_text(&self) -> String {
        let fields: Vec<_> = (self.parts.iter())
            .map(|part| part.text.chars().take(100).collect::<String>())
            .collect();
        fields.join(", ")
    }

    /// The key's text in quotes.
    pub fn label(&self) -> String {
        format!("{:?}", self.key_text())
    }
}

impl IndexedScope {
    /// How many items a bucket of the key holds.
    pub fn capacity(&self) -> usize {
        self.open.capacity as usize
    }

    /// The maximum size of a bucket, if it has to be checked: the compiler's proof holds only up to
    /// the struct's capacity.
    pub(crate) fn max_bytes(&self) -> Option<u32> {
        let is_bounded = self.spec.is_bounded && self.open.capacity <= self.spec.capacity;
        (!is_bounded).then_some(self.spec.max_bytes)
    }

    /// The open bucket of the key, even if its id is not one of the key's.
    ///
    /// `$exists` and not `null`: an upsert copies an equality into a new bucket, which would then
    /// have the field.
    pub fn open_bucket_anywhere(&self) -> Document {
        let mut filter = self.equalities();
        filter.insert(SEALED, doc! { "$exists": false });
        filter.insert(self.spec.count, doc! { "$lt": self.open.bound() });
        filter
    }

    /// The open buckets of these keys.
    pub fn open_buckets_anywhere(scopes: &[&Self]) -> Document {
        let [first, others @ ..] = scopes else {
            return doc! { "_id": { "$in": [] } };
        };
        let ([name], None) = (first.spec.key, first.window) else {
            let each = scopes.iter().map(|scope| scope.open_bucket_anywhere());
            return doc! { "$or": each.collect::<Vec<_>>() };
        };
        // One index scan instead of one for each key.
        let mut filter = first.open_bucket_anywhere();
        if !others.is_empty() {
            let values = scopes.iter().map(|scope| scope.parts[0].value.clone());
            filter.insert(name.name, doc! { "$in": values.collect::<Vec<_>>() });
        }
        filter
    }
}

/// The ids with this prefix.
pub(crate) fn id_range(prefix: &str) -> Document {
    doc! { "_id": { "$gte": prefix, "$lt": id::successor(prefix) } }
}

/// Whether a bucket is unsealed, as an expression.
pub fn is_unsealed() -> Document {
    doc! { "$eq": [{ "$type": format!("${SEALED}") }, "missing"] }
}

/// The condition that a bucket is not empty. What is no array is an error of a read.
pub fn holds_items(items: &str) -> (String, Bson) {
    (items.to_owned(), doc! { "$not": { "$size": 0 } }.into())
}

/// A filter for exactly these values.
fn conditions<'n>(fields: impl Iterator<Item = (&'n str, Bson)>) -> Document {
    fields
        .map(|(name, value)| (name.to_owned(), equality(&value)))
        .collect()
}

/// A filter for exactly this value. The server would read documents and regular expressions as
/// operators.
pub fn equality(value: &Bson) -> Bson {
    match value {
        Bson::Document(_) | Bson::RegularExpression(_) => doc! { "$eq": value.clone() }.into(),
        scalar => scalar.clone(),
    }
}

/// Each name with a 1: the keys of an index, or a projection.
pub fn each_one<'n>(names: impl Iterator<Item = &'n str>) -> Document {
    names
        .map(|name| (name.to_owned(), Bson::Int32(1)))
        .collect()
}
