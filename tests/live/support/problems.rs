//! Problems as tests expect them.

use bucket_ops::{Problem, ProblemKind};
use bucket_runtime::mongodb::bson::Bson;

/// A problem: all that programs can read of it, and a part of its text.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    pub(crate) kind: ProblemKind,
    pub(crate) ids: Vec<Bson>,
    pub(crate) key: Option<String>,
    pub(crate) text: String,
}

/// Asserts that these problems were found, in this order.
#[track_caller]
pub(crate) fn assert_found(found: &[Problem], expected: &[Expected]) {
    let is_one = |(found, expected): (&Problem, &Expected)| {
        (&found.kind, &found.ids, &found.key) == (&expected.kind, &expected.ids, &expected.key)
            && found.to_string().contains(&expected.text)
    };
    let are_same = found.len() == expected.len() && found.iter().zip(expected).all(is_one);
    assert!(are_same, "{found:#?}\n\n{expected:#?}");
}

pub(crate) fn expected<'k>(
    kind: ProblemKind,
    ids: impl IntoIterator<Item: Into<Bson>>,
    key: impl Into<Option<&'k str>>,
    text: impl Into<String>,
) -> Expected {
    Expected {
        kind,
        ids: ids.into_iter().map(Into::into).collect(),
        key: key.into().map(str::to_owned),
        text: text.into(),
    }
}

/// The kinds of these problems, each once, by their names.
pub(crate) fn kinds(problems: &[Problem]) -> Vec<ProblemKind> {
    let mut kinds: Vec<_> = problems.iter().map(|problem| problem.kind).collect();
    kinds.sort_by_key(|kind| format!("{kind:?}"));
    kinds.dedup();
    kinds
}
