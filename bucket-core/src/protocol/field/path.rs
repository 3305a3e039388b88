//! Paths to fields inside of values, as types: the compiler joins the names.

use super::Of;
use crate::schema::text::Text;

/// Where a struct or an enum stands within a document.
pub trait Path: 'static {
    /// The names with dots between them; empty for the document itself.
    const PATH: &'static str;

    /// The variant that this is inside of.
    const VARIANT: Option<&'static Tag>;

    /// The path of a field here that leads no further, always `()`. Such fields name the path
    /// around them by it, since the compiler refuses a struct that uses none of its parameters.
    type Leaf;
}

/// The document itself.
#[derive(Debug)]
pub enum Root {}

impl Path for Root {
    const PATH: &'static str = "";
    const VARIANT: Option<&'static Tag> = None;
    type Leaf = ();
}

/// Any one of the items of an array.
#[derive(Debug)]
pub enum AnyItem {}

/// The field with the `N`th of the names of `F`, below the path `P`.
#[derive(Debug)]
pub struct At<P, F, const N: usize>(Of<(P, F)>);

impl<P: Path, F: Names, const N: usize> At<P, F, N> {
    const TEXT: &'static Text = &joined(P::PATH, F::NAMES[N]);
}

impl<P: Path, F: Names + 'static, const N: usize> Path for At<P, F, N> {
    const PATH: &'static str = Self::TEXT.as_str();
    const VARIANT: Option<&'static Tag> = P::VARIANT;
    type Leaf = ();
}

/// The variant with the `N`th of the names of the enum `F`, below the path `P`. Conditions on its
/// fields hold for this variant alone.
#[derive(Debug)]
pub struct AtVariant<P, F, const N: usize>(Of<(P, F)>);

impl<P: Path, F: Variants, const N: usize> AtVariant<P, F, N> {
    const NAME: &'static str = F::NAMES[N];

    const TEXT: &'static Text = &match F::SHAPE {
        Shape::External => joined(P::PATH, Self::NAME),
        Shape::Internal { .. } => joined(P::PATH, ""),
        Shape::Adjacent { content, .. } => joined(P::PATH, content),
    };

    const TAG_TEXT: &'static Text = &match F::SHAPE {
        Shape::External => joined(P::PATH, Self::NAME),
        Shape::Internal { tag } | Shape::Adjacent { tag, .. } => joined(P::PATH, tag),
    };

    const TAG: &'static Tag = &Tag {
        path: Self::TAG_TEXT.as_str(),
        value: match F::SHAPE {
            Shape::External => None,
            Shape::Internal { .. } | Shape::Adjacent { .. } => Some(Self::NAME),
        },
        outer: P::VARIANT,
    };
}

impl<P: Path, F: Variants + 'static, const N: usize> Path for AtVariant<P, F, N> {
    const PATH: &'static str = Self::TEXT.as_str();
    const VARIANT: Option<&'static Tag> = Some(Self::TAG);
    type Leaf = ();
}

/// The names of a struct's fields or of an enum's variants.
pub trait Names {
    /// The names, as serde writes them.
    const NAMES: &'static [&'static str];
}

/// The names of an enum's variants, and how they are stored.
pub trait Variants: Names {
    /// How the enum is stored.
    const SHAPE: Shape;
}

/// How serde stores an enum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Each variant is a field with the variant's name.
    External,
    /// `#[serde(tag = "…")]`: the variant's fields stand beside the tag.
    Internal {
        /// The name of the tag.
        tag: &'static str,
    },
    /// `#[serde(tag = "…", content = "…")]`: the variant's fields are below the content.
    Adjacent {
        /// The name of the tag.
        tag: &'static str,
        /// The name of the content.
        content: &'static str,
    },
}

/// The condition that a document satisfies if it holds a certain variant of an enum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// The field to look at.
    pub(super) path: &'static str,
    /// The value that the field must have; if `None`, the field must exist.
    pub(super) value: Option<&'static str>,
    /// The variant that this one is inside of.
    pub(super) outer: Option<&'static Self>,
}

/// The two with a dot between them, unless one is empty.
const fn joined(outer: &str, name: &str) -> Text {
    let dot = if outer.is_empty() || name.is_empty() {
        ""
    } else {
        "."
    };
    assert!(
        outer.len() + dot.len() + name.len() <= Text::MAX_LEN,
        "the names of nested fields are too long: 512 bytes at most"
    );
    Text::EMPTY.push(outer).push(dot).push(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn names_are_joined_by_a_dot_unless_one_is_empty(outer in "[aä.]{0,3}", name in "[bö]{0,3}") {
            let both = [&*outer, &*name].into_iter().filter(|text| !text.is_empty());
            let both = both.collect::<Vec<_>>().join(".");
            let text = joined(&outer, &name);
            prop_assert_eq!(text.as_str(), both);
        }
    }

    #[test]
    fn a_path_of_the_maximum_length_is_not_too_long() {
        let (outer, name) = ("o".repeat(Text::MAX_LEN - 2), "n");
        assert_eq!(joined(&outer, name).as_str().len(), Text::MAX_LEN);
        assert!(std::panic::catch_unwind(|| joined(&outer, "nn").as_str().len()).is_err());
    }
}
