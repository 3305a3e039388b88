//! The example in the crate's documentation, which a doctest compiles only in
//! part: tests that share a server.

use bucket_testkit::{Error, Server};
use mongodb::Database;
use mongodb::bson::{Document, doc};
use tokio::sync::OnceCell;

async fn database(name: &str) -> Result<Database, Error> {
    static SERVER: OnceCell<Server> = OnceCell::const_new();
    SERVER
        .get_or_try_init(Server::start)
        .await?
        .database(name)
        .await
}

#[tokio::test]
async fn a_pet_is_found_again() -> Result<(), Box<dyn std::error::Error>> {
    let pets = database("testkit_shared_1")
        .await?
        .collection::<Document>("pets");
    pets.drop().await?;
    pets.insert_one(doc! { "_id": "Ada", "legs": 8 }).await?;
    let ada = pets.find_one(doc! { "_id": "Ada" }).await?;
    assert!(ada.is_some());
    Ok(())
}

#[tokio::test]
async fn another_test_has_another_database() -> Result<(), Box<dyn std::error::Error>> {
    let pets = database("testkit_shared_2")
        .await?
        .collection::<Document>("pets");
    assert_eq!(pets.count_documents(doc! {}).await?, 0);
    Ok(())
}
