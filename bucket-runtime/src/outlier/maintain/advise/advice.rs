//! Advice: how long a collection's arrays are, and what each threshold would do.

use std::{fmt, ops::RangeInclusive};

use super::{
    lengths::{LengthGroup, Lengths},
    rule::{self, Finding},
};

/// The quantiles to report, in percent.
const QUANTILES: [f64; 6] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9];

/// The least and the greatest threshold to compare, if it is not recommended.
const CANDIDATES: RangeInclusive<u64> = 10..=50_000;

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
    /// What the lengths look like.
    pub finding: Finding,
    /// The recommended threshold; `None` if the pattern would gain nothing. It stands where a few documents are
    /// far longer than all others: the least threshold of which hardly any document is above, but within its
    /// double; or, where there is no such gap, the length from which on a few documents hold half of the items.
    /// Neither depends on how many documents there are.
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
    /// Advice for arrays whose lengths you have counted yourself, in any order.
    ///
    /// ```
    /// use bucket_runtime::{Advice, LengthGroup};
    ///
    /// // 29 books with up to 29 buyers, and one with 1,200.
    /// let books = (1..30).chain([1200]);
    /// let groups = books.map(|length| LengthGroup { length, documents: 1, bytes: 100 + length * 20 });
    /// assert_eq!(Advice::of(groups).recommended, Some(50));
    /// ```
    pub fn of(groups: impl IntoIterator<Item = LengthGroup>) -> Self {
        let lengths = Lengths::new(groups);
        let (finding, recommended) = rule::find(&lengths);
        Self {
            documents: lengths.documents(),
            items: lengths.items(),
            bytes: lengths.bytes(),
            longest: lengths.longest(),
            quantiles: QUANTILES.map(|q| (q, lengths.quantile(q))).to_vec(),
            candidates: candidates(&lengths, recommended),
            finding,
            recommended,
            histogram: histogram(lengths.groups()),
        }
    }

    /// Why this threshold is recommended, or none.
    pub fn reason(&self) -> String {
        if self.documents == 0 {
            return "there are no documents to analyse".to_owned();
        }
        let longest = thousands(self.longest);
        match (self.finding, self.recommended()) {
            (Finding::Gap, Some(candidate)) => self.gain(candidate),
            (Finding::Tail, Some(candidate)) => format!(
                "the lengths fall off without a gap, but a few documents hold half of the items\n{}",
                self.gain(candidate)
            ),
            (Finding::Huge, _) => format!(
                "half of the documents have {} items or more: consider the bucket pattern",
                thousands(self.quantiles[0].1),
            ),
            (Finding::Few, _) => format!(
                "too few documents ({}) to tell which length is typical; the longest array has {longest} items",
                self.documents
            ),
            (Finding::Small, _) => format!(
                "no document is large: the longest array has {longest} items, and is read as fast as a short one"
            ),
            _ => format!(
                "no array stands out: the longest has {longest} items, and no gap sets a few apart"
            ),
        }
    }

    /// The candidate that is recommended.
    fn recommended(&self) -> Option<&Candidate> {
        let recommended = self.recommended?;
        let mut candidates = self.candidates.iter();
        candidates.find(|candidate| candidate.threshold == recommended)
    }

    fn gain(&self, candidate: &Candidate) -> String {
        let others = match candidate.documents_above {
            1 => "the other one holds".to_owned(),
            above => format!("the other {} hold", thousands(above)),
        };
        format!(
            "{} of documents stay whole; {others} {} of the bytes; {} of the items move",
            percent(self.documents - candidate.documents_above, self.documents),
            percent(candidate.bytes_above, self.bytes),
            percent(candidate.items_moved, self.items),
        )
    }
}

/// The round thresholds up to the first that exceeds every array, since greater ones add nothing, and the
/// recommended one.
fn candidates(lengths: &Lengths, recommended: Option<u64>) -> Vec<Candidate> {
    let mut thresholds: Vec<u64> = Vec::new();
    for round in rule::round_numbers().filter(|round| CANDIDATES.contains(round)) {
        thresholds.push(round);
        if lengths.above(round) == 0 {
            break;
        }
    }
    thresholds.extend(recommended);
    thresholds.sort_unstable();
    thresholds.dedup();
    let candidate = |threshold| Candidate {
        threshold,
        documents_above: lengths.above(threshold),
        bytes_above: lengths.bytes_above(threshold),
        items_moved: lengths.items_beyond(threshold),
    };
    thresholds.into_iter().map(candidate).collect()
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
            "{}, {}; the longest array has {}",
            counted(self.documents, "document"),
            counted(self.items, "item"),
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

/// A share in percent. Only nothing is 0, and only all is 100.
fn percent(part: u64, all: u64) -> String {
    let percent = part as f64 * 100.0 / all.max(1) as f64;
    let shown = match part {
        0 => 0.0,
        part if part >= all => percent,
        _ => percent.clamp(0.1, 99.9),
    };
    format!("{shown:.1} %")
}

/// A number of things, such as "1 item" and "2,000 items".
fn counted(n: u64, thing: &str) -> String {
    match n {
        1 => format!("1 {thing}"),
        _ => format!("{} {thing}s", thousands(n)),
    }
}

fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> = (digits.as_bytes().rchunks(3).rev())
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}

#[test]
fn a_share_is_nothing_or_all_only_if_it_is() {
    let shares = [(0, 10_000), (1, 10_000), (9_999, 10_000), (10_000, 10_000)];
    let shown = shares.map(|(part, all)| percent(part, all));
    assert_eq!(shown, ["0.0 %", "0.1 %", "99.9 %", "100.0 %"]);
}
