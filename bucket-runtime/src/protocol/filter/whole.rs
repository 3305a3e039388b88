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

    /// The condition on documents that may hold a matching item. `$elemMatch` has no `$and` and `$or` for whole
    /// items, so each condition may be satisfied by another item.
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
