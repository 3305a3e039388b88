//! The commands that go with a struct.

use bucket_runtime::{BucketSpec, IdFormat, KeyName, Ordinal};

use super::outlier::reference;
use crate::kind::buckets::IdOrdinal;
use crate::plan::{BucketPlan, Origin, OutlierPlan};

/// The capacity of extras by default.
const EXTRAS_CAPACITY: u32 = 1000;

/// The indexes of the buckets, and what brings the items there.
pub(super) fn of_buckets(plan: &BucketPlan<'_>, name: &str) -> Vec<String> {
    let mut lines =
        vec!["// opening the collection creates the index; to create it by hand, run".to_owned()];
    lines.extend(indexes(plan));
    match &plan.origin {
        Origin::Buckets => {
            lines.push(
                "// what breaks a guarantee, and its repair (see the guide of `bucket-ops`)"
                    .to_owned(),
            );
            lines.push(format!("ops verify {name}"));
            lines.push(format!("ops repair {name}"));
        }
        Origin::Flat(flat) => {
            let keys = plan
                .members
                .iter()
                .filter(|member| member.is_key)
                .map(|member| &*member.name);
            let keys = keys
                .chain(plan.ending.time())
                .map(|name| format!("{name:?}: 1"));
            lines.push(
                "// the import reads in the order of this index, which saves the server the sort"
                    .to_owned(),
            );
            let keys = keys.collect::<Vec<_>>().join(", ");
            lines.push(format!(
                "db.getCollection({flat:?}).createIndex({{ {keys} }})"
            ));
            lines.extend(import(name, flat));
        }
        Origin::Array { collection, array } => {
            let flat = format!("{collection}_{array}_flat");
            lines.push("// one document for each item, as the import reads them".to_owned());
            lines.push(unwind(plan, collection, array, &flat));
            lines.extend(import(name, &flat));
        }
    }
    lines
}

fn import(name: &str, flat: &str) -> [String; 2] {
    [
        "// the import, by a `main` of five lines (see the guide of `bucket-ops`)".to_owned(),
        format!("ops import-flat {name} {flat}"),
    ]
}

/// The command that stores each item of an array as a document.
fn unwind(plan: &BucketPlan<'_>, collection: &str, array: &str, flat: &str) -> String {
    let key = plan.members.first().map_or("", |member| &*member.name);
    let is_value = plan.members.len() == 2 && plan.members[1].name == "value";
    let item = match is_value {
        true => format!("{{ value: \"${array}\" }}"),
        false => format!("\"${array}\""),
    };
    format!(
        "db.getCollection({collection:?}).aggregate([{{ $unwind: \"${array}\" }}, {{ $replaceRoot: {{ newRoot: \
         {{ $mergeObjects: [{item}, {{ {key:?}: \"$_id\" }}] }} }} }}, {{ $out: {flat:?} }}])"
    )
}

/// The command that creates a time series collection.
pub(super) fn of_time_series(plan: &BucketPlan<'_>) -> Vec<String> {
    let Origin::Flat(flat) = &plan.origin else {
        return Vec::new();
    };
    let key = plan
        .members
        .iter()
        .find(|member| member.is_key)
        .map_or("", |member| &*member.name);
    let time = plan.ending.time().unwrap_or_default();
    vec![
        "// the time series collection, and its data".to_owned(),
        format!(
            "db.createCollection(\"{flat}_series\", {{ timeseries: {{ timeField: {time:?}, metaField: {key:?} }} }})"
        ),
        format!(
            "db.getCollection({flat:?}).find().forEach(item => db.getCollection(\"{flat}_series\").insertOne(item))"
        ),
        "// or buckets".to_owned(),
    ]
}

/// The indexes of parents and extras, and what brings documents under the pattern.
pub(super) fn of_outliers(plan: &OutlierPlan<'_>, name: &str) -> Vec<String> {
    let (extras, reference) = (format!("extra_{}", plan.collection), reference(plan));
    let id = IdFormat::new("", &["_"], Ordinal::Number);
    let spec = BucketSpec::new(
        kept(&extras),
        id,
        EXTRAS_CAPACITY,
        vec![KeyName::new(kept(&reference))].leak(),
    );
    let mut lines = vec![
        "// opening the collections creates the indexes; to create them by hand, run".to_owned(),
    ];
    lines.extend(
        spec.required_indexes()
            .iter()
            .map(|index| format!("{index}")),
    );
    lines.push(format!(
        "db.getCollection({extras:?}).createIndex({{ {reference:?}: 1 }})"
    ));
    lines.push("// moves what exceeds the threshold, while this library's writers go on (see the guide of `bucket-ops`)".to_owned());
    lines.push(format!("ops repair {name}"));
    lines
}

/// The indexes that the struct needs, as commands.
fn indexes(plan: &BucketPlan<'_>) -> Vec<String> {
    let ordinal = match &plan.ending {
        IdOrdinal::Seconds(_) => Ordinal::Seconds,
        IdOrdinal::Millis(_) => Ordinal::Millis,
        IdOrdinal::Number => Ordinal::Number,
        IdOrdinal::Window(_, seconds) => Ordinal::Window {
            seconds: u32::try_from(*seconds).unwrap_or(u32::MAX),
        },
    };
    let keys = plan.members.iter().filter(|member| member.is_key);
    let keys: Vec<_> = keys
        .map(|member| KeyName::new(kept(&member.name)))
        .collect();
    let after = vec!["_"; keys.len()];
    let capacity = u32::try_from(plan.capacity)
        .unwrap_or(u32::MAX)
        .clamp(1, bucket_runtime::MAX_CAPACITY);
    let spec = BucketSpec::new(
        kept(&plan.collection),
        IdFormat::new("", after.leak(), ordinal),
        capacity,
        keys.leak(),
    );
    let spec = spec.items(kept(&plan.items)).count(kept(&plan.count));
    spec.required_indexes()
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// Keeps a name for as long as the program runs: a derive states specs as constants.
fn kept(name: &str) -> &'static str {
    Box::leak(name.to_owned().into_boxed_str())
}
