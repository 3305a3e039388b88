//! Buckets as flat data: the stages that unwind them, and a view made of these.

use mongodb::{
    ClientSession,
    bson::{Bson, Document, doc},
};

use crate::{
    Bucket, Buckets, Result,
    error::{Code, Kind, is_code},
    read::settings::session_setting,
    schema::spec::{BucketSpec, KeyName},
    server::Server,
};

impl<T: Bucket> Buckets<T> {
    /// Publishes the items as a MongoDB view, flat under their stored names, for Compass, BI tools and
    /// programs in other languages: `{ customerId: …, date: …, ticker: …, … }`, one document per item,
    /// without `_id`. A [`Filter`](crate::Filter) is also a filter on the view.
    ///
    /// One round trip. If the same view already exists, two, and nothing changes.
    ///
    /// # Errors
    ///
    /// [`is_name_taken`](crate::Error::is_name_taken) if the name belongs to something else, or to a
    /// view with another definition.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets};
    /// # use bucket_runtime::mongodb::bson::Document;
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer}_{#}", capacity = 10)]
    /// # struct Trade { customer: i64, ticker: String }
    /// # async fn example(db: bucket_runtime::mongodb::Database, trades: Buckets<Trade>) -> Result<(), Box<dyn std::error::Error>> {
    /// trades.create_view("trades_flat").await?;
    ///
    /// let flat = db.collection::<Document>("trades_flat");
    /// let one = flat.find_one(Trade::FIELDS.ticker.eq("MDB").into()).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn create_view(&self, name: impl Into<String>) -> CreateView<'static> {
        CreateView::new(&self.writer.engine.server, name.into(), T::unwind())
    }
}

/// The stages that turn each bucket into its items, flat and with their key fields.
///
/// If all names are known this is a `$project` that only renames: the server then moves a following
/// `$match` on key fields to the front, where an index can answer it. After a `$mergeObjects` it would
/// look at every document.
pub(crate) fn unwind(spec: &BucketSpec) -> Vec<Document> {
    let items = format!("${}", spec.items);
    let flatten = match spec.fields {
        Some(fields) => doc! { "$project": flat_projection(spec, fields) },
        None => doc! { "$replaceWith": { "$mergeObjects": flat_parts(spec, &items) } },
    };
    vec![doc! { "$unwind": items }, flatten]
}

fn flat_projection(spec: &BucketSpec, fields: &[&str]) -> Document {
    // A bucket's `_id` does not identify an item.
    let mut flat = doc! { "_id": 0 };
    flat.extend(key_fields(spec));
    for field in fields {
        flat.insert(*field, format!("${}.{field}", spec.items));
    }
    flat
}

/// The key comes first for its position, and last to win: a flattened map may hold any field.
fn flat_parts(spec: &BucketSpec, items: &str) -> Vec<Bson> {
    vec![
        key_fields(spec).into(),
        items.into(),
        key_fields(spec).into(),
    ]
}

fn key_fields(spec: &BucketSpec) -> Document {
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

/// Builder of a view: await it; see [`Buckets::create_view`](crate::Buckets::create_view).
#[must_use = "the view is created when this is awaited"]
pub struct CreateView<'s> {
    server: Server,
    name: String,
    pipeline: Vec<Document>,
    session: Option<&'s mut ClientSession>,
}

impl<'s> CreateView<'s> {
    pub(crate) fn new(server: &Server, name: String, pipeline: Vec<Document>) -> Self {
        Self {
            server: server.clone(),
            name,
            pipeline,
            session: None,
        }
    }

    session_setting! {
        /// Creates the view in this session. The server creates no views in transactions.
    }

    pub(crate) async fn execute(self) -> Result<()> {
        let Self {
            server,
            name,
            pipeline,
            mut session,
        } = self;
        let created = server.create_view(&name, pipeline.clone(), session.as_deref_mut());
        let Err(error) = created.await else {
            return Ok(());
        };
        if !is_code(&error, Code::NamespaceExists) {
            return Err(server.target().write_error(error));
        }
        let existing = server.view_pipeline(&name, session).await?;
        if existing.as_ref() == Some(&pipeline) {
            return Ok(());
        }
        let view = existing.is_some();
        let taken = server.target().error(Kind::NameTaken { name, view });
        Err(taken.with_driver(error))
    }
}
