//! The command line of a shop: `cargo run -p bucket-cli --example ops -- help`.

use std::process::ExitCode;

/// The structs of the application.
mod shop {
    use bucket_runtime::bson::DateTime;
    use bucket_runtime::{Bucket, Outlier};
    use serde::{Deserialize, Serialize};

    /// A trade of a customer.
    #[derive(Bucket)]
    #[serde(rename_all = "camelCase")]
    #[bucket(
        collection = "trades",
        id = "{customer_id}_{date}",
        capacity = 10,
        items = "history"
    )]
    pub(crate) struct Trade {
        /// Whose it is.
        pub(crate) customer_id: i64,
        /// When it was made.
        pub(crate) date: DateTime,
        /// What was traded.
        #[bucket(index)]
        pub(crate) ticker: String,
    }

    /// A book, and who bought it.
    #[derive(Serialize, Deserialize, Outlier)]
    #[outlier(
        collection = "sales",
        extras = "extra_sales",
        reference = "book_id",
        threshold = 50
    )]
    pub(crate) struct Book {
        /// Its number.
        #[serde(rename = "_id")]
        pub(crate) id: i64,
        /// Its title.
        pub(crate) title: String,
        /// Who bought it.
        #[outlier(items)]
        pub(crate) customers_purchased: Vec<String>,
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    bucket_cli::run!("mongodb://localhost/shop", shop::Trade, shop::Book)
}
