//! Filling the open buckets, those of many keys in one command.

use super::{lane::Lane, load::Load, store::STATEMENTS};
use crate::{
    Bucket,
    write::engine::{Batch, COMMAND_BYTES, Sent, Statement, Tail},
};

impl<T: Bucket> Load<T> {
    /// Fills the open buckets.
    pub(super) async fn fill(&self, lanes: &mut [Lane<T>]) {
        loop {
            let mut statements: Vec<(&mut Lane<T>, Batch, Statement)> = Vec::new();
            let mut bytes = 0;
            for lane in lanes.iter_mut() {
                let Tail::Open { room, .. } = lane.tail else {
                    continue;
                };
                if lane.held.is_empty() {
                    continue;
                }
                if statements.len() >= STATEMENTS {
                    break;
                }
                let first = lane.held.iter().take(room);
                let entries = first.map_while(|held| held.entry(&self.engine, &lane.scope).ok());
                let entries: Vec<_> = entries.collect();
                if entries.is_empty() {
                    // The first one cannot be written as BSON; this tells why.
                    self.append(lane.split_to(1)).await;
                    continue;
                }
                let mut batch = Batch::new(lane.scope.clone(), entries);
                batch.tail = lane.tail.clone();
                let statement = batch.statements(Sent::WithOthers).ok();
                if let Some(statement) = statement.and_then(|mut first| first.pop()) {
                    bytes += batch.bytes(statement.carries);
                    if bytes > COMMAND_BYTES && !statements.is_empty() {
                        break;
                    }
                    statements.push((lane, batch, statement));
                }
            }
            if statements.is_empty() || self.over().is_some() {
                return;
            }
            self.send(statements).await;
        }
    }

    async fn send(&self, statements: Vec<(&mut Lane<T>, Batch, Statement)>) {
        let updates = statements
            .iter()
            .map(|(_, _, statement)| statement.update.clone());
        match self
            .engine
            .server
            .update_all(updates.collect(), false)
            .await
        {
            Ok(results) => {
                for ((lane, mut batch, statement), result) in statements.into_iter().zip(results) {
                    let carried = statement.carries;
                    let learned = (self.engine).learn(&mut batch, statement, result.map(|()| true));
                    let stored = batch.done.len() == carried;
                    lane.tail = batch.tail;
                    if stored {
                        lane.held.drain(..carried);
                        self.stored(carried);
                    } else if let Err(error) = &learned
                        && error.is_maybe_stored()
                    {
                        // It must not be sent again.
                        self.refused(lane.held.drain(..carried), error);
                        self.give_up(error);
                    } else if learned.is_err() || batch.doubtful || batch.missing.is_some() {
                        lane.tail = Tail::Look;
                        self.append(lane.split_to(carried)).await;
                    }
                }
            }
            Err(error) => {
                let error = self.failed(error);
                if error.is_refusal() {
                    // An item that no command can hold. The append protocol finds out which one.
                    for (lane, _, statement) in statements {
                        lane.tail = Tail::Look;
                        self.append(lane.split_to(statement.carries)).await;
                    }
                    return;
                }
                for (lane, _, statement) in statements {
                    let error = error.clone().with_key(&lane.scope.label());
                    self.refused(lane.held.drain(..statement.carries), &error);
                }
                self.give_up(&error);
            }
        }
    }
}
