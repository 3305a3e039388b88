//! How many pages and items there are.

use bucket_core::{
    protocol::query::Query,
    server::{call::span, target::OwnedTarget},
};

use crate::{
    Bucket, Buckets, KeyRef,
    read::settings::{CountItems, Read},
};

impl<T: Bucket> Buckets<T> {
    /// Counts the pages of a key, on the `_id` index alone. One round trip.
    pub fn page_count<'s>(&self, key: KeyRef<'_, T>) -> Read<'s, u64> {
        let mut reader = self.reader(key);
        Read::new(span!(page_count), move |settings| async move {
            settings.apply_to(&mut reader.server);
            let pages = reader.server.by_ids(&reader.scope, reader.scope.ids());
            let target = reader.target();
            target.count_documents(pages, settings.session).await
        })
    }

    /// Counts the items of a key: the server adds up the counts of its buckets, and counts the
    /// array of a bucket that has none. One round trip.
    /// [`filter`](crate::action::CountItems::filter) counts only those that match a condition.
    pub fn count<'s>(&self, key: KeyRef<'_, T>) -> CountItems<'s, T> {
        count(self.target(key))
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
    pub fn count_all<'s>(&self) -> CountItems<'s, T> {
        count(self.target_of_all())
    }
}

fn count<'s, T: Bucket>(mut target: OwnedTarget) -> CountItems<'s, T> {
    CountItems::new(span!(count), move |settings| async move {
        settings.apply_to(&mut target.server);
        let query = Query::of(settings.more);
        let count = query.count(&T::SPEC, target.scope.as_ref());
        target.borrow().pipeline(count).sum(settings.session).await
    })
}
