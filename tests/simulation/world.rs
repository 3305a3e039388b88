//! All that a schedule consists of: what the servers store, chance, the record, and what callers were told.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use bucket_core::server::wire::simulated::reach;
use bucket_runtime::{
    Error,
    bson::{Bson, Document, doc},
};
use tokio::time::Instant;

use crate::{
    choices::{Chance, Choices},
    filter::number,
    handle::IMPORTED,
    judge::{self, WRITER},
    pace::Pace,
    pipeline::{projected, results, scanned},
    plans::Plans,
    store::{Effect, Place, Refusal, Store, part},
    transaction::{Transaction, is_part},
    undone::Safeguard,
    writer::kind_of,
};

const SERVER_6_0: i32 = 17;

/// How long a process stands still: longer than the server keeps a transaction.
const STANDSTILL: Duration = Duration::from_secs(61);

/// Before which of its commands a process stops at the latest.
const LATEST_STOP: u64 = 24;

/// How many faults of commands there are.
pub(crate) const FAULTS: u32 = 4;

/// From here on an update whose plan is ended has changed nothing, and a deletion touches only indexes that hold the
/// document (`tests/live/server_claims/dropped_index.rs`).
pub(crate) const SERVER_8_2: i32 = 27;

/// What a caller was told of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Told {
    Done,
    Maybe,
    Failed,
}

impl Told {
    /// What a call's error tells.
    pub(crate) fn by(error: &Error) -> Self {
        match error.is_maybe_stored() {
            true => Self::Maybe,
            false => Self::Failed,
        }
    }
}

/// What callers were told of an item.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) appended: Told,
    pub(crate) removed: Told,
    /// How many of its changes were acknowledged, and how many may have been made.
    pub(crate) changes: (i64, i64),
}

/// A statement or a read as the server has carried it out.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The session's name.
    pub session: String,
    /// A read, or a write with one statement.
    pub command: Document,
    /// The place of the statement in its command.
    pub at: usize,
    /// What the server said.
    pub answer: Result<Answered, Refusal>,
}

/// The answer of a server that has carried it out.
#[derive(Debug, Clone, PartialEq)]
pub enum Answered {
    /// The effect of a write, and whether it was carried out before.
    Wrote(Effect, bool),
    /// The rows of a read.
    Read(Vec<Document>),
    /// Something else was done.
    Done,
}

/// What a member of the replica set has: the documents, and what was carried out in each session.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    /// The buckets, and the extras of parents.
    pub(crate) store: Store,
    pub(crate) parents: Store,
    /// What an import reads, or lists of it.
    pub(crate) flat: Store,
    /// The view that unwinds these lists.
    pub(crate) view: Option<Vec<Bson>>,
    /// How far an import or a migration has come.
    pub(crate) progress: Store,
    /// The buckets to which others are migrated.
    pub(crate) migrated: Store,
    /// What change streams show.
    pub(crate) events: Vec<Arc<Document>>,
    sessions: HashMap<String, Arc<Session>>,
    /// The number of each session's latest transaction that was committed.
    pub(crate) committed: HashMap<String, i64>,
}

impl State {
    /// The collection to which a command is sent.
    pub(crate) fn store_of(&mut self, command: &Document) -> &mut Store {
        match command.values().next().and_then(Bson::as_str) {
            Some("parents") => &mut self.parents,
            Some("flat" | "lists") => &mut self.flat,
            Some("bucket_progress") => &mut self.progress,
            Some("migrated") => &mut self.migrated,
            _ => &mut self.store,
        }
    }

    /// The documents of the collection, or the view, that a command reads.
    fn documents(&mut self, command: &Document) -> Vec<Document> {
        let all = self.store_of(command).all();
        match &self.view {
            Some(view) if reads_flat(command) => results(all, view, |_| Vec::new()),
            _ => all,
        }
    }

    /// The collections that are written to, with their names.
    pub(crate) fn stores(&self) -> [(&'static str, &Store); 4] {
        [
            ("buckets", &self.store),
            ("parents", &self.parents),
            ("bucket_progress", &self.progress),
            ("migrated", &self.migrated),
        ]
    }

    /// Carries out one statement of a write.
    pub(crate) fn carry_out(&mut self, command: &Document, at: usize) -> Result<Effect, Refusal> {
        let statement = statements(command)[at];
        let store = self.store_of(command);
        match command.keys().next().map(String::as_str) {
            Some("insert") => store.insert(statement.clone()),
            Some("delete") => store.delete(statement),
            Some("findAndModify") => store.change(statement),
            _ => store.update(statement),
        }
    }

    /// The places in indexes by which this differs from an earlier state.
    pub(crate) fn places(&self, before: &Self, wire_version: i32) -> Vec<Place> {
        let is_old = wire_version < SERVER_8_2;
        let both = self.stores().into_iter().zip(before.stores());
        both.flat_map(|((name, store), (_, before))| store.places(before, name, is_old))
            .collect()
    }

    /// Changes those documents by which one state differs from another.
    pub(crate) fn take_changes(&mut self, from: &Self, base: &Self) {
        self.store.take_changes(&from.store, &base.store);
        self.parents.take_changes(&from.parents, &base.parents);
        self.progress.take_changes(&from.progress, &base.progress);
        self.migrated.take_changes(&from.migrated, &base.migrated);
        // One for each statement of the transaction.
        let events = from.events.iter().skip(base.events.len());
        self.events.extend(events.cloned());
    }
}

#[derive(Debug, Clone, Default)]
struct Session {
    number: Option<i64>,
    done: BTreeMap<usize, Effect>,
}

#[derive(Debug)]
pub(crate) struct World {
    /// What the primary has.
    pub(crate) primary: State,
    /// What a majority has.
    pub(crate) majority: State,
    /// The transactions that are open, by their sessions.
    pub(crate) transactions: BTreeMap<String, Transaction>,
    /// The statements whose plans wait, and may be ended with an index.
    pub(crate) plans: Plans,
    /// Whether a primary has failed with buckets that no majority had. Who has read them leaves a gap.
    pub(crate) has_lost_buckets: bool,
    /// Grows with each election.
    pub(crate) term: u64,
    pub(crate) undone: Option<Safeguard>,
    chance: Chance,
    pub(crate) pace: Pace,
    /// The faults of commands that never happen in this schedule, by their places in `fate`.
    pub(crate) without: u64,
    /// Decides which items have which key.
    salt: i64,
    /// The writer whose items have a key that is imported, too.
    pub(crate) intruder: Option<i64>,
    /// The greatest bound of an open index; while there is none, of the last one.
    pub(crate) capacity: i64,
    /// The same when an index was last created. Until the next one is, buckets may be filled up to it.
    pub(crate) created_capacity: i64,
    /// The greatest one so far, which some handle may have.
    pub(crate) most_capacity: i64,
    /// Whether some call changes the capacity.
    pub(crate) changes_capacity: bool,
    /// The ids of buckets that were removed.
    pub(crate) removed_ids: BTreeSet<String>,
    /// Whether a load runs meanwhile: while there is no index, it opens further buckets.
    pub(crate) is_unguarded: bool,
    /// Whether another program has let a parent grow beyond the threshold, which is not split yet.
    pub(crate) has_grown: bool,
    /// The parent that is deleted.
    pub(crate) deleted: Option<i64>,
    /// Whether its deletion was acknowledged.
    pub(crate) is_gone: bool,
    /// The items that somebody has begun to append, and whether their parent was gone by then.
    pub(crate) begun: BTreeMap<i64, bool>,
    /// Whether another program has damaged what is stored, which is not repaired yet.
    pub(crate) has_damage: bool,
    /// Whether change streams show what is written.
    pub(crate) has_events: bool,
    /// Whether a migration runs, which refuses buckets whose items are edited.
    pub(crate) refuses_edits: bool,
    /// Whether faults and delays occur.
    pub(crate) is_rough: bool,
    pub(crate) wire_version: i32,
    /// The handles whose process stands still until then, or has ended.
    pub(crate) stopped: BTreeMap<String, Option<Instant>>,
    /// The processes that are about to stop, with how many commands each sends before.
    stops: BTreeMap<&'static str, u64>,
    /// What callers were told of their items, in the order of their writers.
    pub(crate) told: BTreeMap<i64, History>,
    /// The schedule as text, if it was asked for.
    pub(crate) trace: Option<Vec<String>>,
    /// What the server has carried out, if it was asked for. No write is then rolled back.
    pub(crate) record: Option<Vec<Recorded>>,
    pub(crate) commands: u64,
    pub(crate) failure: Option<String>,
}

impl World {
    pub(crate) fn new(choices: Choices, capacity: i64, undone: Option<Safeguard>) -> Self {
        let mut chance = Chance::new(choices);
        let mut state = State::default();
        state.store.is_lax = undone == Some(Safeguard::UniqueIndexes);
        let mut world = Self {
            primary: state.clone(),
            majority: state,
            transactions: BTreeMap::new(),
            plans: Plans::default(),
            has_lost_buckets: false,
            term: 1,
            undone,
            pace: Pace::draw(&mut chance),
            without: 0,
            chance,
            salt: 0,
            intruder: None,
            capacity,
            created_capacity: capacity,
            most_capacity: capacity,
            changes_capacity: false,
            removed_ids: BTreeSet::new(),
            is_unguarded: false,
            has_grown: false,
            deleted: None,
            is_gone: false,
            begun: BTreeMap::new(),
            has_damage: false,
            has_events: false,
            refuses_edits: false,
            is_rough: false,
            wire_version: SERVER_6_0,
            stopped: BTreeMap::new(),
            stops: BTreeMap::new(),
            told: BTreeMap::new(),
            trace: None,
            record: None,
            commands: 0,
            failure: None,
        };
        if world.below(2) == 1 {
            world.wire_version = SERVER_8_2;
        }
        world.salt = world.below(4) as i64;
        if undone == Some(Safeguard::SecondLook) {
            // A verification needs it only while others send several commands.
            world.pace.scan_slowly();
        }
        if world.happens(2) {
            world.without = world.below(1 << FAULTS);
        }
        world
    }

    /// The key of an item.
    pub(crate) fn sensor(&self, item: i64) -> i64 {
        let writer = item / WRITER;
        match self.intruder == Some(writer) {
            true => IMPORTED,
            false => i64::from((item + writer + self.salt) % 4 == 0),
        }
    }

    /// Notes that somebody begins to append an item; returns its key.
    pub(crate) fn begin_item(&mut self, item: i64) -> i64 {
        let sensor = self.sensor(item);
        let is_late = self.is_gone && self.deleted == Some(sensor);
        self.begun.entry(item).or_insert(is_late);
        sensor
    }

    /// A random number below this one, or the one that was chosen.
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        self.chance.below(below)
    }

    /// Whether something happens that happens once in so many cases. Zero means that it does not, so that a shrunk
    /// schedule does without.
    pub(crate) fn happens(&mut self, in_cases: u64) -> bool {
        self.below(in_cases) == 1
    }

    /// Lets a process end, or stand still for a minute, before any of its next commands.
    pub(crate) fn stop_later(&mut self, process: &'static str) {
        let commands = self.below(LATEST_STOP);
        self.stops.insert(process, commands);
    }

    /// From now on nothing fails, and no process stops.
    pub(crate) fn end_faults(&mut self) {
        self.is_rough = false;
        self.stops.clear();
    }

    /// A process is about to send a command.
    pub(crate) fn begin_command(&mut self, process: &str) {
        match self.stops.get_mut(process) {
            None => return,
            Some(0) => {}
            Some(commands) => {
                *commands -= 1;
                return;
            }
        }
        self.stops.remove(process);
        let until = self.happens(2).then(|| Instant::now() + STANDSTILL);
        let what = until.map_or("ends", |_| "stands still for a minute");
        self.note(|| format!("the process of {process} {what}"));
        reach(format!("the process of {} {what}", kind_of(process)));
        self.stopped.insert(process.to_owned(), until);
    }

    /// The choices that were made.
    pub(crate) fn take_choices(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.chance.made)
    }

    /// How long the next command of this task takes to the server and back, and how much later it comes if it is late.
    pub(crate) fn next_times(&mut self) -> [Duration; 3] {
        match self.is_rough {
            true => self.pace.next(&mut self.chance),
            false => Default::default(),
        }
    }

    /// How long something waits that happens once.
    pub(crate) fn next_pause(&mut self) -> Duration {
        let longest = self.pace.longest_pause;
        Duration::from_micros(self.below(longest))
    }

    pub(crate) fn note(&mut self, text: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(text());
        }
    }

    /// Another member becomes the primary. What no majority had is lost with the former one, or has just reached
    /// a majority.
    pub(crate) fn elect(&mut self) {
        self.term += 1;
        let is_lost = self.record.is_none() && self.happens(2);
        if is_lost {
            self.has_lost_buckets |= self.primary.store.documents != self.majority.store.documents;
            self.primary = self.majority.clone();
        } else {
            self.replicate();
        }
        self.abort_all();
        let term = self.term;
        self.note(|| format!("election of term {term}, rolled back: {is_lost}"));
        self.judge();
    }

    /// A majority gets what the primary has: before each answer to a write.
    pub(crate) fn replicate(&mut self) {
        if self.undone != Some(Safeguard::Majority) {
            self.majority = self.primary.clone();
        }
    }

    pub(crate) fn judge(&mut self) {
        if self.failure.is_none()
            && let Some(broken) = judge::step(self)
        {
            self.fail(broken);
        }
    }

    /// Notes the events of what has changed, and looks at it.
    pub(crate) fn note_changes(&mut self, before: &State) {
        if self.has_events {
            self.primary.note_events(before);
        }
        self.look_at_changes(before);
    }

    /// Tells open transactions what has changed. A bucket may have more items than before only up to the capacity.
    pub(crate) fn look_at_changes(&mut self, before: &State) {
        self.tell_transactions(before);
        self.note_removed(before);
        if let Some(broken) = judge::growth(self, before) {
            self.fail(broken);
        }
    }

    /// Keeps the ids of the buckets that are gone.
    fn note_removed(&mut self, before: &State) {
        if self.changes_capacity {
            let store = &self.primary.store;
            let gone = judge::buckets(&before.store)
                .filter(|bucket| judge::length_in(store, bucket).is_none());
            let ids = gone.filter_map(|bucket| bucket.get_str("_id").ok());
            self.removed_ids.extend(ids.map(str::to_owned));
        }
    }

    /// A guarantee is broken, if none was before.
    pub(crate) fn fail(&mut self, broken: String) {
        if self.failure.is_none() {
            self.note(|| broken.clone());
            self.failure = Some(broken);
        }
    }

    /// Begins a numbered command: a refusal if the session has seen a later number.
    pub(crate) fn begin(&mut self, session: &str, command: &Document) -> Result<(), Refusal> {
        let Some(new) = command.get("txnNumber").and_then(number) else {
            return Ok(());
        };
        let known = (self.primary.sessions)
            .entry(session.to_owned())
            .or_default();
        match known.number {
            Some(latest) if new < latest => {
                let text = format!(
                    "Retryable write with txnNumber {new} is prohibited on session because a newer retryable write with txnNumber {latest} has already started on this session."
                );
                let refusal = (225, text);
                self.record(session, command, 0, &Err(refusal.clone()));
                Err(refusal)
            }
            Some(latest) if new == latest => Ok(()),
            _ => {
                let number = Some(new);
                let done = BTreeMap::new();
                *known = Session { number, done }.into();
                Ok(())
            }
        }
    }

    /// Carries out one statement of a write, unless it was carried out before under the command's number.
    /// Returns its effect, and whether that was before.
    pub(crate) fn write(
        &mut self,
        session: &str,
        command: &Document,
        at: usize,
    ) -> Result<(Effect, bool), Refusal> {
        let written = self.write_once(session, command, at);
        let answer = written.clone();
        let answer = answer.map(|(effect, before)| Answered::Wrote(effect, before));
        self.record(session, command, at, &answer);
        self.judge();
        written
    }

    fn write_once(
        &mut self,
        session: &str,
        command: &Document,
        at: usize,
    ) -> Result<(Effect, bool), Refusal> {
        if is_part(command) {
            let effect = self.write_in_transaction(session, command, at)?;
            return Ok((shown(effect, command), false));
        }
        if let Some(effect) = self.was_done(session, command, at) {
            return Ok((effect.clone(), true));
        }
        let is_numbered = self.is_numbered(command);
        let is_looked_at =
            self.changes_capacity || self.has_events || self.has_grown || self.has_transactions();
        let before = is_looked_at.then(|| self.primary.clone());
        let effect = self.primary.carry_out(command, at)?;
        before.iter().for_each(|before| self.note_changes(before));
        let has_written = match command.contains_key("updates") {
            true => effect.modified > 0 || effect.upserted.is_some(),
            false => effect.n > 0 || effect.value.is_some(),
        };
        if has_written
            && is_numbered
            && let Some(session) = self.primary.sessions.get_mut(session)
        {
            Arc::make_mut(session).done.insert(at, effect.clone());
        }
        // A repeated command gets the whole document.
        Ok((shown(effect, command), false))
    }

    /// A command that changes many documents, as one for each of them; if there is none, the command.
    pub(crate) fn find_each(&mut self, command: &Document) -> Vec<Document> {
        let statement = statements(command)[0];
        let (filter, hint) = (part(statement, "q"), statement.get_str("hint").ok());
        let store = self.primary.store_of(command);
        let found = store.find(filter, hint).unwrap_or_default();
        let narrow = |at: &usize| {
            let mut statement = statement.clone();
            let id = doc! { "_id": store.documents[*at].get("_id") };
            statement.insert("q", doc! { "$and": [id, filter.clone()] });
            let mut command = command.clone();
            command.insert("updates", vec![statement]);
            command
        };
        let each = Vec::from_iter(found.iter().map(narrow));
        match each.is_empty() {
            true => vec![command.clone()],
            false => each,
        }
    }

    fn is_numbered(&self, command: &Document) -> bool {
        command.contains_key("txnNumber") && self.undone != Some(Safeguard::Numbers)
    }

    /// The effect of a statement that was carried out before under the command's number.
    pub(crate) fn was_done(&self, session: &str, command: &Document, at: usize) -> Option<&Effect> {
        let known = self.primary.sessions.get(session)?;
        known.done.get(&at).filter(|_| self.is_numbered(command))
    }

    /// The answer to a command that is not a write. A pipeline reads these documents, if it has passed some before others
    /// were written.
    pub(crate) fn read(
        &mut self,
        session: &str,
        command: &Document,
        passed: Option<Vec<Document>>,
    ) -> Result<Document, Refusal> {
        let name = command.keys().next().map(String::as_str);
        let answer = match name {
            Some("hello") => {
                return Ok(doc! { "setName": "rs0", "maxWireVersion": self.wire_version });
            }
            Some("changes") => return Ok(self.events(command)),
            Some("listCollections") => {
                let view = doc! { "name": "flat", "type": "view" };
                let is_view = self.primary.view.is_some()
                    && part(command, "filter").get_str("name") == Ok("flat");
                return Ok(rows(Vec::from_iter(is_view.then_some(view))));
            }
            Some("create") => {
                self.primary.view = command.get_array("pipeline").ok().cloned();
                self.replicate();
                Ok(Answered::Done)
            }
            Some("listIndexes") => return Ok(rows(self.primary.store_of(command).indexes.clone())),
            Some("find") => self.state_for(session, command).and_then(|state| {
                let found = state.store_of(command).read(command);
                found.map(Answered::Read)
            }),
            Some("aggregate") => self.state_for(session, command).map(|state| {
                let documents = passed.unwrap_or_else(|| state.documents(command));
                let pipeline = command.get_array("pipeline").expect("a pipeline");
                let of = |from: &str| state.store_of(&doc! { "find": from }).all();
                Answered::Read(results(documents, pipeline, of))
            }),
            other => panic!("unknown command {other:?}"),
        };
        if answer.is_err() && is_part(command) {
            // The server does so by itself.
            self.transactions.remove(session);
        }
        self.record(session, command, 0, &answer);
        Ok(match answer? {
            Answered::Read(found) => rows(found),
            _ => Document::new(),
        })
    }

    /// The documents that a pipeline has passed, in the order of its scan, before others are written: all of them, or
    /// fewer. `None` if it reads all at one moment, or what nobody writes.
    pub(crate) fn pass_some(&mut self, session: &str, command: &Document) -> Option<Vec<Document>> {
        let is_scan =
            command.contains_key("aggregate") && !is_part(command) && !reads_flat(command);
        if !is_scan || !self.is_rough || self.record.is_some() {
            return None;
        }
        let all = self
            .state_for(session, command)
            .ok()?
            .store_of(command)
            .all();
        let mut passed = scanned(all, command);
        let most = self.below(passed.len() as u64 + 1);
        passed.truncate(most as usize);
        Some(passed)
    }

    /// The documents that a scan shows that has passed some of them before.
    pub(crate) fn pass_others(
        &mut self,
        session: &str,
        command: &Document,
        mut passed: Vec<Document>,
    ) -> Vec<Document> {
        let Ok(state) = self.state_for(session, command) else {
            return passed;
        };
        let others = state.store_of(command).all().into_iter();
        let is_new = |other: &Document| passed.iter().all(|one| one.get("_id") != other.get("_id"));
        let others = Vec::from_iter(others.filter(is_new));
        passed.extend(others);
        passed
    }

    pub(crate) fn record(
        &mut self,
        session: &str,
        command: &Document,
        at: usize,
        answer: &Result<Answered, Refusal>,
    ) {
        let Some(record) = &mut self.record else {
            return;
        };
        let mut command = command.clone();
        for name in STATEMENTS {
            if let Ok(statements) = command.get_array_mut(name) {
                *statements = vec![statements[at].clone()];
            }
        }
        record.push(Recorded {
            session: session.to_owned(),
            command,
            at,
            answer: answer.clone(),
        });
    }
}

/// An effect with those fields of a changed document that the command asks for.
fn shown(mut effect: Effect, command: &Document) -> Effect {
    if let (Some(value), Ok(fields)) = (&mut effect.value, command.get_document("fields")) {
        *value = projected(value, fields);
    }
    effect
}

/// Whether a pipeline reads what is imported.
fn reads_flat(command: &Document) -> bool {
    command.get_str("aggregate") == Ok("flat")
}

fn rows(rows: Vec<Document>) -> Document {
    doc! { "rows": rows }
}

/// Where commands hold their statements.
const STATEMENTS: [&str; 3] = ["updates", "documents", "deletes"];

/// The statements, or documents, of a write. A `findAndModify` is one itself.
pub(crate) fn statements(command: &Document) -> Vec<&Document> {
    if command.contains_key("findAndModify") {
        return vec![command];
    }
    let all = STATEMENTS
        .iter()
        .find_map(|name| command.get_array(name).ok());
    all.into_iter()
        .flatten()
        .filter_map(|statement| statement.as_document())
        .collect()
}
