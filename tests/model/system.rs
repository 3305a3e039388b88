//! The whole system: a server, writers, and everything that may happen next.

use crate::{
    properties::ITEMS,
    server::{Item, Rules, Server, Statement},
    writer::{Call, Request, Writer},
};

/// A system to search: the rules, the writers' calls, and how much may go wrong.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) name: &'static str,
    pub(crate) rules: Rules,
    pub(crate) by_time: bool,
    /// The items of one call are those of several callers, whose order does not matter.
    pub(crate) unordered: bool,
    /// Items have no bounded size, so buckets may lack bytes.
    pub(crate) counts_bytes: bool,
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
    /// The items that a writer was told are not stored.
    pub(crate) refused: u32,
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
    /// The number of the call that carries this item, among the calls of its writer.
    pub(crate) fn call_of(&self, item: Item) -> u8 {
        let calls = &self.writers[usize::from(item / ITEMS)];
        let carries = |call: &Call| match call {
            Call::Append(items) => items.contains(&item),
            Call::Remove(_) => false,
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
            refused: 0,
            losses: config.losses,
            crashes: config.crashes,
        };
        for call in config.writers.iter().flatten() {
            if let Call::Remove(item) = call {
                system.removed |= bit(*item);
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
                for item in writer.note_outcomes(rules) {
                    next.acknowledged |= bit(item);
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

    pub(crate) fn is_removed(&self, item: Item) -> bool {
        self.removed & bit(item) != 0
    }
}

fn bit(item: Item) -> u32 {
    1 << item
}
