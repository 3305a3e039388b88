//! Finds the problems that a parent shows by itself.

use bucket_core::{
    error::{count, error_text},
    schema::key::KeyField,
    value::{bytes, number::whole, shell::id_of},
};
use bucket_runtime::{
    __ops::{array, replace_field, sift},
    Outlier, Outliers, Result,
};
use mongodb::bson::{Bson, RawDocument, RawDocumentBuf};

use super::{
    VerifiedOutliers,
    rows::of_parent,
    twins::{KnownTwins, find_twins},
};
use crate::verify::{Problem, ProblemKind};

/// Reads all parents, and adds what it finds. Returns the twins among it.
pub(super) async fn verify<T: Outlier>(
    outliers: &Outliers<T>,
    verified: &mut VerifiedOutliers,
) -> Result<KnownTwins> {
    let mut known = KnownTwins::new();
    let parents = outliers.collections.parents.target();
    let all = parents.pipeline([]).read_primary().allow_disk_use();
    let mut rows = all.cursor(None).await?;
    while let Some(row) = rows.next_decoded::<RawDocumentBuf>().await? {
        verified.parents += 1;
        verified.items += length(&row, T::SPEC.items);
        verified.problems.extend(problems::<T>(&row));
        let twins = find_twins(outliers, &row, &mut known).await?;
        verified.problems.extend(twins);
    }
    Ok(known)
}

/// The problems that a parent shows by itself.
fn problems<T: Outlier>(row: &RawDocument) -> Vec<Problem> {
    let parent = id_of(row);
    if T::Id::from_bson(parent.clone()).is_none() {
        let error = match bytes::read::<T>(row.as_bytes()) {
            Err(error) => error_text(&error),
            Ok(_) => "`_id` has another type".to_owned(),
        };
        return vec![unreadable_parent(parent, &error)];
    }
    let mut problems = unreadable::<T>(row, &parent);
    let items = length(row, T::SPEC.items);
    let is_heavy = items > 0 && row.as_bytes().len() as u64 > T::SPEC.max_bytes.into();
    if items > T::SPEC.threshold.into() || is_heavy {
        let items = count(items, "item");
        problems.push(of_parent(ProblemKind::TooLarge, parent, |parent| {
            format!("parent {parent} with {items} exceeds the threshold or `max_bytes`")
        }));
    }
    problems
}

/// The parts of the parent that cannot be read.
fn unreadable<T: Outlier>(row: &RawDocument, parent: &Bson) -> Vec<Problem> {
    if bytes::read::<T>(row.as_bytes()).is_ok() {
        return Vec::new();
    }
    let (read, items) = match add_total::<T>(row) {
        Some(row) => sift::<T>(&row),
        None => sift::<T>(row),
    };
    let items = items.into_iter().map(|item| {
        of_parent(ProblemKind::Unreadable, parent.clone(), |parent| {
            let (place, error) = (item.place, error_text(&item.error));
            format!("item {place} (from 0) of parent {parent} cannot be read: {error}")
        })
    });
    let whole = read.err().map(|error| error_text(&error));
    let whole = whole.map(|error| unreadable_parent(parent.clone(), &error));
    items.chain(whole).collect()
}

fn unreadable_parent(parent: Bson, error: &str) -> Problem {
    of_parent(ProblemKind::UnreadableParent, parent, |parent| {
        format!("parent {parent} cannot be read: {error}")
    })
}

/// Adds a total to a parent that has none: that is another kind of problem.
fn add_total<T: Outlier>(row: &RawDocument) -> Option<RawDocumentBuf> {
    let total = T::SPEC.total?;
    let stored = row.get(total).ok().flatten();
    match stored.and_then(|stored| whole(&Bson::try_from(stored).ok()?)) {
        Some(_) => None,
        None => replace_field(row, total, 0_i64).ok(),
    }
}

/// The length of an array; 0 if this is not an array.
fn length(row: &RawDocument, name: &str) -> u64 {
    array(row, name).map_or(0, |items| items.len() as u64)
}
