//! The extras pages that a split creates.

use mongodb::bson::{Array, Bson, Document, doc};

use super::command::ParentScope;
use crate::{
    protocol::{
        command::size,
        pack::{Pack, packs},
    },
    schema::{
        id,
        names::{OVERSIZE, SEALED},
    },
    value::element::value_size,
};

/// The pages of a parent without extras: numbered from 0, with the last one open.
pub(crate) fn pages_of(scope: &ParentScope, items: Array) -> Option<Vec<Document>> {
    let packs = packed(scope, &items);
    let mut pages = pages(scope, 0, items, packs)?;
    if let Some(last) = pages.last_mut() {
        last.remove(SEALED);
    }
    Some(pages)
}

/// The pages of a parent that already has pushed extras. The parent's own items are older, so their
/// pages take the numbers before the first one, below zero if necessary. None of them is open: the open
/// page is at the other end.
pub(crate) fn pages_before(
    scope: &ParentScope,
    first: &str,
    items: Array,
) -> Option<Vec<Document>> {
    let first = id::parse_signed(first.strip_prefix(&scope.extras.prefix)?)?;
    let packs = packed(scope, &items);
    let first = first.checked_sub_unsigned(packs.len() as u64)?;
    pages(scope, first, items, packs)
}

/// Pages numbered from `first`, sealed unless they are full. `None` if there are no such numbers.
fn pages(scope: &ParentScope, first: i64, items: Array, packs: Vec<Pack>) -> Option<Vec<Document>> {
    let mut items = items.into_iter();
    let pages = packs.into_iter().zip(first..).map(|(pack, n)| {
        let items = items.by_ref().take(pack.len).collect();
        Some(page(scope, id::signed(n)?, items, pack))
    });
    pages.collect()
}

fn packed(scope: &ParentScope, items: &[Bson]) -> Vec<Pack> {
    packs(&scope.extras, items.iter().map(value_size))
}

fn page(scope: &ParentScope, number: String, items: Array, pack: Pack) -> Document {
    let id = scope.extras.id(&number);
    let mut page = doc! { "_id": &id };
    page.extend(scope.all_extras());
    page.insert("count", size(&items));
    page.insert(scope.spec.extra_items, items);
    if pack.oversize > 0 {
        page.insert(OVERSIZE, pack.oversize);
    }
    if pack.len < scope.extras.spec.capacity as usize {
        page.insert(SEALED, id);
    }
    page
}
