//! Typed fields: a stored name, the Rust type behind it, and how its values are stored.

#![deny(missing_docs)]

mod list;
mod nested;
mod ordered;
mod path;
#[allow(missing_docs, reason = "for generated code alone")]
mod reading;
mod value;
mod variant;

use std::{fmt, marker::PhantomData};

use mongodb::bson::{Bson, Document, Serializer, doc};
use serde::Serialize;

#[doc(hidden)]
pub use self::reading::ReadForm;
pub use self::{
    list::{List, OneItem},
    nested::{FieldsAt, FieldsInside, Inlined, Located, NoFields, VariantFields},
    ordered::{Ordered, Plain},
    path::{AnyItem, At, AtVariant, Names, Root, Shape, Tag, Variants},
    variant::Variant,
};
pub use self::{
    nested::{Fields, StructFields},
    ordered::{Custom, Date},
    path::Path,
    value::Value,
};
use crate::{
    protocol::filter::{Filter, Leaf, Node},
    schema::{
        key::KeyField,
        time::{TimeField, bson_date, of_date},
    },
    value::element::element,
};

type SerializeError = <Serializer as serde::Serializer>::Error;

/// A field of `T` with values of type `V`, which are stored in the form `S`. With a path `P` it
/// leads to the [fields inside](trait@Fields) of its values.
///
/// The derives make one for each field: `Trade::FIELDS.quantity`. Its methods are conditions, with
/// the meaning that the server's match language gives them:
///
/// - Values compare by their kind: numbers of any type with numbers, text with text; a field of another
///   kind does not match.
/// - `ne` and `!` match if the field is missing; no other condition does, except `eq(None)`, which
///   matches both `null` and a missing field.
/// - On an array, `eq`, `ne` and `is_in` match the whole array or one of its items;
///   [`contains`](Self::contains) matches an item. An [`item`](Self::item) that is an array equals another one alone.
/// - A field that serde left out (`skip_serializing_if`) equals the value that it was left out for, but
///   is neither less nor greater than another value.
/// - Documents are equal if they have the same fields in the same order, so two `HashMap`s rarely are.
/// - A field is found under the name that it is written under now, not under an `alias`.
///
/// Values are written as the field writes them, including `#[serde(with = "…")]`. A value that
/// cannot be stored equals nothing.
///
/// ```
/// # use bucket_runtime::{Bucket, Filter, bson::{DateTime, Document, doc}};
/// # #[derive(Bucket)]
/// # #[serde(rename_all = "camelCase")]
/// # #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 10)]
/// # struct Trade { customer_id: i64, date: DateTime, ticker: String, #[serde(rename = "qty")] quantity: i32 }
/// const TRADE: <Trade as Bucket>::Fields = Trade::FIELDS;
///
/// let large: Filter<Trade> = TRADE.ticker.eq("MDB").and(TRADE.quantity.gte(100));
/// let document = Document::from(large);
/// assert_eq!(
///     document,
///     doc! { "$and": [{ "ticker": { "$eq": "MDB" } }, { "qty": { "$gte": 100_i64 } }] },
/// );
/// ```
pub struct Field<T, V, S = Plain, P = ()> {
    name: &'static str,
    write: WriteValue<V>,
    /// The names that the field is read from, if these are not its own name alone.
    read_names: Option<&'static [&'static str]>,
    read_form: ReadForm<V>,
    /// The value to use where the stored one is missing.
    default: Option<fn() -> V>,
    left_out: fn(&V) -> bool,
    is_date: bool,
    /// The value's text in an `_id`; only key fields have one.
    id_text: Option<fn(&V) -> String>,
    /// The variant that the field is inside of.
    variant: Option<&'static Tag>,
    /// The number of nested arrays whose items the field stands for; 0 for a value outside of
    /// arrays.
    arrays: usize,
    of: Of<(T, S, P)>,
}

/// Marks types that a field knows at compile time alone.
type Of<T> = PhantomData<fn() -> T>;

/// How a value is stored.
enum WriteValue<V> {
    Plain(fn(&V) -> Option<Bson>),
    With(fn(&V, Serializer) -> Result<Bson, SerializeError>),
}

impl<V> Clone for WriteValue<V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for WriteValue<V> {}

impl<V> WriteValue<V> {
    /// The stored value; `None` if the value cannot be stored.
    fn stored(self, value: &V) -> Option<Bson> {
        match self {
            Self::Plain(write) => write(value),
            Self::With(write) => write(value, Serializer::new()).ok(),
        }
    }
}

impl<T, V, S, P> Clone for Field<T, V, S, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, V, S, P> Copy for Field<T, V, S, P> {}

impl<T, V, S, P> fmt::Debug for Field<T, V, S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Field").field(&self.name).finish()
    }
}

impl<T, V: Serialize, P> Field<T, V, Plain, P> {
    /// A field that serde stores under this name.
    pub const fn new(name: &'static str) -> Self {
        Self::written(name, WriteValue::Plain(|value| element(value).ok()))
    }
}

impl<T, V: KeyField> Field<T, V> {
    /// A key field with this name.
    pub const fn key(name: &'static str) -> Self {
        let write = WriteValue::Plain(|value: &V| Some(V::to_bson(value.borrowed())));
        let mut field = Self::written(name, write);
        field.id_text = Some(|value| V::id_text(value.borrowed()).into_owned());
        field
    }
}

impl<T, V: TimeField, P> Field<T, V, Date, P> {
    /// A field that [`bson_date`] stores under this name.
    pub const fn date(name: &'static str) -> Self {
        let mut field = Self::with(name, |value, serializer| {
            bson_date::serialize(value, serializer)
        });
        field.is_date = true;
        field.read_form = ReadForm::Date(of_date);
        field
    }
}

impl<T, V, S, P> Field<T, V, S, P> {
    /// A field that a function of its own stores under this name, in the form `S`. Values that this
    /// function writes differently for human-readable formats cannot be found. A part of the struct
    /// can have this field only if [`read_by`](Self::read_by) says how it is read.
    pub const fn with(
        name: &'static str,
        write: fn(&V, Serializer) -> Result<Bson, SerializeError>,
    ) -> Self {
        let mut field = Self::written(name, WriteValue::With(write));
        field.read_form = ReadForm::Custom(reading::unknown);
        field
    }

    const fn written(name: &'static str, write: WriteValue<V>) -> Self {
        Self {
            name,
            write,
            read_names: None,
            read_form: ReadForm::Serde,
            default: None,
            left_out: |_| false,
            is_date: false,
            id_text: None,
            variant: None,
            arrays: 0,
            of: PhantomData,
        }
    }

    /// The placeholder for a field of a struct whose derive failed.
    #[doc(hidden)]
    pub const fn nothing() -> Self {
        Self::written("", WriteValue::Plain(|_| None))
    }

    /// Sets which values serde leaves out (`skip_serializing_if`).
    #[doc(hidden)]
    #[must_use]
    pub const fn left_out_if(mut self, left_out: fn(&V) -> bool) -> Self {
        self.left_out = left_out;
        self
    }

    /// Sets the variant of an enum that the field is inside of ([`Path::VARIANT`]).
    #[doc(hidden)]
    #[must_use]
    pub const fn of_variant(mut self, variant: Option<&'static Tag>) -> Self {
        self.variant = variant;
        self
    }

    /// The stored name, as serde resolves it; of a nested field the whole path, such as
    /// `venue.city`.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The field equals this value.
    pub fn eq(self, value: impl Value<V>) -> Filter<T> {
        let value = value.into_value();
        let stored = self.stored(&value);
        match (self.id_text, &stored[..]) {
            // By `$eq` alone, an item that is a list would also match if it holds the value.
            (None, [item]) if self.name.is_empty() => {
                self.satisfies(doc! { "$eq": item, "$not": { "$elemMatch": { "$eq": item } } })
            }
            (None, _) => self.one_of(stored),
            (Some(text), _) => Filter::of(Node::Leaf(Leaf {
                id_text: Some(text(&value)),
                ..self.leaf(equals(stored))
            })),
        }
    }

    /// The field does not equal this value, or is missing. If it is inside a variant of an enum,
    /// the value is of this variant.
    pub fn ne(self, value: impl Value<V>) -> Filter<T> {
        Filter::of(self.is_of_variant()).and(!self.eq(value))
    }

    /// The field equals one of these values. No item matches an empty list, and all match its
    /// negation.
    pub fn is_in<I: Value<V>>(self, values: impl IntoIterator<Item = I>) -> Filter<T> {
        let values = values.into_iter().map(I::into_value);
        self.one_of(values.flat_map(|value| self.stored(&value)).collect())
    }

    /// The field exists, even with `null`; or, with `false`, it does not exist.
    pub fn exists(self, exists: bool) -> Filter<T> {
        self.satisfies(doc! { "$exists": exists })
    }

    /// The field satisfies operators of the server's match language that have no method here.
    ///
    /// ```
    /// # use bucket_runtime::{Bucket, Filter, bson::doc};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer}_{#}", capacity = 10)]
    /// # struct Trade { customer: i64, ticker: String }
    /// let nasdaq: Filter<Trade> = Trade::FIELDS.ticker.is(doc! { "$regex": "^M" });
    /// ```
    pub fn is(self, operators: Document) -> Filter<T> {
        self.holds(Node::Leaf(Leaf {
            is_written_out: true,
            ..self.leaf(operators)
        }))
    }

    /// The field satisfies these operators, which this library has chosen.
    fn satisfies(&self, operators: Document) -> Filter<T> {
        self.holds(Node::Leaf(self.leaf(operators)))
    }

    /// The condition that the value is of the variant that the field is inside of, if it is inside
    /// of one.
    fn is_of_variant(&self) -> Node {
        variant::tested(self.variant)
    }

    #[doc(hidden)]
    pub const fn is_key(&self) -> bool {
        self.id_text.is_some()
    }

    /// The condition, for the variant that the field is inside of.
    fn holds(&self, node: Node) -> Filter<T> {
        Filter::of(self.is_of_variant().and(node))
    }

    fn leaf(&self, test: Document) -> Leaf {
        let test = (0..self.arrays).fold(test, |test, _| doc! { "$elemMatch": test });
        Leaf {
            name: self.name,
            is_key: self.is_key(),
            is_date: self.is_date,
            test,
            is_written_out: false,
            id_text: None,
        }
    }

    /// Inside `$in` the server would read a regular expression as a pattern.
    fn one_of(&self, values: Vec<Bson>) -> Filter<T> {
        let is_regex = |value: &Bson| matches!(value, Bson::RegularExpression(_));
        if values.len() > 1 && values.iter().any(is_regex) {
            let each = values.into_iter();
            let each = each.map(|value| Node::Leaf(self.leaf(equals(vec![value]))));
            return self.holds(Node::Or(each.collect()));
        }
        self.holds(Node::Leaf(self.leaf(equals(values))))
    }

    /// The forms that this value has in documents: none if it cannot be stored, and also `null` for
    /// a value that is left out, since the server treats `null` and missing as equal.
    fn stored(&self, value: &V) -> Vec<Bson> {
        let written = self.write.stored(value);
        let missing = (self.left_out)(value).then_some(Bson::Null);
        let missing = missing.filter(|_| written != Some(Bson::Null));
        written.into_iter().chain(missing).collect()
    }
}

/// The operator for equality with one of these values.
fn equals(mut values: Vec<Bson>) -> Document {
    match values.len() {
        1 => doc! { "$eq": values.remove(0) },
        _ => doc! { "$in": values },
    }
}
