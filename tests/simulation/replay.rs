//! A real server does what the simulated one has done, statement by statement, and each answer is compared.

use std::{
    collections::{HashMap, hash_map::Entry},
    thread,
};

use bucket_runtime::{
    bson::{Bson, Document, doc},
    mongodb::{
        ClientSession, Database,
        error::{Error, ErrorKind},
    },
};
use futures_util::TryStreamExt;

use crate::{
    index::DUPLICATE_KEY,
    scale::scaled,
    schedule::{Keep, Outcome, Simulator},
    store::{Effect, Refusal},
    transaction::is_part,
    world::{Answered, Recorded},
};

#[bucket_testkit::test]
async fn a_real_server_answers_as_the_simulated_one(db: Database) {
    let hello = db.run_command(doc! { "hello": 1 }).await;
    let wire_version = hello.map(|hello| hello.get_i32("maxWireVersion"));
    let keep = Keep::Record(wire_version.expect("an answer").expect("a version"));
    let schedules = scaled(60);
    let recorded = thread::spawn(move || {
        let simulator = Simulator::new();
        Vec::from_iter((0..schedules).map(|seed| simulator.run(seed, None, keep)))
    });
    // Kept until the end: the driver would hand out a session again whose numbers are used.
    let mut sessions = HashMap::new();
    let mut answers = 0;
    for (seed, outcome) in (0..).zip(recorded.join().expect("records")) {
        answers += outcome.record.len();
        replay(&db, &format!("seed {seed}"), outcome, &mut sessions).await;
    }
    println!("{schedules} schedules, {answers} answers");
}

/// The sessions by the schedule and their name in it.
type Sessions = HashMap<(String, String), ClientSession>;

async fn replay(db: &Database, name: &str, outcome: Outcome, sessions: &mut Sessions) {
    for recorded in outcome.record {
        let session = match sessions.entry((name.to_owned(), recorded.session.clone())) {
            Entry::Occupied(session) => session.into_mut(),
            Entry::Vacant(place) => {
                place.insert(db.client().start_session().await.expect("a session"))
            }
        };
        let answer = ask(db, name, &recorded, session).await;
        let (mut answer, mut simulated) = (comparable(answer), comparable(recorded.answer));
        if is_for_any(&recorded.command) {
            count_rows(&mut answer);
            count_rows(&mut simulated);
        }
        assert_eq!(answer, simulated, "{name}: {}", recorded.command);
    }
    let [buckets, parents] = [outcome.documents, outcome.parents];
    for (of, simulated) in [("buckets", buckets), ("parents", parents)] {
        let collection = db.collection::<Document>(&collection(name, of));
        let stored = collection.find(doc! {}).await.expect("a cursor");
        let stored = stored.try_collect().await;
        let stored = comparable(Ok(Answered::Read(stored.expect("documents"))));
        let simulated = comparable(Ok(Answered::Read(simulated)));
        assert_eq!(stored, simulated, "{name}: the {of} at the end");
    }
}

/// The name of a schedule's collection.
fn collection(schedule: &str, of: &str) -> String {
    format!("{schedule}, {of}")
}

/// The real server's answer.
async fn ask(
    db: &Database,
    name: &str,
    recorded: &Recorded,
    session: &mut ClientSession,
) -> Result<Answered, Refusal> {
    let mut command = recorded.command.clone();
    let verb = command.keys().next().cloned().unwrap_or_default();
    if let Ok(of) = command.get_str(&verb) {
        let of = collection(name, of);
        command.insert(verb.clone(), of);
    }
    if let Ok(of) = command.get_str("viewOn") {
        let of = collection(name, of);
        command.insert("viewOn", of);
    }
    let stages = command.get_array_mut("pipeline").into_iter().flatten();
    for lookup in
        stages.filter_map(|stage| stage.as_document_mut()?.get_document_mut("$lookup").ok())
    {
        let from = collection(name, lookup.get_str("from").unwrap_or_default());
        lookup.insert("from", from);
    }
    let reads = ["find", "aggregate"].contains(&&*verb);
    if command.contains_key("txnNumber") && verb != "findAndModify" && !is_part(&command) {
        command.insert("stmtIds", vec![recorded.at as i32]);
    }
    // Nobody rolls back what the simulated server has done.
    command.remove("readConcern");
    match command.get_i64("limit") {
        // The driver sends a negative one so.
        Ok(limit) => drop(command.insert("limit", limit.abs())),
        Err(_) if reads || is_part(&command) => {}
        Err(_) => drop(command.insert("writeConcern", doc! { "w": 1 })),
    }
    if let Ok(indexes) = command.get_array_mut("indexes") {
        let indexes = indexes.iter_mut().filter_map(Bson::as_document_mut);
        indexes.for_each(give_name);
    }
    let db = match verb.ends_with("Transaction") {
        true => db.client().database("admin"),
        false => db.clone(),
    };
    let reply = db.run_command(command).session(session).await;
    let mut reply = reply.map_err(refusal)?;
    let part = |list: &mut Document| match list.remove("writeErrors") {
        Some(Bson::Array(errors)) => errors.first()?.as_document().cloned(),
        _ => None,
    };
    if let Some(error) = part(&mut reply) {
        let text = error.get_str("errmsg").unwrap_or_default();
        return Err((error.get_i32("code").unwrap_or_default(), text.to_owned()));
    }
    Ok(match &*verb {
        "find" | "aggregate" => {
            let rows = reply
                .get_document("cursor")
                .and_then(|cursor| cursor.get_array("firstBatch"));
            let rows = rows.into_iter().flatten();
            Answered::Read(rows.filter_map(|row| row.as_document().cloned()).collect())
        }
        "create" | "createIndexes" | "dropIndexes" | "collMod" | "commitTransaction"
        | "abortTransaction" => Answered::Done,
        _ => {
            let upserted = reply.get_array("upserted").ok().and_then(|all| all.first());
            let upserted = upserted.and_then(|one| one.as_document()?.get("_id").cloned());
            let effect = Effect {
                n: reply.get_i32("n").unwrap_or_default(),
                modified: reply.get_i32("nModified").unwrap_or_default(),
                upserted,
                value: reply.get_document("value").ok().cloned(),
            };
            let mut before = ["retriedStmtIds", "retriedStmtId"].into_iter();
            let was_before = before.any(|name| reply.contains_key(name));
            Answered::Wrote(effect, was_before)
        }
    })
}

/// Names an index by its keys, as the driver does.
fn give_name(index: &mut Document) {
    if let Ok(keys) = index.get_document("key")
        && !index.contains_key("name")
    {
        let parts = keys.iter().map(|(name, order)| format!("{name}_{order}"));
        let name = Vec::from_iter(parts).join("_");
        index.insert("name", name);
    }
}

fn refusal(error: Error) -> Refusal {
    match *error.kind {
        ErrorKind::Command(error) => (error.code, error.message),
        other => panic!("{other}"),
    }
}

/// Whether a read is for any bucket, or any one of some keys: which of them comes first is not said.
fn is_for_any(command: &Document) -> bool {
    let mut stages = command.get_array("pipeline").into_iter().flatten();
    if stages.next() == Some(&doc! { "$limit": 1 }.into()) {
        return true;
    }
    let filter = command.get_document("filter");
    let is_of_several = filter.is_ok_and(|it| it.is_empty() || it.contains_key("$or"));
    is_of_several && command.contains_key("limit") && !command.contains_key("sort")
}

/// Leaves of an answer only how many rows it has.
fn count_rows<E>(answer: &mut Result<Answered, E>) {
    if let Ok(Answered::Read(rows)) = answer {
        rows.fill(Document::new());
    }
}

/// An answer without what may differ: the order of rows, and all of a message but the index that has the key.
fn comparable(answer: Result<Answered, Refusal>) -> Result<Answered, (i32, Option<String>)> {
    let index = |text: String| {
        let name = text.split("index: ").nth(1)?.split(' ').next();
        name.map(str::to_owned)
    };
    let index = |code, text| (code == DUPLICATE_KEY).then(|| index(text)).flatten();
    let answer = answer.map_err(|(code, text)| (code, index(code, text)))?;
    Ok(match answer {
        Answered::Read(mut rows) => {
            rows.sort_by_key(|row| {
                row.get("_id")
                    .map_or_else(|| row.to_string(), Bson::to_string)
            });
            Answered::Read(rows)
        }
        other => other,
    })
}
