//! Waits for what dropped calls have sent.

use bucket_runtime::{Outlier, Outliers, mongodb::bson::doc};

use crate::support::database::{documents, settled};
pub(crate) use crate::support::events::{Events, counted, stops};

/// Waits until dropped calls have no command on its way any more.
pub(crate) async fn at_rest<T: Outlier>(books: &Outliers<T>) {
    let look = async || {
        // A command of its own: the server has seen everything sent before it.
        let admin = books.collection().client().database("admin");
        admin.run_command(doc! { "ping": 1 }).await.unwrap();
        let parents = documents(books.collection()).await;
        (parents, documents(books.extras_collection()).await)
    };
    settled(std::time::Duration::from_millis(12), look).await;
}
