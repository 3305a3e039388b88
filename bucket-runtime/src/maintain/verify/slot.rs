//! Buckets that are open in a slot that the ring of their key holds.
//!
//! The open index refuses them, so somebody stored them while there was no index; and the server refuses to build
//! one until they are sealed.

use mongodb::bson::{Bson, doc};

use super::{BucketProblem as Problem, command, find::Verifier};
use crate::{
    Result,
    protocol::command::KeyScope,
    schema::{names::SEALED, slot::IndexSlot},
};

impl Verifier {
    /// The buckets that are open in a slot that the ring of their key holds.
    pub(super) async fn find_taken_slots(&self) -> Result<Vec<Problem>> {
        let mut taken = Vec::new();
        let target = self.server.target();
        let rings = doc! { "$match": { SEALED: { "$type": "array" } } };
        let rings = target.pipeline([rings, command::facts(self.spec)]);
        let mut rings = rings.read_primary().cursor(None).await?;
        while let Some(ring) = rings.next_decoded().await? {
            let Ok(scope) = self.scope(&ring) else {
                continue;
            };
            let seen = self.open_outside_ring(&scope, None).await?;
            if seen.is_empty() {
                continue;
            }
            // The ring may have turned between the two reads. Neither does a bucket open again nor does it change its
            // slot, so one that is still open was open while this ring was read.
            for bucket in self.open_outside_ring(&scope, Some(seen)).await? {
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

    /// The open buckets of the key, or those of these, that are in another slot than the free one of its ring.
    async fn open_outside_ring(
        &self,
        scope: &KeyScope,
        among: Option<Vec<Bson>>,
    ) -> Result<Vec<Bson>> {
        let free = self.server.free_slot(scope, None).await?;
        let Some(free) = free.map(IndexSlot::value) else {
            return Ok(Vec::new());
        };
        let mut open = scope.equalities();
        open.extend(command::open_buckets(self.spec));
        open.insert(SEALED, doc! { "$ne": free });
        open.extend(
            among
                .map(|ids| doc! { "_id": { "$in": ids } })
                .into_iter()
                .flatten(),
        );
        let found = self.facts([doc! { "$match": open }]).await?;
        Ok(found.into_iter().map(|facts| facts.id).collect())
    }
}
