//! Waits for what dropped calls have sent.

use bucket_runtime::{Outlier, Outliers, mongodb::bson::doc};

use crate::support::database::documents;
pub(crate) use crate::support::events::{Events, counted, stops};

/// Waits until the server has carried out what dropped calls sent, or it is lost: until two reads in a
/// row give the same.
pub(crate) async fn at_rest<T: Outlier>(books: &Outliers<T>) {
    let look = async || {
        let parents = documents(books.collection()).await;
        (parents, documents(books.extras_collection()).await)
    };
    let mut before = look().await;
    loop {
        // A command of its own: the server has seen everything sent before it.
        let admin = books.collection().client().database("admin");
        admin.run_command(doc! { "ping": 1 }).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(12)).await;
        let now = look().await;
        if now == before {
            return;
        }
        before = now;
    }
}
