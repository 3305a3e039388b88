//! The protocol of an edit: read the items, plan the update of their bucket, and send it, until no
//! other writer was faster.

use std::marker::PhantomData;

use bucket_core::{
    error::Kind, protocol::query::Query, schema::spec::BucketSpec, value::element::document_size,
};
use mongodb::{
    ClientSession,
    bson::{Document, RawDocumentBuf},
};

use super::{
    found::FoundItems,
    step::{Edit, Edited},
};
use crate::{
    Bucket, Result,
    read::reader::Reader,
    write::engine::{TRIES, pause},
};

/// The most bytes of an edit's command (`maxBsonObjectSize` of the server).
const MAX_COMMAND_BYTES: usize = 16 << 20;

/// One key of one collection, and which of its items to change.
#[derive(Debug)]
pub(crate) struct Editor<T> {
    pub(super) reader: Reader,
    query: Query,
    selection: Selection,
    item: PhantomData<fn() -> T>,
}

/// Which of the matching items to change.
#[derive(Debug, Clone)]
pub(crate) enum Selection {
    /// The first one of the key.
    First,
    /// All in the bucket with this id.
    OfBucket(String),
}

impl<T: Bucket> Editor<T> {
    /// The spec as a `static`: in generic code, promotion alone does not provide one.
    pub(super) const SPEC: &'static BucketSpec = &T::SPEC;

    /// Whether a bucket has fields that are computed from all of its items.
    pub(super) const KEEPS_SUMMARY: bool =
        !T::SPEC.rollups.is_empty() || T::SPEC.expire_after.is_some();

    pub(crate) fn new(reader: Reader, query: Query, selection: Selection) -> Self {
        Self {
            reader,
            query,
            selection,
            item: PhantomData,
        }
    }

    /// Carries out the edit of the matching items of one bucket.
    pub(crate) async fn change(
        &self,
        edit: &mut Edit<'_, T>,
        mut session: Option<&mut ClientSession>,
    ) -> Result<Edited<T>> {
        for tries in 0..TRIES {
            pause(tries).await;
            let Some(mut found) = self.find(session.as_deref_mut()).await? else {
                return Ok(Edited::of(Vec::new(), Vec::new()));
            };
            let (change, edited) = self.plan(edit, &mut found)?;
            let step = match change {
                None => return Ok(edited),
                Some(elements) if elements.is_empty() => self.removal_step(&mut found),
                Some(elements) => self.replacement_step(&found, elements)?,
            };
            let pipeline = step.pipeline.as_deref();
            self.check_size(&step.unchanged, pipeline.unwrap_or_default())?;
            let (target, session) = (self.reader.target(), session.as_deref_mut());
            let changed = target.change_read(step.unchanged, step.pipeline, step.hint, session);
            if changed.await? {
                return Ok(edited);
            }
            bucket_core::reached!("an edit of a bucket again");
        }
        Err(self.reader.target().error(Kind::Contended(TRIES)))
    }

    /// The server would refuse a larger command, with an error that says nothing of the items.
    pub(crate) fn check_size(&self, unchanged: &Document, pipeline: &[Document]) -> Result<()> {
        let stages = pipeline.iter().map(document_size);
        let bytes = document_size(unchanged) + stages.sum::<usize>();
        if bytes <= MAX_COMMAND_BYTES {
            return Ok(());
        }
        let most = MAX_COMMAND_BYTES;
        let too_large = Kind::EditTooLarge { bytes, most };
        Err(self.reader.target().error(too_large))
    }

    async fn find(&self, session: Option<&mut ClientSession>) -> Result<Option<FoundItems<T>>> {
        let (scope, query) = (&self.reader.scope, &self.query);
        let pipeline = match &self.selection {
            Selection::First => query.first_place(Self::SPEC, scope, Self::KEEPS_SUMMARY),
            Selection::OfBucket(id) => query.places(Self::SPEC, scope, id, Self::KEEPS_SUMMARY),
        };
        let found = self.reader.target().pipeline(pipeline).read_latest();
        let found: Vec<RawDocumentBuf> = found.rows(session).await?;
        let read = |row| FoundItems::read(&self.reader, row, Self::KEEPS_SUMMARY);
        found.first().map(read).transpose()
    }
}
