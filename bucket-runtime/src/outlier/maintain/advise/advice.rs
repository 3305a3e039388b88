//! Advice: how long a collection's arrays are, and what each threshold would do.

use std::fmt;

/// The thresholds to compare.
const CANDIDATES: [u64; 12] = [
    10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000,
];

/// The quantiles to report, in percent.
const QUANTILES: [f64; 6] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9];

/// At most this share of the documents may be outliers. The manual calls outliers atypical documents;
/// with one in a hundred, the others do not pay for the pattern.
const RARE: f64 = 0.01;

/// All documents whose arrays have the same length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LengthGroup {
    pub(crate) length: u64,
    pub(crate) documents: u64,
    pub(crate) bytes: u64,
}

/// How long a collection's arrays are, and which threshold suits them.
///
/// Its `Display` prints the figures as tables, a histogram of the lengths, and the reason.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Advice {
    /// The number of documents.
    pub documents: u64,
    /// The number of items in their arrays.
    pub items: u64,
    /// The size of the documents in bytes.
    pub bytes: u64,
    /// The length of the longest array.
    pub longest: u64,
    /// Percentages, each with the length that this share of the arrays does not exceed.
    pub quantiles: Vec<(f64, u64)>,
    /// The effects of each threshold that was compared.
    pub candidates: Vec<Candidate>,
    /// The recommended threshold; `None` if the pattern would gain nothing.
    pub recommended: Option<u64>,
    /// How many documents have an array of up to 0, 1, 2, 4, 8 … items.
    pub histogram: Vec<(u64, u64)>,
}

/// A threshold, and what it would do.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// The number of items that a document would keep.
    pub threshold: u64,
    /// The number of documents with more items.
    pub documents_above: u64,
    /// The size of those documents in bytes.
    pub bytes_above: u64,
    /// The number of items that would move to extras.
    pub items_moved: u64,
}

impl Advice {
    pub(crate) fn of(groups: Vec<LengthGroup>) -> Self {
        let documents = groups.iter().map(|group| group.documents).sum();
        let longest = groups.last().map_or(0, |group| group.length);
        let mut advice = Self {
            documents,
            items: groups
                .iter()
                .map(|group| group.length * group.documents)
                .sum(),
            bytes: groups.iter().map(|group| group.bytes).sum(),
            longest,
            quantiles: QUANTILES
                .map(|q| (q, quantile(&groups, documents, q)))
                .to_vec(),
            candidates: CANDIDATES
                .map(|threshold| candidate(&groups, threshold))
                .to_vec(),
            recommended: None,
            histogram: histogram(&groups),
        };
        // The first threshold that exceeds every array is the last useful one; greater ones add nothing.
        let telling = advice
            .candidates
            .iter()
            .position(|candidate| candidate.documents_above == 0);
        advice
            .candidates
            .truncate(telling.map_or(CANDIDATES.len(), |last| last + 1));
        advice.recommended = (advice.candidates.iter())
            .find(|candidate| candidate.documents_above as f64 <= RARE * documents as f64)
            .filter(|candidate| candidate.documents_above > 0)
            .map(|candidate| candidate.threshold);
        advice
    }

    /// Why this threshold is recommended, or none.
    pub fn reason(&self) -> String {
        let found = self.recommended.and_then(|recommended| {
            self.candidates
                .iter()
                .find(|candidate| candidate.threshold == recommended)
        });
        if self.documents == 0 {
            return "there are no documents to analyse".to_owned();
        }
        let Some(candidate) = found else {
            return match self.longest > CANDIDATES[CANDIDATES.len() - 1] {
                true => format!(
                    "more than {} % of the arrays exceed {} items: these are not outliers; consider \
                     the bucket pattern",
                    RARE * 100.0,
                    thousands(CANDIDATES[CANDIDATES.len() - 1]),
                ),
                false => format!(
                    "no array stands out: the longest has {} items, so no threshold sets a few apart",
                    thousands(self.longest)
                ),
            };
        };
        format!(
            "{} of documents stay whole; the other {} hold {} of the bytes; {} of the items move",
            percent(self.documents - candidate.documents_above, self.documents),
            thousands(candidate.documents_above),
            percent(candidate.bytes_above, self.bytes),
            percent(candidate.items_moved, self.items),
        )
    }
}

/// The length that `percent` of the arrays do not exceed.
fn quantile(groups: &[LengthGroup], documents: u64, percent: f64) -> u64 {
    let rank = (documents as f64 * percent / 100.0).ceil() as u64;
    let mut seen = 0;
    let found = groups.iter().find(|group| {
        seen += group.documents;
        seen >= rank
    });
    found.map_or(0, |group| group.length)
}

fn candidate(groups: &[LengthGroup], threshold: u64) -> Candidate {
    let above = || groups.iter().filter(|group| group.length > threshold);
    Candidate {
        threshold,
        documents_above: above().map(|group| group.documents).sum(),
        bytes_above: above().map(|group| group.bytes).sum(),
        items_moved: above()
            .map(|group| (group.length - threshold) * group.documents)
            .sum(),
    }
}

/// The number of documents up to each power of two.
fn histogram(groups: &[LengthGroup]) -> Vec<(u64, u64)> {
    let mut bars: Vec<(u64, u64)> = Vec::new();
    for group in groups {
        let up_to = if group.length == 0 {
            0
        } else {
            group.length.next_power_of_two()
        };
        match bars.last_mut() {
            Some((last, documents)) if *last == up_to => *documents += group.documents,
            _ => bars.push((up_to, group.documents)),
        }
    }
    bars
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} documents, {} items; the longest array has {}",
            thousands(self.documents),
            thousands(self.items),
            thousands(self.longest)
        )?;
        writeln!(f, "\n   items  documents")?;
        let most = self
            .histogram
            .iter()
            .map(|(_, documents)| *documents)
            .max()
            .unwrap_or(0);
        for (up_to, documents) in &self.histogram {
            let width = (documents * 40).div_ceil(most.max(1)) as usize;
            let bar = "#".repeat(width);
            writeln!(
                f,
                "≤ {:>6}  {:>9}  {bar}",
                thousands(*up_to),
                thousands(*documents)
            )?;
        }
        writeln!(f, "\n  arrays      items")?;
        for (percent, length) in &self.quantiles {
            writeln!(f, "{percent:>6} %  ≤ {:>7}", thousands(*length))?;
        }
        writeln!(
            f,
            "\nthreshold    documents above           bytes in them  items moved"
        )?;
        for candidate in &self.candidates {
            writeln!(
                f,
                "{:>9}  {:>9} {:>8}  {:>14} {:>8}     {:>8}{}",
                thousands(candidate.threshold),
                thousands(candidate.documents_above),
                percent(candidate.documents_above, self.documents),
                thousands(candidate.bytes_above),
                percent(candidate.bytes_above, self.bytes),
                percent(candidate.items_moved, self.items),
                if self.recommended == Some(candidate.threshold) {
                    "  ← recommended"
                } else {
                    ""
                },
            )?;
        }
        match self.recommended {
            Some(threshold) => write!(f, "\nthreshold = {threshold}\n{}", self.reason()),
            None => write!(f, "\nno threshold\n{}", self.reason()),
        }
    }
}

fn percent(part: u64, all: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / all.max(1) as f64)
}

fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> = (digits.as_bytes().rchunks(3).rev())
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}
