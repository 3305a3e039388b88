//! The results of pipelines that look for problems.

use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf};

use crate::{Result, server::target::Target, value::element::whole};

/// All results of a pipeline, as the primary has them.
pub(in crate::outlier::maintain) async fn rows(
    target: Target<'_>,
    pipeline: impl IntoIterator<Item = Document>,
) -> Result<Vec<RawDocumentBuf>> {
    let rows = target.pipeline(pipeline).read_primary();
    rows.allow_disk_use().rows(None).await
}

/// The id in a result; `Null` if there is none.
pub(in crate::outlier::maintain) fn id_of(row: &RawDocument) -> Bson {
    let id = row.get("_id").ok().flatten();
    let id = id.and_then(|id| Bson::try_from(id).ok());
    id.unwrap_or(Bson::Null)
}

/// A number in a result; 0 if there is none.
pub(in crate::outlier::maintain) fn count_of(row: &RawDocument, name: &str) -> u64 {
    let number = row.get(name).ok().flatten();
    let number = number.and_then(|number| whole(&Bson::try_from(number).ok()?));
    number.and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}
