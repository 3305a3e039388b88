//! Reads of single items: rows that the server unwinds, or the client from whole documents.

use mongodb::{
    ClientSession,
    bson::{Document, RawDocumentBuf},
};
use serde::de::DeserializeOwned;

use super::{
    cursor::{AnyCursor, DocumentCursor},
    target::Target,
};
use crate::{Result, protocol::query::WholeRead};

impl Target<'_> {
    /// The rows of the whole documents, if there are such and they hold what is asked for; otherwise those of the
    /// pipeline.
    pub(crate) async fn items<'s, R: DeserializeOwned>(
        self,
        whole: Option<WholeRead>,
        pipeline: impl FnOnce() -> Vec<Document>,
        mut session: Option<&'s mut ClientSession>,
    ) -> Result<DocumentCursor<'s, R>> {
        if let Some(whole) = whole {
            let find = self.find(whole.filter.clone(), whole.range.clone());
            let mut found = find.cursor::<RawDocumentBuf>(session).await?;
            let mut documents = Vec::new();
            while let Some(document) = found.next_decoded().await? {
                documents.push(document);
            }
            session = found.into_session();
            if let Some(rows) = whole.rows(documents) {
                return Ok(DocumentCursor::new(self, AnyCursor::of_rows(rows, session)));
            }
        }
        self.pipeline(pipeline()).cursor(session).await
    }
}
