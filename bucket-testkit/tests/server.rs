//! A started server: what it can do, and how it ends.

use std::error::Error;

use bucket_testkit::Server;
use mongodb::Client;
use mongodb::bson::{Document, doc};

type Outcome = Result<(), Box<dyn Error>>;

#[tokio::test]
async fn two_servers_at_the_same_time_are_two() -> Outcome {
    let (one, other) = tokio::try_join!(Server::start(), Server::start())?;
    assert_eq!(one.is_throw_away(), other.is_throw_away());
    assert_eq!(one.uri() != other.uri(), one.is_throw_away());
    for server in [one, other] {
        let pong = server.database("admin").await?;
        pong.run_command(doc! { "ping": 1 }).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_transaction_takes_effect_as_a_whole() -> Outcome {
    let server = Server::start().await?;
    let client = server.client().await?;
    let pets = client
        .database("testkit_transaction")
        .collection::<Document>("pets");
    pets.drop().await?;
    let mut session = client.start_session().await?;

    session.start_transaction().await?;
    pets.insert_one(doc! { "_id": 1 })
        .session(&mut session)
        .await?;
    session.abort_transaction().await?;
    assert_eq!(pets.count_documents(doc! {}).await?, 0);

    session.start_transaction().await?;
    pets.insert_many([doc! { "_id": 1 }, doc! { "_id": 2 }])
        .session(&mut session)
        .await?;
    session.commit_transaction().await?;
    assert_eq!(pets.count_documents(doc! {}).await?, 2);
    Ok(())
}

#[tokio::test]
async fn an_option_reaches_mongod() -> Outcome {
    let server = Server::start_with(&["--wiredTigerCacheSizeGB", "0.3"]).await?;
    let client = match server.cluster() {
        // A mongos has no cache.
        Some(cluster) => cluster.shards()[0].client().await?,
        None => server.client().await?,
    };
    if server.is_throw_away() {
        assert_eq!(cache_gb(&client).await?, 0.3);
    }
    Ok(())
}

#[tokio::test]
async fn an_unknown_option_is_reported_with_the_words_of_mongod() -> Outcome {
    match Server::start_with(&["--noSuchOption"]).await {
        Ok(server) => assert!(!server.is_throw_away()),
        Err(error) => assert!(error.to_string().contains("noSuchOption"), "{error}"),
    }
    Ok(())
}

async fn cache_gb(client: &Client) -> Result<f64, Box<dyn Error>> {
    let admin = client.database("admin");
    let options = admin.run_command(doc! { "getCmdLineOpts": 1 }).await?;
    let engine = options
        .get_document("parsed")?
        .get_document("storage")?
        .get_document("wiredTiger")?
        .get_document("engineConfig")?;
    Ok(engine.get_f64("cacheSizeGB")?)
}
