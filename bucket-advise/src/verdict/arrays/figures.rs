//! The lengths of arrays as lines of text, and the reason for a threshold.

use crate::figures::{counted, tenths, thousands};
use crate::measure::lengths::Lengths;
use crate::measure::threshold::rule::Distribution;
use crate::measure::threshold::{Candidate, candidates};

/// The number of marks in the longest bar.
const WIDTH: u64 = 40;

/// A histogram, the quantiles, and the thresholds side by side, one of which may be recommended.
pub(crate) fn figures(lengths: &Lengths, recommended: Option<u64>) -> Vec<String> {
    let mut lines = vec![format!(
        "{}, {}; the longest array has {}",
        counted(lengths.documents(), "document"),
        counted(lengths.items(), "item"),
        thousands(lengths.longest())
    )];
    lines.extend([String::new(), "   items  documents".to_owned()]);
    lines.extend(bars(&lengths.histogram()));
    lines.extend([String::new(), "  arrays      items".to_owned()]);
    let quantiles = lengths.quantiles().into_iter();
    lines.extend(
        quantiles.map(|(percent, length)| format!("{percent:>6} %  ≤ {:>7}", thousands(length))),
    );
    let head = "threshold    documents above           bytes in them  items moved";
    lines.extend([String::new(), head.to_owned()]);
    lines.extend(candidates(lengths, recommended).iter().map(|candidate| {
        let mark = match recommended == Some(candidate.threshold) {
            true => "  ← recommended",
            false => "",
        };
        effects(lengths, candidate) + mark
    }));
    lines
}

fn bars(histogram: &[(u64, u64)]) -> Vec<String> {
    let most = histogram.iter().map(|(_, documents)| *documents);
    let most = most.max().unwrap_or(1);
    let bar = |(up_to, documents): &(u64, u64)| {
        let bar = "#".repeat((documents * WIDTH).div_ceil(most) as usize);
        let (up_to, documents) = (thousands(*up_to), thousands(*documents));
        format!("≤ {up_to:>6}  {documents:>9}  {bar}")
    };
    histogram.iter().map(bar).collect()
}

fn effects(lengths: &Lengths, candidate: &Candidate) -> String {
    let (above, bytes) = (candidate.documents_above, candidate.bytes_above);
    format!(
        "{:>9}  {:>9} {:>8}  {:>14} {:>8}     {:>8}",
        thousands(candidate.threshold),
        thousands(above),
        tenths(above, lengths.documents()),
        thousands(bytes),
        tenths(bytes, lengths.bytes()),
        tenths(candidate.items_moved, lengths.items()),
    )
}

/// Why this threshold is recommended, or none.
pub(crate) fn reason(lengths: &Lengths, distribution: Distribution) -> String {
    let longest = thousands(lengths.longest());
    match distribution {
        Distribution::Gap(threshold) => gain(lengths, threshold),
        Distribution::Tail(threshold) => format!(
            "the lengths fall off without a gap, but a few documents hold half of the items\n{}",
            gain(lengths, threshold)
        ),
        Distribution::Huge => format!(
            "half of the documents have {} items or more: consider the bucket pattern",
            thousands(lengths.median()),
        ),
        Distribution::Few if lengths.documents() == 0 => {
            "there are no documents to analyse".to_owned()
        }
        Distribution::Few => format!(
            "too few documents ({}) to tell which length is typical; the longest array has {longest} items",
            lengths.documents()
        ),
        Distribution::Small => format!(
            "no document is large: the longest array has {longest} items, and is read as fast as a short one"
        ),
        Distribution::Even => {
            format!(
                "no array stands out: the longest has {longest} items, and no gap sets a few apart"
            )
        }
    }
}

fn gain(lengths: &Lengths, threshold: u64) -> String {
    let candidate = Candidate::of(lengths, threshold);
    let above = candidate.documents_above;
    let others = match above {
        1 => "the other one holds".to_owned(),
        above => format!("the other {} hold", thousands(above)),
    };
    format!(
        "{} of documents stay whole; {others} {} of the bytes; {} of the items move",
        tenths(lengths.documents() - above, lengths.documents()),
        tenths(candidate.bytes_above, lengths.bytes()),
        tenths(candidate.items_moved, lengths.items()),
    )
}
