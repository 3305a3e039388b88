//! The events of a change stream: which ones it is to show, and one as the server sends it.

use mongodb::{
    bson::{Bson, Document, doc},
    change_stream::event::ResumeToken,
    error::Error as DriverError,
};

use crate::value::bytes;

/// An event of a change stream.
///
/// Not the driver's type, for whose reading rustc writes a quarter of this crate.
#[derive(Debug, Clone)]
pub struct Event {
    /// The position after the event.
    pub token: ResumeToken,
    fields: Document,
}

impl Event {
    /// Reads an event.
    pub fn read(fields: Document) -> Result<Self, DriverError> {
        let token = fields.get_document("_id").map_err(DriverError::custom)?;
        let token = bytes::write(token).map_err(|error| DriverError::custom(error.to_string()))?;
        Ok(Self {
            token: bytes::read(&token)?,
            fields,
        })
    }

    /// What has happened, in the server's word for it.
    pub fn operation(&self) -> &str {
        self.fields.get_str("operationType").unwrap_or_default()
    }

    /// The name of the collection.
    pub fn collection(&self) -> Option<&str> {
        self.fields.get_document("ns").ok()?.get_str("coll").ok()
    }

    /// The `_id` of the document; `Null` if the event is of no document.
    pub fn document_id(&self) -> Bson {
        let key = self.fields.get_document("documentKey").ok();
        let id = key.and_then(|key| key.get("_id"));
        id.cloned().unwrap_or(Bson::Null)
    }

    /// The inserted document.
    pub fn inserted(&self) -> Option<&Document> {
        self.fields.get_document("fullDocument").ok()
    }

    /// The paths that an update has set, with their values.
    pub fn updated(&self) -> Option<&Document> {
        self.update()?.get_document("updatedFields").ok()
    }

    /// The paths that an update has removed.
    pub fn removed(&self) -> impl Iterator<Item = &str> {
        let removed = self
            .update()
            .and_then(|it| it.get_array("removedFields").ok());
        removed.into_iter().flatten().filter_map(Bson::as_str)
    }

    /// Whether an update has cut arrays.
    pub fn has_cut(&self) -> bool {
        let cut = self
            .update()
            .and_then(|it| it.get_array("truncatedArrays").ok());
        cut.is_some_and(|arrays| !arrays.is_empty())
    }

    fn update(&self) -> Option<&Document> {
        self.fields.get_document("updateDescription").ok()
    }
}

/// The events that a change stream is to show.
#[derive(Debug, Clone)]
pub struct Watched {
    pub(super) is_of_database: bool,
    pub(super) wanted: Vec<Document>,
}

impl Watched {
    /// The events about the documents of a collection whose `_id` matches, and its end.
    pub fn collection(ids: Document) -> Self {
        let end = doc! { "$in": ["drop", "rename", "dropDatabase", "invalidate"] };
        Self {
            is_of_database: false,
            wanted: vec![of_keys(ids), doc! { "operationType": end }],
        }
    }

    /// The events about the documents of some collections of the database whose `_id` matches, and
    /// the end of any of these collections, in the order in which they happened. Only a stream of
    /// the database has that order.
    pub fn database<const N: usize>(collections: [(&str, Document); N]) -> Self {
        let names = collections.each_ref().map(|(name, _)| (*name).to_owned());
        let mut wanted = vec![
            doc! { "ns.coll": { "$in": names.to_vec() }, "operationType": { "$in": ["drop", "rename"] } },
            doc! { "operationType": { "$in": ["dropDatabase", "invalidate"] } },
        ];
        wanted.extend(collections.map(|(name, ids)| {
            let mut of_documents = of_keys(ids);
            of_documents.insert("ns.coll", name);
            of_documents
        }));
        Self {
            is_of_database: true,
            wanted,
        }
    }
}

/// The events about the documents whose `_id` matches.
fn of_keys(ids: Document) -> Document {
    let ids = ids.into_iter();
    ids.map(|(name, test)| (format!("documentKey.{name}"), test))
        .collect()
}
