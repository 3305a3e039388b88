//! The next step of a writer after the server's answer to a statement: a table, as a function.
//!
//! `tests/model` includes this file, so that it searches the decisions that the engine takes. Hence
//! nothing here names another module.

/// The writer's knowledge of the key's newest bucket when it sent the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    Nothing,
    /// A bucket was open, and the statement was for that one.
    OpenBucket,
    /// Something else, such as the last id.
    Other,
}

/// The server's answer to a statement that appends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Answer {
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
    /// The index that the statement names does not exist, and nothing was stored.
    NoIndex,
    /// Anything else.
    Refused,
}

/// The facts, besides the answer, that the next step depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) known: Known,
    /// Whether the statement carried one item.
    pub(crate) is_single: bool,
    /// How often the batch was sent since it last made progress.
    pub(crate) tries: u32,
    /// Whether buckets of the key can run out of bytes.
    pub(crate) counts_bytes: bool,
    /// Whether the item takes more than its share of the bytes.
    pub(crate) is_large: bool,
    /// Whether the key's buckets are numbered, so that the open one is the last one.
    pub(crate) is_numbered: bool,
    /// Whether a field is `unique`.
    pub(crate) is_unique: bool,
    /// Whether another open bucket has refused the items before, and was not looked for since.
    pub(crate) has_lost: bool,
}

/// The writer's next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Continues after the stored items.
    GoOn,
    /// Sends the items again, with nothing known.
    SendAgain,
    /// Reads the newest bucket, and sends the items again.
    ReadNewest,
    /// Reads the last id, and opens a bucket with the next one.
    ReadLast,
    /// Waits for the index, and sends the items again.
    AwaitIndex,
    /// Gives up: the items are refused, or in doubt.
    Stop,
}

/// After the third try, other writers are faster: what was read is out of date before it is used, and a
/// single item that any open bucket takes has the best chance.
pub(crate) fn is_contended(tries: u32) -> bool {
    tries > 2
}

/// A bucket that one large item fills has no room for small items either, so every other try reads how
/// much room is left.
fn is_turn_to_read(tries: u32) -> bool {
    tries.is_multiple_of(2)
}

/// The next step. ARCHITECTURE.md has it as a table.
pub(crate) fn next(answer: Answer, facts: Facts) -> Next {
    let contended = is_contended(facts.tries);
    // The statement that opens a bucket, or joins the open one.
    let upsert = facts.known == Known::Nothing && facts.is_single;
    let may_lack_bytes = facts.counts_bytes && (is_turn_to_read(facts.tries) || facts.is_large);
    match answer {
        Answer::Stored => Next::GoOn,
        Answer::NoIndex => Next::AwaitIndex,
        Answer::Refused => Next::Stop,
        Answer::ItemThere if !facts.is_unique => Next::Stop,
        Answer::ItemThere => Next::ReadNewest,
        Answer::MustNotOpen if contended && facts.known == Known::OpenBucket => Next::SendAgain,
        // Numbered buckets are opened in order, so one read shows the open bucket or the next number.
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
        // With a time ordinal, the open bucket need not be the last one of the item's moment.
        Answer::NoMatch if facts.counts_bytes && !facts.is_numbered => Next::ReadNewest,
        Answer::NoMatch if facts.is_single => Next::ReadLast,
        Answer::NoMatch => Next::ReadNewest,
        // A full or sealed bucket of the same moment.
        Answer::IdTaken if upsert => Next::ReadLast,
        // It may not be a race, but a bucket with a foreign id, or a ring.
        Answer::OtherOpen if facts.has_lost => Next::ReadNewest,
        // Another writer was faster: its bucket is there now, and the same statement joins it.
        Answer::OtherOpen if upsert && !may_lack_bytes => Next::SendAgain,
        Answer::IdTaken | Answer::OtherOpen if upsert || facts.counts_bytes || !contended => {
            Next::ReadNewest
        }
        Answer::IdTaken | Answer::OtherOpen => Next::SendAgain,
    }
}
