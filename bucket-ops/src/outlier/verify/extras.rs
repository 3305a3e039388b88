//! Finds the problems of extras: as a whole, between them and their parents, and in the documents
//! without a count, which the manual's commands wrote.

use bucket_core::{
    error::count as counted,
    schema::{key::KeyField, spec::OutlierSpec},
    server::Server,
    value::shell::id_of,
};
use bucket_runtime::{
    __ops::{ExtraItem, OutlierCollections, StoredBucket, array, array_length},
    Outlier, Outliers, Result,
};
use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};

use super::{
    VerifiedOutliers,
    rows::{count_of, of_parent, rows, text},
};
use crate::verify::{Problem, ProblemKind as Kind};

/// Counts the extras documents and their items.
pub(super) async fn count(
    extras: &Server,
    spec: &OutlierSpec,
    verified: &mut VerifiedOutliers,
) -> Result<()> {
    for row in rows(extras.target(), [group_by(spec, Bson::Null)]).await? {
        verified.extras += count_of(&row, "documents");
        verified.items += count_of(&row, "items");
    }
    Ok(())
}

/// Finds the extras whose parent has no flag or does not exist. A reference that no parent can have
/// is a problem of its extras document.
pub(super) async fn find_lonely<T: Outlier>(
    collections: &OutlierCollections,
) -> Result<Vec<Problem>> {
    let extras = &collections.extras.server;
    let parents = collections.parents.collection().name();
    let lonely = rows(extras.target(), group_lonely(&T::SPEC, parents)).await?;
    let lonely = lonely.into_iter();
    Ok(lonely
        .filter_map(|row| {
            let parent = id_of(&row);
            T::Id::from_bson(parent.clone())?;
            Some(match array(&row, "parent") {
                Some(found) if found.is_empty() => of_parent(Kind::NoParent, parent, |parent| {
                    let items = counted(count_of(&row, "items"), "item");
                    let documents = counted(count_of(&row, "documents"), "extras document");
                    format!("parent {parent} does not exist, but has {items} in {documents}")
                }),
                _ => of_parent(Kind::NoFlag, parent, |parent| {
                    format!("parent {parent} has extras but no flag")
                }),
            })
        })
        .collect())
}

/// Counts extras documents and their items, by what this expression gives.
fn group_by(spec: &OutlierSpec, id: impl Into<Bson>) -> Document {
    doc! { "$group": {
        "_id": id.into(),
        "documents": { "$sum": 1 },
        "items": { "$sum": array_length(spec.extra_items) },
    } }
}

/// Finds the parents with extras that have no flag, or do not exist (O3).
fn group_lonely(spec: &OutlierSpec, parents: &str) -> [Document; 3] {
    [
        group_by(spec, format!("${}", spec.reference)),
        doc! { "$lookup": {
            "from": parents,
            "localField": "_id",
            "foreignField": "_id",
            "pipeline": [{ "$project": { "_id": 0, "flag": format!("${}", spec.flag) } }],
            "as": "parent",
        } },
        doc! { "$match": { "parent.flag": { "$ne": true } } },
    ]
}

/// Lists the extras documents without a count, which other programs stored, and what of them cannot
/// be read.
pub(super) async fn verify_uncounted<T: Outlier>(outliers: &Outliers<T>) -> Result<Vec<Problem>> {
    let extras = outliers.collections.extras.server.target();
    let uncounted = doc! { "$match": { "count": { "$exists": false } } };
    let uncounted = extras.pipeline([uncounted]).read_primary();
    let mut rows = uncounted.allow_disk_use().cursor(None).await?;
    let mut problems = Vec::new();
    while let Some(row) = rows.next_decoded::<RawDocumentBuf>().await? {
        problems.extend(problems_of(outliers, &row));
    }
    Ok(problems)
}

/// The problems of an extras document without a count.
fn problems_of<T: Outlier>(outliers: &Outliers<T>, row: &RawDocument) -> Vec<Problem> {
    let bucket = id_of(row);
    let spec = &T::SPEC;
    let parent = row.get(spec.reference).ok().flatten();
    let parent = parent.and_then(|parent| Bson::try_from(parent).ok());
    let key = parent.as_ref().map(text).unwrap_or_default();
    let problems = match <StoredBucket<ExtraItem<T>>>::sifted(row) {
        Ok((read, unreadable)) => {
            let parent = outliers.parent(read.key.0.borrowed());
            let foreign = parent.check_extras_document(row).err();
            let foreign = foreign.map(|_| Problem::foreign_id(&bucket, key.clone(), true));
            let unreadable = unreadable.iter();
            let unreadable = unreadable.map(|item| Problem::unreadable(&bucket, key.clone(), item));
            foreign.into_iter().chain(unreadable).collect()
        }
        Err(_) if array(row, spec.extra_items).is_none() => {
            vec![Problem::no_array(&bucket, key, spec.extra_items)]
        }
        Err(_) => vec![Problem::no_key(&bucket, spec.reference)],
    };
    problems.into_iter().map(Problem::in_extras).collect()
}
