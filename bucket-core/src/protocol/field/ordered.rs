//! Types whose values the server orders as Rust does, and their comparisons.

use std::ops::{
    Bound::{Excluded, Included, Unbounded},
    RangeBounds,
};

use mongodb::bson::{Bson, DateTime, Decimal128, Document, Uuid, doc, oid::ObjectId};

use super::{Field, Value};
use crate::{
    protocol::filter::Filter,
    schema::{key::stored_integer, time::TimeField},
};

/// How values are stored: as serde, or the key, writes the type.
#[derive(Debug)]
pub enum Plain {}

/// How values are stored: as BSON dates.
#[derive(Debug)]
pub enum Date {}

/// How values are stored: by `#[serde(with = "…")]` on the field. The order of its output is
/// unknown.
#[derive(Debug)]
pub enum Custom {}

/// A type whose values, stored in the form `S`, the server orders as Rust does (MongoDB manual,
/// "Comparison/Sort Order"): the integers, floats, [`Decimal128`], [`String`] (by bytes), [`bool`],
/// [`DateTime`], [`ObjectId`], [`Uuid`], and [`Option`]s of them, whose `None` is neither less nor
/// greater than a value. It also covers every time field that
/// [`bson_date`](mod@crate::schema::time::bson_date) stores, whatever its type.
///
/// Implement it for a newtype by delegating to the type inside, if it is stored as that type.
#[diagnostic::on_unimplemented(
    message = "the order of `{Self}` on the server is not known",
    label = "`<` and `>` make no sense for values of this field",
    note = "help: use `eq`, `ne`, `is_in` or `exists`; to compare times of other crates, put `#[serde(with = \"bucket_runtime::bson_date\")]` on the field"
)]
pub trait Ordered<S = Plain> {
    /// The type that values are compared with.
    type Bound;

    /// A bound as BSON, of a kind that compares with stored values.
    fn bound(value: &Self::Bound) -> Bson;
}

/// Comparisons, for types whose values the server orders as Rust does.
impl<T, V, S, P> Field<T, V, S, P> {
    /// The field is greater than this value.
    pub fn gt(self, value: impl Value<V::Bound>) -> Filter<T>
    where
        V: Ordered<S>,
    {
        self.compare("$gt", value.into_value())
    }

    /// The field is greater than or equal to this value.
    pub fn gte(self, value: impl Value<V::Bound>) -> Filter<T>
    where
        V: Ordered<S>,
    {
        self.compare("$gte", value.into_value())
    }

    /// The field is less than this value.
    pub fn lt(self, value: impl Value<V::Bound>) -> Filter<T>
    where
        V: Ordered<S>,
    {
        self.compare("$lt", value.into_value())
    }

    /// The field is less than or equal to this value.
    pub fn lte(self, value: impl Value<V::Bound>) -> Filter<T>
    where
        V: Ordered<S>,
    {
        self.compare("$lte", value.into_value())
    }

    /// The field lies in this range, such as `100..=500` or `start..`. `..` matches everything.
    ///
    /// The bounds are of the field's type, so `between("100".."500")` does not compile for a
    /// number:
    ///
    /// ```compile_fail
    /// # use bucket_runtime::{Bucket, bson::DateTime};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 10)]
    /// # struct Trade { customer_id: i64, date: DateTime, quantity: i32 }
    /// Trade::FIELDS.quantity.between("100".."500");
    /// ```
    pub fn between(self, range: impl RangeBounds<V::Bound>) -> Filter<T>
    where
        V: Ordered<S>,
    {
        let bound = |name: &str, value| Some((name.to_owned(), V::bound(value)));
        let from = match range.start_bound() {
            Included(value) => bound("$gte", value),
            Excluded(value) => bound("$gt", value),
            Unbounded => None,
        };
        let to = match range.end_bound() {
            Included(value) => bound("$lte", value),
            Excluded(value) => bound("$lt", value),
            Unbounded => None,
        };
        let test: Document = from.into_iter().chain(to).collect();
        match test.is_empty() {
            true => Filter::default(),
            false => self.satisfies(test),
        }
    }

    fn compare(self, operator: &str, value: V::Bound) -> Filter<T>
    where
        V: Ordered<S>,
    {
        self.satisfies(doc! { operator: V::bound(&value) })
    }
}

impl<D: TimeField> Ordered<Date> for D {
    type Bound = D;

    fn bound(value: &D) -> Bson {
        value.to_datetime().into()
    }
}

impl<D: TimeField> Ordered<Date> for Option<D> {
    type Bound = D;

    fn bound(value: &D) -> Bson {
        value.to_datetime().into()
    }
}

impl<V: Ordered> Ordered for Option<V> {
    type Bound = V::Bound;

    fn bound(value: &V::Bound) -> Bson {
        V::bound(value)
    }
}

macro_rules! ordered {
    ($($($ty:ty),+: $value:ident => $bson:expr;)+) => {$($(
        impl Ordered for $ty {
            type Bound = $ty;

            fn bound($value: &$ty) -> Bson {
                $bson
            }
        }
    )+)+};
}

ordered! {
    // The server compares integers by value, whatever their width in documents.
    i8, i16, i32, i64, isize, u8, u16, u32, u64, usize: value => stored_integer(*value as i128);
    f32: value => f64::from(*value).into();
    String: value => value.as_str().into();
    f64, Decimal128, bool, DateTime, ObjectId, Uuid: value => (*value).into();
}
