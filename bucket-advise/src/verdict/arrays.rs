//! Whether documents with a growing array need a threshold, or buckets.

pub(crate) mod figures;

use self::figures::{figures, reason};
use crate::code::names::singular;
use crate::figures::{bytes, counted, table, thousands};
use crate::kind::arrays::ArrayLayout;
use crate::kind::buckets::IdOrdinal;
use crate::kind::buckets::settings::OwnSettings;
use crate::kind::key::can_be_key;
use crate::measure::lengths::Lengths;
use crate::measure::threshold::rule::Distribution;
use crate::picture::{GrowthPicture, LengthsPicture, Picture};
use crate::plan::{BucketPlan, Choice, Member, Origin, OutlierPlan, Verdict, members};
use crate::shape::DocumentShape;
use crate::shape::value::{ValueKind, ValueShape};

/// The capacity of buckets that take the items of huge arrays.
const CAPACITY: u64 = 100;

/// Measurements of documents with an array.
#[derive(Debug)]
pub(crate) struct ArrayFacts<'f> {
    pub(crate) collection: &'f str,
    pub(crate) shape: &'f DocumentShape,
    pub(crate) layout: &'f ArrayLayout,
    pub(crate) lengths: Lengths,
    /// Whether every document was counted, rather than a sample.
    pub(crate) is_exact: bool,
    /// Whether every document was to be counted, however long it takes.
    pub(crate) is_all: bool,
    /// The bytes of the largest document.
    pub(crate) largest: u64,
    /// The large documents, if there are any.
    pub(crate) growth: Option<GrowthPicture>,
}

/// The verdict on documents with an array.
pub(crate) fn judge<'f>(facts: &ArrayFacts<'f>) -> Verdict<'f> {
    let distribution = Distribution::of(&facts.lengths);
    let mut figures = figures(&facts.lengths, distribution.threshold());
    if !facts.is_exact {
        let all = match facts.is_all {
            true => "the server refused to count all",
            false => "`--all` counts all",
        };
        // By the rule of three, of what one document in N/3 is, a sample of N misses all with 5 %.
        figures.push(format!(
            "a sample: it may hold no document of a kind that is rarer than one in {}; {all}",
            thousands(facts.lengths.documents() / 3)
        ));
    }
    figures.extend(size_figures(facts));
    let (sentence, choice) = choose(facts, distribution);
    let lengths = LengthsPicture {
        lengths: facts.lengths.clone(),
        threshold: distribution.threshold(),
        is_recommended: true,
        remark: "",
    };
    Verdict {
        sentence,
        choice,
        figures,
        pictures: std::iter::once(Picture::Lengths(lengths))
            .chain(facts.growth.clone().map(Picture::Growth))
            .collect(),
    }
}

fn choose<'f>(facts: &ArrayFacts<'f>, distribution: Distribution) -> (String, Choice<'f>) {
    let array = &*facts.layout.array;
    let reason = reason(&facts.lengths, distribution).replace('\n', ": ");
    let id = facts.shape.get("_id");
    let fit = id.map_or(Ok(()), |id| can_be_key("_id", id, facts.shape));
    let is_huge = distribution == Distribution::Huge;
    let is_useful = is_huge || distribution.threshold().is_some();
    if let (true, Err(why)) = (is_useful, fit) {
        let text = format!(
            "leave it as it is for now: `{array}` should be split, but `_id` is {why}; {reason}"
        );
        return (text, Choice::Leave);
    }
    match (distribution.threshold(), items(facts)) {
        (Some(threshold), _) => {
            let plan = OutlierPlan {
                collection: facts.collection.to_owned(),
                members: members(facts.shape, &[]),
                array: array.to_owned(),
                threshold,
            };
            let text = format!(
                "take outliers with a threshold of {} items in `{array}`: {reason}",
                thousands(threshold)
            );
            (text, Choice::Outliers(plan))
        }
        (None, Some(plan)) if is_huge => {
            let text = format!("take buckets for the items of `{array}`: {reason}");
            (text, Choice::Buckets(plan))
        }
        _ => (
            format!("leave it as it is: in `{array}` {reason}"),
            Choice::Leave,
        ),
    }
}

/// The items of the array in buckets, by the documents' `_id`.
fn items<'f>(facts: &ArrayFacts<'f>) -> Option<BucketPlan<'f>> {
    let items: &ValueShape = facts.shape.get(&facts.layout.array)?.items.as_deref()?;
    let document = items
        .document
        .as_deref()
        .filter(|_| items.types() == [ValueKind::Document]);
    let parent = format!("{}_id", singular(facts.collection));
    let is_taken = document.is_some_and(|document| document.get(&parent).is_some());
    let id = Member {
        name: if is_taken {
            format!("of_{parent}")
        } else {
            parent
        },
        value: facts.shape.get("_id")?,
        of: facts.shape.documents,
        is_key: true,
    };
    let mut all = vec![id];
    match document {
        Some(document) => all.extend(members(document, &[])),
        None => all.push(Member {
            name: "value".to_owned(),
            value: items,
            of: items.seen,
            is_key: false,
        }),
    }
    let is_time = |member: &&Member<'_>| {
        member.value.types() == [ValueKind::Date] && member.value.present() == member.of
    };
    let time = all.iter().find(is_time).map(|member| member.name.clone());
    Some(BucketPlan {
        collection: format!("{}_{}", facts.collection, facts.layout.array),
        members: all,
        literals: None,
        ending: time.map_or(IdOrdinal::Number, IdOrdinal::Seconds),
        capacity: CAPACITY,
        items: "items".to_owned(),
        count: "count".to_owned(),
        origin: Origin::Array {
            collection: facts.collection.to_owned(),
            array: facts.layout.array.clone(),
        },
        settings: OwnSettings::default(),
        remarks: Vec::new(),
    })
}

fn size_figures(facts: &ArrayFacts<'_>) -> Vec<String> {
    let mut lines = vec![format!(
        "the largest document has {} of at most 16 MiB (16.8 MB)",
        bytes(facts.largest)
    )];
    if let Some(growth) = &facts.growth {
        let have = if growth.large == 1 { "has" } else { "have" };
        let large = counted(growth.large, "document");
        lines.push(format!("{large} {have} 1 MiB or more; {}", growth.age()));
        let head = growth.head().into_iter().map(str::to_owned).collect();
        let rows: Vec<_> = std::iter::once(head).chain(growth.rows()).collect();
        lines.extend(table(&rows).into_iter().map(|line| format!("  {line}")));
    }
    lines
}
