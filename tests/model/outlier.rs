//! A push to a parent: what `outlier/write/push.rs` and `insert.rs` do, with small numbers
//! instead of documents.

use crate::{
    batch::{Batch, NewestBucket},
    next_step::Answer,
    server::{Item, Rules, Server, Statement, holds_any},
};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Step {
    /// `is_flagged`, of a parent that is known to be an outlier.
    Look,
    /// `push`, of at most `room` items.
    Push {
        room: usize,
    },
    /// `flag`.
    Flag,
    /// `read_state`.
    State,
    /// `insert`, with `first` of the items.
    Insert {
        first: usize,
    },
    /// `check_extras`, which finds none of another program.
    CheckExtras,
    /// `append_extras`.
    Extras(Batch),
    /// Sets the flag after the extras, the mistake that a test makes on purpose.
    LateFlag,
    Over,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Pushing {
    /// The items that are neither stored nor in a batch.
    items: Vec<Item>,
    step: Step,
}

impl Pushing {
    pub(crate) fn push(items: Vec<Item>, known: bool, memory: NewestBucket, rules: &Rules) -> Self {
        let mut pushing = Self {
            items,
            step: Step::Over,
        };
        pushing.step = match known {
            false => Step::Push {
                room: rules.threshold.into(),
            },
            true if rules.has_identity => Step::Flag,
            true if rules.looks => Step::Look,
            true => pushing.extras(memory),
        };
        pushing
    }

    pub(crate) fn insert(items: Vec<Item>, rules: &Rules) -> Self {
        let first = items.len().min(rules.threshold.into());
        let step = Step::Insert { first };
        Self { items, step }
    }

    /// The items that are not stored yet.
    pub(crate) fn items(&self) -> impl Iterator<Item = Item> {
        let batch = match &self.step {
            Step::Extras(batch) => &batch.items[..],
            _ => &[],
        };
        self.items.iter().chain(batch).copied()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.step == Step::Over
    }

    pub(crate) fn is_at_extras(&self) -> bool {
        matches!(self.step, Step::Extras(_))
    }

    pub(crate) fn must_read(&self, rules: &Rules) -> bool {
        match &self.step {
            Step::Look | Step::State | Step::CheckExtras => true,
            Step::Extras(batch) => batch.must_read(rules),
            _ => false,
        }
    }

    pub(crate) fn read(
        &mut self,
        server: &Server,
        rules: &Rules,
        (known, memory): (&mut bool, NewestBucket),
    ) -> bool {
        match &mut self.step {
            Step::Look => {
                let is_flagged = server.parent.as_ref().is_some_and(|parent| parent.flag);
                self.step = match is_flagged {
                    true => self.extras(memory),
                    false => Step::State,
                };
                true
            }
            Step::State => {
                if let Some(parent) = &server.parent {
                    *known &= parent.flag;
                }
                self.step = match &server.parent {
                    Some(parent) if rules.has_identity => {
                        (self.items).retain(|item| !holds_any(&parent.items, &[*item]));
                        match usize::from(rules.threshold).saturating_sub(parent.items.len()) {
                            _ if self.items.is_empty() => Step::Over,
                            room if room > 0 && !parent.flag => Step::Push { room },
                            _ => Step::Flag,
                        }
                    }
                    Some(parent) => Step::Push {
                        room: usize::from(rules.threshold)
                            .saturating_sub(parent.items.len())
                            .max(1),
                    },
                    // There is no parent: an error.
                    None => Step::Over,
                };
                true
            }
            Step::CheckExtras => {
                *known = true;
                self.step = self.extras(memory);
                true
            }
            Step::Extras(batch) => {
                let is_read = batch.find_newest_bucket(server, rules);
                if batch.items.is_empty() {
                    self.step = Step::Over;
                }
                is_read
            }
            _ => false,
        }
    }

    pub(crate) fn statements(&self, rules: &Rules) -> Vec<Statement> {
        let first = |n: usize| self.items[..n].to_vec();
        vec![match &self.step {
            Step::Push { room } => Statement::Push {
                items: first(self.items.len().min(*room)),
            },
            Step::Insert { first: n } => Statement::Insert {
                items: first(*n),
                flag: *n < self.items.len(),
            },
            Step::Extras(batch) => return batch.statements(rules),
            Step::Flag | Step::LateFlag => Statement::Flag {
                excluded: match rules.has_identity {
                    true => self.items.clone(),
                    false => Vec::new(),
                },
            },
            Step::Look | Step::State | Step::CheckExtras | Step::Over => return Vec::new(),
        }]
    }

    pub(crate) fn note_outcome(
        &mut self,
        statement: &Statement,
        answer: (Answer, bool),
        rules: &Rules,
        (known, memory): (&mut bool, &mut NewestBucket),
    ) -> Vec<Item> {
        let done = answer.0 == Answer::Stored;
        let mut stored = Vec::new();
        if let Step::Extras(batch) = &mut self.step {
            stored = batch.note_outcome(statement, answer, rules);
            *memory = batch.memory();
            if batch.items.is_empty() {
                self.step = match rules.flag_first {
                    true => Step::Over,
                    false => Step::LateFlag,
                };
            }
            return stored;
        }
        if done {
            stored = self.items.drain(..statement.carries()).collect();
        }
        let room = rules.threshold.into();
        self.step = match (&self.step, done) {
            (Step::Push { .. }, true) if self.items.is_empty() => Step::Over,
            (Step::Push { .. }, true) => Step::Push { room },
            (Step::Push { .. }, false) if rules.has_identity => Step::State,
            (Step::Push { .. }, false) if rules.flag_first && rules.looks && *known => Step::Look,
            (Step::Push { .. }, false) if rules.flag_first => Step::Flag,
            (Step::Push { .. }, false) => self.extras(*memory),
            (Step::Flag, true) if rules.has_identity && !*known => Step::CheckExtras,
            (Step::Flag, true) => {
                *known = true;
                self.extras(*memory)
            }
            (Step::Flag, false) => Step::State,
            (Step::Insert { .. }, true) => self.extras(*memory),
            // The id is taken: an error.
            (Step::Insert { .. }, false) => Step::Over,
            _ => Step::Over,
        };
        stored
    }

    pub(crate) fn try_again(&mut self) {
        if let Step::Extras(batch) = &mut self.step {
            batch.try_again();
        }
    }

    fn extras(&mut self, memory: NewestBucket) -> Step {
        match std::mem::take(&mut self.items) {
            none if none.is_empty() => Step::Over,
            rest => Step::Extras(Batch::bounded(rest, memory)),
        }
    }
}
