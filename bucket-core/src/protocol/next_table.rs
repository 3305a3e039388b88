//! The table of [`next`] in words and as conditions: a test walks it, and the docs of the module
//! show it.

use super::next_step::{Answer, Answer::*, Facts, Known, Next, next};

/// A row: the answer, when the row holds (in words, and as a condition), and what comes next
/// (likewise).
type Row = (
    &'static [Answer],
    &'static str,
    fn(Facts) -> bool,
    &'static str,
    Next,
);

/// The rows in their order: of an answer the first one that holds counts.
const TABLE: &[Row] = &[
    (
        &[Stored],
        "",
        always,
        "go on with the next items",
        Next::GoOn,
    ),
    (
        &[NoMatch],
        "buckets are not numbered",
        |facts| !facts.is_numbered,
        MUST_READ,
        Next::ReadNewest,
    ),
    (
        &[NoMatch],
        "one item was sent",
        |facts| facts.is_single,
        NONE_OPEN,
        Next::ReadLast,
    ),
    (&[NoMatch], "", always, MUST_READ, Next::ReadNewest),
    (
        &[MustNotOpen],
        "the open bucket was known, after the third try",
        |facts| facts.known == Known::OpenBucket && facts.tries > 2,
        UNKNOWN,
        Next::SendAgain,
    ),
    (
        &[MustNotOpen],
        "the open bucket was known, and buckets are numbered",
        |facts| facts.known == Known::OpenBucket && facts.is_numbered,
        NONE_OPEN,
        Next::ReadLast,
    ),
    (
        &[MustNotOpen],
        "the open bucket was known, and one item was sent, which takes no more than its share of the bytes",
        |facts| facts.known == Known::OpenBucket && facts.is_single && !facts.is_large,
        UNKNOWN,
        Next::SendAgain,
    ),
    (&[MustNotOpen], "", always, MUST_READ, Next::ReadNewest),
    (
        &[IdTaken],
        "one item was sent, with nothing known",
        is_upsert,
        NONE_OPEN,
        Next::ReadLast,
    ),
    (
        &[OtherOpen],
        "for the second time since the newest bucket was read",
        |facts| facts.has_lost,
        MUST_READ,
        Next::ReadNewest,
    ),
    (
        &[OtherOpen],
        "one item was sent, with nothing known, and the bucket has bytes left for all that is known",
        |facts| {
            is_upsert(facts) && !(facts.counts_bytes && (facts.is_large || facts.tries % 2 == 0))
        },
        UNKNOWN,
        Next::SendAgain,
    ),
    (
        &[IdTaken, OtherOpen],
        "after the third try, something was known or several items were sent, and bytes do not count",
        |facts| facts.tries > 2 && !is_upsert(facts) && !facts.counts_bytes,
        UNKNOWN,
        Next::SendAgain,
    ),
    (
        &[IdTaken, OtherOpen],
        "",
        always,
        MUST_READ,
        Next::ReadNewest,
    ),
    (
        &[ItemThere],
        "a field is `unique`",
        |facts| facts.is_unique,
        "look up which items are there, and read the newest bucket",
        Next::ReadNewest,
    ),
    (
        &[ItemThere, Refused],
        "",
        always,
        "stop with an error",
        Next::Stop,
    ),
    (&[BrokenOff], "", always, UNKNOWN, Next::SendAgain),
];

const UNKNOWN: &str = "send the items again, with nothing known";
const MUST_READ: &str = "read the newest bucket, and send the items again";
const NONE_OPEN: &str = "read the last id, and open a bucket with the next one";

fn always(_: Facts) -> bool {
    true
}

fn is_upsert(facts: Facts) -> bool {
    facts.known == Known::Nothing && facts.is_single
}

fn name(answer: Answer) -> &'static str {
    match answer {
        Stored => "stored",
        NoMatch => "no bucket matches",
        MustNotOpen => "refused, since it must not open a bucket (the impossible id)",
        IdTaken => "E11000 on `_id_`",
        OtherOpen => "E11000 on `bucket_open`",
        ItemThere => "E11000 on `bucket_unique`",
        BrokenOff => "ended with its plan",
        Refused => "another error",
    }
}

fn all_facts() -> impl Iterator<Item = Facts> {
    let known = [Known::Nothing, Known::OpenBucket, Known::Other];
    known.into_iter().flat_map(|known| {
        (0..5 * 64).map(move |n: u32| Facts {
            known,
            tries: n / 64 + 1,
            is_single: n & 1 > 0,
            counts_bytes: n & 2 > 0,
            is_large: n & 4 > 0,
            is_numbered: n & 8 > 0,
            is_unique: n & 16 > 0,
            has_lost: n & 32 > 0,
        })
    })
}

#[test]
fn the_table_holds_for_all_that_can_be_known() {
    let answers = [
        Stored,
        NoMatch,
        MustNotOpen,
        IdTaken,
        OtherOpen,
        ItemThere,
        BrokenOff,
        Refused,
    ];
    for (facts, answer) in all_facts().flat_map(|facts| answers.map(|answer| (facts, answer))) {
        let mut rows = TABLE.iter();
        let row = rows.find(|(answers, _, when, ..)| answers.contains(&answer) && when(facts));
        let (_, when, _, then, expected) = row.expect("a row for each answer");
        let found = next(answer, facts);
        assert_eq!(found, *expected, "{answer:?}, {when}: {then} ({facts:?})");
    }
}

#[test]
fn the_table_stands_in_the_docs_of_the_module() {
    let rows = TABLE.iter().map(|(answers, when, _, then, _)| {
        let answers: Vec<_> = answers.iter().map(|answer| name(*answer)).collect();
        format!("//! | {} | {when} | {then} |\n", answers.join("; ")).replace("|  |", "| |")
    });
    let table: String = rows.collect();
    let text = include_str!("next_step.rs");
    assert!(
        text.contains(&table),
        "next_step.rs has to contain\n{table}"
    );
}
