//! Transactions that outlive the process that began them.

use bucket_runtime::mongodb::{
    Client,
    bson::{Document, doc},
};
use futures_util::TryStreamExt;

/// Ends the transactions that a dead process has left, as the server does after a minute. It finds them
/// by the app name, which the dead process gave its client.
pub(crate) async fn end_transactions(client: &Client, app: &str) {
    let admin = client.database("admin");
    let sessions = vec![
        doc! { "$currentOp": { "allUsers": true, "idleSessions": true } },
        doc! { "$match": { "appName": app, "transaction": { "$exists": true } } },
    ];
    let sessions = admin.aggregate(sessions).await.unwrap();
    let sessions: Vec<Document> = sessions.try_collect().await.unwrap();
    for session in sessions {
        let id = session.get_document("lsid").unwrap().get("id").unwrap();
        let kill = doc! { "killSessions": [{ "id": id }] };
        admin.run_command(kill).await.unwrap();
    }
}
