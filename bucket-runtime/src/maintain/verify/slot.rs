//! Buckets that are open in a slot that the ring of their key holds.
//!
//! The open index refuses them, so somebody stored them while there was no index; and the server refuses to build
//! one until they are sealed.

use mongodb::bson::{Bson, Document, doc};

use super::{BucketProblem as Problem, command, find::Verifier};
use crate::{
    Result,
    protocol::command::{KeyScope, ring::rings},
    schema::{names::SEALED, slot::IndexSlot},
};

impl Verifier {
    /// The buckets that are open in a slot that the ring of their key holds.
    pub(super) async fn find_taken_slots(&self) -> Result<Vec<Problem>> {
        let mut taken = Vec::new();
        let target = self.server.target();
        let rings = target.pipeline([doc! { "$match": rings() }, command::facts(self.spec)]);
        let mut rings = rings.read_primary().cursor(None).await?;
        while let Some(ring) = rings.next_decoded().await? {
            let Ok(scope) = self.scope(&ring) else {
                continue;
            };
            let mut open = scope.equalities();
            open.extend(command::open_buckets(self.spec));
            let seen = self.open_outside_ring(&scope, open).await?;
            if seen.is_empty() {
                continue;
            }
            // The ring may have turned between the two reads. Neither does a bucket open again nor does it change its
            // slot, so one that is still open was open while the ring was read this time.
            let still = command::match_open(self.spec, &seen);
            for bucket in self.open_outside_ring(&scope, still).await? {
                let key = scope.key_text();
                taken.push(Problem::TakenSlot { bucket, key });
            }
        }
        Ok(taken)
    }

    /// Seals those buckets, and returns how many there were.
    pub(crate) async fn seal_taken_slots(&self) -> Result<u64> {
        let taken = self.find_taken_slots().await?;
        let ids = taken.iter().flat_map(|taken| taken.ids().iter().cloned());
        self.seal_open(&ids.collect::<Vec<_>>()).await
    }

    /// Those of the key's open buckets that match, and are in another slot than the one that its ring leaves free.
    async fn open_outside_ring(&self, scope: &KeyScope, mut open: Document) -> Result<Vec<Bson>> {
        let free = self.server.free_slot(scope, None).await?;
        let Some(free) = free.map(IndexSlot::value) else {
            return Ok(Vec::new());
        };
        open.insert(SEALED, doc! { "$ne": free });
        let found = self.facts([doc! { "$match": open }]).await?;
        Ok(found.into_iter().map(|facts| facts.id).collect())
    }
}
