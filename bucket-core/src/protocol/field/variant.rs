//! A variant of an enum inside of items and parents.

use std::{fmt, marker::PhantomData, ops::Deref};

use mongodb::bson::doc;

use super::path::{Path, Tag};
use crate::protocol::filter::{Filter, Node};

/// A variant of an enum: [`matches`](Self::matches) is the condition that a value is of this
/// variant, and conditions on its fields `F` include that.
pub struct Variant<T, F> {
    tag: Option<&'static Tag>,
    /// The field that holds the content, if that has a field of its own.
    content: Option<&'static str>,
    fields: F,
    of: PhantomData<fn() -> T>,
}

impl<T, F> Variant<T, F> {
    /// The variant at the path `P`.
    pub const fn new<P: Path>(fields: F) -> Self {
        let content = match P::VARIANT {
            Some(Tag { value: None, .. }) => Some(P::PATH),
            _ => None,
        };
        Self::with_content::<P>(content, fields)
    }

    /// The variant whose one value is at the path `P`.
    pub const fn of_value<P: Path>(value: F) -> Self {
        Self::with_content::<P>(Some(P::PATH), value)
    }

    const fn with_content<P: Path>(content: Option<&'static str>, fields: F) -> Self {
        Self {
            tag: P::VARIANT,
            content,
            fields,
            of: PhantomData,
        }
    }

    /// The stored name that an index over this variant uses, for generated code.
    ///
    /// # Panics
    ///
    /// At compile time, if its fields stand beside those of other variants.
    #[doc(hidden)]
    #[track_caller]
    pub const fn index_name(&self) -> &'static str {
        match self.content {
            Some(content) => content,
            None => panic!(
                "the fields of a variant of an enum with a tag are in no field of their own\n\
                 help: name one of its fields, as in `index(card.digits)`"
            ),
        }
    }

    /// The value is of this variant.
    pub fn matches(&self) -> Filter<T> {
        Filter::of(tested(self.tag))
    }

    /// The fields inside. They can be named directly, except in a `const`, which allows no `Deref`.
    pub const fn inside(&self) -> &F {
        &self.fields
    }
}

impl<T, F> Deref for Variant<T, F> {
    type Target = F;

    fn deref(&self) -> &F {
        &self.fields
    }
}

impl<T, F> fmt::Debug for Variant<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Variant").field(&self.tag).finish()
    }
}

/// The condition that the value is of this variant, and so is each value around it.
pub(super) fn tested(tag: Option<&'static Tag>) -> Node {
    let Some(tag) = tag else {
        return Node::And(Vec::new());
    };
    let test = match tag.value {
        Some(value) => doc! { "$eq": value },
        None => doc! { "$exists": true },
    };
    tested(tag.outer).and(Node::on(tag.path, test))
}
