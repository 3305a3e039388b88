//! Appends an item, or gives the one with its identity.

use bucket_core::{
    error::Kind,
    protocol::{command::IndexedScope, query::Query},
    schema::names::WHOLE_ITEM,
    server::call::span,
};
use mongodb::ClientSession;

use super::{
    appended::Appended,
    edit::{Edit, Editor, Selection},
    engine::{Engine, TRIES, pause},
    item::Entry,
};
use crate::{
    Bucket, Buckets, Identified, Result,
    call::{InSession, Write},
    read::reader::Reader,
};

impl<T: Bucket> Buckets<T> {
    /// Appends an item, or gives the one with its identity (`#[bucket(unique)]`) that is there
    /// already: `None` if the call has stored the item.
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
    /// [`append`](Self::append), and one more for an item that is there. If that one is removed
    /// between the two, the item is appended. A dropped future leaves the item stored or not
    /// stored, never a broken bucket.
    ///
    /// # Errors
    ///
    /// Those of [`append`](Self::append); and [`is_deserialize`](crate::Error::is_deserialize) if
    /// the struct cannot read the item that is there.
    #[doc(alias = "get_or_create")]
    pub fn append_or_get<'s>(&self, item: &T) -> Write<'s, Option<T>>
    where
        T: Identified,
    {
        let item = IdentifiedEntry::new(self, item);
        Write::new(span!(append_or_get), |InSession(session)| async move {
            item?.append_or_get(session).await
        })
    }
}

/// An item with an identity, and its key for reads and writes.
pub(super) struct IdentifiedEntry {
    pub(super) engine: Engine,
    pub(super) reader: Reader,
    pub(super) scope: IndexedScope,
    pub(super) entry: Entry,
    /// The field with the identity.
    pub(super) field: &'static str,
}

impl IdentifiedEntry {
    pub(super) fn new<T: Identified>(buckets: &Buckets<T>, item: &T) -> Result<Self> {
        let engine = buckets.engine();
        let (scope, entry) = engine.entry(item)?;
        Ok(Self {
            reader: buckets.reader(item.key()),
            engine,
            scope,
            entry,
            field: T::SPEC.unique.unwrap_or(WHOLE_ITEM),
        })
    }

    /// Appends the item, unless it is there.
    pub(super) async fn append(&self, session: Option<&mut ClientSession>) -> Result<Appended> {
        let (scope, entry) = (self.scope.clone(), self.entry.clone());
        self.engine.append_one(scope, entry, session).await
    }

    async fn append_or_get<T: Bucket>(
        self,
        mut session: Option<&mut ClientSession>,
    ) -> Result<Option<T>> {
        for tries in 0..TRIES {
            pause(tries).await;
            if self.append(session.as_deref_mut()).await? == Appended::Stored {
                return Ok(None);
            }
            let there = self.find(session.as_deref_mut()).await?;
            if there.is_some() {
                return Ok(there);
            }
            // Somebody has removed it meanwhile.
        }
        Err(self.reader.target().error(Kind::Contended(TRIES)))
    }

    /// The stored item with the same identity.
    async fn find<T: Bucket>(&self, session: Option<&mut ClientSession>) -> Result<Option<T>> {
        let query = Query::of_identity(self.field, &self.entry.element);
        let editor = Editor::new(self.reader.clone(), query, Selection::First);
        Ok(editor.change(&mut Edit::Read, session).await?.items.pop())
    }
}
