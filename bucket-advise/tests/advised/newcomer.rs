//! A newcomer with a database.

use std::ffi::OsString;

use bucket_runtime::bson::Document;
use bucket_runtime::mongodb::Database;
use bucket_testkit::{Fixture, Test};

/// A database, and the command line of a newcomer.
pub(super) struct Newcomer {
    pub(super) db: Database,
    #[allow(
        dead_code,
        reason = "only one of the two tests that share this asks for advice"
    )]
    pub(super) uri: String,
}

impl Fixture for Newcomer {
    async fn set_up(test: &Test) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let (hosts, options) = test.server().uri().rsplit_once('/').unwrap();
        Ok(Self {
            db: Database::set_up(test).await?,
            uri: format!("{hosts}/{}{options}", test.database()),
        })
    }
}

impl Newcomer {
    /// Runs `bucket advise` on a collection; returns the exit code and what it printed, with `shop` for the
    /// database's name.
    #[allow(
        dead_code,
        reason = "only one of the two tests that share this asks for advice"
    )]
    pub(super) async fn advise(&self, collection: &str, options: &str) -> (u8, String) {
        let arguments = ["bucket", "advise", &self.uri, collection];
        let arguments = arguments.into_iter().chain(options.split_whitespace());
        let mut out = Vec::new();
        let code = bucket_advise::__private::advise(arguments.map(OsString::from), &mut out).await;
        (
            code,
            String::from_utf8(out)
                .unwrap()
                .replace(self.db.name(), "shop"),
        )
    }

    #[allow(
        dead_code,
        reason = "one of the tests that share this stores otherwise"
    )]
    pub(super) async fn store(&self, collection: &str, documents: &[Document]) {
        let collection = self.db.collection::<Document>(collection);
        for some in documents.chunks(1000) {
            collection.insert_many(some).await.unwrap();
        }
    }
}
