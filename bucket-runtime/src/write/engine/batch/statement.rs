//! The statements that append the next items.

use std::{collections::HashSet, ops::Range};

use super::{Batch, COMMAND_BYTES, NewestBucket};
use crate::{
    error::Kind,
    protocol::{
        command::{AppendedItems, KeyScope, Update},
        pack::Packer,
    },
    schema::id,
    value::{
        element::{comparable, value_size as size},
        rollup::Totals,
    },
};

/// The most statements of one command.
const STATEMENTS: usize = 100;

/// How a statement is sent, which decides whether it may open a bucket while nothing is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum SendMode {
    /// The statement is sent in a session, and opens no bucket: a refusal would abort a transaction.
    InSession,
    /// The statement is sent alone, or followed by statements of the same key.
    Alone,
    /// The statement is sent with those of other keys, and is refused if it changes no document.
    WithOthers,
}

/// The items that a statement stores, and the newest bucket after it.
#[derive(Debug)]
pub(crate) struct Carried {
    /// The index of the first item in the batch's entries, after the statements before it have succeeded.
    pub(super) begin: usize,
    pub(crate) items: usize,
    pub(super) after: NewestBucket,
}

impl Carried {
    /// A statement that stores the first entries of the batch.
    pub(super) fn first(items: usize, after: NewestBucket) -> Self {
        Self {
            begin: 0,
            items,
            after,
        }
    }

    /// The indexes of the statement's items in the batch's entries.
    pub(in crate::write::engine) fn range(&self) -> Range<usize> {
        self.begin..self.begin + self.items
    }
}

impl Batch {
    /// The next statements, each with what it carries. Each assumes that those before it succeed. Together
    /// they carry the first items, though not always in order. The error says that no id is left for the
    /// next bucket.
    pub(crate) fn statements(&self, sent: SendMode) -> Result<Vec<(Update, Carried)>, Kind> {
        let most = match sent {
            SendMode::Alone => STATEMENTS,
            SendMode::InSession | SendMode::WithOthers => 1,
        };
        let mut statements = Vec::new();
        let mut newest_bucket = self.newest_bucket.clone();
        let (mut begin, mut bytes) = (0, 0);
        while begin < self.entries.len() && statements.len() < most {
            let most = most - statements.len();
            let mut next = self.new_buckets(begin, &newest_bucket, most, &mut bytes);
            if next.is_empty() {
                match self.statement(begin, &newest_bucket, sent, &mut bytes) {
                    Ok(Some(statement)) => next.push(statement),
                    Err(kind) if statements.is_empty() => return Err(kind),
                    Ok(None) | Err(_) => break,
                }
            }
            for (_, carried) in &next {
                begin += carried.items;
                newest_bucket = carried.after.clone();
            }
            statements.extend(next);
            if newest_bucket == NewestBucket::Unknown {
                break;
            }
        }
        Ok(statements)
    }

    /// The statement for the items from `begin` on; `None` if the command is full.
    fn statement(
        &self,
        begin: usize,
        newest_bucket: &NewestBucket,
        sent: SendMode,
        bytes: &mut usize,
    ) -> Result<Option<(Update, Carried)>, Kind> {
        let opening_id = self.entries[begin].1.opening_id.as_deref();
        let room = match newest_bucket {
            NewestBucket::Open { room, .. } => *room,
            NewestBucket::Unknown if self.is_contended() => 1,
            _ => self.opening(),
        };
        if let NewestBucket::Open { id, oversize, .. } = newest_bucket
            && !self.fits(begin, *oversize)
        {
            return Ok(Some(self.seal(id, sent)));
        }
        let taken = match newest_bucket {
            NewestBucket::Open { oversize, .. } => Some(*oversize),
            _ => None,
        };
        let items = self.items(begin, room, taken, bytes);
        let count = items.elements.len();
        if count == 0 {
            return Ok(None);
        }
        let (update, after) = match newest_bucket {
            NewestBucket::Unknown | NewestBucket::MustRead | NewestBucket::NoneOpen => {
                let update = match (opening_id, sent) {
                    (_, SendMode::InSession) | (None, SendMode::Alone) => {
                        self.scope.append_to_open(items)
                    }
                    (Some(opening_id), _) => self.scope.append_or_open(items, opening_id),
                    (None, _) => self.scope.append_to_open_or_be_refused(items),
                };
                (update, NewestBucket::Unknown)
            }
            NewestBucket::Open { id, room, oversize } => {
                let after = self.after(id, room - count, oversize + items.oversize);
                (self.scope.append_to_id_or_be_refused(items, id), after)
            }
            NewestBucket::Closed { last } => {
                let id = self.next_id(opening_id, last.as_deref())?;
                let after = self.after(&id, self.capacity() - count, items.oversize);
                (self.scope.append_to_id(items, &id), after)
            }
        };
        let update = self.dated(update, begin..begin + count);
        Ok(Some((update, Carried::first(count, after))))
    }

    /// The update, with the time of the newest of these entries if buckets expire.
    pub(super) fn dated(&self, update: Update, entries: Range<usize>) -> Update {
        let times = (self.entries.range(entries)).filter_map(|(_, entry)| entry.time);
        match times.max() {
            None => update,
            Some(newest) => update.with_newest(newest),
        }
    }

    pub(super) fn after(&self, id: &str, room: usize, oversize: i64) -> NewestBucket {
        let id = id.to_owned();
        match room {
            0 => NewestBucket::Closed { last: Some(id) },
            room => NewestBucket::Open { id, room, oversize },
        }
    }

    /// The statement that seals the open bucket, so that the next one can be opened.
    fn seal(&self, id: &str, sent: SendMode) -> (Update, Carried) {
        let update = match sent {
            SendMode::InSession => self.scope.seal(id),
            SendMode::Alone | SendMode::WithOthers => self.scope.seal_or_be_refused(id),
        };
        let last = Some(id.to_owned());
        (update, Carried::first(0, NewestBucket::Closed { last }))
    }

    /// The items from `begin` on that fit into one statement: at most `room`, within the bytes of a command
    /// and of the bucket, no two with the same `unique` value, and none whose rollup only the server can
    /// compute. `taken` is the bucket's oversize; a new bucket takes any first item.
    pub(super) fn items(
        &self,
        begin: usize,
        room: usize,
        taken: Option<i64>,
        bytes: &mut usize,
    ) -> AppendedItems {
        let spec = self.scope.spec;
        let mut elements = Vec::new();
        let mut totals = (!spec.rollups.is_empty()).then(|| Totals::new(spec));
        let mut identities = HashSet::new();
        let mut packer = Packer::with_room(&self.scope, room, taken);
        for (_, entry) in self.entries.range(begin..) {
            if packer.is_full() {
                break;
            }
            let size = size(&entry.element);
            if *bytes > 0 && *bytes + size > COMMAND_BYTES {
                break;
            }
            if let Some(identity) = self.identity(entry)
                && !identities.insert(comparable(identity))
            {
                break;
            }
            if !packer.takes(size) {
                break;
            }
            // The last check, since it changes the totals.
            if let Some(totals) = &mut totals
                && !totals.take(spec, &entry.rolled)
            {
                break;
            }
            packer.add(size);
            *bytes += size;
            elements.push(entry.element.clone());
        }
        AppendedItems {
            elements,
            totals,
            oversize: packer.pack().oversize,
        }
    }

    /// The id of the bucket after `last`: the next number, or the item's moment with the next free suffix.
    pub(super) fn next_id(
        &self,
        opening_id: Option<&str>,
        last: Option<&str>,
    ) -> Result<String, Kind> {
        let next = match opening_id {
            Some(opening_id) => {
                id::next_suffix(opening_id, last.filter(|last| last.starts_with(opening_id)))
            }
            None => next_number(&self.scope, last),
        };
        let last = || last.unwrap_or_default().to_owned();
        match next {
            Ok(Some(id)) => Ok(id),
            Ok(None) => Err(Kind::IdsExhausted(last())),
            Err(()) => Err(Kind::ForeignId(last())),
        }
    }
}

/// The number after `last`; `Err` if that is not a number, `Ok(None)` if the width is used up.
pub(crate) fn next_number(scope: &KeyScope, last: Option<&str>) -> Result<Option<String>, ()> {
    let next = match last {
        None => 0,
        Some(last) => {
            let text = last.strip_prefix(&scope.prefix).ok_or(())?;
            // A split of a parent puts pages before the first one, with numbers below zero.
            (id::parse_signed(text).ok_or(())? + 1).max(0)
        }
    };
    Ok(id::signed(next).map(|number| scope.id(&number)))
}
