//! G1 where a shard carries out a write and its answer is lost on the way to the `mongos`, which then
//! reports that the statement failed.

use bucket_runtime::{
    Bucket, Buckets, Error, Outlier,
    mongodb::{
        Database,
        bson::{Document, doc},
    },
};
use bucket_testkit::Cluster;
use futures_util::future::join_all;

use crate::support::{Book, Numbered, Timed, sharded_in, stored, timed};

/// Answers of the shard in the end: FailedToSatisfyReadPreference, interruptions of a reshard and of a
/// change of the version, other codes that say "not now", and one that does not exist.
const CODES: [i32; 8] = [133, 453, 10_045_600, 91_331, 402, 412, 433, 54_321];

/// The only shard, which can lose its answers.
struct Shard {
    admin: Database,
}

impl Shard {
    /// The shard carries out the next write, and closes the connection instead of answering. When the
    /// `mongos` repeats the command, the shard answers with this code.
    async fn lose_answers(&self, code: i32) {
        let close = doc! { "closeConnection": true };
        self.configure("onPrimaryTransactionalWrite", doc! { "times": 1 }, close)
            .await;
        let not_now = doc! {
            "errorCode": code,
            "failInternalCommands": true,
            "failCommands": ["insert", "update", "bulkWrite"],
        };
        self.configure("failCommand", doc! { "skip": 1 }, not_now)
            .await;
    }

    async fn answer_again(&self) {
        for fail_point in ["onPrimaryTransactionalWrite", "failCommand"] {
            self.configure(fail_point, "off", doc! {}).await;
        }
    }

    async fn configure(
        &self,
        fail_point: &str,
        mode: impl Into<bucket_runtime::bson::Bson>,
        data: Document,
    ) {
        let command = doc! { "configureFailPoint": fail_point, "mode": mode, "data": data };
        self.admin.run_command(command).await.unwrap();
    }

    /// The error of a call whose answer is lost.
    async fn error_of<T>(
        &self,
        code: i32,
        call: impl IntoFuture<Output = Result<T, Error>>,
    ) -> Error {
        self.lose_answers(code).await;
        let answer = call.await;
        self.answer_again().await;
        answer.err().expect("the call was answered")
    }
}

/// A cluster with one shard.
async fn one_shard() -> (Cluster, Shard) {
    let own = Cluster::builder()
        .shards(1)
        .mongos(1)
        .options(&["--setParameter", "enableTestCommands=1"])
        .start()
        .await
        .unwrap();
    let admin = own.shards()[0].database("admin").await.unwrap();
    (own, Shard { admin })
}

#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn what_a_shard_stores_without_an_answer_is_in_doubt() {
    let (own, shard) = one_shard().await;
    let db = own.database("doubt").await.unwrap();
    let combined: Buckets<Timed> = sharded_in(&db).await;
    let singly = Timed::buckets(&db).combine(false).await.unwrap();
    let books = Book::outliers(&db).await.unwrap();
    for id in (0..).step_by(3).take(CODES.len()) {
        let buyers = Vec::new();
        books.insert(&Book { id, buyers }).await.unwrap();
    }

    for (code, n) in CODES.into_iter().zip((0..).step_by(3)) {
        let mut errors = Vec::new();
        let [one, other] = [timed(1, n), timed(2, n + 1)];
        errors.push(shard.error_of(code, singly.append(&one)).await);
        errors.push(shard.error_of(code, combined.append(&other)).await);
        let bulk = async {
            let all = combined.append_many([timed(3, n + 2)]).await;
            all.map_err(Error::from)
        };
        errors.push(shard.error_of(code, bulk).await);
        let all = Vec::from_iter(0..n + 3);
        assert_eq!(stored(&db, "timed", "items").await, all, "{code}");

        errors.push(shard.error_of(code, books.push(&n, 0)).await);
        for error in errors {
            assert!(error.is_maybe_stored(), "{code}: {error}");
        }
    }
    assert_eq!(stored(&db, "books", "buyers").await, [0; CODES.len()]);
}

/// The `mongos` passes the error of the shard's whole command on as that of its first statement.
#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn all_statements_of_a_command_whose_answer_is_lost_are_in_doubt() {
    let (own, shard) = one_shard().await;
    let db = own.database("several").await.unwrap();
    let numbered: Buckets<Numbered> = sharded_in(&db).await;
    let mut all = Vec::new();
    for (code, first) in CODES.into_iter().zip((0..).step_by(100)) {
        // Three buckets.
        let items = (first..first + 30).map(|n| Numbered { k: n / 100, n });
        shard.lose_answers(code).await;
        let loaded = numbered.append_many(items).await;
        shard.answer_again().await;
        let failed = loaded.expect_err("no answer").into_failed();
        all.extend(first..first + 30);
        assert_eq!(stored(&db, "numbered", "items").await, all, "{code}");
        assert!(!failed.is_empty(), "{code}");
        for failed in failed {
            assert!(failed.error.is_maybe_stored(), "{code}: {failed:?}");
        }
    }
    // Several waiting items fill the open bucket, and go on into others.
    for (code, first) in CODES.into_iter().zip((1000..).step_by(100)) {
        let items = (first..first + 35).map(|n| Numbered { k: n / 100, n });
        let items = Vec::from_iter(items);
        numbered.append(&items[0]).await.unwrap();
        shard.lose_answers(code).await;
        let appends = items[1..]
            .iter()
            .map(|item| numbered.append(item).into_future());
        let answers = join_all(appends).await;
        shard.answer_again().await;
        let mut stored = stored(&db, "numbered", "items").await;
        stored.retain(|n| (first..first + 35).contains(n));
        let is_once = stored.is_sorted_by(|one, other| one < other);
        assert!(is_once, "{code}: {stored:?}");
        for (item, answer) in items[1..].iter().zip(answers) {
            let is_stored = stored.contains(&item.n);
            match answer {
                Ok(_) => assert!(is_stored, "{code}: {item:?} is lost"),
                Err(error) => assert!(
                    error.is_maybe_stored() || !is_stored,
                    "{code}: {item:?}: {error}"
                ),
            }
        }
    }
}
