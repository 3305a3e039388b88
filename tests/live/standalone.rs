//! A standalone server, which knows no numbered commands: everything works, nothing is repeated, and
//! what was cut off is said to be maybe stored.

use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use bucket_runtime::{
    Buckets, Ordinal,
    mongodb::{Client, bson::doc, options::ClientOptions},
};

use crate::{
    combine_support::{
        Mark, NOON, Numbered10, Seconds10, assert_stored, at_rest, carried, fresh, together,
    },
    proxy::{
        Fate::{CutAfter, CutBefore},
        Proxy,
    },
    support::{listening, server},
};

/// The mongod of the other tests, started once more without a replica set. A shell ends it when its
/// input is closed, however this process ends.
struct Standalone {
    uri: String,
    folder: PathBuf,
    shell: Child,
}

impl Standalone {
    /// `None` if the server of the tests is somebody's own.
    async fn start(test: &str) -> Option<Self> {
        if !server().await.is_throw_away() {
            return None;
        }
        let admin = server().await.database("admin").await.unwrap();
        let options = admin
            .run_command(doc! { "getCmdLineOpts": 1 })
            .await
            .unwrap();
        let mongod = options.get_array("argv").unwrap()[0].as_str().unwrap();
        let folder = format!("bucket-tests-{}-{test}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(folder.join("data")).unwrap();
        // A port that was free a moment ago.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        drop(listener);
        let script = "folder=$1; shift; \"$@\" > \"$folder/log\" 2>&1 & pid=$!; \
                      read -r _; kill -9 $pid; wait $pid; rm -rf \"$folder\"";
        let shell = Command::new("/bin/sh")
            .args(["-c", script, "standalone"])
            .args([&folder, &PathBuf::from(mongod)])
            .args(["--bind_ip", "127.0.0.1", "--port", &port, "--nounixsocket"])
            .args(["--wiredTigerCacheSizeGB", "0.25", "--dbpath"])
            .arg(folder.join("data"))
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Some(Self {
            uri: format!("mongodb://127.0.0.1:{port}/?directConnection=true"),
            folder,
            shell,
        })
    }
}

impl Drop for Standalone {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn items<T: Mark>(keys: i64, first: i64) -> impl Iterator<Item = T> {
    (first..first + 100).map(move |n| T::new(n % keys, n).at(NOON + n * 1000))
}

async fn works<T: Mark>(uri: &str) {
    let (options, record) = listening(ClientOptions::parse(uri).await.unwrap());
    let db = Client::with_options(options)
        .unwrap()
        .database("standalone");
    let marks = fresh::<T>(&db).await;
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
    // That the server knows no numbers is found out with commands that change nothing, and
    // remembered.
    let mut numbered = record.take();
    numbered.retain(|command| command.contains_key("txnNumber"));
    assert!(numbered.len() <= 4, "{}", numbered.len());
    assert!(
        numbered
            .iter()
            .all(|command| command.contains_key("update"))
    );
    assert!(carried(&numbered).is_empty());
}

/// Both ways of travelling together, and a load.
async fn cut<T: Mark>(uri: &str) {
    let proxy = Proxy::start(uri).await;
    for fate in [CutBefore, CutAfter] {
        let marks: Buckets<T> = fresh(&proxy.database("standalone")).await;
        let mut expected = Vec::new();
        for (first, keys) in [(0, 1), (100, 100)] {
            proxy.next("$push", [fate]);
            // With numbers, the first command of many keys opens no bucket: it finds out which ones
            // have none.
            let opens = keys == 1 || T::SPEC.id.ordinal != Ordinal::Number;
            let carried_out = fate == CutAfter && opens;
            let mut acknowledged = 0;
            for (n, result) in (first..).zip(together(&marks, items::<T>(keys, first)).await) {
                let stored = match result {
                    Ok(_) => true,
                    Err(error) => {
                        assert!(error.is_maybe_stored(), "{error}");
                        carried_out
                    }
                };
                acknowledged += i64::from(stored);
                expected.extend(stored.then_some((n % keys, n)));
            }
            assert!(proxy.is_done());
            assert_eq!(acknowledged == 100, carried_out, "nothing was repeated");
            at_rest(&marks).await;
            assert_stored(&marks, expected.iter().copied()).await;
        }
        proxy.next("insert", [fate]);
        let error = marks.append_many(items::<T>(3, 1000)).await.unwrap_err();
        let in_doubt = error
            .failed()
            .iter()
            .filter(|failed| failed.error.is_maybe_stored());
        let in_doubt: Vec<_> = in_doubt.map(|failed| failed.item.n()).collect();
        assert!(!in_doubt.is_empty(), "nothing was repeated");
        let refused = error
            .failed()
            .iter()
            .filter(|failed| !failed.error.is_maybe_stored());
        let refused: Vec<_> = refused.map(|failed| failed.item.n()).collect();
        assert_eq!(
            error.stored() as usize + in_doubt.len() + refused.len(),
            100
        );
        let found: Vec<_> = at_rest(&marks).await.into_values().flatten().collect();
        let is_there =
            |n: &i64| !refused.contains(n) && (!in_doubt.contains(n) || found.contains(n));
        expected.extend((1000..1100).filter(is_there).map(|n| (n % 3, n)));
        assert_stored(&marks, expected).await;
    }
}

#[tokio::test]
async fn on_a_standalone_server_nothing_is_numbered_or_repeated() {
    let Some(standalone) = Standalone::start("standalone").await else {
        return;
    };
    works::<Seconds10>(&standalone.uri).await;
    works::<Numbered10>(&standalone.uri).await;
    cut::<Seconds10>(&standalone.uri).await;
    cut::<Numbered10>(&standalone.uri).await;
}
