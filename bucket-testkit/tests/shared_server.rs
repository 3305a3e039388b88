//! Tests with the attribute: they share a server, and each has its own
//! database, which is gone after a success and stays after a failure.

use std::collections::BTreeSet;
use std::error::Error;
use std::panic;

use bucket_testkit::{__private, Fixture, Server, Test};
use mongodb::bson::{Document, doc};
use mongodb::{Client, Collection, Database};

type Outcome<T = (), E = Box<dyn Error + Send + Sync>> = Result<T, E>;

struct Pets(Collection<Document>);

impl Fixture for Pets {
    async fn set_up(test: &Test) -> Outcome<Self> {
        let pets = Database::set_up(test).await?.collection("pets");
        pets.insert_one(doc! { "_id": "Ada", "legs": 8 }).await?;
        Ok(Self(pets))
    }
}

#[bucket_testkit::test]
async fn a_database_is_empty_and_that_of_the_other_fixtures(
    pets: Pets,
    client: Client,
    db: Database,
) -> Outcome {
    assert_eq!(db.list_collection_names().await?, ["pets"]);
    let pets = client
        .database(db.name())
        .collection::<Document>(pets.0.name());
    assert_eq!(pets.count_documents(doc! {}).await?, 1);
    Ok(())
}

#[bucket_testkit::test]
async fn a_transaction_of_the_client_is_one_of_the_database(
    pets: Pets,
    db: Database,
    client: Client,
) -> Outcome {
    let mut session = client.start_session().await?;
    session.start_transaction().await?;
    for collection in [&pets.0, &db.collection("pets")] {
        let cat = doc! { "legs": 4 };
        collection.insert_one(cat).session(&mut session).await?;
    }
    session.abort_transaction().await?;
    assert_eq!(pets.0.count_documents(doc! {}).await?, 1);
    Ok(())
}

#[bucket_testkit::test]
async fn a_test_may_take_nothing() {}

#[bucket_testkit::test(multi_thread)]
#[should_panic = "as it should"]
async fn a_panic_fails_the_test(db: Database) {
    assert!(db.name().contains("a_panic_fails_the_test"));
    panic!("as it should");
}

#[bucket_testkit::test]
#[should_panic = "no pets"]
async fn an_error_fails_the_test(_db: Database) -> Outcome {
    Err("no pets".into())
}

#[bucket_testkit::test(server = "6.0-standalone")]
async fn a_standalone_belongs_to_no_replica_set(db: Database) -> Outcome {
    let hello = db.run_command(doc! { "hello": 1 }).await?;
    assert!(!hello.contains_key("setName") && hello.get_bool("isWritablePrimary")?);
    Ok(())
}

#[test]
#[should_panic = "`7.5`"]
fn a_server_that_there_is_not_is_named() {
    __private::run("any", Some("7.5"), None, async |_: Database| ());
}

/// The databases whose names hold this text.
async fn databases(name: &str) -> Outcome<BTreeSet<String>> {
    let all = Server::shared()
        .await?
        .client()
        .await?
        .list_database_names()
        .await?;
    Ok(all.into_iter().filter(|db| db.contains(name)).collect())
}

#[test]
fn the_data_of_a_failed_test_stay() {
    let test = |name: &'static str, fails: bool| {
        panic::catch_unwind(|| {
            __private::run(name, None, None, async move |pets: Pets| match fails {
                true => Err(format!("{} is full", pets.0.name())),
                false => Ok(()),
            });
        })
    };
    test("zoo::succeeds", false).unwrap();
    assert!(test("zoo::fails", true).is_err());
    __private::run("zoo::looks", None, None, async |_: Client| {
        assert_eq!(databases("zoo_succeeds").await?.len(), 0);
        assert_eq!(databases("zoo_fails").await?.len(), 1);
        Outcome::<()>::Ok(())
    });
}
