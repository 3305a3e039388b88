//! G1 where a shard carries out a write and its answer is lost on the way to the `mongos`, which then
//! reports that the statement failed.

use bucket_runtime::{
    Bucket, Error, Outlier,
    mongodb::{
        Database,
        bson::{Document, doc},
    },
};
use bucket_testkit::Cluster;

use crate::support::{Book, Timed, cluster, stored, timed};

const FAILED_TO_SATISFY_READ_PREFERENCE: i32 = 133;

/// The only shard, which can lose its answers.
struct Shard {
    admin: Database,
}

impl Shard {
    /// The shard carries out the next write, and closes the connection instead of answering. When the
    /// `mongos` repeats the command, the shard answers that there is no primary.
    async fn lose_answers(&self) {
        let close = doc! { "closeConnection": true };
        self.configure("onPrimaryTransactionalWrite", doc! { "times": 1 }, close)
            .await;
        let no_primary = doc! {
            "errorCode": FAILED_TO_SATISFY_READ_PREFERENCE,
            "failInternalCommands": true,
            "failCommands": ["insert", "update", "bulkWrite"],
        };
        self.configure("failCommand", doc! { "skip": 1 }, no_primary)
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
    async fn error_of<T>(&self, call: impl IntoFuture<Output = Result<T, Error>>) -> Error {
        self.lose_answers().await;
        let answer = call.await;
        self.answer_again().await;
        answer.err().expect("the call was answered")
    }
}

#[tokio::test]
async fn what_a_shard_stores_without_an_answer_is_in_doubt() {
    if cluster().await.is_none() {
        return;
    }
    let own = Cluster::builder()
        .shards(1)
        .mongos(1)
        .options(&["--setParameter", "enableTestCommands=1"])
        .start()
        .await
        .unwrap();
    let db = own.database("doubt").await.unwrap();
    let shard = Shard {
        admin: own.shards()[0].database("admin").await.unwrap(),
    };
    Timed::create_collection(&db)
        .sharded_hashed()
        .await
        .unwrap();
    let singly = Timed::buckets(&db).combine(false).await.unwrap();
    let combined = Timed::buckets(&db).await.unwrap();
    let books = Book::outliers(&db).await.unwrap();
    let book = Book {
        id: 1,
        buyers: Vec::new(),
    };
    books.insert(&book).await.unwrap();

    let mut errors = Vec::new();
    errors.push(shard.error_of(singly.append(&timed(1, 0))).await);
    errors.push(shard.error_of(combined.append(&timed(2, 1))).await);
    let bulk = async {
        let all = combined.append_many([timed(3, 2)]).await;
        all.map_err(Error::from)
    };
    errors.push(shard.error_of(bulk).await);
    assert_eq!(stored(&db, "timed", "items").await, [0, 1, 2]);

    errors.push(shard.error_of(books.push(&1, 0)).await);
    assert_eq!(stored(&db, "books", "buyers").await, [0]);

    for error in errors {
        assert!(error.is_maybe_stored(), "{error}");
    }
}
