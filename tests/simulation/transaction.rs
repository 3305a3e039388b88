//! Transactions: what each sees, and what nobody else may change while it is open.

use std::time::Duration;

use bucket_runtime::bson::{Document, doc};
use tokio::time::Instant;

use crate::{
    store::{Effect, Place, Refusal},
    undone::Safeguard,
    world::{Answered, State, World},
};

/// The server ends a transaction that is open for longer (`transactionLifetimeLimitSeconds`).
const LONGEST: Duration = Duration::from_secs(60);

/// A transaction that is open.
#[derive(Debug)]
pub(crate) struct Transaction {
    number: i64,
    begun: Instant,
    /// What the primary had when it began.
    base: State,
    /// What it sees: the same, with its own changes.
    own: State,
    /// What it has changed, even if it has changed it back.
    touched: Vec<Place>,
    /// What others have changed since it began, even if they have changed it back.
    passed: Vec<Place>,
}

/// The error of a transaction that the server has aborted, after which the driver's caller begins it again.
pub(crate) fn is_aborted((code, _): &Refusal) -> bool {
    [WRITE_CONFLICT, NO_SUCH_TRANSACTION].contains(code)
}

const WRITE_CONFLICT: i32 = 112;
const NO_SUCH_TRANSACTION: i32 = 251;

fn write_conflict() -> Refusal {
    let text = "Caused by :: Write conflict during plan execution".to_owned();
    (WRITE_CONFLICT, text)
}

/// Whether the command is a transaction's.
pub(crate) fn is_part(command: &Document) -> bool {
    command.contains_key("autocommit")
}

impl World {
    /// Whether some transaction is open.
    pub(crate) fn has_transactions(&mut self) -> bool {
        let all = self.transactions.iter();
        let old = all.filter(|(_, open)| open.begun.elapsed() >= LONGEST);
        for session in Vec::from_iter(old.map(|(session, _)| session.clone())) {
            self.abort(&session);
        }
        !self.transactions.is_empty()
    }

    /// Whether a statement that is in no transaction has to wait for one.
    pub(crate) fn is_blocked(&mut self, session: &str, command: &Document, at: usize) -> bool {
        if !self.has_transactions() || self.was_done(session, command, at).is_some() {
            return false;
        }
        self.is_held(&self.wanted(&self.primary, command, at))
    }

    /// The places that a statement would take or leave, also those where another document stands: the server meets the
    /// transaction that holds one before it refuses a second entry.
    fn wanted(&self, state: &State, command: &Document, at: usize) -> Vec<Place> {
        let mut trial = state.clone();
        for store in [&mut trial.store, &mut trial.parents, &mut trial.migrated] {
            store.is_lax = true;
        }
        match trial.carry_out(command, at) {
            Ok(_) => trial.places(state, self.wire_version),
            Err(_) => Vec::new(),
        }
    }

    /// Tells open transactions what has changed since a state.
    pub(crate) fn tell_transactions(&mut self, before: &State) {
        if !self.transactions.is_empty() {
            let places = self.primary.places(before, self.wire_version);
            let all = self.transactions.values_mut();
            all.for_each(|open| open.passed.extend_from_slice(&places));
        }
    }

    fn is_held(&self, places: &[Place]) -> bool {
        let mut others = self.transactions.values();
        self.undone != Some(Safeguard::Conflicts)
            && others.any(|other| places.iter().any(|place| other.touched.contains(place)))
    }

    /// The state that a command reads: its transaction's, which may begin with it.
    pub(crate) fn state_for(
        &mut self,
        session: &str,
        command: &Document,
    ) -> Result<&mut State, Refusal> {
        if !is_part(command) {
            // Of level `majority` or `snapshot`, which are the same for a read that is one statement.
            let reads_majority = command.contains_key("readConcern") && self.record.is_none();
            return Ok(match reads_majority {
                true => &mut self.majority,
                false => &mut self.primary,
            });
        }
        Ok(&mut self.transaction(session, command)?.own)
    }

    fn transaction(
        &mut self,
        session: &str,
        command: &Document,
    ) -> Result<&mut Transaction, Refusal> {
        let number = command.get_i64("txnNumber").unwrap_or_default();
        if command.contains_key("startTransaction") {
            let new = Transaction {
                number,
                begun: Instant::now(),
                base: self.primary.clone(),
                own: self.primary.clone(),
                touched: Vec::new(),
                passed: Vec::new(),
            };
            self.transactions.insert(session.to_owned(), new);
        }
        self.has_transactions();
        let open = self.transactions.get_mut(session);
        let open = open.filter(|open| open.number == number);
        open.ok_or_else(|| {
            let text = format!("Transaction with {{ txnNumber: {number} }} has been aborted.");
            (NO_SUCH_TRANSACTION, text)
        })
    }

    /// A command's transaction, which is then no longer open.
    fn take_transaction(
        &mut self,
        session: &str,
        command: &Document,
    ) -> Result<Transaction, Refusal> {
        self.transaction(session, command)?;
        let open = self.transactions.remove(session);
        Ok(open.expect("the transaction that was just found"))
    }

    /// Carries out a statement in its transaction. Any refusal aborts that.
    pub(crate) fn write_in_transaction(
        &mut self,
        session: &str,
        command: &Document,
        at: usize,
    ) -> Result<Effect, Refusal> {
        let mut open = self.take_transaction(session, command)?;
        let places = self.wanted(&open.own, command, at);
        if self.is_held(&places) {
            return Err(write_conflict());
        }
        let before = self.has_events.then(|| open.own.clone());
        let effect = open.own.carry_out(command, at)?;
        before
            .iter()
            .for_each(|before| open.own.note_events(before));
        let has_changed = |place| open.passed.contains(place);
        let is_guarded = self.undone != Some(Safeguard::Conflicts);
        if is_guarded && places.iter().any(has_changed) {
            return Err(write_conflict());
        }
        open.touched.extend(places);
        self.transactions.insert(session.to_owned(), open);
        Ok(effect)
    }

    /// The server ends the transaction of a session.
    pub(crate) fn abort(&mut self, session: &str) {
        if let Some(Transaction { number, .. }) = self.transactions.remove(session) {
            // A server that does the same has to be told.
            let abort = doc! { "abortTransaction": 1, "txnNumber": number, "autocommit": false };
            self.record(session, &abort, 0, &Ok(Answered::Done));
        }
    }

    /// The primary is gone, and with it all open transactions.
    pub(crate) fn abort_all(&mut self) {
        for session in Vec::from_iter(self.transactions.keys().cloned()) {
            self.abort(&session);
        }
    }

    /// Carries out the command `commitTransaction` or `abortTransaction`.
    pub(crate) fn end_transaction(
        &mut self,
        session: &str,
        command: &Document,
    ) -> Result<Document, Refusal> {
        let answer = self.end_once(session, command);
        let recorded = answer.clone().map(|()| Answered::Done);
        self.record(session, command, 0, &recorded);
        self.judge();
        answer.map(|()| Document::new())
    }

    fn end_once(&mut self, session: &str, command: &Document) -> Result<(), Refusal> {
        let number = command.get_i64("txnNumber").unwrap_or_default();
        let commits = command.contains_key("commitTransaction");
        if commits && self.primary.committed.get(session) == Some(&number) {
            return Ok(());
        }
        let open = self.take_transaction(session, command)?;
        if commits {
            let before = self.primary.clone();
            self.primary.take_changes(&open.own, &open.base);
            (self.primary.committed).insert(session.to_owned(), number);
            self.look_at_changes(&before);
            // Also what it has changed back.
            let others = self.transactions.values_mut();
            others.for_each(|other| other.passed.extend_from_slice(&open.touched));
            self.replicate();
        }
        Ok(())
    }
}
