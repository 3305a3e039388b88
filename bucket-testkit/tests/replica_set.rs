//! Members that are killed, paused and restarted.

use std::error::Error;

use bucket_testkit::ReplicaSet;
use mongodb::bson::{Document, doc};
use mongodb::options::WriteConcern;

type Outcome = Result<(), Box<dyn Error>>;

#[tokio::test]
async fn another_primary_is_elected_and_the_killed_member_returns() -> Outcome {
    let set = ReplicaSet::start(3).await?;
    let client = set.client().await?;
    let pets = client.database("zoo").collection::<Document>("pets");
    pets.insert_one(doc! { "_id": "before" })
        .write_concern(WriteConcern::majority())
        .await?;

    let old = set.primary().await?;
    old.kill().await?;
    assert_eq!(old.pid(), None);
    assert!(old.pause().is_err());

    let new = set.primary().await?;
    assert_ne!(new.address(), old.address());
    pets.insert_one(doc! { "_id": "after" })
        .write_concern(WriteConcern::majority())
        .await?;
    assert_eq!(pets.count_documents(doc! {}).await?, 2);

    let address = old.address().to_owned();
    old.restart().await?;
    assert!(old.pid().is_some());
    assert_eq!(old.address(), address);
    let everywhere = WriteConcern::builder()
        .w(mongodb::options::Acknowledgment::Nodes(3))
        .build();
    pets.insert_one(doc! { "_id": "everywhere" })
        .write_concern(everywhere)
        .await?;
    Ok(())
}

#[tokio::test]
async fn a_paused_primary_is_replaced_and_follows_once_resumed() -> Outcome {
    let set = ReplicaSet::start(3).await?;
    let old = set.primary().await?;
    let pid = old.pid();
    old.pause()?;
    // Until the others hold an election they may still name the paused member,
    // but it does not answer, so it cannot be the result.
    let new = set.primary().await?;
    assert_ne!(new.address(), old.address());
    old.resume()?;
    assert_eq!(old.pid(), pid);
    Ok(())
}

#[tokio::test]
async fn members_listen_on_loopback_alone() -> Outcome {
    let set = ReplicaSet::start(1).await?;
    let admin = set.client().await?.database("admin");
    let options = admin.run_command(doc! { "getCmdLineOpts": 1 }).await?;
    let net = options.get_document("parsed")?.get_document("net")?;
    assert_eq!(net.get_str("bindIp")?, "127.0.0.1");
    Ok(())
}

#[tokio::test]
async fn a_set_without_members_is_refused() {
    let error = ReplicaSet::start(0).await.err().map(|e| e.to_string());
    assert!(error.is_some_and(|text| text.contains("1 to 7")));
}
