//! The push of an item together with others that wait for the same parent.

use mongodb::bson::Bson;

use super::waiting_items::WaitingItems;
use crate::{
    Result,
    outlier::{parent_handle::ParentHandle, waiting_pushes::Turn},
    server::call::{self, Calls},
    value::element::value_size,
    write::{
        appended::Appended,
        combine::caller::{Caller, answer_of, let_callers_run},
    },
};

impl ParentHandle {
    /// Pushes one item, together with other waiting ones.
    pub(super) async fn push_with_others(self, element: Bson) -> Result<Appended> {
        self.note_call();
        let bytes = value_size(&element);
        call::bytes(|| bytes);
        let waiting = &self.collections.waiting;
        let (caller, answered) = waiting.room.enter(bytes).await;
        if let Some(turn) = waiting.add(&self.scope.extras.prefix, caller, element) {
            tokio::spawn(Box::pin(self.clone().push_waiting(turn)));
        }
        let appended = answer_of(answered, self.parent()).await;
        if let Ok(Appended::Stored) = appended {
            call::items(1);
        }
        appended
    }

    /// Pushes what waits, until nothing does.
    async fn push_waiting(self, mut turn: Turn) {
        loop {
            let pushes = turn.take();
            if pushes.is_empty() {
                return;
            }
            let has_several = pushes.len() > 1;
            self.push_all(pushes).await;
            if has_several {
                let_callers_run().await;
            }
        }
    }

    /// Pushes these items, and gives each caller its own result. If one item may have failed the others, each
    /// that is not stored is pushed by itself.
    async fn push_all(&self, pushes: Vec<(Caller, Bson)>) {
        let calls = Calls::of_all(pushes.iter().map(|(caller, _)| &caller.calls));
        let mut items = WaitingItems::new(pushes.iter().map(|(_, item)| item.clone()).collect());
        let pushed = calls.carry(self.push(&mut items, None)).await;
        let is_alone = pushes.len() == 1;
        for (place, (caller, element)) in pushes.into_iter().enumerate() {
            let answer = items.answer(place);
            let result = match &pushed {
                Ok(()) => Ok(answer),
                // An equal item that waited, too, may be the one that failed.
                Err(_) if answer == Appended::Stored => Ok(answer),
                Err(error) if is_alone || error.is_maybe_stored() => Err(error.clone()),
                Err(_) => self.push_alone(&caller, element).await,
            };
            caller.answer(result);
        }
    }

    async fn push_alone(&self, caller: &Caller, element: Bson) -> Result<Appended> {
        let mut items = WaitingItems::new(vec![element]);
        let calls = caller.calls.clone();
        calls.carry(self.push(&mut items, None)).await?;
        Ok(items.answer(0))
    }
}
