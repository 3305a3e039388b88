//! Appends an item, or gives the one with its identity.

use std::marker::PhantomData;

use mongodb::ClientSession;

use super::{
    appended::Appended,
    edit::{Editor, Selection},
    engine::{TRIES, pause},
    identified_entry::IdentifiedEntry,
    item::Entry,
};
use crate::{
    Bucket, Buckets, Identified, Result, error::Kind, protocol::query::Query,
    read::settings::session_setting,
};

impl<T: Bucket> Buckets<T> {
    /// Appends an item, or gives the one with its identity (`#[bucket(unique)]`) that is there already: `None` if
    /// the call has stored the item.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets};
    /// # #[derive(Debug, Bucket)]
    /// # #[bucket(collection = "orders", id = "{customer_id}_{#}", capacity = 10)]
    /// # struct Order { customer_id: i64, #[bucket(unique)] number: String, cents: i64 }
    /// # async fn example(orders: Buckets<Order>, order: Order) -> bucket_runtime::Result<()> {
    /// match orders.append_or_get(&order).await? {
    ///     None => println!("it is stored now"),
    ///     Some(earlier) if earlier.cents == order.cents => println!("it was sent twice"),
    ///     Some(earlier) => println!("another order has this number: {earlier:?}"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The append is a command of its own, and shares none with other calls. Round trips: those of
    /// [`append`](Self::append), and one more for an item that is there. If that one is removed between the two, the
    /// item is appended. A dropped future leaves the item stored or not stored, never a broken bucket.
    ///
    /// # Errors
    ///
    /// Those of [`append`](Self::append); and [`is_deserialize`](crate::Error::is_deserialize) if the struct cannot
    /// read the item that is there.
    #[doc(alias = "get_or_create")]
    pub fn append_or_get(&self, item: &T) -> AppendOrGet<'static, T>
    where
        T: Identified,
    {
        AppendOrGet {
            item: IdentifiedEntry::new(self, item),
            session: None,
            of: PhantomData,
        }
    }
}

/// Builder of an append that gives the item that is there: await it; see
/// [`Buckets::append_or_get`](crate::Buckets::append_or_get).
#[must_use = "an append is sent when it is awaited"]
pub struct AppendOrGet<'s, T> {
    item: IdentifiedEntry,
    session: Option<&'s mut ClientSession>,
    of: PhantomData<fn() -> T>,
}

impl<'s, T: Bucket> AppendOrGet<'s, T> {
    session_setting! {
        /// Appends and reads in this session, as [`Append::session`](crate::action::Append::session) does.
    }

    pub(crate) async fn execute(mut self) -> Result<Option<T>> {
        self.item.reader.called();
        let entry = self.item.entry.clone()?;
        for tries in 0..TRIES {
            pause(tries).await;
            let appended = self.item.append(&entry, self.session.as_deref_mut());
            if appended.await? == Appended::Stored {
                return Ok(None);
            }
            let there = self.find(&entry).await?;
            if there.is_some() {
                return Ok(there);
            }
            // Somebody has removed it meanwhile.
        }
        Err(self.item.reader.target().error(Kind::Contended(TRIES)))
    }

    /// The stored item with the same identity.
    async fn find(&mut self, entry: &Entry) -> Result<Option<T>> {
        let Some(field) = T::SPEC.unique else {
            return Ok(None);
        };
        let query = Query::of_identity(field, &entry.element);
        let editor = Editor::new(self.item.reader.clone(), query, Selection::First);
        let mut found = editor.read(self.session.as_deref_mut()).await?;
        Ok(found.pop())
    }
}
