//! Removes all buckets of a key.

use bucket_core::server::call::span;

use crate::{
    Bucket, Buckets, KeyRef,
    call::{InSession, Write},
};

impl<T: Bucket> Buckets<T> {
    /// Removes all buckets of a key, and returns how many there were. One round trip, with one
    /// command that visits no other key's buckets.
    ///
    /// When this returns `Ok`, everything that was stored before the call is gone. The server
    /// removes one bucket after the other: items that are appended meanwhile, or that wait in this
    /// handle, are removed with a bucket or stay in one, and G2 to G4 hold throughout. Such a
    /// bucket may have the id of a removed one, and with `{#}` its number, so that the key's pages
    /// then do not start at 1, or, where several loads are under way, have a gap. To remove a key
    /// at one moment, use a transaction. Without concurrent writers the key starts afresh.
    ///
    /// A dropped future leaves the command with the server, which carries it out. After an error
    /// some buckets may be gone: call it again.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, KeyRef};
    /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, alice: KeyRef<'_, Trade>) -> bucket_runtime::Result<()> {
    /// let buckets = trades.remove_key(alice).await?;
    /// println!("{buckets} buckets are gone");
    /// # Ok(())
    /// # }
    /// ```
    pub fn remove_key<'s>(&self, key: KeyRef<'_, T>) -> Write<'s, u64> {
        let reader = self.reader(key);
        Write::new(span!(remove_key), |InSession(session)| async move {
            let all = reader.scope.all();
            reader.target().delete_many(all, session).await
        })
    }
}
