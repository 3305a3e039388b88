//! Conditions: how they combine, and what they become on flat documents and on buckets.
//!
//! Only the match language decides, so a bucket's items match as if each were a document of its
//! own: `$match` the buckets, `$unwind`, `$match` the items (`protocol/query.rs`). Expressions such
//! as `$filter` compare differently. The first `$match` is a necessary condition, which
//! `Node::of_bucket` derives from the filter: conditions on key fields as they are, conditions on
//! one element as `$elemMatch`. A user's index can answer it, and the server unwinds only what it
//! finds. Where that condition is sufficient, too (`Node::is_decided_by_buckets`), a limit on items
//! is a limit on buckets as well: the server reads ahead, and would fetch megabytes of them.
//!
//! A field inside of a value has a path, which is a type (`protocol/field/path.rs`): the derive
//! numbers the names of each struct, and the compiler joins them to a text. So a field that leads
//! to a document dereferences to the fields inside (`nested.rs`) without an allocation, and an
//! enum's variant brings the condition on its tag. A path knows whether an `Option` is on the way,
//! so that a group of a field inside of it has a value of `None`.

#![deny(missing_docs)]

mod whole;

use std::{fmt, marker::PhantomData, ops::Not};

use mongodb::bson::{Bson, Document, doc};

use crate::{
    schema::{id, key::KeyPart, spec::BucketSpec},
    value::bytes,
};

/// How deep conditions nest. Each level takes two levels of a document.
const MAX_LEVELS: usize = 45;

/// How deep the documents of a request nest: MongoDB promises to read 100 levels.
const MAX_REQUEST_LEVELS: usize = 100;

/// How many bytes the documents of a request take.
const MAX_REQUEST_BYTES: usize = 16 << 20;

/// A condition on the fields of `T`, made by the methods of
/// [`Field`](crate::protocol::field::Field).
///
/// [`and`](Self::and), [`or`](Self::or) and `!` combine conditions. The default one matches
/// everything.
///
/// For `a && b` the compiler says ``expected `bool`, found `Filter` ``, without a hint: `&&` and
/// `||` take nothing but `bool`, whatever a type implements. Write `a.and(b)` and `a.or(b)`.
///
/// Conditions nest up to 45 levels deep, and a request takes 16 MB: calls with a larger filter fail
/// with [`is_too_large`](crate::Error::is_too_large) before they send anything, and the server
/// refuses its document. A chain of `or` is one level, and so is one of `and`.
///
/// It converts into the driver's [`Document`]. That document is the filter for a flat collection of
/// `T`s: a collection of your own, a view of `Bucket::unwind`, the parents of an
/// `Outlier`, or a `$match` after `Bucket::unwind`.
///
/// ```
/// # use bucket_runtime::{Bucket, Filter, bson::{Document, doc}};
/// # #[derive(Bucket)]
/// # #[bucket(collection = "trades", id = "{customer}_{#}", capacity = 10)]
/// # struct Trade { customer: i64, ticker: String }
/// fn search(tickers: &[String]) -> Filter<Trade> {
///     let mut filter = Filter::default();
///     for ticker in tickers {
///         filter = filter.and(!Trade::FIELDS.ticker.eq(ticker));
///     }
///     filter
/// }
///
/// assert_eq!(Document::from(search(&[])), doc! {});
/// ```
#[must_use = "a condition does nothing by itself: pass it to a read, or combine it with `and` or `or`"]
pub struct Filter<T> {
    #[doc(hidden)]
    pub node: Node,
    of: PhantomData<fn() -> T>,
}

/// A condition, with the same code for all structs.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// On one field.
    Leaf(Leaf),
    /// Empty: matches everything.
    And(Vec<Node>),
    /// Empty: matches nothing.
    Or(Vec<Node>),
    /// The opposite.
    Not(Box<Node>),
}

/// A condition on one field.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// The stored name or path; empty for the whole item.
    pub name: &'static str,
    /// Whether the field is a top-level field of a bucket.
    pub is_key: bool,
    /// Whether this library stores the field as a date.
    pub(crate) is_date: bool,
    /// The operators.
    pub test: Document,
    /// Whether the user wrote these operators.
    pub(crate) is_written_out: bool,
    /// The value's text in ids, if a key field has to equal a value.
    pub(crate) id_text: Option<String>,
}

impl<T> Filter<T> {
    /// Both conditions hold.
    #[doc(alias = "&&")]
    pub fn and(self, other: Self) -> Self {
        Self::of(self.node.and(other.node))
    }

    /// At least one of the conditions holds.
    #[doc(alias = "||")]
    pub fn or(self, other: Self) -> Self {
        Self::of(self.node.or(other.node))
    }

    #[doc(hidden)]
    pub fn of(node: Node) -> Self {
        Self {
            node,
            of: PhantomData,
        }
    }
}

impl<T> Not for Filter<T> {
    type Output = Self;

    /// The condition does not hold. This also matches if the field is missing, and if a field
    /// inside a variant of an enum is compared, all values of other variants: the condition does
    /// not hold for them. [`ne`](crate::protocol::field::Field::ne) holds for values of the variant
    /// alone.
    fn not(self) -> Self {
        Self::of(Node::Not(Box::new(self.node.or_too_deep())))
    }
}

impl<T> Default for Filter<T> {
    fn default() -> Self {
        Self::of(Node::And(Vec::new()))
    }
}

impl<T> Clone for Filter<T> {
    fn clone(&self) -> Self {
        Self::of(self.node.clone())
    }
}

/// Prints the [`Document`] that it converts into.
impl<T> fmt::Debug for Filter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.node.flat(""))
    }
}

impl<T> From<Filter<T>> for Document {
    fn from(filter: Filter<T>) -> Self {
        filter.node.flat("")
    }
}

/// Whether the server reads a request with these documents.
pub(crate) fn is_readable(documents: &[Document]) -> bool {
    let len = |document| bytes::write(document).map_or(0, |bytes| bytes.len());
    let is_flat = |document: &Document| {
        !document
            .values()
            .any(|value| is_deeper(value, MAX_REQUEST_LEVELS))
    };
    documents.iter().all(is_flat) && documents.iter().map(len).sum::<usize>() <= MAX_REQUEST_BYTES
}

fn is_deeper(value: &Bson, levels: usize) -> bool {
    let is_inner_deeper = |inner| levels == 0 || is_deeper(inner, levels - 1);
    match value {
        Bson::Document(document) => document.values().any(is_inner_deeper),
        Bson::Array(values) => values.iter().any(is_inner_deeper),
        _ => false,
    }
}

impl Node {
    /// The condition that a field satisfies these operators: a field of the items, under its stored
    /// name or path, that is not taken for a time.
    pub(crate) fn on(name: &'static str, test: Document) -> Self {
        Self::Leaf(Leaf {
            name,
            is_key: false,
            is_date: false,
            test,
            is_written_out: false,
            id_text: None,
        })
    }

    /// Both conditions, without one `And` inside another.
    pub fn and(self, other: Self) -> Self {
        let conjuncts = |node| match node {
            Self::And(nodes) => nodes,
            node => vec![node.or_too_deep()],
        };
        let mut all = conjuncts(self);
        all.extend(conjuncts(other));
        match all.len() {
            1 => all.remove(0),
            _ => Self::And(all),
        }
    }

    /// At least one of the conditions, without one `Or` inside another.
    fn or(self, other: Self) -> Self {
        let alternatives = |node| match node {
            Self::Or(nodes) => nodes,
            node => vec![node.or_too_deep()],
        };
        let mut all = alternatives(self);
        all.extend(alternatives(other));
        Self::Or(all)
    }

    /// The condition, to be put into another one; if it has all the levels that a condition may
    /// have, a document that neither a read nor the server takes. So no condition nests too deep
    /// for the stack.
    fn or_too_deep(self) -> Self {
        if !self.has_levels(MAX_LEVELS) {
            return self;
        }
        let nested = |inner, _| doc! { "$nor": [inner] };
        Self::on("$nor", (0..MAX_REQUEST_LEVELS).fold(doc! {}, nested))
    }

    fn has_levels(&self, levels: usize) -> bool {
        let has_one_less = |node: &Self| levels == 0 || node.has_levels(levels - 1);
        match self {
            Self::Leaf(_) => levels == 0,
            Self::And(nodes) | Self::Or(nodes) => nodes.iter().any(has_one_less),
            Self::Not(node) => has_one_less(node),
        }
    }

    /// Whether it matches everything.
    pub fn is_everything(&self) -> bool {
        matches!(self, Self::And(all) if all.is_empty())
    }

    /// Whether items of one bucket can differ in it.
    pub fn is_on_items(&self) -> bool {
        self.mentions(false)
    }

    /// The condition in the match language. Fields other than key fields are below `path`.
    pub fn flat(&self, path: &str) -> Document {
        let all = |nodes: &[Self]| Vec::from_iter(nodes.iter().map(|node| node.flat(path)));
        match self {
            Self::Leaf(leaf) if leaf.is_key => doc! { leaf.name: leaf.test.clone() },
            Self::Leaf(leaf) => doc! { leaf.below(path): leaf.test.clone() },
            Self::And(nodes) if nodes.is_empty() => doc! {},
            Self::And(nodes) => doc! { "$and": all(nodes) },
            // The server refuses an empty `$or`.
            Self::Or(nodes) if nodes.is_empty() => doc! { "$nor": [{}] },
            Self::Or(nodes) => doc! { "$or": all(nodes) },
            Self::Not(node) => doc! { "$nor": [node.flat(path)] },
        }
    }

    /// The condition on buckets that may hold a matching item: conditions on key fields as they
    /// are, and that some element satisfies the conditions on other fields.
    ///
    /// This is necessary but not always sufficient: two conditions may be satisfied by different
    /// elements if one of the two includes key fields.
    pub fn of_bucket(&self, items: &str) -> Document {
        match (self.mentions(true), self.mentions(false)) {
            // A condition that matches everything or nothing does so for buckets, too.
            (_, false) => self.flat(""),
            (false, true) if self.is_on_whole_items() => self.of_whole_items(items),
            (false, true) => doc! { items: { "$elemMatch": self.flat("") } },
            (true, true) => self.of_bucket_by_parts(items),
        }
    }

    /// Whether that is sufficient, too, for a bucket that has items.
    pub fn is_decided_by_buckets(&self) -> bool {
        let is_of_one_kind = |node: &Self| !(node.mentions(true) && node.mentions(false));
        match self {
            Self::Leaf(leaf) if leaf.name.is_empty() => !leaf.is_written_out,
            node if node.is_on_whole_items() => false,
            Self::And(nodes) => nodes.iter().all(is_of_one_kind),
            node => is_of_one_kind(node),
        }
    }

    fn of_bucket_by_parts(&self, items: &str) -> Document {
        let each = |nodes: &[Self]| Vec::from_iter(nodes.iter().map(|node| node.of_bucket(items)));
        match self {
            Self::Leaf(_) => self.flat(""),
            Self::And(nodes) => {
                // Conditions on elements alone must hold for one and the same element.
                let (elements, others): (Vec<_>, Vec<_>) =
                    nodes.iter().cloned().partition(|node| !node.mentions(true));
                let mut all = each(&others);
                if !elements.is_empty() {
                    all.push(Self::And(elements).of_bucket(items));
                }
                doc! { "$and": all }
            }
            Self::Or(nodes) => doc! { "$or": each(nodes) },
            Self::Not(node) => node.negated().of_bucket(items),
        }
    }

    /// The negation, with `not` pushed one level down.
    fn negated(&self) -> Self {
        let each = |nodes: &[Self]| {
            let not = |node: &Self| Self::Not(Box::new(node.clone()));
            Vec::from_iter(nodes.iter().map(not))
        };
        match self {
            Self::Leaf(_) => Self::Not(Box::new(self.clone())),
            Self::And(nodes) => Self::Or(each(nodes)),
            Self::Or(nodes) => Self::And(each(nodes)),
            Self::Not(node) => (**node).clone(),
        }
    }

    /// Whether the condition includes key fields, or other fields.
    fn mentions(&self, key: bool) -> bool {
        match self {
            Self::Leaf(leaf) => leaf.is_key == key,
            Self::And(nodes) | Self::Or(nodes) => nodes.iter().any(|node| node.mentions(key)),
            Self::Not(node) => node.mentions(key),
        }
    }

    /// The prefix of the ids of all buckets that can match, if the condition fixes the values of
    /// the first key fields.
    pub fn id_prefix(&self, spec: &BucketSpec) -> Option<String> {
        let conjuncts = match self {
            Self::And(nodes) => nodes.as_slice(),
            node => std::slice::from_ref(node),
        };
        let value = |name: &str| {
            conjuncts.iter().find_map(|node| match node {
                Self::Leaf(leaf) if leaf.is_key && leaf.name == name => leaf.id_text.clone(),
                _ => None,
            })
        };
        let part = |text| KeyPart {
            text,
            value: Bson::Null,
        };
        let known = spec.key.iter().map_while(|key| value(key.name).map(part));
        let known = Vec::from_iter(known);
        (!known.is_empty()).then(|| id::prefix(&spec.id, &known))
    }
}
