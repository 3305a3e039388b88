//! An edit of an item by its identity: what `outlier/write/edit/protocol.rs` does. It reads the item in the parent's
//! array, and else in the extras, and sends the change on condition that the item is as it was read.

use crate::{
    next_step::Answer,
    server::{Holder, Item, Place, Server, Statement},
};

/// The change that an edit makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Change {
    Remove,
    Replace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    ReadParent,
    /// `check_extras`, which finds none of another program.
    CheckExtras,
    ReadExtras,
    Send(Place),
    Over,
}

/// An edit under way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Editing {
    identity: u8,
    change: Change,
    step: Step,
}

impl Editing {
    pub(crate) fn new(identity: u8, change: Change) -> Self {
        Self {
            identity,
            change,
            step: Step::ReadParent,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.step == Step::Over
    }

    pub(crate) fn must_read(&self) -> bool {
        !matches!(self.step, Step::Send(_) | Step::Over)
    }

    /// `known` says whether the handle knows the parent, whose extras it then need not look at.
    pub(crate) fn read(&mut self, server: &Server, known: &mut bool) -> bool {
        let has_extras = server.parent.as_ref().is_some_and(|parent| parent.flag);
        let in_extras = match self.step {
            Step::ReadParent => false,
            Step::CheckExtras => {
                *known = true;
                self.step = Step::ReadExtras;
                return true;
            }
            Step::ReadExtras => true,
            Step::Send(_) | Step::Over => return false,
        };
        self.step = match server.find_item(self.identity, in_extras) {
            Some(place) => Step::Send(place),
            None if has_extras && !in_extras && *known => Step::ReadExtras,
            None if has_extras && !in_extras => Step::CheckExtras,
            None => Step::Over,
        };
        true
    }

    pub(crate) fn statements(&self) -> Vec<Statement> {
        match (self.step, self.change) {
            (Step::Send(place), Change::Remove) => vec![Statement::RemoveItem(place)],
            (Step::Send(place), Change::Replace) => vec![Statement::ReplaceItem(place)],
            _ => Vec::new(),
        }
    }

    /// Returns the item that was replaced.
    pub(crate) fn note_outcome(&mut self, answer: Answer) -> Option<Item> {
        let Step::Send(place) = self.step else {
            return None;
        };
        self.step = match (answer, place.holder) {
            (Answer::Stored, _) => Step::Over,
            (_, Holder::Parent) => Step::ReadParent,
            (_, Holder::Extras(_)) => Step::ReadExtras,
        };
        (self.is_over() && self.change == Change::Replace).then_some(place.item)
    }
}
