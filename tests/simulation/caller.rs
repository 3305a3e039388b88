//! Transactions of the caller: appends and edits of which all are stored, or none.

use bucket_runtime::{
    bson::{Document, doc},
    mongodb::{
        ClientSession,
        error::{Error as DriverError, UNKNOWN_TRANSACTION_COMMIT_RESULT},
    },
};

use crate::{
    driver::{Driver, Sent},
    handle::Handle,
    world::Told,
    writer::{Edit, ended, tell},
};

/// How often a transaction is begun again, and a commit sent again.
const TRIES: u32 = 4;

/// Who has transactions, in a session of the driver's. The driver itself sends nothing, so its own transaction remains
/// one that is about to begin.
struct Caller {
    driver: Driver,
    /// The database's name, by which the simulation knows the process.
    name: String,
    session: ClientSession,
}

/// Appends two items in each of two transactions, and now and then edits an item in them. One that fails is begun
/// again, and some are given up.
pub(crate) async fn append<H: Handle>(
    handle: H,
    driver: Driver,
    name: String,
    session: ClientSession,
    first: i64,
) {
    let network = driver.network.clone();
    let mut caller = Caller {
        driver,
        name,
        session,
    };
    let mut own = Vec::new();
    for first in [first, first + 2] {
        let items = [first, first + 1].map(|n| (network.world().sensor(n), n));
        let edit = Edit::of_one(&network, &mut own);
        for _ in 0..TRIES {
            let ended = caller.transact(&handle, &items, edit).await;
            let told = ended.unwrap_or(Told::Failed);
            items.iter().for_each(|(_, n)| tell(&network, *n, told));
            edit.iter().for_each(|edit| edit.tell(&network, told));
            match told {
                Told::Done => own.extend(items),
                Told::Maybe => {}
                Told::Failed if ended.is_some() => continue,
                Told::Failed => return,
            }
            break;
        }
    }
}

impl Caller {
    /// Carries out one transaction; `None` if the process has ended before its commit.
    async fn transact<H: Handle>(
        &mut self,
        handle: &H,
        items: &[(i64, i64)],
        edit: Option<Edit>,
    ) -> Option<Told> {
        let begun = self.session.start_transaction().await;
        begun.expect("no transaction before");
        self.driver.begin_transaction(self.session.id());
        let (network, process) = (self.driver.network.clone(), self.name.clone());
        let written = ended(&network, &process, self.write(handle, items, edit)).await;
        let commits = self.driver.network.world().below(4) > 0;
        let told = match written? {
            Ok(true) if commits => self.commit().await,
            _ => Told::Failed,
        };
        if told != Told::Done {
            self.end("abortTransaction").await;
        }
        let ended = self.session.abort_transaction().await;
        ended.expect("a transaction that has sent nothing");
        Some(told)
    }

    /// Whether all was done.
    async fn write<H: Handle>(
        &mut self,
        handle: &H,
        items: &[(i64, i64)],
        edit: Option<Edit>,
    ) -> bucket_runtime::Result<bool> {
        let Self {
            driver, session, ..
        } = self;
        for &(sensor, n) in items {
            driver.network.world().begin_item(n);
            handle.append(sensor, n, Some(&mut *session)).await?;
        }
        match edit {
            Some(edit) => edit.make(handle, &driver.network, Some(session)).await,
            None => Ok(true),
        }
    }

    async fn commit(&mut self) -> Told {
        for _ in 0..TRIES {
            match self.end("commitTransaction").await {
                Some(Ok(_)) => return Told::Done,
                Some(Err(error)) if error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT) => {}
                Some(Err(_)) => return Told::Failed,
                // The process has ended.
                None => return Told::Maybe,
            }
        }
        Told::Maybe
    }

    /// Sends the command that ends the transaction.
    async fn end(&self, command: &str) -> Option<Result<Document, DriverError>> {
        let sent = Sent {
            handle: self.name.clone(),
            session: Some(self.session.id().clone()),
            command: doc! { command: 1 },
            is_action: true,
        };
        ended(&self.driver.network, &self.name, self.driver.deliver(sent)).await
    }
}
