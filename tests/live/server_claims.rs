//! Assumptions of the library about the server.

pub(crate) mod doubt;
pub(crate) mod dropped_index;
pub(crate) mod edit;
pub(crate) mod error_codes;
pub(crate) mod hidden_index;
pub(crate) mod many;
pub(crate) mod time_series;
pub(crate) mod updates;
pub(crate) mod watch;

use bucket_runtime::mongodb::{
    Collection, IndexModel,
    bson::{Document, doc},
    error::{Error, ErrorKind, WriteFailure},
    options::IndexOptions,
};

/// Creates an open index, by which buckets with fewer items than the capacity are open.
async fn create_open_index(
    trades: &Collection<Document>,
    name: &str,
    capacity: i32,
) -> Result<(), Error> {
    let options = IndexOptions::builder()
        .name(name.to_owned())
        .unique(true)
        .partial_filter_expression(doc! { "count": { "$lt": capacity } })
        .build();
    let keys = doc! { "customerId": 1, "sealed": 1 };
    let index = IndexModel::builder().keys(keys).options(options).build();
    trades.create_index(index).await.map(drop)
}

/// The index of this name has refused a duplicate.
fn is_taken(error: &Error, index: &str) {
    let (code, message) = refusal(error);
    let named = format!(" index: {index} dup key");
    assert!(code == 11000 && message.contains(&named), "{message}");
}

/// The code and the message with which the server refused.
fn refusal(error: &Error) -> (i32, &str) {
    match &*error.kind {
        ErrorKind::Write(WriteFailure::WriteError(error)) => (error.code, &error.message),
        ErrorKind::Command(error) => (error.code, &error.message),
        other => panic!("{other:?}"),
    }
}
