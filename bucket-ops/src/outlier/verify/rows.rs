//! The results of pipelines that look for problems.

use bucket_core::{
    server::target::Target,
    value::{number::whole_in, shell::shell},
};
use bucket_runtime::Result;
use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf};

use crate::verify::{Problem, ProblemKind};

/// All results of a pipeline, as the primary has them.
pub(in crate::outlier) async fn rows(
    target: Target<'_>,
    pipeline: impl IntoIterator<Item = Document>,
) -> Result<Vec<RawDocumentBuf>> {
    let rows = target.pipeline(pipeline).read_primary();
    rows.allow_disk_use().rows(None).await
}

/// A number in a result; 0 if there is none.
pub(in crate::outlier) fn count_of(row: &RawDocument, name: &str) -> u64 {
    whole_in(row, name).unwrap_or(0)
}

/// A problem of a parent, whose text names it.
pub(super) fn of_parent(
    kind: ProblemKind,
    parent: Bson,
    problem: impl FnOnce(String) -> String,
) -> Problem {
    Problem::of(kind, &parent, text(&parent), problem).in_parents()
}

/// An id as readable text, as keys of extras are shown.
pub(super) fn text(id: &Bson) -> String {
    match id {
        Bson::String(text) => text.clone(),
        Bson::Int32(number) => number.to_string(),
        Bson::Int64(number) => number.to_string(),
        Bson::ObjectId(id) => id.to_hex(),
        Bson::Binary(binary) => match binary.to_uuid() {
            Ok(uuid) => uuid.to_string(),
            Err(_) => shell(id),
        },
        other => shell(other),
    }
}
