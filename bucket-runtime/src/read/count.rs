//! How many pages and items a key has.

use mongodb::ClientSession;

use crate::{
    Bucket, Buckets, KeyRef, Result,
    protocol::command,
    read::{reader::Reader, settings::read_settings},
};

impl<T: Bucket> Buckets<T> {
    /// Counts the pages of a key, on the `_id` index alone. One round trip.
    pub fn page_count(&self, key: KeyRef<'_, T>) -> Count<'static> {
        Count::new(self.reader(key), Counted::Pages)
    }

    /// Counts the items of a key: the server adds up the counts of its buckets. One round trip.
    pub fn count(&self, key: KeyRef<'_, T>) -> Count<'static> {
        Count::new(self.reader(key), Counted::Items)
    }
}

/// Builder of [`page_count`](crate::Buckets::page_count) and [`count`](crate::Buckets::count): await it.
#[must_use = "nothing is counted until this is awaited"]
pub struct Count<'s> {
    reader: Reader,
    what: Counted,
    session: Option<&'s mut ClientSession>,
}

/// What a [`Count`] counts.
pub(crate) enum Counted {
    Items,
    Pages,
}

impl<'s> Count<'s> {
    pub(crate) fn new(reader: Reader, what: Counted) -> Self {
        Self {
            reader,
            what,
            session: None,
        }
    }

    read_settings!(|reads| reads.reader.server);

    /// Counts in this session.
    pub fn session(mut self, session: impl Into<&'s mut ClientSession>) -> Self {
        self.session = Some(session.into());
        self
    }

    pub(crate) async fn execute(self) -> Result<u64> {
        let Reader { server, scope } = &self.reader;
        let count = match self.what {
            Counted::Items => {
                let sum = command::count_items(scope.spec, scope.all());
                server.sum(sum, self.session).await
            }
            Counted::Pages => {
                let pages = server.by_ids(scope, scope.ids());
                server.count_documents(pages, self.session).await
            }
        };
        count.map_err(|error| self.reader.context().read(error))
    }
}
