//! A writer: its calls, one after the other, and what is on the wire between it and the server.

use crate::{
    batch::{Batch, NewestBucket},
    next_step::Answer,
    server::{Item, Rules, Server, Statement},
    system::Config,
};

/// The task of a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    /// `append`, or `append_many` of items that are combined.
    Append(Vec<Item>),
    /// Removes an item from the buckets.
    Remove(Item),
}

/// A call under way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Task {
    Append(Batch),
    Remove(Item),
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
            memory: NewestBucket::default(),
        }
    }

    /// Begins the next call if none is under way.
    pub(crate) fn begin(&mut self, config: &Config) {
        if self.task.is_none() {
            self.task = self.calls.pop().map(|call| match call {
                Call::Append(items) => Task::Append(Batch::new(items, config, self.memory)),
                Call::Remove(item) => Task::Remove(item),
            });
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.calls.is_empty() && self.task.is_none()
    }

    /// Carries out a read, if the task needs one now.
    pub(crate) fn read(&mut self, server: &Server, rules: &Rules) -> bool {
        match &mut self.task {
            Some(Task::Append(batch)) => batch.find_newest_bucket(server, rules),
            Some(Task::Remove(_)) | None => false,
        }
    }

    /// Whether the task's next step is a read.
    pub(crate) fn must_read(&self, rules: &Rules) -> bool {
        match &self.task {
            Some(Task::Append(batch)) => batch.must_read(rules),
            Some(Task::Remove(_)) | None => false,
        }
    }

    /// Sends the next command.
    pub(crate) fn send(&mut self, rules: &Rules) -> Option<&mut Request> {
        let statements = match self.task.as_ref()? {
            Task::Append(batch) => batch.statements(rules),
            Task::Remove(item) => vec![Statement::Remove { item: *item }],
        };
        Some(self.request.insert(Request::new(statements)))
    }

    /// Learns from the answer to the command. Returns the items that it acknowledges.
    pub(crate) fn note_outcomes(&mut self, rules: &Rules) -> Vec<Item> {
        let (Some(request), Some(task)) = (self.request.take(), &mut self.task) else {
            return Vec::new();
        };
        let Task::Append(batch) = task else {
            self.task = None;
            return Vec::new();
        };
        let mut stored = Vec::new();
        for (statement, (answer, inserted)) in request.statements.iter().zip(&request.answers) {
            // The answer to several statements does not tell.
            let answer = (*answer, *inserted && request.statements.len() == 1);
            stored.extend(batch.note_outcome(statement, answer, rules));
            self.memory = batch.memory();
        }
        batch.try_again();
        if batch.items.is_empty() {
            self.task = None;
        }
        stored
    }

    /// The driver gives up on the command: its items may be stored. A batch goes on with the items that
    /// were not sent (`append_each`).
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
