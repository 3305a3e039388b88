//! Pipelines, and views made of them.

use mongodb::{ClientSession, bson::Document, error::Error as DriverError, options::Hint};
use serde::de::DeserializeOwned;

use super::Server;
use crate::rows::Rows;

impl Server {
    /// The documents that a pipeline ends in, as they come.
    pub(crate) async fn stream<'s, R: DeserializeOwned>(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
        hint: Option<&'static str>,
        session: Option<&'s mut ClientSession>,
    ) -> Result<Rows<'s, R>, DriverError> {
        let mut action = self.collection.aggregate(pipeline);
        if let Some(hint) = hint {
            action = action.hint(Hint::Name(hint.to_owned()));
        }
        Ok(match session {
            None => Rows::Plain(action.await?.with_type()),
            Some(session) => {
                let cursor = action.session(&mut *session).await?;
                Rows::Session(cursor.with_type(), session)
            }
        })
    }

    /// All documents that a pipeline ends in: for those that end in few.
    pub(crate) async fn aggregate<R: DeserializeOwned>(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
        session: Option<&mut ClientSession>,
    ) -> Result<Vec<R>, DriverError> {
        self.collect(pipeline, None, session).await
    }

    /// Like [`aggregate`](Self::aggregate), by the index of this name.
    pub(crate) async fn collect<R: DeserializeOwned>(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
        hint: Option<&'static str>,
        session: Option<&mut ClientSession>,
    ) -> Result<Vec<R>, DriverError> {
        let mut rows = self.stream(pipeline, hint, session).await?;
        let mut found = Vec::new();
        while rows.advance().await? {
            found.push(rows.decode()?);
        }
        Ok(found)
    }
}
