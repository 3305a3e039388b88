//! A standalone server, which has no retryable writes: everything works, nothing is repeated, and an
//! append that was cut off is reported as maybe stored.

use bucket_ops::{Ops, OutlierOps};
use bucket_runtime::{
    Bucket, Buckets, Error, Outlier,
    mongodb::{Client, bson::Document, error::Error as DriverError, options::ClientOptions},
};
use bucket_testkit::{
    Fate::{self, CutAfter, CutBefore},
    Proxy, Server,
};

use crate::{
    append::combine::support::{
        Mark, NOON, Numbered10, Seconds10, assert_stored, at_rest, together,
    },
    support::{
        assert_refused, assert_sound,
        database::{fresh, listening},
        ops,
        zoo::ticks::{self, Seconds3, Tick},
    },
};

#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, bucket_runtime::Outlier)]
#[outlier(collection = "albums", reference = "album", threshold = 5)]
struct Album {
    _id: i64,
    #[outlier(items)]
    listeners: Vec<i64>,
}

fn items<T: Mark>(keys: i64, first: i64) -> impl Iterator<Item = T> {
    (first..first + 100).map(move |n| T::new(n % keys, n).at(NOON + n * 1000))
}

async fn works<T: Mark>(uri: &str) {
    let (options, record) = listening(ClientOptions::parse(uri).await.unwrap());
    let client = Client::with_options(options).unwrap();
    let marks = fresh::<T>(&client.database("standalone")).await;
    let mut all = Vec::new();
    for (first, keys) in [(0, 1), (100, 100), (200, 7)] {
        for result in together(&marks, items::<T>(keys, first)).await {
            result.unwrap();
        }
        all.extend((first..first + 100).map(|n| (n % keys, n)));
    }
    marks.append_many(items::<T>(7, 300)).await.unwrap();
    all.extend((300..400).map(|n| (n % 7, n)));
    assert_stored(&marks, all).await;
    let numbered = |command: &Document| command.contains_key("txnNumber");
    assert!(!record.take().iter().any(numbered));
}

/// Cuts both kinds of combined appends, and a load.
async fn cut<T: Mark>(uri: &str, fate: Fate) {
    let proxy = Proxy::start(uri).await.unwrap();
    let marks: Buckets<T> = fresh(&proxy.database("standalone").unwrap()).await;
    let mut expected = Vec::new();
    for (first, keys) in [(0, 1), (100, 100)] {
        proxy.next("$push", [fate]);
        let mut in_doubt = Vec::new();
        for (n, result) in (first..).zip(together(&marks, items::<T>(keys, first)).await) {
            match result {
                Ok(_) => expected.push((n % keys, n)),
                Err(error) => {
                    assert!(error.is_maybe_stored(), "{error}");
                    in_doubt.push(n);
                }
            }
        }
        assert!(proxy.is_done());
        assert!(!in_doubt.is_empty(), "no append is in doubt");
        let found: Vec<_> = at_rest(&marks).await.into_values().flatten().collect();
        in_doubt.retain(|n| found.contains(n));
        assert!(fate == CutAfter || in_doubt.is_empty());
        expected.extend(in_doubt.iter().map(|n| (n % keys, *n)));
        assert_stored(&marks, expected.iter().copied()).await;
    }
    proxy.next("insert", [fate]);
    let error = marks.append_many(items::<T>(3, 1000)).await.unwrap_err();
    assert_eq!(error.stored() as usize + error.failed().len(), 100);
    let of = |is_doubt: bool| {
        let failed = error.failed().iter();
        let failed = failed.filter(|failed| failed.error.is_maybe_stored() == is_doubt);
        Vec::from_iter(failed.map(|failed| failed.item.n()))
    };
    let (in_doubt, refused) = (of(true), of(false));
    assert!(!in_doubt.is_empty(), "no item is in doubt");
    let found: Vec<_> = at_rest(&marks).await.into_values().flatten().collect();
    let is_there = |n: &i64| !refused.contains(n) && (!in_doubt.contains(n) || found.contains(n));
    expected.extend((1000..1100).filter(is_there).map(|n| (n % 3, n)));
    assert_stored(&marks, expected).await;
}

/// It needs no transaction.
#[bucket_testkit::test(server = "6.0-standalone")]
async fn the_capacity_changes_on_a_standalone_server(standalone: &'static Server) {
    let db = standalone.database("capacity").await.unwrap();
    let old = fresh::<Seconds3>(&db).await;
    for n in 0..4 {
        old.append(&Seconds3::new(1, n)).await.unwrap();
    }
    let change = Ops::<ticks::Seconds10>::of(&db).change_capacity();
    change.await.unwrap();
    let error = old.append(&Seconds3::new(1, 4)).await.unwrap_err();
    assert_refused(&error, Error::is_index_missing);
    let new = ticks::Seconds10::buckets(&db).await.unwrap();
    for n in 4..24 {
        new.append(&Tick::new(1, n)).await.unwrap();
    }
    assert_sound(&new).await;
    let items = crate::support::database::items(&new, &1).await;
    assert!(items.iter().map(Tick::n).eq(0..24));
}

/// The calls that need transactions or change streams refuse before they send anything.
#[bucket_testkit::test(server = "6.0-standalone")]
async fn what_needs_a_replica_set_says_so_and_sends_nothing(standalone: &'static Server) {
    let (options, record) = listening(ClientOptions::parse(standalone.uri()).await.unwrap());
    let db = Client::with_options(options).unwrap().database("needs");
    let marks = fresh::<Seconds10>(&db).await;
    let albums = Album::outliers(&db).await.unwrap();
    let flat = db.collection::<Document>("flat");
    record.take();
    let refused = [
        ops(&marks).import_flat(&flat).await.err(),
        ops(&marks).import_flat(&flat).dry_run(true).await.err(),
        marks.watch(&1).await.err(),
        marks.watch_all().await.err(),
        albums.watch(&1).await.err(),
        albums.watch_all().await.err(),
        OutlierOps::<Album>::of(&db).repair().await.err(),
        Seconds10::create_collection(&db).sharded().await.err(),
    ];
    for error in refused {
        let error = error.expect("it was not refused");
        assert_refused(&error, Error::is_unsupported);
    }
    let sent = record.names();
    assert!(sent.iter().all(|name| name == "hello"), "{sent:?}");
}

/// Whatever a caller does in a transaction, the text says what to do, also where the driver's `and_run` hands it on.
#[bucket_testkit::test(server = "6.0-standalone")]
async fn a_transaction_is_refused_with_advice_that_helps(standalone: &'static Server) {
    let client = Client::with_uri_str(standalone.uri()).await.unwrap();
    let db = client.database("transactions");
    let marks = fresh::<Seconds10>(&db).await;
    let albums = Album::outliers(&db).await.unwrap();
    let mut session = client.start_session().await.unwrap();
    let mark = Seconds10::new(1, 1).at(NOON);
    let load = marks.append_many([mark.clone()]).session(&mut session);
    let mut refused = vec![load.await.unwrap_err().failed()[0].error.clone()];
    for call in 0..4 {
        session.start_transaction().await.unwrap();
        let session = &mut session;
        let called = match call {
            0 => marks.append(&mark).session(&mut *session).await.map(drop),
            1 => marks.count(&1).session(&mut *session).await.map(drop),
            2 => albums.push(&1, 5).session(&mut *session).await.map(drop),
            _ => albums.get(&1).session(&mut *session).await.map(drop),
        };
        refused.push(called.unwrap_err());
        let _ = session.abort_transaction().await;
    }
    for error in refused {
        assert_refused(&error, Error::is_unsupported);
        assert!(error.to_string().contains("--replSet"), "{error}");
        for text in [error.to_string(), DriverError::from(error).to_string()] {
            let helps = text.contains("replica set member") && !text.contains("retryWrites");
            assert!(helps, "{text}");
        }
    }
    assert_eq!(marks.count(&1).await.unwrap(), 0);
}

#[bucket_testkit::test(server = "6.0-standalone")]
async fn on_a_standalone_server_nothing_is_numbered_or_repeated(standalone: &'static Server) {
    works::<Seconds10>(standalone.uri()).await;
    works::<Numbered10>(standalone.uri()).await;
    cut::<Seconds10>(standalone.uri(), CutBefore).await;
    cut::<Numbered10>(standalone.uri(), CutAfter).await;
}
