//! The push of an item together with others that wait: those for the same parent, and for other
//! parents.

use std::{mem, sync::Arc};

use bucket_core::protocol::command::Update;

use crate::{
    Result,
    outlier::{collections::OutlierCollections, parent_handle::ParentHandle},
    write::{
        appended::Appended,
        caller::calls_of,
        combine::{InFlight, SendWaiting},
        engine::Batch,
        item::Entry,
    },
};

impl ParentHandle {
    /// Pushes one item, together with other waiting ones.
    pub(super) async fn push_with_others(self, entry: Entry) -> Result<Appended> {
        let Self { collections, scope } = &self;
        let (combiner, extras) = (&collections.combiner, &scope.extras);
        (combiner.send_with_others(collections, self.parent(), extras, entry)).await
    }

    /// Pushes these items, and gives each caller its own result. If one item may have failed the
    /// others, each that is not stored is pushed by itself.
    async fn push_all(&self, batch: &mut Batch) {
        let is_alone = batch.len() == 1;
        let calls = calls_of(batch.owners());
        let pushed = calls.carry(self.push(batch, None)).await;
        for (owner, appended) in batch.done.drain(..) {
            owner.answer(Ok(appended));
        }
        let Err(error) = pushed else { return };
        for (owner, entry) in mem::take(&mut batch.entries) {
            match is_alone || error.is_maybe_stored() {
                true => owner.answer(Err(error.clone())),
                false => {
                    let scope = self.scope.extras.clone();
                    let mut alone = Batch::with_owners(scope, [(owner, entry)]);
                    Box::pin(self.push_all(&mut alone)).await;
                }
            }
        }
    }
}

impl SendWaiting for OutlierCollections {
    async fn send(&self, mut parents: Vec<InFlight>) -> Vec<InFlight> {
        match parents.len() {
            1 => vec![self.push_each(parents.remove(0)).await],
            _ => self.push_to_arrays(parents).await,
        }
    }
}

impl OutlierCollections {
    /// Pushes all items of one parent.
    async fn push_each(&self, mut parent: InFlight) -> InFlight {
        let handle = self.parent(parent.batch.scope.clone());
        handle.push_all(&mut parent.batch).await;
        parent
    }

    /// Pushes into the arrays of these parents in one command. A parent that the server leaves as
    /// it is goes on by itself: it may be full or missing, or hold the item.
    async fn push_to_arrays(&self, parents: Vec<InFlight>) -> Vec<InFlight> {
        let (mut sent, mut updates) = (Vec::new(), Vec::new());
        for parent in parents {
            match self.first_statement(&parent.batch) {
                Some(update) => {
                    updates.push(update);
                    sent.push(parent);
                }
                None => self.push_apart(parent),
            }
        }
        if sent.is_empty() {
            return sent;
        }
        let calls = calls_of(sent.iter().flat_map(|parent| parent.batch.owners()));
        let results = match calls.carry(self.parents.update_found(updates)).await {
            Ok(results) => results,
            Err(error) => sent.iter().map(|_| Err(error.clone())).collect(),
        };
        let mut done = Vec::with_capacity(sent.len());
        for (mut parent, result) in sent.into_iter().zip(results) {
            let target = self.parents.target_of(&parent.batch.scope);
            let is_found = result.map_err(|error| target.write_error(error));
            let answer = match is_found {
                Ok(true) => Ok(Appended::Stored),
                Err(error) if error.is_maybe_stored() => Err(error),
                // By itself, it succeeds or fails for a reason of its own.
                Ok(false) | Err(_) => {
                    self.push_apart(parent);
                    continue;
                }
            };
            for (owner, _) in parent.batch.entries.drain(..) {
                owner.answer(answer.clone());
            }
            done.push(parent);
        }
        done
    }

    /// The push into a parent's array as one of several statements, unless the items belong to the
    /// extras or no document can hold one.
    fn first_statement(&self, batch: &Batch) -> Option<Update> {
        if batch.is_empty() || self.known.contains(&batch.scope.prefix) {
            return None;
        }
        let scope = self.scope(batch.scope.clone());
        let fits = scope.find_misfit(batch.sizes()).is_none();
        fits.then(|| scope.push(batch.first(batch.len()), false))
    }

    /// Pushes all items of one parent in a task of its own.
    fn push_apart(&self, parent: InFlight) {
        let collections = self.clone();
        let queue = Arc::clone(&parent.queue);
        queue.continue_with(self.clone(), async move {
            drop(collections.push_each(parent).await);
        });
    }
}
