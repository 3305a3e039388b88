//! Writes a struct that derives `Outlier`.

use super::bucket::{assembled, attribute, key_type};
use super::fields::{self, Selection, Special};
use super::names;
use super::types::{RustType, Types};
use crate::figures::counted;
use crate::plan::{Member, OutlierPlan};
use crate::shape::value::ValueKind;

/// The field that says that there are extras, unless the documents have another field of the name.
const FLAG: &str = "has_extras";

/// The struct's name, and its code.
pub(super) fn write(plan: &OutlierPlan<'_>, has_values: bool) -> (String, Vec<String>) {
    let mut types = Types::new(has_values);
    for path in [
        "bucket_runtime::Outlier",
        "serde::Deserialize",
        "serde::Serialize",
    ] {
        types.import(path);
    }
    let name = types.type_name(&names::singular(&plan.collection));
    let is_needed = |member: &Member<'_>| ["_id", FLAG, &*plan.array].contains(&&*member.name);
    let Selection { members, rest } = Selection::of(&mut types, &plan.members, is_needed);
    let (rule, body) = fields::write(&mut types, &members, |types, member, _| {
        special(types, member, plan)
    });
    let mut lines =
        vec!["#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]".to_owned()];
    lines.extend(rule.map(|rule| format!("#[serde(rename_all = {:?})]", rule.name())));
    lines.extend(attribute("outlier", &arguments(plan)));
    lines.push(format!("pub struct {name} {{"));
    lines.extend(body);
    lines.extend(rest);
    lines.push("}".to_owned());
    (name, assembled(&types, lines))
}

/// The field of an extras document that holds its parent's `_id`.
pub(super) fn reference(plan: &OutlierPlan<'_>) -> String {
    format!("{}_id", names::singular(&plan.collection))
}

fn arguments(plan: &OutlierPlan<'_>) -> Vec<String> {
    let mut all = vec![
        format!("collection = {:?}", plan.collection),
        format!("reference = {:?}", reference(plan)),
        format!("threshold = {}", plan.threshold),
    ];
    if flag(plan) == Flag::Taken {
        all.push("flag = \"has_further_items\"".to_owned());
    }
    all
}

/// Whether the documents have a field with the name of the flag.
#[derive(Debug, PartialEq)]
enum Flag {
    Free,
    /// The flag itself.
    Own,
    /// Something else.
    Taken,
}

fn flag(plan: &OutlierPlan<'_>) -> Flag {
    let field = plan.members.iter().find(|member| member.name == FLAG);
    match field.map(|field| field.value.types()) {
        None => Flag::Free,
        Some(kinds) if kinds == [ValueKind::Bool] => Flag::Own,
        Some(_) => Flag::Taken,
    }
}

/// The id, the array, and the flag; other fields are ordinary.
fn special(types: &mut Types, member: &Member<'_>, plan: &OutlierPlan<'_>) -> Option<Special> {
    if member.name == "_id" {
        return Some(Special {
            rust: Some(key_type(types, member)),
            attributes: Vec::new(),
        });
    }
    if member.name == plan.array {
        return Some(array(types, member));
    }
    let is_flag = member.name == FLAG && flag(plan) == Flag::Own;
    is_flag.then(|| Special {
        rust: Some("bool".into()),
        attributes: vec![
            "#[serde(default)]".to_owned(),
            "#[outlier(flag)]".to_owned(),
        ],
    })
}

fn array(types: &mut Types, member: &Member<'_>) -> Special {
    let mut rust: RustType = types.of_kind(ValueKind::Array, &member.name, member.value);
    let mut attributes = vec!["#[outlier(items)]".to_owned()];
    if member.value.seen < member.of {
        attributes.insert(0, "#[serde(default)]".to_owned());
    }
    let nulls = member.value.count(ValueKind::Null);
    if nulls > 0 {
        rust.remarks.push(format!(
            "null in {}: `$unset` it before",
            counted(nulls, "document")
        ));
    }
    Special {
        rust: Some(rust),
        attributes,
    }
}
