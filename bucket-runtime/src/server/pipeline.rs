//! Reads with the driver's error, until each caller asks a [`Target`](super::target::Target).

use mongodb::{
    ClientSession,
    bson::{Bson, Document},
    error::Error as DriverError,
};
use serde::de::DeserializeOwned;

use super::{
    Server,
    read::{Read, identities_of, items_of},
};
use crate::{protocol::range::Range, schema::names::UNIQUE_INDEX, server::cursor::DocumentCursor};

impl Server {
    pub(crate) async fn find<'s, R: DeserializeOwned>(
        &self,
        filter: Document,
        range: Range,
        session: Option<&'s mut ClientSession>,
    ) -> Result<DocumentCursor<'s, R>, DriverError> {
        self.target().find(filter, range).send(session).await
    }

    pub(crate) async fn count_documents(
        &self,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<u64, DriverError> {
        let action = || self.collection.count_documents(filter.clone());
        match session {
            Some(session) => self.ask(action().session(session)).await,
            None => self.read(action).await,
        }
    }

    pub(crate) async fn find_one(
        &self,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Document>, DriverError> {
        let read = self.target().find(filter, Range::unordered());
        read.read_primary().find_one(session).await
    }

    pub(crate) async fn fields(
        &self,
        filter: Document,
        fields: Document,
        for_a_write: bool,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Document>, DriverError> {
        let read = (self.target()).find(filter, Range::unordered().project(fields));
        let read = match for_a_write {
            true => read.read_primary(),
            false => read,
        };
        read.find_one(session).await
    }

    pub(crate) async fn scan<R: DeserializeOwned>(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
    ) -> Result<DocumentCursor<'static, R>, DriverError> {
        let read = self.target().pipeline(pipeline);
        read.allow_disk_use().send(None).await
    }

    pub(crate) async fn survey<R: DeserializeOwned>(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
    ) -> Result<DocumentCursor<'static, R>, DriverError> {
        let read = self.target().pipeline(pipeline).read_primary();
        read.allow_disk_use().send(None).await
    }

    pub(crate) async fn aggregate<R: DeserializeOwned>(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
        session: Option<&mut ClientSession>,
    ) -> Result<Vec<R>, DriverError> {
        self.target()
            .pipeline(pipeline)
            .send_for_rows(session)
            .await
    }

    pub(crate) async fn sum(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
        session: Option<&mut ClientSession>,
    ) -> Result<u64, DriverError> {
        let found = self.aggregate::<Document>(pipeline, session).await?;
        Ok(items_of(found.first()))
    }

    pub(crate) async fn latest<R: DeserializeOwned>(
        &self,
        pipeline: Vec<Document>,
        session: Option<&mut ClientSession>,
    ) -> Result<Vec<R>, DriverError> {
        let read = self.target().pipeline(pipeline).read_latest();
        read.send_for_rows(session).await
    }

    pub(crate) async fn identities(
        &self,
        pipeline: [Document; 2],
        session: Option<&mut ClientSession>,
    ) -> Result<Vec<Bson>, DriverError> {
        let read = self.target().pipeline(pipeline).hint(UNIQUE_INDEX);
        let rows = read.read_primary().send_for_rows(session).await?;
        Ok(identities_of(rows))
    }
}

impl Read<'_> {
    async fn send<'s, R: DeserializeOwned>(
        self,
        session: Option<&'s mut ClientSession>,
    ) -> Result<DocumentCursor<'s, R>, DriverError> {
        let cursor = self.open(session).await?.with_type();
        Ok(DocumentCursor::new(self.target, cursor))
    }

    async fn send_for_rows<R: DeserializeOwned>(
        self,
        session: Option<&mut ClientSession>,
    ) -> Result<Vec<R>, DriverError> {
        self.send(session).await?.rest().await
    }
}
