//! Conditions on the items of an array.

use mongodb::bson::{Bson, doc};
use serde::Serialize;

use super::{AnyItem, Field, Fields, Plain, Root, Value};
use crate::protocol::filter::Filter;

mod types;

pub use self::types::{List, OneItem};

/// Conditions on the items of an array.
impl<T, V, S, P> Field<T, V, S, P> {
    /// The array has an item that equals this value.
    ///
    /// ```
    /// # use bucket_runtime::{Bucket, Filter};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer}_{#}", capacity = 10)]
    /// # struct Trade { customer: i64, tags: Vec<String> }
    /// let urgent: Filter<Trade> = Trade::FIELDS.tags.contains("urgent");
    /// ```
    pub fn contains<I>(self, item: impl Value<I>) -> Filter<T>
    where
        V: OneItem<Item = I>,
    {
        let list = V::of(item.into_value());
        let item = match self.write.stored(&list) {
            Some(Bson::Array(mut items)) => items.pop(),
            _ => None,
        };
        match item {
            Some(item) => self.satisfies(doc! { "$elemMatch": { "$eq": item } }),
            None => self.one_of(Vec::new()),
        }
    }
}

/// Conditions on the items of an array that serde stores.
impl<T, V, P> Field<T, V, Plain, P> {
    /// Any one of the array's items, for a condition on it. `ne` and `!` say that no item equals
    /// the value, or satisfies the condition.
    ///
    /// ```
    /// # use bucket_runtime::{Bucket, Filter};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer}_{#}", capacity = 10)]
    /// # struct Trade { customer: i64, prices: Vec<f64> }
    /// let around_ten: Filter<Trade> = Trade::FIELDS.prices.any_item().between(9.5..10.5);
    /// ```
    pub fn any_item<I: Serialize>(self) -> Field<T, I, Plain, AnyItem>
    where
        V: List<Item = I>,
    {
        let mut item = Field::new(self.name);
        item.variant = self.variant;
        item.arrays = self.arrays + 1;
        item
    }

    /// An item of the array as it stands alone, for conditions that select items: those of
    /// `Outliers::find_item` and of
    /// `ParentItems::filter`. Of items with [`Fields`], it
    /// leads to the fields inside, as the `FIELDS` of their struct do.
    ///
    /// ```
    /// # use bucket_runtime::{Fields, Filter, Outlier};
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize, Outlier)]
    /// #[outlier(collection = "users", reference = "user_id", threshold = 50)]
    /// struct User {
    ///     _id: i64,
    ///     #[outlier(items)]
    ///     followers: Vec<Follower>,
    ///     interests: Vec<String>,
    /// }
    ///
    /// #[derive(Serialize, Deserialize, Fields)]
    /// struct Follower {
    ///     user: String,
    ///     since: i64,
    /// }
    ///
    /// let ann: Filter<Follower> = User::FIELDS.followers.item().user.eq("ann");
    /// let short: Filter<String> = User::FIELDS.interests.item().lt("b");
    /// ```
    pub const fn item<I: Serialize + 'static>(self) -> Field<I, I, Plain, Root>
    where
        V: List<Item = I>,
    {
        Field::new("")
    }

    /// One of the array's items satisfies the whole condition.
    ///
    /// ```
    /// # use bucket_runtime::{Bucket, Fields, Filter};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer}_{#}", capacity = 10)]
    /// # struct Trade { customer: i64, fees: Vec<Fee> }
    /// #[derive(Serialize, Deserialize, Fields)]
    /// struct Fee {
    ///     payee: String,
    ///     cents: i64,
    /// }
    ///
    /// let large = Fee::FIELDS.payee.eq("NYSE").and(Fee::FIELDS.cents.gt(500));
    /// let with_a_large_fee: Filter<Trade> = Trade::FIELDS.fees.any(large);
    /// ```
    pub fn any<I: Fields>(self, condition: Filter<I>) -> Filter<T>
    where
        V: List<Item = I>,
    {
        self.satisfies(doc! { "$elemMatch": condition.node.flat("") })
    }
}
