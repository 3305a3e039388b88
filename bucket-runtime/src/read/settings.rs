//! The settings of reads, and their setters.

use std::mem;

use bucket_core::{protocol::filter::Filter, server::Server, value::unreadable::OnUnreadable};
use mongodb::{
    ClientSession,
    options::{ReadConcern, ReadPreference},
};

use crate::{Error, call::Call};

/// The settings of a read: its session, where and with which concern it reads, and `M`: what to do
/// with unreadable items, or the condition of a count.
#[derive(Default)]
pub struct ReadSettings<'s, M = ()> {
    pub(crate) session: Option<&'s mut ClientSession>,
    pub(crate) preference: Option<ReadPreference>,
    pub(crate) concern: Option<ReadConcern>,
    pub(crate) more: M,
}

/// The setting of reads of documents: what is called for the items that cannot be read.
#[derive(Default)]
pub struct SkipUnreadable<'s>(pub(crate) Option<OnUnreadable<'s>>);

pub(crate) type DocumentSettings<'s> = ReadSettings<'s, SkipUnreadable<'s>>;

/// A read that is not sent yet: await it. The method that returns it says what it does.
pub type Read<'s, T, M = ()> = Call<'s, T, ReadSettings<'s, M>>;

/// A read of a document, not sent yet: await it. The method that returns it says what it does.
///
/// ```no_run
/// # use bucket_runtime::{Bucket, Buckets, KeyRef};
/// # use bucket_runtime::mongodb::options::ReadPreference;
/// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, alice: KeyRef<'_, Trade>) -> bucket_runtime::Result<()> {
/// let nearest = ReadPreference::Nearest { options: None };
/// let page = trades.page(alice, 1).read_preference(nearest).await?;
///
/// let mut unreadable = Vec::new();
/// let last = trades.latest(alice).skip_unreadable(|error| unreadable.push(error)).await?;
/// # Ok(())
/// # }
/// ```
pub type ReadDocument<'s, T> = Read<'s, T, SkipUnreadable<'s>>;

/// A count of items of the type `I`, not sent yet: await it. The method that returns it says what
/// it does.
pub type CountItems<'s, I> = Read<'s, u64, Filter<I>>;

impl<M> ReadSettings<'_, M> {
    /// Has requests to this collection read as the settings say.
    pub(crate) fn apply_to(&self, server: &mut Server) {
        server.read_with(self.preference.as_ref(), self.concern.as_ref());
    }
}

/// Adds the setters that all reads have to a builder; the expression is its settings.
macro_rules! read_settings {
    (|$read:ident| $settings:expr) => {
        /// Reads in this session; a stream borrows it.
        pub fn session(mut self, session: impl Into<&'s mut mongodb::ClientSession>) -> Self {
            let $read = &mut self;
            $settings.session = Some(session.into());
            self
        }

        /// Reads from these members of the replica set. Otherwise a call reads from those that the
        /// collection of the handle says, by default from the primary.
        ///
        /// A secondary may lack what was acknowledged last, even to this handle. If a call sends
        /// several commands, different members may answer them, each with a state of its own: use a
        /// causally consistent [session](Self::session), in which no answer is older than the one
        /// before it. In a transaction its own setting counts.
        pub fn read_preference(mut self, preference: mongodb::options::ReadPreference) -> Self {
            let $read = &mut self;
            $settings.preference = Some(preference);
            self
        }

        /// Reads with this concern: `majority`, for example, gives nothing that a failover could
        /// take back. Otherwise a call reads with the concern of the handle's collection, by
        /// default `local`. In a transaction its own setting counts.
        pub fn read_concern(mut self, concern: mongodb::options::ReadConcern) -> Self {
            let $read = &mut self;
            $settings.concern = Some(concern);
            self
        }
    };
}

/// Adds those setters to the builder of a stream, and one with these docs for the callback that
/// takes what cannot be read.
macro_rules! stream_settings {
    (|$read:ident| $settings:expr, $(#[$doc:meta])+) => {
        $crate::read::settings::read_settings!(|$read| $settings);

        $(#[$doc])+
        pub fn skip_unreadable(mut self, on_unreadable: impl FnMut($crate::Error) + Send + 's) -> Self {
            let $read = &mut self;
            $settings.more.0 = Some(Box::new(on_unreadable));
            self
        }
    };
}

pub(crate) use {read_settings, stream_settings};

impl<'s, T, M> Read<'s, T, M> {
    read_settings!(|call| call.settings);
}

impl<'s, T> ReadDocument<'s, T> {
    /// Leaves out the items of the document that cannot be read, and calls the closure for each, as
    /// [`Items::skip_unreadable`](crate::action::Items::skip_unreadable) does.
    pub fn skip_unreadable(mut self, on_unreadable: impl FnMut(Error) + Send + 's) -> Self {
        self.settings.more.0 = Some(Box::new(on_unreadable));
        self
    }
}

/// The settings of a read that takes a condition on items.
#[diagnostic::on_unimplemented(
    message = "this call takes no filter",
    label = "what it reads is not chosen by a condition",
    note = "help: `count`, `items` and `rollup` take a filter"
)]
pub trait TakesFilter {
    /// The type of the items.
    type Item;

    /// Adds a condition.
    #[doc(hidden)]
    fn add(&mut self, filter: Filter<Self::Item>);
}

impl<I> TakesFilter for Filter<I> {
    type Item = I;

    fn add(&mut self, filter: Self) {
        *self = mem::take(self).and(filter);
    }
}

impl<T, M> Read<'_, T, M> {
    /// Counts only the items that match; called again, those that match both conditions.
    ///
    /// The server visits what a [read of items](crate::action::Items::filter) with this filter
    /// would visit, and sends a single number. If the conditions name key fields of buckets alone,
    /// it adds up the counts of the buckets; otherwise it looks at each of their items.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, Outlier, Outliers};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer}_{#}", capacity = 10)]
    /// # struct Trade { customer: i64, quantity: i32 }
    /// # #[derive(Serialize, Deserialize, Outlier)]
    /// # #[outlier(collection = "sales", reference = "book_id", threshold = 50)]
    /// # struct Book { _id: i64, #[outlier(items)] buyers: Vec<String> }
    /// # async fn example(trades: Buckets<Trade>, books: Outliers<Book>) -> bucket_runtime::Result<()> {
    /// let large = trades.count(&123).filter(Trade::FIELDS.quantity.gte(100)).await?;
    /// let copies = books.count(&2).filter(Book::FIELDS.buyers.item().eq("user01")).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter(mut self, filter: Filter<M::Item>) -> Self
    where
        M: TakesFilter,
    {
        self.settings.more.add(filter);
        self
    }
}
