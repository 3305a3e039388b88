//! Writes the fields of a struct.

use std::collections::BTreeSet;

use super::names;
use super::rename::{self, Rename};
use super::types::{RustType, Types};
use crate::plan::Member;
use crate::shape::is_odd;
use crate::shape::value::ValueKind;

/// A field whose type and attributes the pattern decides.
#[derive(Debug, Default)]
pub(super) struct Special {
    pub(super) rust: Option<RustType>,
    pub(super) attributes: Vec<String>,
}

/// The maximum number of a struct's own fields; rarer ones go into a document.
const MAX_FIELDS: usize = 64;

/// The fields of a struct, and lines for those that are not among them.
#[derive(Debug)]
pub(super) struct Selection<'s> {
    pub(super) members: Vec<Member<'s>>,
    pub(super) rest: Vec<String>,
}

impl<'s> Selection<'s> {
    /// Leaves out fields that no struct can hold, and collects the rarest ones if there are many.
    pub(super) fn of(
        types: &mut Types,
        members: &[Member<'s>],
        is_needed: impl Fn(&Member<'_>) -> bool,
    ) -> Self {
        let all = members.iter().cloned();
        let (mut members, odd): (Vec<_>, Vec<_>) = all.partition(|member| !is_odd(&member.name));
        let mut rest: Vec<_> = odd.iter().map(|member| left_out(&member.name)).collect();
        if members.len() > MAX_FIELDS {
            let mut seen: Vec<_> = members.iter().map(|member| member.value.seen).collect();
            seen.sort_unstable_by(|a, b| b.cmp(a));
            let least = seen[MAX_FIELDS];
            members.retain(|member| is_needed(member) || member.value.seen > least);
            types.import("bucket_runtime::bson::Document");
            rest.extend([
                "    // all other fields, whose names may be data".to_owned(),
                "    #[serde(flatten)]".to_owned(),
                "    pub others: Document,".to_owned(),
            ]);
        }
        Self { members, rest }
    }
}

/// A comment for a field that no struct can hold.
fn left_out(name: &str) -> String {
    format!(
        "    // a field named {name:?} is left out: in updates and paths, the name has another meaning"
    )
}

/// The names of Rust for the fields, in order.
pub(super) fn idents(members: &[Member<'_>]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    members
        .iter()
        .map(|member| names::field(&member.name, &mut taken))
        .collect()
}

/// The lines of the fields, and the rule by which they are renamed. `special` knows the fields that
/// the pattern decides.
pub(super) fn write(
    types: &mut Types,
    members: &[Member<'_>],
    special: impl Fn(&mut Types, &Member<'_>, &str) -> Option<Special>,
) -> (Option<Rename>, Vec<String>) {
    let idents = idents(members);
    let pairs = idents
        .iter()
        .zip(members)
        .map(|(ident, member)| (ident.clone(), member.name.clone()));
    let rule = rename::rule_of_fields(&pairs.collect::<Vec<_>>());
    let mut lines = Vec::new();
    for (ident, member) in idents.iter().zip(members) {
        let special = special(types, member, ident).unwrap_or_default();
        let mut attributes = special.attributes;
        let rust = special.rust.unwrap_or_else(|| {
            let (rust, attribute) = plain(types, member);
            attributes.extend(attribute);
            rust
        });
        if rename::stored(ident, rule) != member.name {
            attributes.insert(0, format!("#[serde(rename = {:?})]", member.name));
        }
        lines.extend(rust.remarks.iter().map(|remark| format!("    // {remark}")));
        lines.extend(
            attributes
                .iter()
                .map(|attribute| format!("    {attribute}")),
        );
        lines.push(format!("    pub {ident}: {},", rust.name));
    }
    (rule, lines)
}

/// The type of an ordinary field, and the attribute that leaves it out as the documents do.
fn plain(types: &mut Types, member: &Member<'_>) -> (RustType, Option<String>) {
    let mut rust = types.of(&member.name, member.value);
    let is_missing = member.value.seen < member.of;
    if is_missing || member.value.count(ValueKind::Null) > 0 {
        rust.name = format!("Option<{}>", rust.name);
    }
    let skip = || "#[serde(default, skip_serializing_if = \"Option::is_none\")]".to_owned();
    (rust, is_missing.then(skip))
}
