//! Buckets as flat data: the stages that take them apart, and a view made of these.

use std::future::IntoFuture;

use futures_util::future::BoxFuture;
use mongodb::{
    ClientSession,
    bson::{Bson, Document, doc},
};

use crate::{
    Error, Result,
    error::{Kind, is_there_already},
    schema::spec::{BucketSpec, KeyName},
    server::Server,
};

/// The stages that make of each bucket its items, whole and flat.
///
/// Where all names are known this is a `$project` that only renames: the server then moves a
/// `$match` on key fields, which follows it, to the front, where an index can answer it. Behind
/// `$mergeObjects` it would look at every document.
pub(crate) fn unwind(spec: &BucketSpec) -> Vec<Document> {
    let items = format!("${}", spec.items);
    let whole = match spec.fields {
        Some(fields) => doc! { "$project": renamed(spec, fields) },
        None => doc! { "$replaceWith": { "$mergeObjects": merged(spec, &items) } },
    };
    vec![doc! { "$unwind": items }, whole]
}

fn renamed(spec: &BucketSpec, fields: &[&str]) -> Document {
    // A bucket's `_id` names no item.
    let mut flat = doc! { "_id": 0 };
    flat.extend(key(spec));
    for field in fields {
        flat.insert(*field, format!("${}.{field}", spec.items));
    }
    flat
}

/// The key comes first, and it counts: a flattened map may hold anything.
fn merged(spec: &BucketSpec, items: &str) -> Vec<Bson> {
    vec![key(spec).into(), items.into(), key(spec).into()]
}

fn key(spec: &BucketSpec) -> Document {
    let value = |key: &KeyName| -> Bson {
        let mut names = std::iter::once(&key.name).chain(key.aliases);
        let mut names = Vec::from_iter(names.by_ref().map(|name| format!("${name}")));
        match names.len() {
            1 => names.remove(0).into(),
            _ => doc! { "$ifNull": names }.into(),
        }
    };
    let fields = spec.key.iter();
    fields
        .map(|key| (key.name.to_owned(), value(key)))
        .collect()
}

/// The making of a view, which waits to be awaited; see
/// [`Buckets::create_view`](crate::Buckets::create_view).
#[must_use = "the view is made when this is awaited"]
pub struct CreateView<'s> {
    server: Server,
    name: String,
    pipeline: Vec<Document>,
    session: Option<&'s mut ClientSession>,
}

impl CreateView<'static> {
    pub(crate) fn new(server: &Server, name: String, pipeline: Vec<Document>) -> Self {
        Self {
            server: server.clone(),
            name,
            pipeline,
            session: None,
        }
    }
}

impl CreateView<'_> {
    /// Makes it in this session. The server makes no views in transactions.
    pub fn session<'s>(self, session: impl Into<&'s mut ClientSession>) -> CreateView<'s> {
        CreateView {
            server: self.server,
            name: self.name,
            pipeline: self.pipeline,
            session: Some(session.into()),
        }
    }
}

impl<'s> IntoFuture for CreateView<'s> {
    type Output = Result<()>;
    type IntoFuture = BoxFuture<'s, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self {
                server,
                name,
                pipeline,
                mut session,
            } = self;
            let made = server.create_view(&name, pipeline.clone(), session.as_deref_mut());
            let Err(error) = made.await else {
                return Ok(());
            };
            if !is_there_already(&error) {
                return Err(Error::write(error, server.name()));
            }
            let there = server.view_pipeline(&name, session).await;
            match there.map_err(|error| Error::read(error, server.name()))? {
                Some(there) if there == pipeline => Ok(()),
                there => {
                    let kind = Kind::NameTaken {
                        name,
                        view: there.is_some(),
                    };
                    Err(Error::new(kind, server.name()).with_driver(error))
                }
            }
        })
    }
}
