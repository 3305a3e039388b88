//! The results of pipelines that look for problems.

use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf};

pub(in crate::outlier::maintain) use crate::server::cursor::id_of;
use crate::{Result, server::target::Target, value::element::whole};

/// All results of a pipeline, as the primary has them.
pub(in crate::outlier::maintain) async fn rows(
    target: Target<'_>,
    pipeline: impl IntoIterator<Item = Document>,
) -> Result<Vec<RawDocumentBuf>> {
    let rows = target.pipeline(pipeline).read_primary();
    rows.allow_disk_use().rows(None).await
}

/// A number in a result; 0 if there is none.
pub(in crate::outlier::maintain) fn count_of(row: &RawDocument, name: &str) -> u64 {
    let number = row.get(name).ok().flatten();
    let number = number.and_then(|number| whole(&Bson::try_from(number).ok()?));
    number.and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}
