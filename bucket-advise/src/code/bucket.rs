//! Writes a struct that derives `Bucket`.

use super::fields::{self, Selection, Special};
use super::names::{self, plain};
use super::types::Types;
use crate::figures::window;
use crate::kind::buckets::IdOrdinal;
use crate::kind::key::key_types;
use crate::plan::{BucketPlan, Member, Origin};
use crate::shape::value::ValueKind;

/// The maximum width of an attribute in one line.
const COLUMNS: usize = 100;

/// The struct's name, and its code.
pub(super) fn write(plan: &BucketPlan<'_>, has_values: bool) -> (String, Vec<String>) {
    let mut types = Types::new(has_values);
    types.import("bucket_runtime::Bucket");
    let of = match &plan.origin {
        Origin::Flat(collection) => names::singular(collection),
        Origin::Array { array, .. } => names::singular(array),
        Origin::Buckets => names::singular(&plan.collection),
    };
    let name = types.type_name(&of);
    let is_needed =
        |member: &Member<'_>| member.is_key || plan.ending.time() == Some(&*member.name);
    let Selection { members, rest } = Selection::of(&mut types, &plan.members, is_needed);
    let (rule, body) = fields::write(&mut types, &members, |types, member, _| {
        special(types, member, plan)
    });
    let mut lines = vec!["#[derive(Debug, Clone, PartialEq, Bucket)]".to_owned()];
    lines.extend(rule.map(|rule| format!("#[serde(rename_all = {:?})]", rule.name())));
    lines.extend(attribute("bucket", &arguments(plan, &members)));
    lines.push(format!("pub struct {name} {{"));
    lines.extend(body);
    lines.extend(rest);
    lines.extend(plan.remarks.iter().map(|remark| format!("    // {remark}")));
    lines.push("}".to_owned());
    (name, assembled(&types, lines))
}

/// The imports, the struct, and the types that it needs.
pub(super) fn assembled(types: &Types, lines: Vec<String>) -> Vec<String> {
    let mut all = types.imports();
    for definition in std::iter::once(&lines).chain(&types.definitions) {
        all.push(String::new());
        all.extend(definition.iter().cloned());
    }
    all
}

/// An attribute with these arguments, in one line if that is short.
pub(super) fn attribute(name: &str, arguments: &[String]) -> Vec<String> {
    let line = format!("#[{name}({})]", arguments.join(", "));
    if line.chars().count() <= COLUMNS {
        return vec![line];
    }
    let mut lines = vec![format!("#[{name}(")];
    let last = arguments.len().saturating_sub(1);
    let comma = |at: usize| if at == last { "" } else { "," };
    let arguments = arguments.iter().enumerate();
    lines.extend(arguments.map(|(at, argument)| format!("    {argument}{}", comma(at))));
    lines.push(")]".to_owned());
    lines
}

/// The type of a key field, of the time or of the field that tells items apart, and the attribute;
/// others are ordinary.
fn special(types: &mut Types, member: &Member<'_>, plan: &BucketPlan<'_>) -> Option<Special> {
    let words = plan.settings.words.get(&member.name);
    let inner = plan.settings.inner_paths.get(&member.name);
    let inner = inner.map(|paths| {
        let paths: Vec<_> = paths.iter().map(|path| names::path(path)).collect();
        format!("index({})", paths.join(", "))
    });
    let all = words.into_iter().flatten().map(|word| (*word).to_owned());
    let all: Vec<_> = all.chain(inner).collect();
    let attribute = format!("#[bucket({})]", all.join(", "));
    let attributes = (!all.is_empty()).then_some(attribute).into_iter().collect();
    let is_unique = words.is_some_and(|words| words.contains(&"unique"));
    if member.is_key {
        return Some(Special {
            rust: Some(key_type(types, member)),
            attributes,
        });
    }
    let is_time = plan.ending.time() == Some(&*member.name);
    let rust = match member.value.types()[..] {
        _ if is_time => Some(types.of_kind(ValueKind::Date, &member.name, member.value)),
        [ValueKind::Text] if is_unique => Some("String".into()),
        _ => is_unique.then(|| types.of(&member.name, member.value)),
    };
    Some(Special { rust, attributes })
}

/// The type of a key field or an id: all integers are stored alike, and texts are no enum.
pub(super) fn key_type(types: &mut Types, member: &Member<'_>) -> super::types::RustType {
    match key_types(member.value).unwrap_or(&[]) {
        [ValueKind::Text] => "String".into(),
        [kind] => types.of_kind(*kind, &member.name, member.value),
        _ => "i64".into(),
    }
}

/// The arguments of `#[bucket(…)]`.
fn arguments(plan: &BucketPlan<'_>, members: &[Member<'_>]) -> Vec<String> {
    let mut all = vec![
        format!("collection = {:?}", plan.collection),
        format!("id = {:?}", id_format(plan, members)),
        format!("capacity = {}", plan.capacity),
    ];
    if plan.items != "items" {
        all.push(format!("items = {:?}", plan.items));
    }
    let has_count = members
        .iter()
        .any(|member| member.is_key && member.name == "count");
    if plan.count != "count" || has_count {
        let count = if has_count {
            "items_count"
        } else {
            &plan.count
        };
        all.push(format!("count = {count:?}"));
    }
    let taken = |name: &str| {
        members
            .iter()
            .any(|member| member.is_key && member.name == name)
    };
    if taken("items") && plan.items == "items" {
        all.push("items = \"bucket_items\"".to_owned());
    }
    let settings = &plan.settings;
    let after = settings.expire_after.map(window);
    all.extend(after.map(|after| format!("expire_after = {after:?}")));
    let rollup = settings.rollup.iter().filter(|name| *name != "rollup");
    all.extend(rollup.map(|name| format!("rollup = {name:?}")));
    if taken("window") && matches!(plan.ending, IdOrdinal::Window(..)) {
        all.push("window = \"bucket_window\"".to_owned());
    }
    all
}

/// The id format: the key fields and the ordinal, after their literals.
fn id_format(plan: &BucketPlan<'_>, members: &[Member<'_>]) -> String {
    let idents = fields::idents(members);
    let of = |name: &str| {
        let place = members.iter().position(|member| member.name == name);
        place.map_or(name, |at| plain(&idents[at])).to_owned()
    };
    let keys = members.iter().filter(|member| member.is_key);
    let mut parts: Vec<_> = keys
        .map(|member| format!("{{{}}}", of(&member.name)))
        .collect();
    parts.push(match &plan.ending {
        IdOrdinal::Seconds(time) => format!("{{{}}}", of(time)),
        IdOrdinal::Millis(time) => format!("{{{}:millis}}", of(time)),
        IdOrdinal::Window(time, seconds) => format!("{{{}/{}}}", of(time), window(*seconds)),
        IdOrdinal::Number => "{#}".to_owned(),
    });
    match &plan.literals {
        Some(literals) => literals
            .iter()
            .zip(&parts)
            .map(|(before, part)| format!("{before}{part}"))
            .collect(),
        None => parts.join("_"),
    }
}
