//! The ids of a key's further buckets.

use std::collections::HashMap;

use crate::{protocol::command::KeyScope, schema::id};

/// The id of the bucket after `last`: the next number or, with an opening id, that one with the
/// next free suffix. `Ok(None)` if no id is left, `Err` if `last` does not have this format.
pub fn next_id(
    scope: &KeyScope,
    opening_id: Option<&str>,
    last: Option<&str>,
) -> Result<Option<String>, ()> {
    if let Some(opening_id) = opening_id {
        return id::next_suffix(opening_id, last.filter(|last| last.starts_with(opening_id)));
    }
    let next = match last {
        None => 0,
        Some(last) => {
            let text = last.strip_prefix(&scope.prefix).ok_or(())?;
            // A split of a parent puts pages before the first one, with numbers below zero.
            (id::parse_signed(text).ok_or(())? + 1).max(0)
        }
    };
    Ok(id::signed(next).map(|number| scope.id(&number)))
}

/// The ids of a key's planned buckets: the last one of each moment or window, by the opening id, or
/// of a numbered key.
#[derive(Default)]
pub struct NextIds(HashMap<Option<String>, String>);

impl NextIds {
    /// The id of the next bucket: the first one follows `last`, the others each other. `None` if no
    /// id is left, or `last` does not have this format.
    pub fn advance(
        &mut self,
        scope: &KeyScope,
        opening_id: Option<String>,
        last: Option<&str>,
    ) -> Option<String> {
        let last = self.0.get(&opening_id).map(String::as_str).or(last);
        let id = next_id(scope, opening_id.as_deref(), last).ok()??;
        self.0.insert(opening_id, id.clone());
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_up_from_zero() {
        let next = |last| next_id(&KeyScope::numbered(), None, last);
        let id = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(next(None), id("a_0000000000"));
        assert_eq!(next(Some("a_0000000009")), id("a_0000000010"));
        // A page before the first one.
        assert_eq!(next(Some("a_-9999999997")), id("a_0000000000"));
        assert_eq!(next(Some("a_9999999999")), Ok(None));
        assert_eq!(
            (next(Some("b_0000000009")), next(Some("a_x"))),
            (Err(()), Err(()))
        );
    }

    #[test]
    fn an_opening_id_gets_suffixes() {
        let next = |last| next_id(&KeyScope::numbered(), Some("a_0000000007"), last);
        let id = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(next(None), id("a_0000000007"));
        assert_eq!(next(Some("a_0000000006_000004")), id("a_0000000007"));
        assert_eq!(next(Some("a_0000000007")), id("a_0000000007_000001"));
        assert_eq!(next(Some("a_0000000007_000004")), id("a_0000000007_000005"));
        assert_eq!(next(Some("a_0000000007_999999")), Ok(None));
    }
}
