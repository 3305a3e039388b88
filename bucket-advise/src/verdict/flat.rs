//! Whether flat documents should go into buckets.

pub(crate) mod figures;

use self::figures::{figures, keys_figures, lateness_figures};
use crate::figures::{span, thousands};
use crate::kind::buckets::IdOrdinal;
use crate::kind::buckets::settings::OwnSettings;
use crate::kind::flat::FlatLayout;
use crate::measure::capacity::{Simulated, curve, recommended, simulate};
use crate::measure::keys::ItemsPerKey;
use crate::measure::lateness::Lateness;
use crate::picture::{CapacitiesPicture, HeatPicture, KeysPicture, Picture};
use crate::plan::{BucketPlan, Choice, Member, Origin, Verdict, members};
use crate::shape::DocumentShape;
use crate::shape::value::ValueKind;

/// A key that fills more buckets in a minute often opens several in one second.
const BUCKETS_IN_SECONDS: u64 = 60;

/// Lengths of windows in seconds.
const WINDOWS: [u64; 7] = [60, 900, 3600, 21_600, 86_400, 604_800, 2_592_000];

/// A window of the busiest key that brings fewer items is too short.
const LEAST_PER_WINDOW: u64 = 20;

/// Measurements of flat documents.
#[derive(Debug)]
pub(crate) struct FlatFacts<'f> {
    pub(crate) collection: &'f str,
    pub(crate) shape: &'f DocumentShape,
    pub(crate) layout: &'f FlatLayout,
    pub(crate) keys: ItemsPerKey,
    /// Whether the items of every key were counted.
    pub(crate) is_exact: bool,
    /// Whether every document was read, rather than a sample.
    pub(crate) has_read_all: bool,
    pub(crate) lateness: Lateness,
    /// The number of items on a page, if the user has said so.
    pub(crate) page: Option<u64>,
    /// The values of the largest keys, if the report may show them.
    pub(crate) names: Vec<String>,
    /// Windows by keys, if they are to be drawn.
    pub(crate) heat: Option<HeatPicture>,
}

/// The verdict on flat documents.
pub(crate) fn judge<'f>(facts: &FlatFacts<'f>) -> Verdict<'f> {
    let simulated = simulate(&facts.keys, item_bytes(facts), facts.page);
    let wanted = simulated.iter().find(|of| Some(of.capacity) == facts.page);
    let best = wanted.copied().or_else(|| recommended(&simulated));
    let tens = facts.keys.buckets(10);
    let (Some(best), false) = (best, tens * 2 >= facts.keys.items()) else {
        return leave(facts);
    };
    let (ending, capacity) = ending(facts, best);
    // In windows, the lengths of series say nothing of the buckets.
    let has_one_series = !matches!(ending, IdOrdinal::Window(..));
    let plan = plan(facts, ending, capacity);
    Verdict {
        figures: figures(facts, has_one_series.then_some(&*simulated), capacity),
        pictures: pictures(facts, has_one_series.then_some(capacity)),
        ..choose(facts, plan)
    }
}

/// The verdict on keys with too few items.
fn leave<'f>(facts: &FlatFacts<'f>) -> Verdict<'f> {
    let sentence = format!(
        "leave it as it is: half of the {} keys have at most {} items, so buckets of ten would save less \
         than half of the documents",
        thousands(facts.keys.keys()),
        thousands(facts.keys.median()),
    );
    Verdict {
        sentence,
        choice: Choice::Leave,
        figures: [
            keys_figures(facts),
            lateness_figures(&facts.lateness, facts.layout),
        ]
        .concat(),
        pictures: pictures(facts, None),
    }
}

/// Buckets, or a time series collection; without figures.
fn choose<'f>(facts: &FlatFacts<'f>, plan: BucketPlan<'f>) -> Verdict<'f> {
    let (sentence, choice) = match is_series(&plan.members, facts.layout) {
        false => (sentence(facts, &plan), Choice::Buckets(plan)),
        true => {
            let sentence = format!(
                "take a time series collection: beside `{}` and `{}` there are only numbers, which it compresses \
                 by column; take buckets if you need pages, edits, transactions or unique items",
                facts.layout.key[0],
                facts.layout.time.as_deref().unwrap_or_default(),
            );
            (sentence, Choice::TimeSeries(plan))
        }
    };
    Verdict {
        sentence,
        choice,
        figures: Vec::new(),
        pictures: Vec::new(),
    }
}

fn plan<'f>(facts: &FlatFacts<'f>, ending: IdOrdinal, capacity: u64) -> BucketPlan<'f> {
    BucketPlan {
        collection: format!("{}_buckets", facts.collection),
        members: flat_members(facts),
        literals: None,
        ending,
        capacity,
        items: "items".to_owned(),
        count: "count".to_owned(),
        origin: Origin::Flat(facts.collection.to_owned()),
        settings: OwnSettings::default(),
        remarks: remarks(facts.shape),
    }
}

/// The keys, and what each capacity would do to them.
fn pictures(facts: &FlatFacts<'_>, capacity: Option<u64>) -> Vec<Picture> {
    let keys = KeysPicture {
        keys: facts.keys.clone(),
        is_exact: facts.is_exact,
        capacity,
        names: facts.names.clone(),
    };
    let capacities = capacity.map(|capacity| {
        Picture::Capacities(CapacitiesPicture {
            simulated: curve(&facts.keys, item_bytes(facts), capacity),
            keys: facts.keys.keys(),
            items: facts.keys.items(),
            recommended: capacity,
        })
    });
    std::iter::once(Picture::Keys(keys))
        .chain(capacities)
        .chain(facts.heat.clone().map(Picture::Heat))
        .collect()
}

fn sentence(facts: &FlatFacts<'_>, plan: &BucketPlan<'_>) -> String {
    let order = match &plan.ending {
        IdOrdinal::Seconds(time) | IdOrdinal::Millis(time) => format!("in the order of `{time}`"),
        IdOrdinal::Window(time, seconds) => {
            format!(
                "in windows of {} by `{time}`, since items come late",
                span(*seconds as i64 * 1000)
            )
        }
        IdOrdinal::Number => "numbered, since no field holds the time of every item".to_owned(),
    };
    let key = facts.layout.key.join("`, `");
    let (items, keys) = (thousands(facts.keys.items()), thousands(facts.keys.keys()));
    match plan.ending {
        IdOrdinal::Window(..) => format!(
            "take buckets of up to {} items: {items} items of {keys} keys by `{key}`, {order}",
            thousands(plan.capacity)
        ),
        _ => format!(
            "take buckets: {items} documents of {keys} keys become {} buckets of up to {} items, by `{key}`, {order}",
            thousands(facts.keys.buckets(plan.capacity)),
            thousands(plan.capacity)
        ),
    }
}

/// The fields of an item: all but the documents' own `_id`, which an import leaves out.
fn flat_members<'f>(facts: &FlatFacts<'f>) -> Vec<Member<'f>> {
    let mut all = members(facts.shape, &facts.layout.key);
    all.retain(|member| member.name != "_id");
    all
}

/// An `_id` that the driver did not make up may mean something.
fn remarks(shape: &DocumentShape) -> Vec<String> {
    let id = shape.get("_id");
    let is_own = id.is_some_and(|id| id.types() != [ValueKind::ObjectId]);
    let remark = "the documents' own `_id` is left out; copy it to another field before, if it means something";
    is_own.then(|| remark.to_owned()).into_iter().collect()
}

/// The average bytes of an item in a bucket: a document without its key and `_id`.
fn item_bytes(facts: &FlatFacts<'_>) -> u64 {
    let fields = facts.shape.fields.iter();
    let own = fields.filter(|field| field.name != "_id" && !facts.layout.key.contains(&field.name));
    own.map(|field| field.bytes()).sum::<u64>() / facts.shape.documents.max(1) + 5
}

/// How the ids end, and the capacity that suits that.
fn ending(facts: &FlatFacts<'_>, best: Simulated) -> (IdOrdinal, u64) {
    let Some(time) = facts.layout.time.clone() else {
        return (IdOrdinal::Number, best.capacity);
    };
    if !facts.lateness.is_disordered() {
        let is_fast = facts.lateness.busiest_minute > BUCKETS_IN_SECONDS * best.capacity;
        let ending = if is_fast {
            IdOrdinal::Millis(time)
        } else {
            IdOrdinal::Seconds(time)
        };
        return (ending, best.capacity);
    }
    let dates = facts.shape.get(&time).and_then(|value| value.dates);
    let seconds = dates
        .map_or(0, |(first, last)| (last - first) / 1000)
        .max(1) as u64;
    let per_window = |window: &u64| facts.keys.most() * window / seconds.max(*window);
    let window = WINDOWS
        .iter()
        .find(|window| per_window(window) >= LEAST_PER_WINDOW);
    let window = *window.unwrap_or(&WINDOWS[WINDOWS.len() - 1]);
    // A window that is busier than others should still be one document.
    let capacity = facts.page.unwrap_or(
        (per_window(&window) * 2)
            .clamp(10, 1000)
            .next_multiple_of(10),
    );
    (IdOrdinal::Window(time, window), capacity)
}

/// Whether the items are measurements: only numbers beside the key and the time.
fn is_series(members: &[Member<'_>], layout: &FlatLayout) -> bool {
    let is_number = |member: &&Member<'_>| {
        let numbers = [
            ValueKind::Bool,
            ValueKind::Int32,
            ValueKind::Int64,
            ValueKind::Double,
            ValueKind::Decimal,
        ];
        member.value.is_usually(&numbers, member.value.present())
    };
    let named = |name: &str| layout.time.as_deref() == Some(name) || name == "_id";
    let mut others = members
        .iter()
        .filter(|member| !member.is_key && !named(&member.name))
        .peekable();
    layout.key.len() == 1
        && layout.time.is_some()
        && others.peek().is_some()
        && others.all(|other| is_number(&other))
}
