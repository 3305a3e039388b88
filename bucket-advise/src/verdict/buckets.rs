//! Whether a collection of buckets is in order.

use crate::figures::{bytes, counted, thousands, window};
use crate::kind::buckets::settings::OwnSettings;
use crate::kind::buckets::{BucketLayout, IdLayout, IdOrdinal};
use crate::measure::fill::Fill;
use crate::picture::{HeatPicture, Picture};
use crate::plan::{BucketPlan, Choice, Member, Origin, Verdict, members};
use crate::shape::DocumentShape;
use crate::verdict::flat::figures::busy_advice;

/// Measurements of buckets.
#[derive(Debug)]
pub(crate) struct BucketsFacts<'f> {
    pub(crate) collection: &'f str,
    pub(crate) shape: &'f DocumentShape,
    pub(crate) layout: &'f BucketLayout,
    pub(crate) settings: OwnSettings,
    pub(crate) fill: Fill,
    /// Whether the index `bucket_open` is there.
    pub(crate) has_index: bool,
    /// Whether every bucket was counted, rather than those of a sample.
    pub(crate) is_exact: bool,
    /// Whether everything was to be counted, however long it takes.
    pub(crate) is_all: bool,
    /// How many keys have several open buckets, if the server could count them.
    pub(crate) several_open: Option<u64>,
    /// How many buckets begin before the bucket with the lower id, if the server could count them.
    pub(crate) out_of_order: Option<u64>,
    /// The most buckets that a key opened in a minute, if the server could count them.
    pub(crate) busiest_minute: Option<u64>,
    /// Windows by keys, if they are to be drawn.
    pub(crate) heat: Option<HeatPicture>,
}

/// The verdict on buckets.
pub(crate) fn judge<'f>(facts: &BucketsFacts<'f>) -> Verdict<'f> {
    let fill = &facts.fill;
    let figures = figures(facts);
    let pictures = std::iter::once(Picture::Fill(fill.clone()))
        .chain(facts.heat.clone().map(Picture::Heat))
        .collect();
    let sample = if facts.is_exact { "" } else { "a sample of " };
    let what = format!(
        "{sample}{} with {}, {} % full at a capacity of {}",
        counted(fill.buckets, "bucket"),
        counted(fill.items, "item"),
        fill.percent(),
        thousands(fill.capacity)
    );
    let Some(plan) = plan(facts) else {
        let sentence = format!(
            "leave it as it is: {what}, made by hand; their ids do not name the key and a time, so no struct can \
             take them over in place; `$unwind` makes flat documents of them, which can be imported"
        );
        return Verdict {
            sentence,
            choice: Choice::Leave,
            figures,
            pictures,
        };
    };
    let problems = fill.wrong_count + fill.overfull() + facts.several_open.unwrap_or(0);
    let sentence = match (problems, facts.has_index) {
        (0, true) => format!("leave it as it is: {what}, guarded by the index `bucket_open`"),
        (0, false) => format!(
            "take the buckets over: {what}; no index keeps writers from opening a second bucket for a key"
        ),
        (_, _) => format!(
            "take the buckets over and repair them: {what}; found {}",
            found(facts)
        ),
    };
    Verdict {
        sentence,
        choice: Choice::Buckets(plan),
        figures,
        pictures,
    }
}

/// The breaches of the guarantees that show without a struct.
fn found(facts: &BucketsFacts<'_>) -> String {
    let open = counted(facts.several_open.unwrap_or(0), "key");
    let mut all = counted(facts.fill.wrong_count, "wrong count");
    if facts.fill.overfull() > 0 {
        let overfull = counted(facts.fill.overfull(), "bucket");
        all += &format!(", {overfull} beyond the capacity");
    }
    format!("{all}, and {open} with several open buckets")
}

/// The struct that opens the buckets as they are.
fn plan<'f>(facts: &BucketsFacts<'f>) -> Option<BucketPlan<'f>> {
    let (layout, shape) = (facts.layout, facts.shape);
    let ids = layout.ids.as_ref()?;
    let elements = shape
        .get(&layout.items)?
        .items
        .as_deref()?
        .document
        .as_deref()?;
    let key = ids.key.iter().map(|(_, name)| {
        Some(Member {
            name: name.clone(),
            value: shape.get(name)?,
            of: shape.documents,
            is_key: true,
        })
    });
    let mut all: Vec<_> = key.collect::<Option<_>>()?;
    all.extend(members(elements, &[]));
    let literals = ids
        .key
        .iter()
        .map(|(before, _)| before)
        .chain([&ids.before_ordinal]);
    Some(BucketPlan {
        collection: facts.collection.to_owned(),
        members: all,
        literals: Some(literals.cloned().collect()),
        ending: ids.ordinal.clone(),
        capacity: facts.fill.capacity.max(1),
        items: layout.items.clone(),
        count: layout.count.clone(),
        origin: Origin::Buckets,
        remarks: (facts.settings.other_paths.iter())
            .map(|path| format!("the index over `{path}` is there, too; `index(…)` declares it"))
            .collect(),
        settings: facts.settings.clone(),
    })
}

fn figures(facts: &BucketsFacts<'_>) -> Vec<String> {
    let fill = &facts.fill;
    let known = |number: Option<u64>, thing: &str, text: &str| match number {
        Some(number) => format!("{} {text}", counted(number, thing)),
        None if facts.is_all => {
            format!("not counted: {thing}s {text} (the server refused to count them)")
        }
        None => format!("not counted: {thing}s {text} (`--all` counts them)"),
    };
    let mut figures = vec![
        made_as(facts.layout.ids.as_ref()),
        format!(
            "{} full, {} open, {}",
            thousands(fill.full),
            thousands(fill.open),
            sealed(fill)
        ),
        format!(
            "{}, {} on average, {} the largest",
            bytes(fill.bytes),
            bytes(fill.bytes / fill.buckets.max(1)),
            bytes(fill.largest_bytes)
        ),
        counted(fill.wrong_count, "wrong count"),
    ];
    if facts.layout.ids.is_some() {
        figures.push(known(
            facts.several_open,
            "key",
            "with several open buckets",
        ));
    }
    if facts
        .layout
        .ids
        .as_ref()
        .is_some_and(|ids| ids.ordinal.time().is_some())
    {
        let out_of_order = known(
            facts.out_of_order,
            "bucket",
            "out of the order of their ids",
        );
        figures.push(out_of_order);
    }
    if fill.overfull() > 0 {
        let overfull = counted(fill.overfull(), "bucket");
        figures.push(format!("{overfull} beyond the capacity"));
    }
    figures.extend((facts.busiest_minute).map(|buckets| busy(buckets, fill.capacity)));
    figures
}

/// How the ids are made, as the struct would say it.
fn made_as(ids: Option<&IdLayout>) -> String {
    match ids {
        Some(ids) => {
            let key: String = ids
                .key
                .iter()
                .map(|(before, name)| format!("{before}{{{name}}}"))
                .collect();
            let ordinal = match &ids.ordinal {
                IdOrdinal::Seconds(time) => format!("{{{time}}}"),
                IdOrdinal::Millis(time) => format!("{{{time}:millis}}"),
                IdOrdinal::Window(time, seconds) => format!("{{{time}/{}}}", window(*seconds)),
                IdOrdinal::Number => "{#}".to_owned(),
            };
            format!("ids are made as {key}{}{ordinal}", ids.before_ordinal)
        }
        None => "ids do not name the key".to_owned(),
    }
}

/// How fast the busiest key is.
fn busy(buckets: u64, capacity: u64) -> String {
    let opened = counted(buckets, "bucket");
    let advice = busy_advice(buckets * capacity, capacity);
    format!("in its busiest minute a key opened {opened}{advice}")
}

/// How many buckets are sealed, and why.
fn sealed(fill: &Fill) -> String {
    match fill.sealed {
        0 => "none sealed".to_owned(),
        sealed => format!(
            "{} sealed ({} for want of bytes, the others after removals)",
            thousands(sealed),
            thousands(fill.sealed_by_bytes)
        ),
    }
}
