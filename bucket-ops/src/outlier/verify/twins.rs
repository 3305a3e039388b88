//! Finds items of a parent that have the same identity.

use std::collections::{BTreeMap, BTreeSet};

use bucket_core::{
    protocol::command::{equality, identity, identity_path},
    schema::{key::KeyField, spec::OutlierSpec},
    server::target::Target,
    value::{
        number::comparable,
        shell::{id_of, shell},
    },
};
use bucket_runtime::{
    __ops::{ITEMS_PER_COMPARISON, array, held},
    Outlier, Outliers, Result,
};
use mongodb::bson::{Bson, Document, RawDocument, doc};

use super::{
    rows::{of_parent, rows},
    stored_parent,
};
use crate::{
    outlier::command::held_by_extras,
    verify::{Problem, ProblemKind},
};

/// The items of a parent's array that have the same identity: their places, and the extras
/// documents with further ones.
#[derive(Default)]
struct Holders {
    identity: Bson,
    places: Vec<u64>,
    extras: Vec<Bson>,
}

/// The parents and the identities of the twins that were found.
pub(super) type KnownTwins = BTreeSet<(String, String)>;

/// Finds the identities that two items of the parent's array have, or one of them and one of the
/// extras.
pub(super) async fn find_twins<T: Outlier>(
    outliers: &Outliers<T>,
    row: &RawDocument,
    known: &mut KnownTwins,
) -> Result<Vec<Problem>> {
    let parent = id_of(row);
    let (Some(field), Some(items)) = (T::SPEC.unique, array(row, T::SPEC.items)) else {
        return Ok(Vec::new());
    };
    let items = items.into_iter().map(Bson::try_from);
    let items = Vec::from_iter(items.map(|item| item.unwrap_or(Bson::Null)));
    let mut held = BTreeMap::<_, Holders>::new();
    for (place, item) in (0..).zip(&items) {
        let identity = identity(field, item).unwrap_or(&Bson::Null);
        let holders = held.entry(comparable(identity)).or_default();
        holders.identity = identity.clone();
        holders.places.push(place);
    }
    if row.get_bool(T::SPEC.flag).unwrap_or(false) {
        for (identity, document) in find_in_both(outliers, field, &parent, &items).await? {
            if let Some(holders) = held.get_mut(&comparable(&identity)) {
                holders.extras.push(document);
            }
        }
    }
    let twins = held.into_values();
    let twins = twins.filter(|it| it.places.len() > 1 || !it.extras.is_empty());
    let twins = twins.map(|it| {
        known.insert(pair(&parent, &it.identity));
        it.problem(parent.clone())
    });
    Ok(twins.collect())
}

fn pair(parent: &Bson, identity: &Bson) -> (String, String) {
    (comparable(parent), comparable(identity))
}

impl Holders {
    fn problem(self, parent: Bson) -> Problem {
        let own = (self.places.iter()).map(|place| format!("item {place} (from 0)"));
        let extras = self.extras.iter().map(shell);
        let extras = extras.map(|id| format!("extras document {id}"));
        let places = own.chain(extras).collect::<Vec<_>>().join(", ");
        let identity = shell(&self.identity);
        of_parent(ProblemKind::Twins, parent, |parent| {
            format!("several items of parent {parent} have the identity {identity}: {places}")
        })
    }
}

/// The identities that items of the parent's array and of the extras have, each with the id of an
/// extras document. An item may move from the array to the extras after the array was read, so
/// those that are found are looked up in the array again.
async fn find_in_both<T: Outlier>(
    outliers: &Outliers<T>,
    field: &str,
    parent: &Bson,
    items: &[Bson],
) -> Result<Vec<(Bson, Bson)>> {
    // A parent with a foreign id is another kind of problem.
    let Ok(handle) = stored_parent(outliers, parent) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for items in items.chunks(ITEMS_PER_COMPARISON) {
        let in_extras = held_by_extras(&handle.scope, field, items);
        let in_extras = handle.extras().pipeline(in_extras).read_primary();
        let in_extras: Vec<Document> = in_extras.rows(None).await?;
        if in_extras.is_empty() {
            continue;
        }
        let own = handle.read_state(items, true, None).await?;
        let own = own.unwrap_or_default().held;
        let own: BTreeSet<_> = own.iter().map(comparable).collect();
        for document in in_extras {
            let id = document.get("_id").cloned().unwrap_or(Bson::Null);
            let held = held(&document).into_iter();
            let held = held.filter(|identity| own.contains(&comparable(identity)));
            found.extend(held.map(|identity| (identity, id.clone())));
        }
    }
    Ok(found)
}

/// Finds the identities that items of several extras documents of a parent have. The unique index
/// refuses those among ours, unless another program dropped it, and does not see documents without
/// a count. Each is looked up again: an item may have left one document and come back into another
/// meanwhile. Those that the parents' arrays hold, too, are known.
pub(super) async fn find_in_extras<T: Outlier>(
    extras: Target<'_>,
    known: &KnownTwins,
) -> Result<Vec<Problem>> {
    let Some(field) = T::SPEC.unique else {
        return Ok(Vec::new());
    };
    let path = identity_path(T::SPEC.extra_items, field);
    let mut problems = Vec::new();
    for row in rows(extras, group_in_extras(&T::SPEC, &path)).await? {
        let Bson::Document(mut of) = id_of(&row) else {
            continue;
        };
        let parent = of.remove("parent").unwrap_or(Bson::Null);
        // A reference that no parent can have is another kind of problem.
        if T::Id::from_bson(parent.clone()).is_none() {
            continue;
        }
        let identity = of.remove("identity").unwrap_or(Bson::Null);
        if known.contains(&pair(&parent, &identity)) {
            continue;
        }
        let documents = row.get("documents").ok().flatten();
        let documents = documents.and_then(|ids| Bson::try_from(ids).ok());
        let holders = doc! { "_id": { "$in": documents }, &path: equality(&identity) };
        let holders = [
            doc! { "$match": holders },
            doc! { "$project": { "_id": 1 } },
        ];
        let holders = rows(extras, holders).await?;
        if holders.len() > 1 {
            let twins = Holders {
                identity,
                places: Vec::new(),
                extras: holders.iter().map(|row| id_of(row)).collect(),
            };
            problems.push(twins.problem(parent));
        }
    }
    Ok(problems)
}

/// The identities that items of several extras documents of a parent have, with the ids of these.
fn group_in_extras(spec: &OutlierSpec, path: &str) -> [Document; 3] {
    let of = doc! { "parent": format!("${}", spec.reference), "identity": format!("${path}") };
    [
        doc! { "$unwind": format!("${}", spec.extra_items) },
        doc! { "$group": { "_id": of, "documents": { "$addToSet": "$_id" } } },
        doc! { "$match": { "_id.identity": { "$exists": true }, "documents.1": { "$exists": true } } },
    ]
}
