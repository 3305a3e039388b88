//! Structs and enums inside of items and parents: how their fields are named from outside.

use std::{marker::PhantomData, ops::Deref};

use serde::Serialize;

use super::{
    Field, Of, Plain, Variant,
    path::{Path, Root},
};

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
/// The names are those that serde writes: `rename`, `rename_all`, `rename_all_fields`, `tag` and
/// `content` are followed at each level. The fields of `Option<V>` and `Box<V>` are those of `V`. A
/// variant is named as a field would be (`over_the_counter`); where two variants would have one
/// name, both keep their own.
///
/// Not named are: a field that is flattened, or stored by a function of its own (`with`); a unit
/// variant of an enum without a `tag`, which is stored as text (compare the whole value with `eq`);
/// a variant that is `untagged`, or whose name no path can spell; what is inside a variant with
/// several unnamed fields; and what is inside the elements of a list, of which a condition is on
/// one: `trade.fees.any(Fee::FIELDS.payee.eq("NYSE"))`.
///
/// A struct or enum with type parameters cannot derive it.
#[diagnostic::on_unimplemented(
    message = "the fields inside `{Self}` are not known",
    label = "`Fields` is not implemented for this type",
    note = "help: add `#[derive(bucket_runtime::Fields)]` to the struct or enum"
)]
pub trait Fields: FieldsInside + Sized {
    /// The fields of a value that stands alone, for [`Field::any`].
    const FIELDS: &'static Self::At<Self, Root> = <Self::At<Self, Root> as Located>::FIELDS;
}

impl<V: Fields> Fields for Option<V> {}

impl<V: Fields> Fields for Box<V> {}

/// A value with fields inside: one that has [`Fields`], or a list of such values, whose fields an
/// index can name.
#[diagnostic::on_unimplemented(
    message = "the fields inside `{Self}` are not known",
    label = "`Fields` is not implemented for this type",
    note = "help: add `#[derive(bucket_runtime::Fields)]` to the struct or enum"
)]
pub trait FieldsInside: 'static {
    /// The fields of a value that stands at the path `P` of a `T`.
    type At<T: 'static, P: Path>: Located;
}

impl<V: FieldsInside> FieldsInside for Option<V> {
    type At<T: 'static, P: Path> = V::At<T, P>;
}

impl<V: FieldsInside + ?Sized> FieldsInside for Box<V> {
    type At<T: 'static, P: Path> = V::At<T, P>;
}

/// A struct that derives `Bucket`, `Outlier` or [`Fields`]: a
/// part names some of its fields.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no fields for a part to name",
    label = "this is not a struct that derives `Bucket`, `Outlier` or `Fields`",
    note = "help: name the struct of a bucket or of a parent, or add `#[derive(bucket_runtime::Fields)]` to the struct of a parent's items"
)]
pub trait StructFields {
    /// The type of [`FIELDS`](Self::FIELDS).
    type Fields: 'static;

    /// The fields by their Rust names.
    const FIELDS: &'static Self::Fields;
}

/// The fields of a struct at the path `P` of a `T`, for the paths of indexes: one message,
/// whichever part is missing.
#[diagnostic::on_unimplemented(
    message = "the fields inside `{Self}` are not known",
    label = "`Fields` is not implemented for this type or what it is a list of, or the field is stored by `with`",
    note = "help: add `#[derive(bucket_runtime::Fields)]` to the struct or enum"
)]
pub trait FieldsAt<T, P> {
    /// The fields.
    type Fields: Located;
}

#[diagnostic::do_not_recommend]
impl<T: 'static, P: Path, V: FieldsInside> FieldsAt<T, P> for V {
    type Fields = V::At<T, P>;
}

/// A struct of fields, each with its whole path.
pub trait Located: 'static {
    /// The fields.
    const FIELDS: &'static Self;
}

/// No fields at all, at the path `P` of a `T`.
pub struct NoFields<T, P>(Of<(T, P)>);

impl<T, P> NoFields<T, P> {
    /// The only value.
    pub const NONE: Self = Self(PhantomData);
}

impl<T: 'static, P: 'static> Located for NoFields<T, P> {
    const FIELDS: &'static Self = &Self::NONE;
}

/// The fields of a variant, in a struct of their own.
pub trait VariantFields {}

impl<T, P> VariantFields for NoFields<T, P> {}

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

impl<T: 'static, V, P> Field<T, V, Plain, P> {
    /// The fields inside. They can be named directly (`FIELDS.venue.city`), except in a `const`,
    /// which allows no `Deref`.
    pub const fn inside(&self) -> &'static V::At<T, P>
    where
        V: Fields,
        P: Path,
    {
        V::At::<T, P>::FIELDS
    }
}

impl<T, V: Serialize, P> Field<T, V, Plain, P> {
    /// The field at this path that serde stores, for generated code.
    #[doc(hidden)]
    pub const fn at<A: Path>() -> Self {
        Self::new(A::PATH).of_variant(A::VARIANT)
    }
}

impl<T, V, S, P> Field<T, V, S, P> {
    /// The fields inside, for the paths of indexes in generated code.
    #[doc(hidden)]
    pub const fn index_step<F: Located>(&self) -> &'static F
    where
        V: FieldsAt<T, P, Fields = F>,
    {
        F::FIELDS
    }

    /// The stored name that an index over this field uses, for generated code.
    ///
    /// # Panics
    ///
    /// At compile time, if a name is a number.
    #[doc(hidden)]
    #[track_caller]
    pub const fn index_name(&self) -> &'static str {
        assert!(
            !holds_number(self.name),
            "in an index, the server takes a name that is a number for a place in an array\n\
             help: store the field under another name: `#[serde(rename = \"n\")]`"
        );
        self.name
    }
}

/// Whether a name of this path is a number.
const fn holds_number(path: &str) -> bool {
    let (path, mut at, mut start, mut digits) = (path.as_bytes(), 0, 0, 0);
    while at <= path.len() {
        if at == path.len() || path[at] == b'.' {
            if digits > 0 && digits == at - start {
                return true;
            }
            (start, digits) = (at + 1, 0);
        } else if path[at].is_ascii_digit() {
            digits += 1;
        }
        at += 1;
    }
    false
}

impl<T: 'static, V: Fields, P: Path> Deref for Field<T, V, Plain, P> {
    type Target = V::At<T, P>;

    fn deref(&self) -> &V::At<T, P> {
        self.inside()
    }
}

impl<T, F: VariantFields> Variant<T, F> {
    /// The fields inside, for the paths of indexes in generated code.
    #[doc(hidden)]
    pub const fn index_step(&self) -> &F {
        self.inside()
    }
}

impl<T, V, P> Variant<T, Field<T, V, Plain, P>> {
    /// The fields inside, for the paths of indexes in generated code.
    #[doc(hidden)]
    pub const fn index_step<F: Located>(&self) -> &'static F
    where
        V: FieldsAt<T, P, Fields = F>,
    {
        F::FIELDS
    }
}

impl<T, V, P> Variant<T, Inlined<T, V, P>> {
    /// The fields inside, for the paths of indexes in generated code.
    #[doc(hidden)]
    pub const fn index_step<F: Located>(&self) -> &'static F
    where
        V: FieldsAt<T, P, Fields = F>,
    {
        F::FIELDS
    }
}
