//! How many pages and items there are.

use std::marker::PhantomData;

use bucket_core::{
    protocol::{filter::Filter, query::Query},
    server::target::OwnedTarget,
};
use mongodb::ClientSession;

use crate::{
    Bucket, Buckets, KeyRef, Result,
    read::{
        reader::Reader,
        settings::{read_settings, session_setting},
    },
};

impl<T: Bucket> Buckets<T> {
    /// Counts the pages of a key, on the `_id` index alone. One round trip.
    pub fn page_count(&self, key: KeyRef<'_, T>) -> CountPages<'static> {
        CountPages {
            reader: self.reader(key),
            session: None,
        }
    }

    /// Counts the items of a key: the server adds up the counts of its buckets, and counts the
    /// array of a bucket that has none. One round trip.
    /// [`Count::filter`](crate::action::Count::filter) counts only those that match a condition.
    pub fn count(&self, key: KeyRef<'_, T>) -> Count<'static, T> {
        Count {
            target: self.target(key),
            ..self.count_all()
        }
    }

    /// Counts the items of all keys. One round trip, in which the server reads all buckets, or with
    /// a filter those that an index bounds.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer}_{#}", capacity = 10)]
    /// # struct Trade { customer: i64, ticker: String }
    /// # async fn example(trades: Buckets<Trade>) -> bucket_runtime::Result<()> {
    /// let all = trades.count_all().await?;
    /// let of_mongo = trades.count_all().filter(Trade::FIELDS.ticker.eq("MDB")).await?;
    /// println!("{of_mongo} of {all} trades");
    /// # Ok(())
    /// # }
    /// ```
    pub fn count_all(&self) -> Count<'static, T> {
        Count {
            target: self.target_of_all(),
            query: Query::everything(),
            session: None,
            item: PhantomData,
        }
    }
}

/// Builder of a count of pages: await it; see [`Buckets::page_count`](crate::Buckets::page_count).
#[must_use = "nothing is counted until this is awaited"]
pub struct CountPages<'s> {
    reader: Reader,
    session: Option<&'s mut ClientSession>,
}

impl<'s> CountPages<'s> {
    read_settings!(|reads| reads.reader.server);

    session_setting! {
        /// Counts in this session.
    }

    pub(crate) async fn execute(self) -> Result<u64> {
        let Reader { server, scope } = &self.reader;
        let pages = server.by_ids(scope, scope.ids());
        let target = self.reader.target();
        target.count_documents(pages, self.session).await
    }
}

/// Builder of a count of items: await it; see [`Buckets::count`](crate::Buckets::count) and
/// [`Buckets::count_all`](crate::Buckets::count_all).
#[must_use = "nothing is counted until this is awaited"]
pub struct Count<'s, T> {
    target: OwnedTarget,
    query: Query,
    session: Option<&'s mut ClientSession>,
    item: PhantomData<fn() -> T>,
}

impl<'s, T: Bucket> Count<'s, T> {
    /// Counts only the items that match; called again, those that match both conditions.
    ///
    /// The server visits the buckets that a [read of items](crate::action::Items::filter) with this
    /// filter would visit, and sends a single number. If the conditions name key fields alone, it
    /// adds up the counts of the buckets; otherwise it looks at each of their items.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer}_{#}", capacity = 10)]
    /// # struct Trade { customer: i64, quantity: i32 }
    /// # async fn example(trades: Buckets<Trade>) -> bucket_runtime::Result<()> {
    /// let large = trades.count(&123).filter(Trade::FIELDS.quantity.gte(100)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter(mut self, filter: Filter<T>) -> Self {
        self.query.filter = self.query.filter.and(filter.node);
        self
    }

    read_settings!(|reads| reads.target.server);

    session_setting! {
        /// Counts in this session.
    }

    pub(crate) async fn execute(self) -> Result<u64> {
        let target = self.target.borrow();
        let count = self.query.count(&T::SPEC, self.target.scope.as_ref());
        target.pipeline(count).sum(self.session).await
    }
}
