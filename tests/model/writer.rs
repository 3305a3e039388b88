//! A writer: its calls, one after the other, and what is on the wire between it and the server.

use crate::{
    batch::{Batch, NewestBucket},
    edit::{Change, Editing},
    next_step::Answer,
    outlier::Pushing,
    server::{Item, Rules, Server, Statement},
    system::Config,
};

/// The task of a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    /// `append`, or `append_many` of items that are combined.
    Append(Vec<Item>),
    /// `push_many` to the parent.
    Push(Vec<Item>),
    /// `insert` of the parent with these items.
    Insert(Vec<Item>),
    /// Removes an item from the buckets.
    Remove(Item),
    /// `remove_item` or `update_item` of the parent's item with this identity.
    Edit(u8, Change),
    /// `delete` of the parent.
    Delete,
}

/// The items that the answer to a command acknowledges.
#[derive(Debug, Default)]
pub(crate) struct Acknowledged {
    pub(crate) stored: Vec<Item>,
    pub(crate) replaced: Option<Item>,
    /// Whether it acknowledges a deletion.
    pub(crate) deleted: bool,
}

/// A call under way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Task {
    Append(Batch),
    Push(Pushing),
    Remove(Item),
    Edit(Editing),
    Delete {
        /// Whether the parent is deleted, and its extras are not yet.
        of_extras: bool,
    },
}

/// A command that was sent. Each of its statements has a number, by which the server recognises it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Request {
    pub(crate) statements: Vec<Statement>,
    /// The answers that the server remembers, and whether the statement has inserted a bucket.
    answers: Vec<(Answer, bool)>,
    /// How many statements the current transmission has carried out.
    at: usize,
    /// Whether an upsert has found nothing and is about to insert: the server does these two things at
    /// different moments.
    inserts: bool,
    /// Whether the driver has sent the command again.
    repeated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Writer {
    /// The calls that have not begun; the next one is last.
    pub(crate) calls: Vec<Call>,
    pub(crate) task: Option<Task>,
    pub(crate) request: Option<Request>,
    /// A command that its writer has given up, and that may still reach the server.
    pub(crate) late: Option<Request>,
    /// The handle remembers that the parent is an outlier.
    known: bool,
    /// The handle's memory of the key.
    memory: NewestBucket,
}

impl Request {
    pub(crate) fn new(statements: Vec<Statement>) -> Self {
        Self {
            statements,
            answers: Vec::new(),
            at: 0,
            inserts: false,
            repeated: false,
        }
    }

    /// Carries out the next statement. Returns whether the command is answered.
    pub(crate) fn carry_out(&mut self, server: &mut Server, rules: &Rules) -> bool {
        let statement = &self.statements[self.at];
        let answer = match self.answers.get(self.at) {
            Some(stored @ (Answer::Stored, _)) if rules.remembers => *stored,
            _ if std::mem::take(&mut self.inserts) => (server.insert(statement, rules), true),
            _ => match server.update(statement, rules) {
                Some(answer) => (answer, false),
                None => {
                    self.inserts = true;
                    return false;
                }
            },
        };
        let is_stored = answer.0 == Answer::Stored;
        if !is_stored {
            self.answers.truncate(self.at);
        }
        match self.answers.get_mut(self.at) {
            Some(known) => *known = answer,
            None => self.answers.push(answer),
        }
        self.at += 1;
        !is_stored || self.at == self.statements.len()
    }

    /// The items that the command carries.
    pub(crate) fn items(&self) -> impl Iterator<Item = Item> {
        let items = self.statements.iter().flat_map(Statement::items);
        items.copied()
    }

    /// The connection is lost: the driver sends the command again, or gives up. Returns whether it
    /// sends it.
    pub(crate) fn repeat(&mut self) -> bool {
        (self.at, self.inserts) = (0, false);
        !std::mem::replace(&mut self.repeated, true)
    }
}

impl Writer {
    pub(crate) fn new(mut calls: Vec<Call>) -> Self {
        calls.reverse();
        Self {
            calls,
            task: None,
            request: None,
            late: None,
            known: false,
            memory: NewestBucket::default(),
        }
    }

    /// Begins the next call if none is under way.
    pub(crate) fn begin(&mut self, config: &Config) {
        let rules = &config.rules;
        if self.task.is_none() {
            self.task = self.calls.pop().map(|call| match call {
                Call::Append(items) => {
                    let memory = self.memory;
                    Task::Append(Batch::new(items, config.by_time, config.unordered, memory))
                }
                Call::Push(items) => {
                    Task::Push(Pushing::push(items, self.known, self.memory, rules))
                }
                Call::Insert(items) => Task::Push(Pushing::insert(items, rules)),
                Call::Remove(item) => Task::Remove(item),
                Call::Edit(identity, change) => Task::Edit(Editing::new(identity, change)),
                Call::Delete => {
                    self.known = false;
                    Task::Delete { of_extras: false }
                }
            });
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.calls.is_empty() && self.task.is_none()
    }

    /// Carries out a read, if the task needs one now.
    pub(crate) fn read(&mut self, server: &Server, rules: &Rules) -> bool {
        let read = match self.task.as_mut() {
            Some(Task::Append(batch)) => batch.find_newest_bucket(server, rules),
            Some(Task::Push(pushing)) => {
                let known = (&mut self.known, self.memory);
                pushing.read(server, rules, known)
            }
            Some(Task::Edit(editing)) => editing.read(server, &mut self.known),
            Some(Task::Remove(_) | Task::Delete { .. }) | None => false,
        };
        let is_over = match &self.task {
            Some(Task::Push(pushing)) => pushing.is_over(),
            Some(Task::Edit(editing)) => editing.is_over(),
            _ => false,
        };
        if is_over {
            self.task = None;
        }
        read
    }

    /// Whether the task's next step is a read.
    pub(crate) fn must_read(&self, rules: &Rules) -> bool {
        match &self.task {
            Some(Task::Append(batch)) => batch.must_read(rules),
            Some(Task::Push(pushing)) => pushing.must_read(rules),
            Some(Task::Edit(editing)) => editing.must_read(),
            Some(Task::Remove(_) | Task::Delete { .. }) | None => false,
        }
    }

    /// The items of the push that is under way.
    pub(crate) fn items_under_way(&self) -> impl Iterator<Item = Item> {
        let pushing = match &self.task {
            Some(Task::Push(pushing)) => Some(pushing),
            _ => None,
        };
        pushing.into_iter().flat_map(Pushing::items)
    }

    /// Sends the next command.
    pub(crate) fn send(&mut self, rules: &Rules) -> Option<&mut Request> {
        let statements = match self.task.as_ref()? {
            Task::Append(batch) => batch.statements(rules),
            Task::Push(pushing) => pushing.statements(rules),
            Task::Remove(item) => vec![Statement::PullExtras { item: *item }],
            Task::Edit(editing) => editing.statements(),
            Task::Delete { of_extras: false } => vec![Statement::Delete],
            Task::Delete { of_extras: true } => vec![Statement::DeleteExtras],
        };
        Some(self.request.insert(Request::new(statements)))
    }

    /// Learns from the answer to the command. Returns what it acknowledges.
    pub(crate) fn note_outcomes(&mut self, rules: &Rules) -> Acknowledged {
        let (Some(request), Some(task)) = (self.request.take(), self.task.as_mut()) else {
            return Acknowledged::default();
        };
        let (mut stored, mut replaced, mut deleted) = (Vec::new(), None, false);
        let to_extras = matches!(task, Task::Push(pushing) if pushing.is_at_extras());
        for (statement, (answer, inserted)) in request.statements.iter().zip(&request.answers) {
            // The answer to several statements does not tell.
            let answer = (*answer, *inserted && request.statements.len() == 1);
            stored.extend(match task {
                Task::Append(batch) => {
                    let stored = batch.note_outcome(statement, answer, rules);
                    self.memory = batch.memory();
                    stored
                }
                Task::Push(pushing) => {
                    let known = (&mut self.known, &mut self.memory);
                    pushing.note_outcome(statement, answer, rules, known)
                }
                Task::Remove(_) => Vec::new(),
                Task::Delete { of_extras } => {
                    deleted = std::mem::replace(of_extras, true);
                    Vec::new()
                }
                Task::Edit(editing) => {
                    replaced = editing.note_outcome(answer.0);
                    Vec::new()
                }
            });
        }
        let over = match task {
            Task::Append(batch) => {
                batch.try_again();
                batch.items.is_empty()
            }
            Task::Push(pushing) => {
                if to_extras {
                    pushing.try_again();
                }
                pushing.is_over()
            }
            Task::Remove(_) => true,
            Task::Delete { .. } => deleted,
            Task::Edit(editing) => editing.is_over(),
        };
        if over {
            self.task = None;
        }
        Acknowledged {
            stored,
            replaced,
            deleted,
        }
    }

    /// The driver gives up on the command: its items may be stored. A batch goes on with the items that
    /// were not sent (`append_each`), a push ends.
    pub(crate) fn fail(&mut self) -> Option<Request> {
        let request = self.request.take()?;
        if let Some(Task::Append(batch)) = &mut self.task {
            batch.take_failed(request.statements.iter().map(Statement::carries).sum());
            if !batch.items.is_empty() {
                return Some(request);
            }
        }
        self.task = None;
        Some(request)
    }

    /// The process ends. The command that it was about to send may be on the wire.
    pub(crate) fn crash(&mut self, rules: &Rules) {
        if self.request.is_none() && !self.must_read(rules) {
            self.send(rules);
        }
        let mut late = self.request.take();
        late.as_mut().map(Request::repeat);
        *self = Self {
            late,
            ..Self::new(Vec::new())
        };
    }
}
