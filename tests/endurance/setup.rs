//! The collections of a run, through a handle of each of the driver's clients.

use std::{ops::Range, time::Duration};

use bucket_runtime::{
    Buckets, Outliers,
    mongodb::{Client, Database},
};

use crate::{
    Result,
    failover::DATABASE,
    items::{Mark, Numbers},
    machines::Machines,
};

pub(crate) struct Setup {
    /// The database through a client that waits for a new primary, and through one that gives up soon.
    pub(crate) dbs: Vec<Database>,
    /// Whether the keys are spread over shards.
    is_sharded: bool,
    /// How long a writer pauses after a call, on average.
    pub(crate) pace: Duration,
}

impl Setup {
    pub(crate) async fn new(machines: &Machines, pace: Duration) -> Result<Self> {
        let mut dbs = Vec::new();
        for patience in [Duration::from_secs(30), Duration::from_millis(300)] {
            let mut options = machines.options().await?;
            options.server_selection_timeout = Some(patience);
            dbs.push(Client::with_options(options)?.database(DATABASE));
        }
        Ok(Self {
            dbs,
            is_sharded: machines.is_sharded(),
            pace,
        })
    }

    /// Handles of new buckets, each of which combines appends or does not.
    pub(crate) async fn buckets<T: Mark>(
        &self,
        name: &str,
        combine: [bool; 2],
    ) -> Result<Vec<Buckets<T>>> {
        if self.is_sharded {
            let collection = self.dbs[0].collection::<T>(name);
            T::create_collection_in(collection).sharded_hashed().await?;
        }
        let mut handles = Vec::new();
        for (db, combine) in self.dbs.iter().zip(combine) {
            let collection = db.collection::<T>(name);
            handles.push(T::buckets_in(collection).combine(combine).await?);
        }
        Ok(handles)
    }

    /// Handles of new parents with these ids, which are empty.
    pub(crate) async fn parents<T: Numbers>(
        &self,
        name: &str,
        ids: Range<i64>,
    ) -> Result<Vec<Outliers<T>>> {
        let parents = self.dbs[0].collection::<T>(name);
        let extras_name = extras_of(name);
        if self.is_sharded {
            let extras = self.dbs[0].collection(&extras_name);
            let created = T::create_collections_in(parents.clone(), extras);
            created.sharded_hashed().await?;
        }
        parents.insert_many(ids.map(T::empty)).await?;
        let mut handles = Vec::new();
        for db in &self.dbs {
            let (parents, extras) = (db.collection::<T>(name), db.collection(&extras_name));
            handles.push(T::outliers_in(parents, extras).await?);
        }
        Ok(handles)
    }
}

/// The name of the collection with the extras of these parents.
pub(crate) fn extras_of(name: &str) -> String {
    format!("extras of {name}")
}
