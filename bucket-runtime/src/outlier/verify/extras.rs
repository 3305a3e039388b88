//! Finds the problems of extras: as a whole, between them and their parents, and in the documents without a
//! count, which the manual's commands wrote.

use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};

use super::{OutlierProblem as Problem, VerifiedOutliers, id_of, number, problem::text};
use crate::{
    Result,
    error::error_text,
    maintain::verify::BucketProblem,
    outlier::{
        Outlier, collections::Collections, command::array_length, extra::Extra, unreadable::items,
    },
    schema::{key::KeyField, spec::OutlierSpec},
    server::Server,
    value::{bytes, unreadable::Attempted},
};

/// Counts the extras documents and their items.
pub(super) async fn count(
    extras: &Server,
    spec: &OutlierSpec,
    verified: &mut VerifiedOutliers,
) -> Result<()> {
    let all = doc! { "$group": {
        "_id": null,
        "documents": { "$sum": 1 },
        "items": { "$sum": array_length(spec.extra_items) },
    } };
    for row in rows(extras, [all]).await? {
        verified.extras += number(&row, "documents");
        verified.items += number(&row, "items");
    }
    Ok(())
}

/// Extras whose parent has no flag or does not exist. A reference that no parent can have is a problem of
/// its extras document.
pub(super) async fn without_flag<T: Outlier>(collections: &Collections) -> Result<Vec<Problem>> {
    let extras = &collections.extras.server;
    let parents = collections.parents.collection().name();
    let lonely = rows(extras, lonely(&T::SPEC, parents)).await?.into_iter();
    Ok(lonely
        .filter_map(|row| {
            let parent = id_of(&row);
            T::Id::from_bson(parent.clone())?;
            Some(match items(&row, "parent") {
                Some(found) if found.is_empty() => Problem::NoParent {
                    parent,
                    documents: number(&row, "documents"),
                    items: number(&row, "items"),
                },
                _ => Problem::NoFlag { parent },
            })
        })
        .collect())
}

/// O3: the parents with extras that have no flag, or do not exist.
fn lonely(spec: &OutlierSpec, parents: &str) -> [Document; 3] {
    [
        doc! { "$group": {
            "_id": format!("${}", spec.reference),
            "documents": { "$sum": 1 },
            "items": { "$sum": array_length(spec.extra_items) },
        } },
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

/// The extras documents without a count that cannot be read, and their items that cannot.
pub(super) async fn without_count<T: Outlier>(extras: &Server) -> Result<Vec<Problem>> {
    let fail = |error| extras.target().read_error(error);
    let uncounted = doc! { "$match": { "count": { "$exists": false } } };
    let rows = extras.survey::<RawDocumentBuf>([uncounted]).await;
    let mut rows = rows.map_err(fail)?;
    let mut problems = Vec::new();
    while rows.advance().await.map_err(fail)? {
        let row = rows.decode().map_err(fail)?;
        problems.extend(unreadable::<T>(&row).into_iter().map(Problem::Extras));
    }
    Ok(problems)
}

fn unreadable<T: Outlier>(row: &RawDocument) -> Vec<BucketProblem> {
    let bucket = id_of(row);
    let spec = &T::SPEC;
    let parent = row.get(spec.reference).ok().flatten();
    let parent = parent.and_then(|parent| Bson::try_from(parent).ok());
    let key = parent.as_ref().map(text).unwrap_or_default();
    match bytes::read::<Attempted<Extra<T>>>(row.as_bytes()) {
        Ok(read) => (read.sifted().1.into_iter())
            .map(|item| BucketProblem::Unreadable {
                bucket: bucket.clone(),
                key: key.clone(),
                place: item.place,
                error: error_text(&item.error),
            })
            .collect(),
        Err(_) if items(row, spec.extra_items).is_none() => {
            let array = spec.extra_items;
            vec![BucketProblem::NoArray { bucket, key, array }]
        }
        Err(_) => vec![BucketProblem::NoKey {
            bucket,
            field: spec.reference,
        }],
    }
}

/// All results of a pipeline.
pub(super) async fn rows(
    server: &Server,
    pipeline: impl IntoIterator<Item = Document>,
) -> Result<Vec<RawDocumentBuf>> {
    let fail = |error| server.target().read_error(error);
    let rows = server.survey(pipeline).await.map_err(fail)?;
    rows.rest().await.map_err(fail)
}
