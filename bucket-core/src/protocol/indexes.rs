//! Which indexes a collection needs, and whether existing ones will do.

pub mod required;
#[cfg(test)]
mod tests;

use std::time::Duration;

use mongodb::{
    IndexModel,
    bson::{Bson, Document, doc},
    options::IndexOptions,
};

use crate::{
    error::Kind,
    protocol::command,
    schema::{
        names::{EXPIRY_INDEX, NEWEST, SEALED, TOTAL_INDEX, UNIQUE_INDEX},
        open_index::{OpenIndex, is_open_index},
        spec::{BucketSpec, Ordinal, OutlierSpec},
    },
    value::number::whole,
};

/// The index behind every guarantee.
pub fn open(spec: &BucketSpec, open: OpenIndex) -> IndexModel {
    let options = IndexOptions::builder()
        .name(open.name.to_owned())
        .unique(true)
        .partial_filter_expression(command::open_index_filter(spec, open))
        .build();
    model(command::open_index_keys(spec), options)
}

/// The open index, hidden from the commands that name it. It refuses documents all the same.
pub fn hidden(spec: &BucketSpec, open: OpenIndex) -> IndexModel {
    let mut index = self::open(spec, open);
    index.options.get_or_insert_default().hidden = Some(true);
    index
}

/// The indexes on fields of an outlier's parents that have to be created.
pub fn of_parents(found: &[IndexModel], spec: &OutlierSpec) -> Result<Vec<IndexModel>, Kind> {
    plain(found, spec.indexes.iter().map(|name| (*name).to_owned()))
}

/// The indexes of extras that have to be created, beside those of buckets: the manual's on the
/// reference field, which with `_id` also tells our pages from other documents, and one that is
/// always empty, by which a total is known.
///
/// If there is one of another total, the struct's writers would leave that total behind.
pub fn of_extras(found: &[IndexModel], spec: &OutlierSpec) -> Result<Vec<IndexModel>, Kind> {
    let stored = named(found, TOTAL_INDEX).and_then(|index| index.keys.keys().last());
    if let Some(field) = stored.filter(|field| spec.total != Some(field)) {
        return Err(Kind::KnowsLess {
            keeps: format!("the number of each parent's items, in `{field}`"),
            add: "mark that field `total`",
            remove: format!("dropIndex({TOTAL_INDEX:?})"),
        });
    }
    let options = IndexOptions::builder()
        .name(TOTAL_INDEX.to_owned())
        .partial_filter_expression(doc! { TOTAL_INDEX: { "$exists": true } })
        .build();
    let total = spec.total.map(|total| model(doc! { total: 1 }, options));
    let keys = doc! { spec.reference: 1, "_id": 1 };
    let all = std::iter::once(IndexModel::builder().keys(keys).build()).chain(total);
    let is_missing = |index: &IndexModel| found.iter().all(|found| found.keys != index.keys);
    Ok(all.filter(is_missing).collect())
}

/// Which indexes to create.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Needed {
    /// The indexes that the list lacks.
    IfMissing,
    /// The indexes that guard something, listed or not.
    OnEachShard,
}

/// The indexes that a struct's attributes ask for and that have to be created.
pub fn asked_for(
    found: &[IndexModel],
    spec: &BucketSpec,
    needed: Needed,
) -> Result<Vec<IndexModel>, Kind> {
    let paths = spec.indexes.iter().map(|name| {
        let is_key = spec.key.iter().any(|key| key.name == *name);
        match is_key {
            true => (*name).to_owned(),
            false => format!("{}.{name}", spec.items),
        }
    });
    let mut missing = plain(found, paths)?;
    missing.extend(unique(found, spec, needed)?);
    missing.extend(expiry(found, spec, needed)?);
    Ok(missing)
}

/// Indexes on these fields, unless an existing one serves.
fn plain(
    found: &[IndexModel],
    paths: impl IntoIterator<Item = String>,
) -> Result<Vec<IndexModel>, Kind> {
    let mut missing = Vec::new();
    for path in paths {
        if found.iter().any(|index| serves(index, &path)) {
            continue;
        }
        // The name that the shell and the driver give it.
        let ours = format!("{path}_1");
        if let Some(index) = named(found, &ours) {
            return Err(foreign(index));
        }
        missing.push(IndexModel::builder().keys(doc! { path: 1 }).build());
    }
    Ok(missing)
}

pub fn named<'f>(found: &'f [IndexModel], name: &str) -> Option<&'f IndexModel> {
    found.iter().find(|index| self::name(index) == Some(name))
}

/// The error for an index with one of our names and another definition.
pub fn foreign(index: &IndexModel) -> Kind {
    Kind::ForeignIndex {
        name: name(index).unwrap_or_default().to_owned(),
        // The server adds a version to each index.
        is: required::arguments(index, &["v", "name"]).unwrap_or_default(),
    }
}

/// Whether the index finds all documents by this field, even if it does more than that.
fn serves(index: &IndexModel, path: &str) -> bool {
    let first = index.keys.iter().next();
    let is_over = first.is_some_and(|(name, kind)| {
        name == path && matches!(kind, Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_))
    });
    let options = index.options.clone().unwrap_or_default();
    is_over && is_plain(&options) && options.sparse != Some(true) && options.hidden != Some(true)
}

/// Whether the index holds all documents and compares text as queries do.
fn is_plain(options: &IndexOptions) -> bool {
    options.partial_filter_expression.is_none() && options.collation.is_none()
}

/// The index that stores each item of a key once, if it has to be created.
///
/// If there is one and the struct names no such field, the struct's writers would store items twice
/// in a bucket.
fn unique(
    found: &[IndexModel],
    spec: &BucketSpec,
    needed: Needed,
) -> Result<Option<IndexModel>, Kind> {
    let Some(field) = spec.unique else {
        let index = named(found, UNIQUE_INDEX);
        let field = index.and_then(|index| index.keys.keys().last());
        return field.map_or(Ok(None), |field| {
            Err(Kind::KnowsLess {
                keeps: format!("each item once, by `{field}`"),
                add: "mark that field `unique`",
                remove: format!("dropIndex({UNIQUE_INDEX:?})"),
            })
        });
    };
    let options = IndexOptions::builder()
        .name(UNIQUE_INDEX.to_owned())
        .unique(true)
        // Not an empty bucket, which would be in it with a null, so that two empty buckets would
        // exclude each other.
        .partial_filter_expression(doc! { spec.count: { "$gt": 0 } })
        .build();
    let mut keys = command::each_one(spec.key_names());
    keys.insert(command::identity_path(spec.items, field), 1_i32);
    let ours = model(keys, options);
    match named(found, UNIQUE_INDEX) {
        // The server adds a version to each index.
        Some(index) if required::arguments(index, &["v"]) != required::arguments(&ours, &[]) => {
            Err(foreign(index))
        }
        Some(_) if needed == Needed::IfMissing => Ok(None),
        _ => Ok(Some(ours)),
    }
}

/// The index by which the server removes buckets, if it has to be created.
///
/// If there is one and the struct does not declare it, the struct's writers would not update the
/// time of a bucket's newest item, and the server would remove items too early.
fn expiry(
    found: &[IndexModel],
    spec: &BucketSpec,
    needed: Needed,
) -> Result<Option<IndexModel>, Kind> {
    let keys = doc! { NEWEST: 1 };
    let ours = spec.expire_after.map(|seconds| {
        let options = IndexOptions::builder()
            .name(EXPIRY_INDEX.to_owned())
            .expire_after(Duration::from_secs(seconds.into()))
            .build();
        model(keys.clone(), options)
    });
    let Some(index) = named(found, EXPIRY_INDEX) else {
        return Ok(ours);
    };
    let options = index.options.clone().unwrap_or_default();
    match options.expire_after {
        Some(stored) if index.keys.keys().eq(keys.keys()) && is_plain(&options) => {
            let derived = spec.expire_after.map(u64::from);
            match derived == Some(stored.as_secs()) {
                true => Ok(ours.filter(|_| needed == Needed::OnEachShard)),
                false => Err(Kind::ExpiryMismatch {
                    stored: stored.as_secs(),
                    derived,
                }),
            }
        }
        _ => Err(foreign(index)),
    }
}

pub fn name(index: &IndexModel) -> Option<&str> {
    index.options.as_ref()?.name.as_deref()
}

fn model(keys: Document, options: IndexOptions) -> IndexModel {
    IndexModel::builder().keys(keys).options(options).build()
}

/// The open index of a collection, if there is one; an error while the capacity changes.
pub fn open_index(found: &[IndexModel], spec: &BucketSpec) -> Result<Option<OpenIndex>, Kind> {
    match open_indexes(found, spec)?[..] {
        [] => Ok(None),
        [(open, false)] => Ok(Some(open)),
        _ => Err(Kind::MissingIndex),
    }
}

/// The open indexes of a collection, and whether each is hidden: one that is not, except while the
/// capacity changes.
pub fn open_indexes(
    found: &[IndexModel],
    spec: &BucketSpec,
) -> Result<Vec<(OpenIndex, bool)>, Kind> {
    if has_collation(found) {
        return Err(Kind::Collation);
    }
    let names = found
        .iter()
        .filter_map(|index| Some((index, self::name(index)?)));
    let open = names.filter(|(_, name)| is_open_index(name));
    let open = open.map(|(index, name)| {
        let is_hidden = index.options.as_ref().and_then(|options| options.hidden);
        Ok((check(index, name, spec)?, is_hidden == Some(true)))
    });
    open.collect()
}

/// Whether the collection compares text by a locale. The index on `_id` shows it, since it always
/// has its collection's collation.
fn has_collation(found: &[IndexModel]) -> bool {
    named(found, "_id_")
        .and_then(|index| index.options.as_ref())
        .is_some_and(|options| options.collation.is_some())
}

/// Whether an index with the right name is the right index, for any capacity.
fn check(index: &IndexModel, name: &str, spec: &BucketSpec) -> Result<OpenIndex, Kind> {
    let options = index.options.clone().unwrap_or_default();
    let filter = options.partial_filter_expression.unwrap_or_default();
    let has_our_keys = index.keys.keys().eq(command::open_index_keys(spec).keys());
    let is_by_our_fields = has_our_keys && filter.contains_key(spec.count);
    let other = || match other_struct(index) {
        Some(other) if !is_by_our_fields => other,
        _ => foreign(index),
    };
    // A query with the simple collation cannot use an index with another collation.
    if options.unique != Some(true) || options.collation.is_some() || !has_our_keys {
        return Err(other());
    }
    let bound = filter
        .get_document(spec.count)
        .ok()
        .and_then(|count| count.get("$lt"));
    if let Ordinal::Window { seconds } = spec.id.ordinal {
        let bound = filter.get_document(spec.window);
        let bound = bound.and_then(|window| window.get_datetime("$gte"));
        let bound = bound.map_err(|_| other())?.timestamp_millis();
        let stored = (command::before_all_windows(0).timestamp_millis() - bound) / 1000;
        if stored != i64::from(seconds) {
            return Err(Kind::WindowMismatch {
                stored,
                derived: seconds,
            });
        }
    }
    let capacity = bound
        .and_then(whole)
        .and_then(|bound| u32::try_from(bound).ok());
    let open = OpenIndex::found(name, capacity.ok_or_else(other)?);
    let open = open.ok_or_else(|| foreign(index))?;
    if filter.len() == command::open_index_filter(spec, open).len() {
        Ok(open)
    } else {
        Err(other())
    }
}

/// The error for an open index of another struct: one that is made as ours are, on other fields.
fn other_struct(index: &IndexModel) -> Option<Kind> {
    let options = index.options.clone().unwrap_or_default();
    let filter = options.partial_filter_expression?;
    let mut bounds = filter.values().filter_map(Bson::as_document);
    let guards = options.unique == Some(true)
        && options.collation.is_none()
        && options.hidden != Some(true)
        && bounds.any(|bound| bound.contains_key("$lt"));
    let names: Vec<_> = index.keys.keys().map(String::as_str).collect();
    let (sealed, names) = names.split_last()?;
    let by = names.iter().map(|name| format!("`{name}`"));
    let by = by.collect::<Vec<_>>().join(", ");
    (guards && *sealed == SEALED).then_some(Kind::OtherStruct { by })
}
