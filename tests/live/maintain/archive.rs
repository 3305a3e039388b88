//! Export and import.

#[cfg(not(feature = "bson-3"))]
pub(crate) mod returns;
pub(crate) mod round_trip;

use std::{fmt::Debug, io};

use bucket_runtime::{Bucket, Buckets, Filter, Key, mongodb::bson::DateTime};
use futures_util::{Stream, TryStreamExt, stream};

/// Common to the structs. With `bson-3` only some of it is needed.
#[cfg_attr(feature = "bson-3", allow(dead_code, reason = "`returns` needs all"))]
trait Visit: for<'k> Bucket<Key: Key<Ref<'k> = &'k str>> + Clone + PartialEq + Debug {
    fn new(page: &str, n: i64, at: DateTime) -> Self;
    fn n(&self) -> i64;
    fn edit(&mut self);
    fn only(n: i64) -> Filter<Self>;
    fn before(time: DateTime) -> Filter<Self>;
}

macro_rules! visits {
    ($($name:ident($id:literal, $capacity:literal $(, $option:ident = $value:literal)?) $(#[$unique:meta])?)+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "visits", id = $id, capacity = $capacity $(, $option = $value)?)]
        struct $name {
            page: String,
            at: DateTime,
            $(#[$unique])?
            n: i64,
            #[bucket(sum, max)]
            value: i64,
        }

        impl Visit for $name {
            fn new(page: &str, n: i64, at: DateTime) -> Self {
                Self { page: page.to_owned(), at, n, value: n }
            }

            fn n(&self) -> i64 {
                self.n
            }

            fn edit(&mut self) {
                self.value += 1;
            }

            fn only(n: i64) -> bucket_runtime::Filter<Self> {
                Self::FIELDS.n.eq(n)
            }

            fn before(time: DateTime) -> bucket_runtime::Filter<Self> {
                Self::FIELDS.at.lt(time)
            }
        }
    )+};
}
use visits;

use crate::support::ops;

async fn export<T: Bucket>(visits: &Buckets<T>) -> Vec<String> {
    let lines = ops(visits).export_all().await.unwrap();
    lines.try_collect().await.unwrap()
}

/// The lines of a file, as a reader gives them.
fn file(lines: &[String]) -> impl Stream<Item = io::Result<String>> + Send + use<> {
    stream::iter(Vec::from_iter(lines.iter().cloned().map(Ok)))
}
