//! Finds items of a parent that have the same identity.

use std::collections::BTreeSet;

use mongodb::bson::{Bson, Document, RawDocument};

use super::{OutlierProblem as Problem, rows::id_of};
use crate::{
    Result,
    outlier::{
        Outlier, Outliers, parent_handle::held, read::unreadable::array,
        write::ITEMS_PER_COMPARISON,
    },
    protocol::command::{identity, twins},
    value::element::comparable,
};

/// Finds the identities that two items of the parent's array have, or one of them and one of the extras. (The
/// unique index and the verification of the extras see those among the extras.)
pub(super) async fn find_twins<T: Outlier>(
    outliers: &Outliers<T>,
    row: &RawDocument,
) -> Result<Vec<Problem>> {
    let parent = id_of(row);
    let (Some(field), Some(items)) = (T::SPEC.unique, array(row, T::SPEC.items)) else {
        return Ok(Vec::new());
    };
    let items = items
        .into_iter()
        .filter_map(|item| Bson::try_from(item).ok());
    let items: Vec<_> = items
        .filter(|item| identity(field, item).is_some())
        .collect();
    let mut twins: Vec<_> = twins(field, &items).cloned().collect();
    if row.get_bool(T::SPEC.flag).unwrap_or(false) {
        twins.extend(find_in_both(outliers, &parent, &items).await?);
    }
    twins.sort_by_key(comparable);
    twins.dedup();
    let twins = twins.into_iter().map(|identity| Problem::Twins {
        parent: parent.clone(),
        identity,
    });
    Ok(twins.collect())
}

/// The identities that items of the parent's array and of the extras have. An item may move from the array to the
/// extras after the array was read, so those that are found are looked up in the array again.
async fn find_in_both<T: Outlier>(
    outliers: &Outliers<T>,
    parent: &Bson,
    items: &[Bson],
) -> Result<Vec<Bson>> {
    // A parent with a foreign id is another kind of problem.
    let Ok(handle) = outliers.stored_parent(parent) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for items in items.chunks(ITEMS_PER_COMPARISON) {
        let in_extras = handle.scope.held_by_extras(items);
        let in_extras = handle.extras().pipeline(in_extras).read_primary();
        let in_extras: Vec<Document> = in_extras.rows(None).await?;
        if in_extras.is_empty() {
            continue;
        }
        let in_extras = in_extras.iter().flat_map(held);
        let in_extras: BTreeSet<_> = in_extras.map(|identity| comparable(&identity)).collect();
        let own = handle.read_state_and_held(items, true, None).await?;
        let own = own.map_or_else(Vec::new, |state| state.held).into_iter();
        found.extend(own.filter(|identity| in_extras.contains(&comparable(identity))));
    }
    Ok(found)
}
