//! The next step of a writer after the server's answer to a statement: a table, as a function.
//!
//! `tests/model` includes this file, so that it searches the decisions that the engine takes. Hence
//! nothing here names another module.
//!
//! The index `bucket_open`, `{ key…, sealed: 1 }`, is unique and partial (`count < capacity`): it
//! holds one entry per open bucket and one per sealed one. An append is one upsert with this index
//! as its hint. It finds the open bucket in one step, whatever the length of the history, or
//! inserts a new one; if another writer has inserted one meanwhile, the server refuses with E11000.
//! Every command is complete in itself, so a dropped future never leaves a half-done step.
//!
//! The first row that holds decides (a pure function, whose test walks this table). E11000 on
//! `bucket_open` means that another writer opened the bucket first; E11000 on `_id_`, that a full
//! or sealed bucket of the same moment has the id.
//!
//! | the server's answer | when | next |
//! | --- | --- | --- |
//! | stored | | go on with the next items |
//! | no bucket matches | buckets are not numbered | read the newest bucket, and send the items again |
//! | no bucket matches | one item was sent | read the last id, and open a bucket with the next one |
//! | no bucket matches | | read the newest bucket, and send the items again |
//! | refused, since it must not open a bucket (the impossible id) | the open bucket was known, after the third try | send the items again, with nothing known |
//! | refused, since it must not open a bucket (the impossible id) | the open bucket was known, and buckets are numbered | read the last id, and open a bucket with the next one |
//! | refused, since it must not open a bucket (the impossible id) | the open bucket was known, and one item was sent, which takes no more than its share of the bytes | send the items again, with nothing known |
//! | refused, since it must not open a bucket (the impossible id) | | read the newest bucket, and send the items again |
//! | E11000 on `_id_` | one item was sent, with nothing known | read the last id, and open a bucket with the next one |
//! | E11000 on `bucket_open` | for the second time since the newest bucket was read | read the newest bucket, and send the items again |
//! | E11000 on `bucket_open` | one item was sent, with nothing known, and the bucket has bytes left for all that is known | send the items again, with nothing known |
//! | E11000 on `_id_`; E11000 on `bucket_open` | after the third try, something was known or several items were sent, and bytes do not count | send the items again, with nothing known |
//! | E11000 on `_id_`; E11000 on `bucket_open` | | read the newest bucket, and send the items again |
//! | E11000 on `bucket_unique` | a field is `unique` | look up which items are there, and read the newest bucket |
//! | E11000 on `bucket_unique`; another error | | stop with an error |
//! | ended with its plan | | send the items again, with nothing known |
//!
//! After the third try, whatever a writer reads is out of date before it can use it, and one item
//! that any open bucket takes has the best chance. With a time, the newest bucket is read as the
//! key's last one, which passes no index entries of full buckets. A writer that has lost a race for
//! opening a bucket searches for the open one, since that may be an earlier one, have a foreign id,
//! or be empty, and then it is sealed. Where bytes count, every other try reads, since the open
//! bucket may lack room. Before a further try a writer pauses for a random share of its last round
//! trip: where that was slow, the bucket that won takes as long to fill.
//!
//! With `{#}` the writer must know the number: it sends an update, and only if no bucket is open,
//! it reads the last bucket. If another writer has opened that one meanwhile, the item goes there;
//! otherwise the writer sends an upsert with exactly the next number. A transaction, which an
//! E11000 would abort, goes the same way. An update of a known bucket sets an impossible `_id` on
//! insert (`append_to_id_or_be_refused`), so that a bucket that has expired or been rewritten does
//! not come back under its old id.

/// The writer's knowledge of the key's newest bucket when it sent the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    Nothing,
    /// A bucket was open, and the statement was for that one.
    OpenBucket,
    /// Something else, such as the last id.
    Other,
}

/// The server's answer to a statement that appends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The items are stored.
    Stored,
    /// No bucket matched: none is open, or the open one has too little room.
    NoMatch,
    /// The statement must not open a bucket, and would have had to.
    MustNotOpen,
    /// Another bucket has the id.
    IdTaken,
    /// Another bucket of the key is open.
    OtherOpen,
    /// Another bucket holds an item with the same `unique` value.
    ItemThere,
    /// The server has ended the statement with its plan, before it has changed anything: another
    /// index was dropped, say.
    BrokenOff,
    /// Anything else.
    Refused,
}

/// The facts, besides the answer, that the next step depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    pub known: Known,
    /// Whether the statement carried one item.
    pub is_single: bool,
    /// How often the batch was sent since it last made progress.
    pub tries: u32,
    /// Whether buckets of the key can run out of bytes.
    pub counts_bytes: bool,
    /// Whether the item takes more than its share of the bytes.
    pub is_large: bool,
    /// Whether the key's buckets are numbered, so that the open one is the last one.
    pub is_numbered: bool,
    /// Whether a field is `unique`.
    pub is_unique: bool,
    /// Whether another open bucket has refused the items before, and was not looked for since.
    pub has_lost: bool,
}

/// The writer's next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Continues after the stored items.
    GoOn,
    /// Sends the items again, with nothing known.
    SendAgain,
    /// Reads the newest bucket, and sends the items again.
    ReadNewest,
    /// Reads the last id, and opens a bucket with the next one.
    ReadLast,
    /// Gives up: the items are refused, or in doubt.
    Stop,
}

/// After the third try, other writers are faster: what was read is out of date before it is used,
/// and a single item that any open bucket takes has the best chance.
pub fn is_contended(tries: u32) -> bool {
    tries > 2
}

/// A bucket that one large item fills has no room for small items either, so every other try reads
/// how much room is left.
fn is_turn_to_read(tries: u32) -> bool {
    tries.is_multiple_of(2)
}

/// The next step; the table above, as a function.
pub fn next(answer: Answer, facts: Facts) -> Next {
    let contended = is_contended(facts.tries);
    // The statement that opens a bucket, or joins the open one.
    let upsert = facts.known == Known::Nothing && facts.is_single;
    let may_lack_bytes = facts.counts_bytes && (is_turn_to_read(facts.tries) || facts.is_large);
    match answer {
        Answer::Stored => Next::GoOn,
        Answer::BrokenOff => Next::SendAgain,
        Answer::Refused => Next::Stop,
        Answer::ItemThere if !facts.is_unique => Next::Stop,
        Answer::ItemThere => Next::ReadNewest,
        Answer::MustNotOpen if contended && facts.known == Known::OpenBucket => Next::SendAgain,
        // Numbered buckets are opened in order, so one read shows the open bucket or the next
        // number.
        Answer::MustNotOpen if facts.known == Known::OpenBucket && facts.is_numbered => {
            Next::ReadLast
        }
        // The statement that opens a bucket also joins the one that another writer has opened.
        Answer::MustNotOpen
            if facts.known == Known::OpenBucket && facts.is_single && !facts.is_large =>
        {
            Next::SendAgain
        }
        Answer::MustNotOpen => Next::ReadNewest,
        // With a time ordinal, the open bucket need not be the last one of the item's moment. It
        // may be empty, or lack bytes.
        Answer::NoMatch if !facts.is_numbered => Next::ReadNewest,
        Answer::NoMatch if facts.is_single => Next::ReadLast,
        Answer::NoMatch => Next::ReadNewest,
        // A full or sealed bucket of the same moment.
        Answer::IdTaken if upsert => Next::ReadLast,
        // It may not be a race, but a bucket with a foreign id.
        Answer::OtherOpen if facts.has_lost => Next::ReadNewest,
        // Another writer was faster: its bucket is there now, and the same statement joins it.
        Answer::OtherOpen if upsert && !may_lack_bytes => Next::SendAgain,
        Answer::IdTaken | Answer::OtherOpen if upsert || facts.counts_bytes || !contended => {
            Next::ReadNewest
        }
        Answer::IdTaken | Answer::OtherOpen => Next::SendAgain,
    }
}
