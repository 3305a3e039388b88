//! Conditions on an item as a whole, such as a text in an array of texts.

use mongodb::bson::{Document, doc};

use super::{Leaf, Node};

impl Leaf {
    /// The path of the field in a document where items are below this path.
    pub(super) fn below(&self, path: &str) -> String {
        let path = format!("{path}{}", self.name);
        path.trim_end_matches('.').to_owned()
    }
}

impl Node {
    /// Whether the condition includes one on an item as a whole.
    pub(super) fn is_on_whole_items(&self) -> bool {
        match self {
            Self::Leaf(leaf) => leaf.name.is_empty(),
            Self::And(nodes) | Self::Or(nodes) => nodes.iter().any(Self::is_on_whole_items),
            Self::Not(node) => node.is_on_whole_items(),
        }
    }

    /// The condition on documents that may hold a matching item. `$elemMatch` has no `$and` and
    /// `$or` for whole items, so each condition may be satisfied by another item.
    pub(super) fn of_whole_items(&self, items: &str) -> Document {
        let each = |nodes: &[Self]| {
            let of_each = nodes.iter().map(|node| node.of_whole_items(items));
            Vec::from_iter(of_each)
        };
        match self {
            // If an item is an array, such a condition may be on the values in it.
            Self::Leaf(leaf) if leaf.name.is_empty() && leaf.is_written_out => doc! {},
            Self::Leaf(leaf) if leaf.name.is_empty() => {
                doc! { items: { "$elemMatch": leaf.test.clone() } }
            }
            Self::Leaf(_) => doc! { items: { "$elemMatch": self.flat("") } },
            Self::And(nodes) | Self::Or(nodes) if nodes.is_empty() => self.flat(""),
            Self::And(nodes) => doc! { "$and": each(nodes) },
            Self::Or(nodes) => doc! { "$or": each(nodes) },
            Self::Not(node) => match &**node {
                Self::Leaf(leaf) if leaf.name.is_empty() && leaf.is_written_out => doc! {},
                Self::Leaf(leaf) if leaf.name.is_empty() => {
                    doc! { items: { "$elemMatch": { "$not": leaf.test.clone() } } }
                }
                Self::Leaf(_) => doc! { items: { "$elemMatch": self.flat("") } },
                node => node.negated().of_whole_items(items),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{
        field::{Field, Plain, Root},
        filter::Filter,
    };

    const ITEM: Field<i64, i64, Plain, Root> = Field::new("");

    fn both(filter: Filter<i64>) -> [Document; 2] {
        [filter.node.flat("items."), filter.node.of_bucket("items")]
    }

    #[test]
    fn a_condition_on_a_whole_item_is_on_the_elements_themselves() {
        let [item, document] = both(ITEM.gt(5));
        assert_eq!(item, doc! { "items": { "$gt": 5_i64 } });
        let of_document = doc! { "items": { "$elemMatch": { "$gt": 5_i64 } } };
        assert_eq!(document, of_document);
    }

    #[test]
    fn conditions_that_are_combined_are_each_satisfied_by_an_element() {
        let [item, document] = both(ITEM.gt(5).and(!ITEM.eq(7)));
        let seven = doc! { "$eq": 7_i64, "$not": { "$elemMatch": { "$eq": 7_i64 } } };
        let not = doc! { "$nor": [{ "items": &seven }] };
        assert_eq!(item, doc! { "$and": [{ "items": { "$gt": 5_i64 } }, not] });
        let not = doc! { "items": { "$elemMatch": { "$not": seven } } };
        let greater = doc! { "items": { "$elemMatch": { "$gt": 5_i64 } } };
        assert_eq!(document, doc! { "$and": [greater, not] });
        assert!(!ITEM.gt(5).and(ITEM.lt(7)).node.is_decided_by_buckets());
    }

    #[test]
    fn buckets_decide_a_single_condition_that_is_not_written_out() {
        let decide = |filter: Filter<i64>| filter.node.is_decided_by_buckets();
        assert!(decide(ITEM.gt(5)) && !decide(ITEM.is(doc! { "$gt": 5 })) && !decide(!ITEM.gt(5)));
    }

    /// Beside one on the whole item.
    #[test]
    fn conditions_on_fields_of_an_item_are_on_one_element() {
        const FIELD: Field<i64, i64, Plain, Root> = Field::new("a");
        let of_bucket = |filter: Filter<i64>| ITEM.gt(5).and(filter).node.of_bucket("items");
        let beside = |other: Document| {
            doc! { "$and": [{ "items": { "$elemMatch": { "$gt": 5_i64 } } }, other] }
        };
        let field = || FIELD.is(doc! { "$gt": 7 });
        let of_field = doc! { "items": { "$elemMatch": { "a": { "$gt": 7 } } } };
        assert_eq!(of_bucket(field()), beside(of_field));
        let not = doc! { "items": { "$elemMatch": { "$nor": [{ "a": { "$gt": 7 } }] } } };
        assert_eq!(of_bucket(!field()), beside(not));
        assert_eq!(of_bucket(!ITEM.is(doc! { "$gt": 7 })), beside(doc! {}));
        assert_eq!(of_bucket(!Filter::default()), beside(doc! { "$nor": [{}] }));
    }

    #[test]
    fn operators_that_are_written_out_exclude_no_document() {
        let [item, document] = both(ITEM.is(doc! { "$mod": [2, 0] }));
        assert_eq!(item, doc! { "items": { "$mod": [2, 0] } });
        assert_eq!(document, doc! {});
    }
}
