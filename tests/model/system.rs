//! The whole system: a server, writers, and everything that may happen next.

use crate::{
    edit::Change,
    properties::ITEMS,
    server::{Item, Rules, Server, Statement, identity_of},
    writer::{Acknowledged, Call, Request, Writer},
};

/// A system to search: the rules, the writers' calls, and how much may go wrong.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) name: &'static str,
    pub(crate) rules: Rules,
    pub(crate) by_time: bool,
    /// The items of one call are those of several callers, whose order does not matter.
    pub(crate) unordered: bool,
    /// The buckets are the extras of a parent.
    pub(crate) has_parent: bool,
    pub(crate) writers: Vec<Vec<Call>>,
    /// How often the network may lose a command or its answer, or the server may interrupt a command.
    pub(crate) losses: u8,
    /// How many writers may crash.
    pub(crate) crashes: u8,
    /// Another program has left an open bucket that is empty.
    pub(crate) has_empty: bool,
    /// The key has a bucket of a later moment from the beginning, which a removal has emptied.
    pub(crate) has_later: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct System {
    pub(crate) server: Server,
    pub(crate) writers: Vec<Writer>,
    /// The items that were acknowledged, one bit each.
    pub(crate) acknowledged: u32,
    /// The items that somebody has removed, or is about to.
    pub(crate) removed: u32,
    /// How often each item was changed, as acknowledged.
    pub(crate) replaced: [u8; 3 * ITEMS as usize],
    /// The items that a writer was told are not stored.
    pub(crate) refused: u32,
    /// Where a parent is deleted: the items of pushes that have begun, one bit each, and after an acknowledged deletion
    /// those of all others.
    begun: u32,
    late: u32,
    losses: u8,
    crashes: u8,
}

/// One step of the writer with this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// A read, or the next statement of the command, which the writer sends first if it has not yet.
    /// After the last statement the answer arrives.
    Step(usize),
    /// A statement is carried out, and the connection breaks before its answer.
    LoseAnswer(usize),
    /// The connection breaks before a statement is carried out.
    LoseCommand(usize),
    /// Somebody kills the command after a statement is carried out, so that it fails.
    Kill(usize),
    /// The writer is gone for good.
    Crash(usize),
    /// A command that its writer has given up reaches the server after all.
    Arrive(usize),
}

impl Config {
    /// Whether somebody deletes the parent.
    pub(crate) fn deletes(&self) -> bool {
        self.writers
            .iter()
            .flatten()
            .any(|call| *call == Call::Delete)
    }

    /// The number of the call that carries this item, among the calls of its writer.
    pub(crate) fn call_of(&self, item: Item) -> u8 {
        let calls = &self.writers[usize::from(item / ITEMS)];
        let carries = |call: &Call| match call {
            Call::Append(items) | Call::Push(items) | Call::Insert(items) => items.contains(&item),
            Call::Remove(_) | Call::Edit(..) | Call::Delete => false,
        };
        let nth = calls.iter().position(carries).unwrap_or_default();
        u8::try_from(nth).expect("a handful of calls")
    }
}

impl System {
    pub(crate) fn new(config: &Config) -> Self {
        let mut system = Self {
            server: Server::new(config.has_empty, config.has_later),
            writers: config.writers.iter().cloned().map(Writer::new).collect(),
            acknowledged: 0,
            removed: 0,
            replaced: Default::default(),
            refused: 0,
            begun: 0,
            late: 0,
            losses: config.losses,
            crashes: config.crashes,
        };
        for call in config.writers.iter().flatten() {
            match call {
                Call::Remove(item) => system.removed |= bit(*item),
                Call::Edit(identity, Change::Remove) => {
                    let items = (0..3 * ITEMS).filter(|item| identity_of(*item) == *identity);
                    system.removed |= items.fold(0, |removed, item| removed | bit(item));
                }
                Call::Delete => {
                    system.removed = u32::MAX;
                    system.server.parent.get_or_insert_default();
                }
                _ => {}
            }
        }
        for writer in &mut system.writers {
            writer.begin(config);
        }
        system
    }

    /// All steps that can come next.
    pub(crate) fn actions(&self, config: &Config) -> Vec<Action> {
        let mut actions = Vec::new();
        for (n, writer) in self.writers.iter().enumerate() {
            if writer.late.is_some() {
                actions.push(Action::Arrive(n));
            }
            if writer.is_over() {
                continue;
            }
            actions.push(Action::Step(n));
            let reads = writer.request.is_none() && writer.must_read(&config.rules);
            if self.losses > 0 && !reads {
                actions.extend([
                    Action::LoseAnswer(n),
                    Action::LoseCommand(n),
                    Action::Kill(n),
                ]);
            }
            if self.crashes > 0 {
                actions.push(Action::Crash(n));
            }
        }
        actions
    }

    /// The system after this step.
    pub(crate) fn after(&self, action: Action, config: &Config) -> Self {
        let (mut next, rules) = (self.clone(), &config.rules);
        let (Action::Step(n)
        | Action::LoseAnswer(n)
        | Action::LoseCommand(n)
        | Action::Kill(n)
        | Action::Crash(n)
        | Action::Arrive(n)) = action;
        let writer = &mut next.writers[n];
        if config.deletes() && !matches!(action, Action::Arrive(_) | Action::Crash(_)) {
            next.begun |= writer
                .items_under_way()
                .fold(0, |all, item| all | bit(item));
        }
        match action {
            Action::Arrive(_) => {
                if let Some(late) = &mut writer.late
                    && late.carry_out(&mut next.server, rules)
                {
                    writer.late = None;
                }
                return next;
            }
            Action::Crash(_) => {
                writer.crash(rules);
                next.crashes -= 1;
                return next;
            }
            Action::Step(_) if writer.request.is_none() && writer.read(&next.server, rules) => {
                writer.begin(config);
                return next;
            }
            _ => {}
        }
        if writer.request.is_none() {
            writer.send(rules);
        }
        let Some(request) = &mut writer.request else {
            return next;
        };
        let answered = match action {
            Action::LoseCommand(_) => false,
            _ => request.carry_out(&mut next.server, rules),
        };
        if let Action::Step(_) = action {
            if answered {
                let Acknowledged {
                    stored,
                    replaced,
                    deleted,
                } = writer.note_outcomes(rules);
                if deleted {
                    next.late = !next.begun;
                }
                for item in stored {
                    next.acknowledged |= bit(item);
                }
                if let Some(item) = replaced {
                    next.replaced[usize::from(item)] += 1;
                }
            }
        } else {
            next.losses -= 1;
            if let Action::Kill(_) = action {
                // The command was answered, so nothing of it arrives later.
                let killed = writer.fail();
                if !rules.doubts {
                    let items = killed.iter().flat_map(Request::items);
                    next.refused |= items.fold(0, |refused, item| refused | bit(item));
                }
            } else if !request.repeat() {
                writer.late = writer.fail();
            }
        }
        writer.begin(config);
        next
    }

    /// The system after the whole next command of this writer, or its read.
    pub(crate) fn after_command(&self, n: usize, config: &Config) -> Self {
        let mut next = self.after(Action::Step(n), config);
        while next.writers[n].request.is_some() {
            next = next.after(Action::Step(n), config);
        }
        next
    }

    /// The statements of the command that this writer sends next; none for a read.
    pub(crate) fn command(&self, n: usize, config: &Config) -> Vec<Statement> {
        let mut writer = self.writers[n].clone();
        if writer.must_read(&config.rules) {
            return Vec::new();
        }
        let request = writer.send(&config.rules);
        request.map_or_else(Vec::new, |request| request.statements.clone())
    }

    pub(crate) fn is_acknowledged(&self, item: Item) -> bool {
        self.acknowledged & bit(item) != 0
    }

    pub(crate) fn is_refused(&self, item: Item) -> bool {
        self.refused & bit(item) != 0
    }

    pub(crate) fn is_late(&self, item: Item) -> bool {
        self.late & bit(item) != 0
    }

    pub(crate) fn is_removed(&self, item: Item) -> bool {
        self.removed & bit(item) != 0
    }
}

fn bit(item: Item) -> u32 {
    1 << item
}
