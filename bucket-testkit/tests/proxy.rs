//! What a client meets on a line on which commands and answers get lost.

use std::error::Error;

use bucket_testkit::{Fate, Proxy, Server};
use mongodb::{
    Collection,
    bson::{Document, doc},
};

type Outcome = Result<(), Box<dyn Error>>;

/// A proxy, the pets as it shows them, and as they are.
async fn line(
    server: &Server,
    name: &str,
) -> Result<(Proxy, [Collection<Document>; 2]), Box<dyn Error>> {
    let proxy = Proxy::start(server.uri()).await?;
    let through = proxy.database(name)?.collection("pets");
    let direct = server.database(name).await?.collection::<Document>("pets");
    direct.drop().await?;
    Ok((proxy, [through, direct]))
}

#[bucket_testkit::test]
async fn two_cuts_in_a_row_leave_a_write_in_doubt(server: &Server) -> Outcome {
    let (proxy, [pets, direct]) = line(server, "doubt").await?;
    let cases = [(Fate::CutBefore, false), (Fate::CutAfter, true)];
    for (fate, is_stored) in cases {
        direct.drop().await?;
        proxy.next("insert", [fate, fate]);
        let inserted = pets.insert_one(doc! { "_id": "Ada" }).await;
        assert!(inserted.is_err() && proxy.is_done(), "{fate:?}");
        let stored = direct.count_documents(doc! {}).await?;
        assert_eq!(stored > 0, is_stored, "{fate:?}");

        proxy.next("insert", [fate]);
        pets.insert_one(doc! { "_id": "Bob" }).await?;
        assert_eq!(proxy.met(), 2, "the driver repeats what is cut off once");
    }
    Ok(())
}

#[bucket_testkit::test]
async fn faults_at_random_lose_no_acknowledged_write(server: &Server) -> Outcome {
    let (proxy, [pets, direct]) = line(server, "random").await?;
    proxy.fail_at_random(1, 0.5);
    let mut acknowledged = Vec::new();
    let mut failed = 0;
    for n in 0..20 {
        match pets.insert_one(doc! { "_id": n }).await {
            Ok(_) => acknowledged.push(n),
            Err(_) => failed += 1,
        }
    }
    assert!(failed > 0 && proxy.met() > failed, "{failed} failed");
    for n in acknowledged {
        assert!(direct.find_one(doc! { "_id": n }).await?.is_some(), "{n}");
    }
    proxy.pass();
    pets.insert_one(doc! { "_id": "the last" }).await?;
    Ok(())
}
