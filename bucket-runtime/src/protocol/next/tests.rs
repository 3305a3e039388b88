use std::{fs, path::Path};

use super::{Answer::*, *};

/// A row: the answer, when the row holds (in words, and as a condition), and what comes next (likewise).
type Row = (
    &'static [Answer],
    &'static str,
    fn(&NewestBucket, Facts) -> bool,
    &'static str,
    fn(Next) -> bool,
);

/// The rows in their order: of an answer the first one that holds counts.
const TABLE: &[Row] = &[
    (&[Stored], "", always, "go on with the next items", |next| {
        next == Next::GoOn
    }),
    (
        &[NoMatch],
        "bytes count, and buckets are not numbered",
        |_, facts| facts.counts_bytes && !facts.is_numbered,
        MUST_READ,
        is_read,
    ),
    (
        &[NoMatch],
        "one item was sent",
        |_, facts| facts.is_single,
        NONE_OPEN,
        is_none_open,
    ),
    (&[NoMatch], "", always, MUST_READ, is_read),
    (
        &[MustNotOpen],
        "the open bucket was known, after the third try",
        |known, facts| matches!(known, NewestBucket::Open { .. }) && facts.tries > 2,
        UNKNOWN,
        is_unknown,
    ),
    (&[MustNotOpen], "", always, MUST_READ, is_read),
    (
        &[IdTaken],
        "one item was sent, with nothing known",
        is_upsert,
        NONE_OPEN,
        is_none_open,
    ),
    (
        &[OtherOpen],
        "the same, not at the second try, and the bucket has bytes left for all that is known",
        |known, facts| {
            is_upsert(known, facts)
                && facts.tries != 2
                && !(facts.counts_bytes && (facts.is_large || facts.tries % 2 == 0))
        },
        UNKNOWN,
        is_unknown,
    ),
    (
        &[IdTaken, OtherOpen],
        "after the third try, something was known or several items were sent, and bytes do not count",
        |known, facts| facts.tries > 2 && !is_upsert(known, facts) && !facts.counts_bytes,
        UNKNOWN,
        is_unknown,
    ),
    (&[IdTaken, OtherOpen], "", always, MUST_READ, is_read),
    (
        &[ItemThere],
        "a field is `unique`",
        |_, facts| facts.is_unique,
        "look up which items are there, and read the open bucket",
        is_read,
    ),
    (
        &[ItemThere, Refused],
        "",
        always,
        "stop with an error",
        |next| next == Next::Stop,
    ),
    (
        &[NoIndex],
        "",
        always,
        "wait for the index, and send the items again",
        |next| next == Next::AwaitIndex,
    ),
];

const UNKNOWN: &str = "send the items again, with nothing known";
const MUST_READ: &str = "read the open bucket, and send the items again";
const NONE_OPEN: &str = "read the last id, and open a bucket with the next one";

fn always(_: &NewestBucket, _: Facts) -> bool {
    true
}

fn is_upsert(known: &NewestBucket, facts: Facts) -> bool {
    *known == NewestBucket::Unknown && facts.is_single
}

fn is_unknown(next: Next) -> bool {
    next == Next::SendAgain(NewestBucket::Unknown)
}

fn is_read(next: Next) -> bool {
    next == Next::SendAgain(NewestBucket::MustRead)
}

fn is_none_open(next: Next) -> bool {
    next == Next::SendAgain(NewestBucket::NoneOpen)
}

fn name(answer: Answer) -> &'static str {
    match answer {
        Stored => "stored",
        NoMatch => "no bucket matches",
        MustNotOpen => "refused, since it must not open a bucket (the impossible id)",
        IdTaken => "E11000 on `_id_`",
        OtherOpen => "E11000 on `bucket_open`",
        ItemThere => "E11000 on `bucket_unique`",
        NoIndex => "the index is missing",
        Refused => "another error",
    }
}

fn all_facts() -> impl Iterator<Item = Facts> {
    (0..5 * 32).map(|n: u32| Facts {
        tries: n / 32 + 1,
        is_single: n & 1 > 0,
        counts_bytes: n & 2 > 0,
        is_large: n & 4 > 0,
        is_numbered: n & 8 > 0,
        is_unique: n & 16 > 0,
    })
}

#[test]
fn the_table_holds_for_all_that_can_be_known() {
    let open = NewestBucket::Open {
        id: "1".to_owned(),
        room: 1,
        oversize: 0,
    };
    let closed = NewestBucket::Closed { last: None };
    let (unknown, read, none) = (
        NewestBucket::Unknown,
        NewestBucket::MustRead,
        NewestBucket::NoneOpen,
    );
    for known in [unknown, read, none, open, closed] {
        for facts in all_facts() {
            for answer in [
                Stored,
                NoMatch,
                MustNotOpen,
                IdTaken,
                OtherOpen,
                ItemThere,
                NoIndex,
                Refused,
            ] {
                let mut rows = TABLE.iter();
                let row = rows.find(|(answers, _, when, ..)| {
                    answers.contains(&answer) && when(&known, facts)
                });
                let (_, when, _, then, is_next) = row.expect("a row for each answer");
                let found = next(&known, answer, facts);
                assert!(
                    is_next(found.clone()),
                    "{answer:?}, {when}: {then}, and not {found:?} ({known:?}, {facts:?})"
                );
            }
        }
    }
}

/// A published crate comes without that file.
#[test]
fn the_table_stands_in_the_architecture() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ARCHITECTURE.md");
    let Ok(text) = fs::read_to_string(path) else {
        return;
    };
    let rows = TABLE.iter().map(|(answers, when, _, then, _)| {
        let answers: Vec<_> = answers.iter().map(|answer| name(*answer)).collect();
        format!("| {} | {when} | {then} |\n", answers.join("; ")).replace("|  |", "| |")
    });
    let table: String = rows.collect();
    assert!(
        text.contains(&table),
        "ARCHITECTURE.md has to contain\n{table}"
    );
}
