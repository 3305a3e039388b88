//! The commands, as pure functions from facts to documents. Nothing here talks to a server.

mod edit;

use mongodb::bson::{Bson, DateTime, Document, doc};

pub(crate) use self::edit::{Kept, Place, Stored};
use crate::{
    BucketSpec, KeyPart, Ordinal, id, open_index::OpenIndex, rollup::Totals, size::Budget,
};

/// The index that every guarantee stands on: it holds one entry per open or sealed bucket, finds
/// the open one in one step, and lets the server refuse a second open bucket for a key.
pub(crate) const OPEN_INDEX: &str = "bucket_open";

/// The field that exists only in a sealed bucket, where it holds the bucket's own `_id`.
pub(crate) const SEALED: &str = "sealed";

/// The index by which the server removes buckets, and the field that it is over: the time of the
/// newest item. A time index over the items themselves would go by the oldest one.
pub(crate) const EXPIRY_INDEX: &str = "bucket_expiry";
pub(crate) const NEWEST: &str = "newest";

/// The field that exists only in buckets with large items: how many bytes these take beyond their
/// shares; see [`Budget`](crate::size::Budget).
pub(crate) const OVERSIZE: &str = "oversize";

/// The index by which each item of a key is stored once, where a field tells them apart.
pub(crate) const UNIQUE_INDEX: &str = "bucket_unique";

/// One key of one collection, or one time window of a key, ready to be put into commands.
#[derive(Debug, Clone)]
pub(crate) struct KeyScope {
    pub(crate) spec: &'static BucketSpec,
    /// The collection's open index, as far as is known.
    pub(crate) open: OpenIndex,
    pub(crate) parts: Vec<KeyPart>,
    /// The window's start. Writing treats it as one more part of the key, reading knows only keys.
    pub(crate) window: Option<DateTime>,
    /// What the ids of all buckets of the key, or of the window, begin with.
    pub(crate) prefix: String,
}

/// One statement of an `update` command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Update {
    pub(crate) filter: Document,
    pub(crate) update: Document,
    pub(crate) upsert: bool,
    pub(crate) hint: Option<&'static str>,
}

/// What an update appends.
#[derive(Debug)]
pub(crate) struct Items {
    pub(crate) elements: Vec<Bson>,
    /// What the bucket keeps about these, if it keeps anything.
    pub(crate) totals: Option<Totals>,
    /// How many bytes they take beyond their shares.
    pub(crate) oversize: i64,
}

impl Update {
    /// The same, with the time of the newest of the items that it carries.
    pub(crate) fn with_newest(mut self, newest: DateTime) -> Self {
        // There is one `$max` for all fields.
        let mut max = (self.update.get_document("$max").cloned()).unwrap_or_default();
        max.insert(NEWEST, newest);
        self.update.insert("$max", max);
        self
    }

    /// It as one of the statements of an `update` command.
    pub(crate) fn into_statement(self) -> Document {
        let mut statement = doc! { "q": self.filter, "u": self.update, "upsert": self.upsert };
        if let Some(hint) = self.hint {
            statement.insert("hint", hint);
        }
        statement
    }
}

impl KeyScope {
    pub(crate) fn new(spec: &'static BucketSpec, parts: Vec<KeyPart>) -> Self {
        let prefix = id::prefix(&spec.id, &parts);
        Self {
            spec,
            open: OpenIndex::first(spec.capacity),
            parts,
            window: None,
            prefix,
        }
    }

    /// The same, by the open index that the collection has.
    pub(crate) fn by(mut self, open: OpenIndex) -> Self {
        self.open = open;
        self
    }

    /// How many bytes a bucket takes at most, if that has to be seen to: what the compiler has proven
    /// is true of the capacity that it knew.
    pub(crate) fn max_bytes(&self) -> Option<u32> {
        let is_bounded = self.spec.is_bounded && self.open.capacity <= self.spec.capacity;
        (!is_bounded).then_some(self.spec.max_bytes)
    }

    /// Where an item of this moment is written to: its window, if buckets have one. A moment that no
    /// id can hold has none; [`item::base`](crate::item::base) refuses it.
    pub(crate) fn at(mut self, time: Option<DateTime>) -> Self {
        let ordinal = self.spec.id.ordinal;
        if let (Ordinal::Window { .. }, Some(time)) = (ordinal, time)
            && let Some(start) = id::window_start(ordinal, time.timestamp_millis())
        {
            self.window = Some(DateTime::from_millis(start));
            self.prefix.extend(id::time(ordinal, start));
        }
        self
    }

    /// The fields that a bucket has at its top because of whose it is.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'static str, Bson)> {
        let window = self.spec.window_name().zip(self.window);
        let window = window.map(|(name, start)| (name, start.into()));
        self.key_fields().chain(window)
    }

    /// The fields of the key.
    fn key_fields(&self) -> impl Iterator<Item = (&'static str, Bson)> {
        let key = self.spec.key_names().zip(&self.parts);
        key.map(|(name, part)| (name, part.value.clone()))
    }

    /// The fields of all buckets of the key, or of the window, as conditions.
    pub(crate) fn equalities(&self) -> Document {
        conditions(self.fields())
    }

    /// All buckets of the key: a range of ids, which the `_id` index answers alone. Never a regex.
    pub(crate) fn all(&self) -> Document {
        doc! { "_id": { "$gte": &self.prefix, "$lt": id::successor(&self.prefix) } }
    }

    /// All buckets of the key that reads take for its own: also those that have a field under an
    /// older name, and none that another program put among their ids.
    pub(crate) fn whole_key(&self) -> Document {
        let fields = self.spec.key.iter().zip(&self.parts).map(|(key, part)| {
            let names = std::iter::once(&key.name).chain(key.aliases);
            let any = names.map(|name| doc! { *name: equality(&part.value) });
            doc! { "$or": any.collect::<Vec<_>>() }
        });
        let mut filter = self.all();
        filter.insert("$and", fields.collect::<Vec<_>>());
        filter
    }

    /// The bucket with this ordinal text.
    pub(crate) fn exact(&self, ordinal: &str) -> Document {
        doc! { "_id": self.id(ordinal) }
    }

    /// The buckets of the key after this ordinal text.
    pub(crate) fn after(&self, ordinal: &str) -> Document {
        doc! { "_id": { "$gt": self.id(ordinal), "$lt": id::successor(&self.prefix) } }
    }

    /// The buckets of the key before this ordinal text.
    pub(crate) fn before(&self, ordinal: &str) -> Document {
        doc! { "_id": { "$gte": &self.prefix, "$lt": self.id(ordinal) } }
    }

    /// The buckets that began at the moment of `base`, an id without a suffix.
    pub(crate) fn same_moment(base: &str) -> Document {
        doc! { "_id": { "$gte": base, "$lte": id::last_suffix(base) } }
    }

    pub(crate) fn id(&self, ordinal: &str) -> String {
        format!("{}{ordinal}", self.prefix)
    }

    /// The key as text for people: its fields, parted by commas.
    pub(crate) fn label(&self) -> String {
        let fields: Vec<_> = (self.parts.iter())
            .map(|part| part.text.chars().take(100).collect::<String>())
            .collect();
        format!("{:?}", fields.join(", "))
    }

    /// The append in one round trip: into the open bucket, or into a new one with this id.
    pub(crate) fn append_or_open(&self, items: Items, new_id: &str) -> Update {
        let filter = self.open_bucket(&items);
        let mut update = self.push(items);
        update.insert("$setOnInsert", doc! { "_id": new_id });
        Update {
            filter,
            update,
            upsert: true,
            hint: Some(self.open.name),
        }
    }

    /// The append into the open bucket, if there is one.
    pub(crate) fn append_to_open(&self, items: Items) -> Update {
        Update {
            filter: self.open_bucket(&items),
            update: self.push(items),
            upsert: false,
            hint: Some(self.open.name),
        }
    }

    /// The append into the open bucket as a statement among others: if there is none it is refused
    /// (InvalidIdField, 53), since the answer to several statements tells only how many of them
    /// found a document.
    pub(crate) fn append_to_open_or_be_refused(&self, items: Items) -> Update {
        or_be_refused(self.append_to_open(items))
    }

    /// The append into the bucket with this id, which is refused (InvalidIdField, 53, or
    /// ImmutableField, 66) if that is no longer open: where buckets expire, one that was there a
    /// moment ago may be gone, and a new one needs an id of its own time.
    pub(crate) fn append_to_id_or_be_refused(&self, items: Items, id: &str) -> Update {
        or_be_refused(self.append_to_id(items, id))
    }

    /// The append into the bucket with this id, which is opened if it does not exist. If it is
    /// full or sealed the server refuses with E11000 on `_id_`.
    pub(crate) fn append_to_id(&self, items: Items, id: &str) -> Update {
        let mut filter = self.open_bucket(&items);
        filter.insert("_id", id);
        Update {
            filter,
            update: self.push(items),
            upsert: true,
            // Or else the server would try both indexes each time, and take more items than the
            // collection's capacity from who knows another one.
            hint: Some(self.open.name),
        }
    }

    /// Seals the bucket with this id, which has room, but not for the item that comes next. It makes
    /// none.
    pub(crate) fn seal(&self, id: &str) -> Update {
        let mut filter = self.open_bucket_anywhere();
        filter.insert("_id", id);
        Update {
            filter,
            update: doc! { "$set": { SEALED: id } },
            upsert: false,
            hint: Some("_id_"),
        }
    }

    /// The same as a statement among others: it is refused if the bucket is not open any more.
    pub(crate) fn seal_or_be_refused(&self, id: &str) -> Update {
        or_be_refused(self.seal(id))
    }

    /// The open bucket of the key, if it has room for so many elements.
    ///
    /// `$exists` and not `null`: an equality would be copied into a new bucket, which then had the
    /// field. The key's equality is copied, and that is how a new bucket gets its key fields; it
    /// stays in every write because a collection that is sharded by the key needs it there. The
    /// range of ids is what reads ask for: an item must not go where no read would find it.
    fn open_bucket(&self, items: &Items) -> Document {
        let elements = &items.elements;
        let mut filter = self.open_bucket_anywhere();
        filter.extend(self.all());
        // The index holds what is below the capacity, so nothing above that may be asked for.
        let below = self.open.bound() + 1 - size(elements).max(1);
        filter.insert(self.spec.count, doc! { "$lt": below });
        if let Some(budget) = Budget::of(self) {
            filter.insert(OVERSIZE, budget.leaves(items.oversize));
        }
        if let Some(field) = self.spec.unique {
            // The unique index compares items of different buckets only.
            let identities = elements
                .iter()
                .filter_map(|element| identity(field, element));
            let others = doc! { "$nin": identities.cloned().collect::<Vec<_>>() };
            filter.insert(identity_path(self.spec, field), others);
        }
        filter
    }

    /// What tells apart the items of those buckets of the key which hold items with these identities,
    /// as the unique index finds them.
    pub(crate) fn identities(&self, field: &str, identities: Vec<Bson>) -> [Document; 2] {
        let path = identity_path(self.spec, field);
        let mut filter = conditions(self.key_fields());
        filter.insert(path.as_str(), doc! { "$in": identities });
        filter.insert(self.spec.count, doc! { "$gt": 0 });
        [
            doc! { "$match": filter },
            doc! { "$project": { "_id": 0, "identities": format!("${path}") } },
        ]
    }

    /// The open bucket of the key, also if its id is none of the key's.
    pub(crate) fn open_bucket_anywhere(&self) -> Document {
        let mut filter = self.equalities();
        filter.insert(SEALED, doc! { "$exists": false });
        filter.insert(self.spec.count, doc! { "$lt": self.open.bound() });
        filter
    }

    /// The open buckets of these keys.
    pub(crate) fn open_buckets_anywhere(scopes: &[&Self]) -> Document {
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

    /// `$each` even for a single element: an element that itself looks like a modifier
    /// (`{"$each": …}`, from a flattened map) stays a plain value inside an array.
    fn push(&self, items: Items) -> Document {
        let Items {
            elements,
            totals,
            oversize,
        } = items;
        let mut added = doc! { self.spec.count: size(&elements) };
        if oversize > 0 {
            added.insert(OVERSIZE, oversize);
        }
        let mut update = doc! {
            "$push": { self.spec.items: { "$each": elements } },
            "$inc": added,
        };
        if let Some(totals) = totals {
            totals.add_to(self.spec, &mut update);
        }
        update
    }
}

/// What tells an element from the others of its key.
pub(crate) fn identity<'e>(field: &str, element: &'e Bson) -> Option<&'e Bson> {
    element.as_document()?.get(field)
}

/// The path under which queries and the index find that.
pub(crate) fn identity_path(spec: &BucketSpec, field: &str) -> String {
    format!("{}.{field}", spec.items)
}

/// Whether two elements of a bucket have the same identity, which no index tells.
pub(crate) fn has_twins(spec: &BucketSpec, field: &str) -> Document {
    let all = format!("${}", identity_path(spec, field));
    let distinct = doc! { "$setUnion": [&all] };
    let fewer = doc! { "$lt": [{ "$size": distinct }, { "$size": &all }] };
    doc! { "$cond": [{ "$isArray": [&all] }, fewer, false] }
}

/// The update, which is refused if it would make a document: that one could have no such id.
fn or_be_refused(mut update: Update) -> Update {
    let impossible = Bson::Array(Vec::new());
    (update.update).insert("$setOnInsert", doc! { "_id": impossible });
    update.upsert = true;
    update
}

/// A filter for these very values.
fn conditions<'n>(fields: impl Iterator<Item = (&'n str, Bson)>) -> Document {
    fields
        .map(|(name, value)| (name.to_owned(), equality(&value)))
        .collect()
}

/// A filter for this very value. Documents and regular expressions would be read as operators.
pub(crate) fn equality(value: &Bson) -> Bson {
    match value {
        Bson::Document(_) | Bson::RegularExpression(_) => doc! { "$eq": value.clone() }.into(),
        scalar => scalar.clone(),
    }
}

/// The sum of the counts of the buckets that match.
pub(crate) fn count_items(spec: &BucketSpec, filter: Document) -> [Document; 2] {
    [
        doc! { "$match": filter },
        doc! { "$group": { "_id": null, "items": { "$sum": format!("${}", spec.count) } } },
    ]
}

/// The keys of the open index.
pub(crate) fn open_index_keys(spec: &BucketSpec) -> Document {
    let mut keys = each_one(spec.key_names().chain(spec.window_name()));
    keys.insert(SEALED, 1_i32);
    keys
}

/// Keys of an index, or a projection.
pub(crate) fn each_one<'n>(names: impl Iterator<Item = &'n str>) -> Document {
    names
        .map(|name| (name.to_owned(), Bson::Int32(1)))
        .collect()
}

/// The keys of the index on the reference field of extras.
pub(crate) fn reference_index_keys(reference: &str) -> Document {
    doc! { reference: 1, "_id": 1 }
}

/// Which buckets the open index holds.
pub(crate) fn open_index_filter(spec: &BucketSpec, open: OpenIndex) -> Document {
    let mut filter = doc! { spec.count: { "$lt": open.bound() } };
    if let (Some(name), Ordinal::Window { seconds }) = (spec.window_name(), spec.id.ordinal) {
        filter.insert(name, doc! { "$gte": before_all_windows(seconds.into()) });
    }
    filter
}

/// The keys of the index on the field that tells the items of a key apart.
pub(crate) fn unique_index_keys(spec: &BucketSpec, field: &str) -> Document {
    let mut keys = each_one(spec.key_names());
    keys.insert(identity_path(spec, field), 1_i32);
    keys
}

/// Which buckets that index holds: an empty one would stand in it with a null, and two of them
/// would exclude each other.
pub(crate) fn unique_index_filter(spec: &BucketSpec) -> Document {
    doc! { spec.count: { "$gt": 0 } }
}

/// The moment that lies one window before the first one that ids can hold. As a bound of the open
/// index it leaves out nothing, and lets the next opening see how long the windows are.
pub(crate) fn before_all_windows(seconds: i64) -> DateTime {
    DateTime::from_millis(-(10_000_000_000 + seconds) * 1000)
}

/// How many elements a command carries: never more than a capacity.
pub(crate) fn size(elements: &[Bson]) -> i32 {
    i32::try_from(elements.len()).unwrap_or(i32::MAX)
}
