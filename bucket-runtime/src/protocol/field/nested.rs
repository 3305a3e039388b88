//! Structs and enums inside of items and parents: how their fields are named from outside.

use std::{marker::PhantomData, ops::Deref};

use super::{Field, Of, Plain};

/// A struct or an enum inside of items or parents. Derive it, and conditions can name its fields.
///
/// ```
/// use bucket_runtime::{Bucket, Fields, Filter, bson::{Document, doc}};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Bucket)]
/// #[bucket(collection = "trades", id = "{customer}_{#}", capacity = 10)]
/// struct Trade {
///     customer: i64,
///     venue: Venue,
///     fees: Vec<Fee>,
/// }
///
/// #[derive(Serialize, Deserialize, Fields)]
/// #[serde(tag = "kind", rename_all = "camelCase")]
/// enum Venue {
///     Exchange { city: String },
///     OverTheCounter { dealer: Option<Dealer> },
/// }
///
/// #[derive(Serialize, Deserialize, Fields)]
/// #[serde(rename_all = "camelCase")]
/// struct Dealer {
///     home_city: String,
/// }
///
/// #[derive(Serialize, Deserialize, Fields)]
/// struct Fee {
///     payee: String,
///     cents: i64,
/// }
///
/// let trade = Trade::FIELDS;
/// // The fields of one variant: the condition holds for this variant alone, `ne` and `exists` as well.
/// // Only `!` negates the whole of it, and so matches all other variants.
/// let paris = trade.venue.exchange.city.eq("Paris");
/// assert_eq!(
///     Document::from(paris.clone()),
///     doc! { "$and": [
///         { "venue.kind": { "$eq": "exchange" } },
///         { "venue.city": { "$eq": "Paris" } },
///     ] },
/// );
/// // Through an `Option`, at any depth; and the variant itself.
/// let lyon = trade.venue.over_the_counter.dealer.home_city.eq("Lyon");
/// let on_exchange: Filter<Trade> = trade.venue.exchange.matches();
/// // One of the elements of an array satisfies both conditions.
/// let expensive = trade.fees.any(Fee::FIELDS.payee.eq("NYSE").and(Fee::FIELDS.cents.gt(500)));
/// let either = paris.or(lyon).or(on_exchange).or(expensive);
/// ```
///
/// The names are those that serde writes: `rename`, `rename_all`, `rename_all_fields`, `tag` and `content`
/// are followed at each level. The fields of `Option<V>` and `Box<V>` are those of `V`. Not named are: a
/// field that is flattened, or stored by a function of its own (`with`); a unit variant of an enum without
/// a `tag`, which is stored as text (compare the whole value with `eq`); and what is inside a variant with
/// several unnamed fields.
///
/// A struct or enum with type parameters cannot derive it.
#[diagnostic::on_unimplemented(
    message = "the fields inside `{Self}` are not known",
    label = "`Fields` is not implemented for this type",
    note = "help: add `#[derive(bucket_runtime::Fields)]` to the struct or enum"
)]
pub trait Fields: Sized + 'static {
    /// Its fields where it stands at the path `P` of a `T`.
    type At<T: 'static, P: Path>: Located;

    /// Its fields where it stands alone, for [`Field::any`].
    const FIELDS: &'static Self::At<Self, Root> = <Self::At<Self, Root> as Located>::FIELDS;
}

impl<V: Fields> Fields for Option<V> {
    type At<T: 'static, P: Path> = V::At<T, P>;
}

impl<V: Fields> Fields for Box<V> {
    type At<T: 'static, P: Path> = V::At<T, P>;
}

/// A struct of fields, each with its whole path.
pub trait Located: 'static {
    /// The fields.
    const FIELDS: &'static Self;
}

/// Where a struct or an enum stands within a document.
pub trait Path: 'static {
    /// The names with dots between them; empty for the document itself.
    const PATH: &'static str;

    /// The variant that this is inside of.
    const VARIANT: Option<&'static Tag>;
}

/// The document itself.
#[derive(Debug)]
pub enum Root {}

impl Path for Root {
    const PATH: &'static str = "";
    const VARIANT: Option<&'static Tag> = None;
}

/// The `N`th of the names of `F`, below the path `P`.
#[derive(Debug)]
pub struct At<P, F, const N: usize>(Of<(P, F)>);

/// The names of a struct's fields or of an enum's variants.
pub trait Names {
    /// The names, as serde writes them.
    const NAMES: &'static [&'static str];

    /// What has these names.
    const SHAPE: Shape = Shape::Struct;
}

/// How serde stores a type with several names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The names are those of fields.
    Struct,
    /// An enum: each variant is a field with the variant's name.
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

/// What a document must satisfy to hold a variant of an enum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// The field to look at.
    pub(super) path: &'static str,
    /// Its value; without one, the field has to exist.
    pub(super) value: Option<&'static str>,
    /// The variant that this one is inside of.
    pub(super) outer: Option<&'static Self>,
}

impl<P: Path, F: Names, const N: usize> At<P, F, N> {
    const NAME: &'static str = F::NAMES[N];

    /// The last name in the path, if there is one more than in `P`.
    const STEP: &'static str = match F::SHAPE {
        Shape::Struct | Shape::External => Self::NAME,
        Shape::Internal { .. } => "",
        Shape::Adjacent { content, .. } => content,
    };

    const TEXT: &'static Text = &joined(P::PATH, Self::STEP);

    const TAG_TEXT: &'static Text = match F::SHAPE {
        Shape::Internal { tag } | Shape::Adjacent { tag, .. } => &joined(P::PATH, tag),
        Shape::Struct | Shape::External => Self::TEXT,
    };

    const TAG: &'static Tag = &Tag {
        path: Self::TAG_TEXT.as_str(),
        value: match F::SHAPE {
            Shape::Internal { .. } | Shape::Adjacent { .. } => Some(Self::NAME),
            Shape::Struct | Shape::External => None,
        },
        outer: P::VARIANT,
    };
}

impl<P: Path, F: Names + 'static, const N: usize> Path for At<P, F, N> {
    const PATH: &'static str = Self::TEXT.as_str();
    const VARIANT: Option<&'static Tag> = match F::SHAPE {
        Shape::Struct => P::VARIANT,
        _ => Some(Self::TAG),
    };
}

/// The most bytes that a path can have.
const MAX_PATH: usize = 512;

/// A text that the compiler puts together.
struct Text {
    bytes: [u8; MAX_PATH],
    len: usize,
}

impl Text {
    const fn as_str(&self) -> &str {
        match str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => panic!("two texts make a text"),
        }
    }

    const fn push(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        assert!(
            self.len + text.len() <= MAX_PATH,
            "the names of nested fields are too long: 512 bytes at most"
        );
        let mut at = 0;
        while at < text.len() {
            self.bytes[self.len] = text[at];
            self.len += 1;
            at += 1;
        }
        self
    }
}

/// The two with a dot between them, unless one is empty.
const fn joined(outer: &str, name: &str) -> Text {
    let dot = if outer.is_empty() || name.is_empty() {
        ""
    } else {
        "."
    };
    let empty = Text {
        bytes: [0; MAX_PATH],
        len: 0,
    };
    empty.push(outer).push(dot).push(name)
}

/// The fields of a value that is stored among those of the struct or variant around it.
pub struct Inlined<T, V, P>(Of<(T, V, P)>);

impl<T, V, P> Inlined<T, V, P> {
    /// The fields of `V` at the path `P` of a `T`.
    pub const fn here() -> Self {
        Self(PhantomData)
    }
}

impl<T: 'static, V: Fields, P: Path> Deref for Inlined<T, V, P> {
    type Target = V::At<T, P>;

    fn deref(&self) -> &V::At<T, P> {
        V::At::<T, P>::FIELDS
    }
}

impl<T: 'static, V: Fields, P: Path> Field<T, V, Plain, P> {
    /// The fields inside. They can be named directly (`FIELDS.venue.city`), except in a `const`, which
    /// allows no `Deref`.
    pub const fn inside(&self) -> &'static V::At<T, P> {
        V::At::<T, P>::FIELDS
    }
}

impl<T: 'static, V: Fields, P: Path> Deref for Field<T, V, Plain, P> {
    type Target = V::At<T, P>;

    fn deref(&self) -> &V::At<T, P> {
        self.inside()
    }
}
