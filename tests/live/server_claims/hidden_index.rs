//! Assumptions of a change of the capacity about hidden indexes.

use bucket_runtime::mongodb::{
    Collection, Database,
    bson::{Document, doc},
    error::Error,
    options::Hint,
};

use super::{is_taken, refusal};
use crate::support::database::{Live, documents, wire_version};

const OLD: (&str, i32) = ("bucket_open", 10);
const NEW: (&str, i32) = ("bucket_open_25", 25);

/// The definition of an open index, as `createIndexes` takes it.
fn definition((name, capacity): (&str, i32), hidden: Option<bool>) -> Document {
    let mut index = doc! {
        "key": { "customer": 1, "sealed": 1 },
        "name": name,
        "unique": true,
        "partialFilterExpression": { "count": { "$lt": capacity } },
    };
    if let Some(hidden) = hidden {
        index.insert("hidden", hidden);
    }
    index
}

async fn create(db: &Database, index: (&str, i32), hidden: Option<bool>) -> Result<(), Error> {
    let command = doc! { "createIndexes": "trades", "indexes": [definition(index, hidden)] };
    db.run_command(command).await.map(drop)
}

async fn hide(db: &Database, name: &str, hidden: bool) {
    let index = doc! { "name": name, "hidden": hidden };
    let command = doc! { "collMod": "trades", "index": index };
    db.run_command(command).await.unwrap();
}

/// The open indexes that the server lists: the name and the capacity of each, and whether it is hidden.
async fn listed(db: &Database) -> Vec<(String, i32, bool)> {
    let command = doc! { "listIndexes": "trades" };
    let reply = db.run_command(command).await.unwrap();
    let cursor = reply.get_document("cursor").unwrap();
    let all = cursor.get_array("firstBatch").unwrap().iter();
    let open = all.filter_map(|index| {
        let index = index.as_document().unwrap();
        let filter = index.get_document("partialFilterExpression").ok()?;
        let bound = filter.get_document("count").unwrap();
        Some((
            index.get_str("name").unwrap().to_owned(),
            bound.get_i32("$lt").unwrap(),
            index.get_bool("hidden").unwrap_or(false),
        ))
    });
    open.collect()
}

fn open_bucket(id: &str, count: i32) -> Document {
    doc! { "_id": id, "customer": 1, "count": count }
}

/// An append by the index of this name.
async fn append(
    trades: &Collection<Document>,
    (name, capacity): (&str, i32),
    upsert: bool,
) -> Result<(), Error> {
    let filter =
        doc! { "customer": 1, "sealed": { "$exists": false }, "count": { "$lt": capacity } };
    let change = doc! { "$inc": { "count": 1 } };
    let update = trades.update_one(filter, change).upsert(upsert);
    update.hint(hint(name)).await.map(drop)
}

fn hint(name: &str) -> Hint {
    Hint::Name(name.to_owned())
}

/// Asserts that the index of this name refuses another bucket of the customer.
async fn is_guarded_by(trades: &Collection<Document>, name: &str, count: i32) {
    let another = trades.insert_one(open_bucket("another", count)).await;
    is_taken(&another.unwrap_err(), name);
}

#[bucket_testkit::test]
async fn a_hidden_index_refuses_a_duplicate(db: Live) {
    let trades = db.collection("trades");
    create(&db, OLD, None).await.unwrap();
    trades.insert_one(open_bucket("a", 3)).await.unwrap();
    hide(&db, OLD.0, true).await;
    is_guarded_by(&trades, OLD.0, 0).await;

    // One that was hidden from the start, too.
    trades.drop_index(OLD.0).await.unwrap();
    create(&db, NEW, Some(true)).await.unwrap();
    is_guarded_by(&trades, NEW.0, 0).await;
    // The bound is the new one, and a sealed bucket is not in the way.
    is_guarded_by(&trades, NEW.0, 24).await;
    let seal = doc! { "$set": { "sealed": "a" } };
    trades.update_one(doc! { "_id": "a" }, seal).await.unwrap();
    trades.insert_one(open_bucket("b", 24)).await.unwrap();
}

#[bucket_testkit::test]
async fn a_hint_that_names_a_hidden_index_or_none_is_refused_and_nothing_is_stored(db: Live) {
    let trades = db.collection("trades");
    create(&db, OLD, None).await.unwrap();
    trades.insert_one(open_bucket("a", 3)).await.unwrap();
    append(&trades, OLD, true).await.unwrap();
    let before = documents(&trades).await;
    hide(&db, OLD.0, true).await;
    create(&db, NEW, Some(true)).await.unwrap();

    let says = "hint provided does not correspond to an existing index";
    for index in [OLD, NEW, ("bucket_open_7", 7)] {
        let found = trades.find(doc! { "customer": 1 });
        for error in [
            append(&trades, index, false).await.unwrap_err(),
            append(&trades, index, true).await.unwrap_err(),
            found.hint(hint(index.0)).await.unwrap_err(),
        ] {
            let (code, message) = refusal(&error);
            assert!(code == 2 && message.contains(says), "{error}");
        }
    }
    assert_eq!(documents(&trades).await, before);

    // Once it is shown, the commands that name it work again.
    hide(&db, NEW.0, false).await;
    append(&trades, NEW, true).await.unwrap();
    append(&trades, OLD, true).await.unwrap_err();
}

#[bucket_testkit::test]
async fn two_open_indexes_of_different_capacities_may_exist(db: Live) {
    let trades = db.collection("trades");
    create(&db, OLD, None).await.unwrap();
    hide(&db, OLD.0, true).await;
    // A full bucket of the old capacity and an open one: not unique for the new one, until one is sealed.
    let buckets = [open_bucket("a", 10), open_bucket("b", 3)];
    trades.insert_many(buckets).await.unwrap();
    let error = create(&db, NEW, Some(true)).await.unwrap_err();
    assert_eq!(refusal(&error).0, 11000, "{error}");
    let seal = doc! { "$set": { "sealed": "a" } };
    trades.update_one(doc! { "_id": "a" }, seal).await.unwrap();
    create(&db, NEW, Some(true)).await.unwrap();
    let both = [(OLD, true), (NEW, true)];
    let both = both.map(|((name, capacity), hidden)| (name.to_owned(), capacity, hidden));
    assert_eq!(listed(&db).await, both);

    let of_both = trades.insert_one(open_bucket("c", 0)).await.unwrap_err();
    assert_eq!(refusal(&of_both).0, 11000);
    is_guarded_by(&trades, NEW.0, 15).await;
    // Only the hidden one is left, and guards.
    trades.drop_index(OLD.0).await.unwrap();
    is_guarded_by(&trades, NEW.0, 0).await;
}

/// So a call that goes on after an interrupted one may create the index without looking, if it hides the one that
/// exists before: server 8.2 refuses the same definition, unless both are hidden or both are not.
#[bucket_testkit::test]
async fn creating_an_index_that_exists_changes_nothing(db: Live) {
    let refuses = wire_version().await >= 27;
    for is_hidden in [false, true] {
        db.drop().await.unwrap();
        create(&db, NEW, Some(is_hidden)).await.unwrap();
        let before = listed(&db).await;
        assert_eq!(before, [(NEW.0.to_owned(), NEW.1, is_hidden)]);
        for again in [None, Some(false), Some(true)] {
            let created = create(&db, NEW, again).await;
            let is_same = again.unwrap_or(false) == is_hidden;
            match refuses && !is_same {
                true => assert_eq!(refusal(&created.unwrap_err()).0, 85),
                false => created.unwrap(),
            }
            assert_eq!(listed(&db).await, before, "{again:?}");
        }
        // Hiding a hidden index, or showing one that is not hidden, is not an error on either.
        hide(&db, NEW.0, is_hidden).await;
        assert_eq!(listed(&db).await, before);
    }
    // Another name or another definition is an error.
    for other in [(OLD.0, NEW.1), (NEW.0, 7)] {
        let error = create(&db, other, Some(true)).await.unwrap_err();
        assert!(matches!(refusal(&error).0, 85 | 86), "{error}");
    }
}
