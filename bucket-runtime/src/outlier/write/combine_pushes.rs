//! The push of an item together with others that wait: those for the same parent, and for other
//! parents.

use std::{mem, sync::Arc};

use bucket_core::protocol::command::Update;

use crate::{
    Result,
    outlier::{collections::OutlierCollections, parent_handle::ParentHandle},
    write::{
        appended::Appended,
        combine::{Caller, InFlight, SendWaiting, calls_of},
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
    async fn push_all(&self, pushes: Vec<(Caller, Entry)>) {
        let is_alone = pushes.len() == 1;
        let mut batch = Batch::with_owners(self.scope.extras.clone(), pushes);
        let calls = calls_of(batch.owners());
        let pushed = calls.carry(self.push(&mut batch, None)).await;
        for (caller, appended) in batch.done {
            caller.answer(Ok(appended));
        }
        let Err(error) = pushed else { return };
        for (caller, entry) in batch.entries {
            match is_alone || error.is_maybe_stored() {
                true => caller.answer(Err(error.clone())),
                false => Box::pin(self.push_all(vec![(caller, entry)])).await,
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
        let pushes = mem::take(&mut parent.items);
        if !pushes.is_empty() {
            self.parent(parent.scope.clone()).push_all(pushes).await;
        }
        parent
    }

    /// Pushes into the arrays of these parents in one command. A parent that the server leaves as
    /// it is goes on by itself: it may be full or missing, or hold the item.
    async fn push_to_arrays(&self, parents: Vec<InFlight>) -> Vec<InFlight> {
        let (mut sent, mut updates) = (Vec::new(), Vec::new());
        for parent in parents {
            match self.first_statement(&parent) {
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
        let pushes = sent.iter().flat_map(|parent| &parent.items);
        let calls = calls_of(pushes.map(|(caller, _)| caller));
        let results = match calls.carry(self.parents.update_found(updates)).await {
            Ok(results) => results,
            Err(error) => sent.iter().map(|_| Err(error.clone())).collect(),
        };
        let mut done = Vec::with_capacity(sent.len());
        for (mut parent, result) in sent.into_iter().zip(results) {
            let target = self.parents.target_of(&parent.scope);
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
            for (caller, _) in mem::take(&mut parent.items) {
                caller.answer(answer.clone());
            }
            done.push(parent);
        }
        done
    }

    /// The push into a parent's array as one of several statements, unless the items belong to the
    /// extras or no document can hold one.
    fn first_statement(&self, parent: &InFlight) -> Option<Update> {
        let (scope, items) = (self.scope(parent.scope.clone()), &parent.items);
        let misfit = scope.find_misfit(items.iter().map(|(_, entry)| entry.size));
        let is_sent =
            !items.is_empty() && !self.known.contains(&parent.scope.prefix) && misfit.is_none();
        let elements = items.iter().map(|(_, entry)| entry.element.clone());
        is_sent.then(|| scope.push(elements.collect(), false))
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
