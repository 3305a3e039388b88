//! The figures of documents with a growing array.

use bucket_runtime::bson::{DateTime, Document, doc};

use super::{Reading, counted_or_sampled};
use crate::kind::arrays::ArrayLayout;
use crate::measure::growth::{GROWN, Growth, LargeDocument};
use crate::measure::lengths::Lengths;
use crate::measure::{array_length, keys, whole};
use crate::picture::GrowthPicture;
use crate::plan::Verdict;
use crate::refusal::Refusal;
use crate::scan::Scan;
use crate::source::Source;
use crate::verdict::arrays::{self, ArrayFacts};

/// So many of the largest documents are shown.
const SHOWN: i64 = 5;

pub(super) async fn judge<'s>(
    source: &'s Source,
    scan: &'s Scan,
    layout: &'s ArrayLayout,
    reading: &Reading,
) -> Result<Verdict<'s>, Refusal> {
    let (rows, is_exact) =
        counted_or_sampled(source, Lengths::stages(&layout.array), reading).await?;
    let largest = rows.iter().map(|row| whole(row, "largest")).max();
    let largest = largest.unwrap_or(0);
    let growth = match largest >= GROWN {
        true => Some(GrowthPicture {
            large: rows.iter().map(|row| whole(row, "large")).sum(),
            documents: large_documents(source, layout, reading).await?,
            since: layout.since.as_ref().map(|since| since.text(&layout.array)),
        }),
        false => None,
    };
    let facts = ArrayFacts {
        collection: source.name(),
        shape: &scan.shape,
        layout,
        lengths: Lengths::of_rows(&rows),
        is_exact,
        is_all: reading.is_all,
        largest,
        growth,
    };
    Ok(arrays::judge(&facts))
}

/// The largest documents, the largest first.
async fn large_documents(
    source: &Source,
    layout: &ArrayLayout,
    reading: &Reading,
) -> Result<Vec<LargeDocument>, Refusal> {
    let since = layout.since.as_ref();
    let begin = since.map(|since| since.expression(&layout.array));
    let stages = vec![
        doc! { "$project": {
            "length": array_length(&layout.array), "bytes": { "$bsonSize": "$$ROOT" }, "begin": begin,
        } },
        doc! { "$match": { "bytes": { "$gte": GROWN as i64 } } },
        doc! { "$sort": { "bytes": -1, "_id": 1 } },
        doc! { "$limit": SHOWN },
    ];
    let (rows, _) = counted_or_sampled(source, stages, reading).await?;
    let now = DateTime::now().timestamp_millis();
    let document = |row: &Document| {
        let bytes = whole(row, "bytes");
        let begin = row.get_datetime("begin").ok();
        LargeDocument {
            items: whole(row, "length"),
            bytes,
            growth: begin.and_then(|begin| Growth::of(bytes, begin.timestamp_millis(), now)),
            id: reading.has_values.then(|| keys::text(row.get("_id"))),
        }
    };
    Ok(rows.iter().map(document).collect())
}
