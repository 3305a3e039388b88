//! Looks at a collection: what it is, then the figures that this needs.

mod arrays;
mod buckets;
mod flat;

use bucket_runtime::bson::{Document, doc};

use super::code;
use super::kind::{self, Hints, Known, Subject};
use super::measure::heat::{HeatFields, HeatKeys};
use super::picture::HeatPicture;
use super::plan::{Choice, Verdict};
use super::refusal::Refusal;
use super::report::Findings;
use super::scan::Scan;
use super::source::{CollectionType, Source};
use crate::progress::Progress;

/// How much to read.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) sample: u64,
    pub(super) is_all: bool,
    /// The number of items on a page of the application.
    pub(super) page: Option<u64>,
    /// Whether the report as a page may show values of the data.
    pub(super) has_values: bool,
    /// Whether the report becomes a page, too.
    pub(super) has_page: bool,
}

/// Everything about a collection.
pub(super) async fn collection(
    uri: &str,
    name: &str,
    reading: &Reading,
    hints: &Hints,
) -> Result<Findings, Refusal> {
    let source = Source::open(uri, name, reading.is_all).await?;
    if source.collection_type().await? == CollectionType::TimeSeries {
        return Ok(Findings {
            namespace: source.namespace(),
            kind: "a time series collection",
            verdict: "leave it as it is: the server keeps its buckets by itself".to_owned(),
            ..Findings::default()
        });
    }
    let scan = source
        .scan(reading.sample, Scan::of(&hints.key, kind::buckets::times))
        .await?;
    // A larger sample than the one that was read may be slow.
    let sample = reading.sample.min(scan.shape.documents);
    let reading = &Reading { sample, ..*reading };
    let indexes = source.indexes().await?;
    let keys: Vec<_> = indexes.iter().map(|index| index.keys.clone()).collect();
    let known = Known {
        shape: &scan.shape,
        examples: &scan.examples,
        indexes: &keys,
        is_all: scan.is_all,
    };
    let (mut subject, weighed) = kind::find(&known, hints)?;
    if let Subject::Buckets(layout) = &mut subject {
        layout.read_window(&indexes);
    }
    let _counting = Progress::waiting("the server counts");
    let (kind, verdict) = match &subject {
        Subject::Buckets(layout) => (
            "buckets",
            buckets::judge(&source, &scan, layout, &indexes, reading).await?,
        ),
        Subject::Arrays(array) => (
            "documents with an array that grows",
            arrays::judge(&source, &scan, array, reading).await?,
        ),
        Subject::Flat(layout) => (
            "flat documents",
            flat::judge(&source, &scan, layout, reading).await?,
        ),
        Subject::Unclear => ("neither series nor growing arrays", unclear(&scan)),
    };
    Ok(Findings {
        namespace: source.namespace(),
        documents: scan.in_collection,
        read: scan.shape.documents,
        is_all: scan.is_all,
        kind,
        weighed,
        corrections: match &verdict.choice {
            Choice::Leave => Vec::new(),
            _ => kind::corrections(&scan.shape, &subject),
        },
        code: code::write(&verdict.choice, true),
        page_code: code::write(&verdict.choice, reading.has_values),
        pictures: verdict.pictures,
        verdict: verdict.sentence,
        figures: verdict.figures,
    })
}

fn unclear(scan: &Scan) -> Verdict<'_> {
    let shared = scan
        .shape
        .fields
        .iter()
        .any(|field| field.name != "_id" && scan.shape.is_always(&field.value));
    let why = match shared {
        true => {
            "there is neither a key that tells series apart nor an array that grows; `--key` and `--array` name one"
        }
        false => "its documents share no field beside `_id`",
    };
    Verdict {
        sentence: format!("leave it as it is: {why}"),
        choice: Choice::Leave,
        figures: Vec::new(),
        pictures: Vec::new(),
    }
}

/// Windows by keys, if there is a page to draw them on.
async fn draw_heat(
    source: &Source,
    fields: Option<HeatFields>,
    remark: &'static str,
    reading: &Reading,
) -> Result<Option<HeatPicture>, Refusal> {
    let Some(fields) = fields.filter(|_| reading.has_page) else {
        return Ok(None);
    };
    let (rows, is_exact) = counted_or_sampled(source, fields.key_stages(), reading).await?;
    let Some(keys) = HeatKeys::of_rows(&rows) else {
        return Ok(None);
    };
    let stages = fields.window_stages(&keys);
    let (rows, is_whole) = counted_or_sampled(source, stages, reading).await?;
    Ok(Some(HeatPicture {
        heat: keys.heat(&rows),
        is_exact: is_exact && is_whole,
        remark,
    }))
}

/// The rows of a pipeline over the whole collection and `true`, or those over a sample, if counting
/// takes too long.
async fn counted_or_sampled(
    source: &Source,
    stages: Vec<Document>,
    reading: &Reading,
) -> Result<(Vec<Document>, bool), Refusal> {
    if let Some(rows) = source.count(stages.clone()).await? {
        return Ok((rows, true));
    }
    let size = i64::try_from(reading.sample).unwrap_or(i64::MAX);
    let sample = vec![doc! { "$sample": { "size": size } }];
    let rows = source.count([sample, stages].concat()).await?;
    let rows = rows.ok_or_else(|| {
        Refusal::nothing(match reading.is_all {
            true => "the server refuses to count even a sample; try a small `--sample` instead of `--all`",
            false => "the server takes too long to count; try a smaller `--sample`",
        })
    })?;
    Ok((rows, false))
}
