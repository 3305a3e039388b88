//! Which indexes a collection needs, and whether those that are there will do.

use std::time::Duration;

use mongodb::{
    IndexModel,
    bson::{Bson, Document, doc},
    options::IndexOptions,
};

use crate::{
    BucketSpec,
    command::{self, EXPIRY_INDEX, NEWEST, UNIQUE_INDEX},
    error::Kind,
    open_index::OpenIndex,
};

/// The index that every guarantee stands on.
pub(crate) fn open(spec: &BucketSpec, open: OpenIndex) -> IndexModel {
    let options = IndexOptions::builder()
        .name(open.name.to_owned())
        .unique(true)
        .partial_filter_expression(command::open_index_filter(spec, open))
        .build();
    model(command::open_index_keys(spec), options)
}

/// The indexes that a struct asks for by its attributes, as far as they are not there.
pub(crate) fn asked_for(found: &[IndexModel], spec: &BucketSpec) -> Result<Vec<IndexModel>, Kind> {
    let paths = spec.indexes.iter().map(|name| {
        let is_key = spec.key.iter().any(|key| key.name == *name);
        match is_key {
            true => (*name).to_owned(),
            false => format!("{}.{name}", spec.items),
        }
    });
    let mut missing = plain(found, paths)?;
    missing.extend(unique(found, spec)?);
    missing.extend(expiry(found, spec)?);
    Ok(missing)
}

/// Indexes over these fields, as far as there is none that serves for them.
pub(crate) fn plain(
    found: &[IndexModel],
    paths: impl IntoIterator<Item = String>,
) -> Result<Vec<IndexModel>, Kind> {
    let mut missing = Vec::new();
    for path in paths {
        if found.iter().any(|index| serves(index, &path)) {
            continue;
        }
        // As the shell and the driver call it.
        let ours = format!("{path}_1");
        if let Some(index) = named(found, &ours) {
            return Err(foreign(index));
        }
        missing.push(IndexModel::builder().keys(doc! { path: 1 }).build());
    }
    Ok(missing)
}

pub(crate) fn named<'f>(found: &'f [IndexModel], name: &str) -> Option<&'f IndexModel> {
    found.iter().find(|index| self::name(index) == Some(name))
}

/// The index is in the way of ours.
pub(crate) fn foreign(index: &IndexModel) -> Kind {
    let mut is = format!("on {}", index.keys);
    if let Some(options) = &index.options {
        if let Some(filter) = &options.partial_filter_expression {
            is += &format!(", where {filter}");
        }
        let kinds = [
            (options.sparse, "sparse"),
            (options.unique, "unique"),
            (options.hidden, "hidden"),
        ];
        for (_, kind) in kinds.iter().filter(|(is_so, _)| *is_so == Some(true)) {
            is += &format!(", {kind}");
        }
    }
    Kind::ForeignIndex {
        name: name(index).unwrap_or_default().to_owned(),
        is,
    }
}

/// Whether the index finds all documents by this field, whatever else it does.
fn serves(index: &IndexModel, path: &str) -> bool {
    let first = index.keys.iter().next();
    let is_over = first.is_some_and(|(name, kind)| {
        name == path && matches!(kind, Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_))
    });
    let options = index.options.clone().unwrap_or_default();
    is_over && is_plain(&options) && options.sparse != Some(true) && options.hidden != Some(true)
}

/// Whether the index holds all documents, and compares text as queries do.
fn is_plain(options: &IndexOptions) -> bool {
    options.partial_filter_expression.is_none() && options.collation.is_none()
}

/// The index by which each item of a key is stored once, if it is to be made.
fn unique(found: &[IndexModel], spec: &BucketSpec) -> Result<Option<IndexModel>, Kind> {
    let Some(field) = spec.unique else {
        return Ok(None);
    };
    let keys = command::unique_index_keys(spec, field);
    let filter = command::unique_index_filter(spec);
    let Some(index) = named(found, UNIQUE_INDEX) else {
        let options = IndexOptions::builder()
            .name(UNIQUE_INDEX.to_owned())
            .unique(true)
            .partial_filter_expression(filter)
            .build();
        return Ok(Some(model(keys, options)));
    };
    let options = index.options.clone().unwrap_or_default();
    let is_ours = options.unique == Some(true)
        && options.collation.is_none()
        && options.hidden != Some(true)
        && index.keys.keys().eq(keys.keys())
        && (options.partial_filter_expression)
            .is_some_and(|of| of.to_string() == filter.to_string());
    match is_ours {
        true => Ok(None),
        false => Err(foreign(index)),
    }
}

/// The index by which the server removes buckets, if it is to be made.
///
/// If one is there and the struct does not say so, its writers would let the time of a bucket's
/// newest item grow old, and the server would remove items too early.
fn expiry(found: &[IndexModel], spec: &BucketSpec) -> Result<Option<IndexModel>, Kind> {
    let keys = doc! { NEWEST: 1 };
    let Some(index) = named(found, EXPIRY_INDEX) else {
        return Ok(spec.expire_after.map(|seconds| {
            let options = IndexOptions::builder()
                .name(EXPIRY_INDEX.to_owned())
                .expire_after(Duration::from_secs(seconds.into()))
                .build();
            model(keys, options)
        }));
    };
    let options = index.options.clone().unwrap_or_default();
    match options.expire_after {
        Some(stored) if index.keys.keys().eq(keys.keys()) && is_plain(&options) => {
            let derived = spec.expire_after.map(u64::from);
            match derived == Some(stored.as_secs()) {
                true => Ok(None),
                false => Err(Kind::ExpiryMismatch {
                    stored: stored.as_secs(),
                    derived,
                }),
            }
        }
        _ => Err(foreign(index)),
    }
}

pub(crate) fn name(index: &IndexModel) -> Option<&str> {
    index.options.as_ref()?.name.as_deref()
}

fn model(keys: Document, options: IndexOptions) -> IndexModel {
    IndexModel::builder().keys(keys).options(options).build()
}
