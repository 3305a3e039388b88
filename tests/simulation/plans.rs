//! Statements that wait in the middle of their plans. The server ends those whose index is dropped.

use std::collections::{BTreeMap, BTreeSet};

use bucket_runtime::bson::Document;

use crate::{
    store::Refusal,
    world::{SERVER_8_2, World, statements},
};

/// The statements that wait: each by its session, command and place there.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    last: u64,
    waiting: BTreeMap<u64, (String, Document, usize)>,
    ended: BTreeSet<u64>,
}

impl World {
    /// A statement waits in its plan.
    pub(crate) fn begin_plan(&mut self, session: &str, command: &Document, at: usize) -> u64 {
        self.plans.last += 1;
        let plan = (session.to_owned(), command.clone(), at);
        self.plans.waiting.insert(self.plans.last, plan);
        self.plans.last
    }

    /// The statement goes on, unless its plan has been ended.
    pub(crate) fn continue_plan(&mut self, plan: u64) -> Result<(), Refusal> {
        self.plans.waiting.remove(&plan);
        let text = "query plan killed :: caused by :: index dropped".to_owned();
        match self.plans.ended.remove(&plan) {
            true => Err((175, text)),
            false => Ok(()),
        }
    }

    /// Ends the plans that use this index. An earlier server may have carried out an update by then, but no
    /// findAndModify (`tests/live/server_claims/dropped_index.rs`).
    pub(crate) fn end_plans(&mut self, index: &str) {
        let uses = |(_, command, at): &(_, Document, usize)| {
            statements(command)[*at].get_str("hint") == Ok(index)
        };
        let waiting = std::mem::take(&mut self.plans.waiting);
        let (ended, others): (BTreeMap<_, _>, _) =
            waiting.into_iter().partition(|(_, plan)| uses(plan));
        self.plans.waiting = others;
        for (plan, (session, command, at)) in ended {
            let may_write = self.wire_version < SERVER_8_2 && command.contains_key("updates");
            let writes = may_write && self.happens(2);
            if !writes || self.write(&session, &command, at).is_ok() {
                self.plans.ended.insert(plan);
            }
        }
    }
}
