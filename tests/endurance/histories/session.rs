//! Sessions whose reads are not older than their beginning.
//!
//! A majority read of a primary can be older than what was acknowledged: the primary may have been replaced
//! without knowing it, or may have just been elected and not yet know what a majority has. So a client first
//! writes a mark with a majority, which only the true primary acknowledges. In a causally consistent session the
//! reads after it include the mark, and with it whatever was acknowledged before.

use bucket_runtime::mongodb::{
    ClientSession, Database,
    bson::{Document, doc},
    error::Error,
    options::WriteConcern,
};

pub(super) async fn up_to_date(db: &Database, client: usize) -> Result<ClientSession, Error> {
    let mut session = db.client().start_session().causal_consistency(true).await?;
    let marks = db.collection::<Document>("marks");
    marks
        .update_one(
            doc! { "_id": client as i64 },
            doc! { "$inc": { "times": 1_i64 } },
        )
        .upsert(true)
        .write_concern(WriteConcern::majority())
        .session(&mut session)
        .await?;
    Ok(session)
}
