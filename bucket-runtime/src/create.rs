//! Making collections whose validator refuses what breaks the guarantees, whoever writes it.

use std::future::IntoFuture;

use futures_util::future::BoxFuture;
use mongodb::{
    Collection,
    bson::Document,
    error::{Error as DriverError, ErrorKind},
    options::CreateCollectionOptions,
};

use crate::{Error, Result, error::Kind, server::Server};

/// The making of collections, which waits to be awaited; see
/// [`Bucket::create_collection`](crate::Bucket::create_collection) and
/// [`Outlier::create_collections`](crate::Outlier::create_collections).
#[must_use = "the collections are made when this is awaited"]
pub struct CreateCollections {
    collections: Vec<(Server, Document)>,
    options: CreateCollectionOptions,
}

impl CreateCollections {
    pub(crate) fn new(
        collections: impl IntoIterator<Item = (Collection<Document>, Document)>,
    ) -> Self {
        let collections = collections.into_iter();
        Self {
            collections: collections
                .map(|(collection, validator)| (Server::new(collection), validator))
                .collect(),
            options: CreateCollectionOptions::default(),
        }
    }

    /// The driver's options for the collections that are made, such as another compressor. Their
    /// validator is always that of the struct.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, mongodb::{Database, bson::doc}};
    /// # use bucket_runtime::mongodb::options::CreateCollectionOptions;
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// let zstd = doc! { "wiredTiger": { "configString": "block_compressor=zstd" } };
    /// let options = CreateCollectionOptions::builder().storage_engine(zstd).build();
    /// Trade::create_collection(&db).options(options).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn options(mut self, options: CreateCollectionOptions) -> Self {
        self.options = options;
        self
    }
}

impl IntoFuture for CreateCollections {
    type Output = Result<()>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            for (server, validator) in self.collections {
                create(&server, validator, self.options.clone()).await?;
            }
            Ok(())
        })
    }
}

async fn create(
    server: &Server,
    validator: Document,
    options: CreateCollectionOptions,
) -> Result<()> {
    let fail = |error| Error::read(error, server.name());
    let Err(error) = server.create(validator.clone(), options).await else {
        return Ok(());
    };
    if !is_there_already(&error) {
        return Err(fail(error));
    }
    match server.validator().await.map_err(fail)? {
        // It is a view, or gone again.
        None => Err(fail(error)),
        Some(there) if there == validator => Ok(()),
        Some(there) if there.is_empty() => server.validate(validator).await.map_err(fail),
        Some(_) => {
            let kind = Kind::OtherValidator {
                collection: server.collection().name().to_owned(),
                validator: validator.to_string(),
            };
            Err(Error::new(kind, server.name()))
        }
    }
}

/// NamespaceExists.
pub(crate) fn is_there_already(error: &DriverError) -> bool {
    matches!(&*error.kind, ErrorKind::Command(command) if command.code == 48)
}
