//! The identities of a parent's items, where the struct's items are `unique`.

use bucket_core::{
    protocol::command::{equality, identity, identity_path},
    value::element::value_size,
};
use mongodb::bson::{Bson, Document, doc};

use super::ParentScope;

impl ParentScope {
    /// Adds the condition that the parent's array holds none of these items, if items have an
    /// identity.
    pub(super) fn exclude(&self, elements: &[Bson], filter: &mut Document) {
        if let Some(field) = self.spec.unique {
            let path = identity_path(self.spec.items, field);
            filter.insert(path, doc! { "$nin": identities(field, elements) });
        }
    }

    /// Those of these items' identities that an array holds, as an expression; `None` if items have
    /// no identity.
    pub fn held_identities(&self, array: &str, elements: &[Bson]) -> Option<Document> {
        let field = self.spec.unique?;
        let path = format!("${}", identity_path(array, field));
        let identities = doc! { "$literal": identities(field, elements) };
        let held = doc! { "$setIntersection": [&path, identities] };
        Some(doc! { "$cond": [{ "$isArray": [&path] }, held, []] })
    }

    /// Replaces the item of the parent's array that has the same identity, if the parent has room
    /// for what the item grows by.
    pub(crate) fn replace(&self, field: &str, element: Bson) -> (Document, Vec<Document>) {
        let mut filter = self.with_identity(field, &element);
        if !self.spec.is_bounded {
            filter.insert("$expr", self.fits_in_place(field, &element));
        }
        let replaced =
            doc! { "$cond": [is_equal(field, &element), { "$literal": element }, "$$this"] };
        let items = format!("${}", self.spec.items);
        let items = doc! { "$map": { "input": items, "in": replaced } };
        let replace = doc! { "$set": { self.spec.items: items } };
        (filter, vec![replace, self.mark_change(None)])
    }

    /// The parent, if its array holds an item with this item's identity.
    pub(crate) fn with_identity(&self, field: &str, element: &Bson) -> Document {
        let identity = identity(field, element).unwrap_or(&Bson::Null);
        let mut parent = self.parent();
        parent.insert(identity_path(self.spec.items, field), equality(identity));
        parent
    }

    /// The condition that the parent has room for this item in place of the one with its identity.
    pub(crate) fn fits_in_place(&self, field: &str, element: &Bson) -> Document {
        let items = format!("${}", self.spec.items);
        let old = doc! { "$filter": { "input": items, "cond": is_equal(field, element) } };
        let old = doc! { "$map": { "input": old, "in": { "$bsonSize": "$$this" } } };
        let others = doc! { "$subtract": [{ "$bsonSize": "$$ROOT" }, { "$sum": old }] };
        let room = i64::from(self.spec.max_bytes) - value_size(element) as i64;
        doc! { "$lte": [others, room] }
    }
}

/// Whether an element of an array has this item's identity.
fn is_equal(field: &str, element: &Bson) -> Document {
    let of_element = doc! { "$ifNull": [format!("$$this.{field}"), null] };
    doc! { "$eq": [of_element, { "$literal": identity(field, element) }] }
}

/// The identities of these items.
fn identities(field: &str, elements: &[Bson]) -> Vec<Bson> {
    let identities = elements
        .iter()
        .filter_map(|element| identity(field, element));
    identities.cloned().collect()
}
