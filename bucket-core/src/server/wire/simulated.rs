//! What answers in place of a server, for the simulation of the engine (`tests/simulation`).

use std::{cell::RefCell, collections::BTreeMap, mem, sync::Arc};

use futures_util::future::BoxFuture;
use mongodb::{
    Client, ClientSession, Collection,
    bson::{Document, RawDocumentBuf},
    change_stream::event::ResumeToken,
    error::Error as DriverError,
};

use crate::server::wire::{EventStream, ReadRequest, Request, Response};

thread_local! {
    static SIMULATED: RefCell<Option<Arc<dyn Simulated>>> = const { RefCell::new(None) };
    static REACHED: RefCell<BTreeMap<String, u64>> = const { RefCell::new(BTreeMap::new()) };
}

/// The future of an answer.
pub type SimulatedResponse<T> = BoxFuture<'static, Result<T, DriverError>>;

/// The driver, the network and the server behind it, and all chance. Sessions go by their ids.
pub trait Simulated: Send + Sync {
    /// The documents that answer a request.
    fn read(
        &self,
        from: &Collection<Document>,
        session: Option<Document>,
        request: ReadRequest,
    ) -> SimulatedResponse<Vec<RawDocumentBuf>>;

    /// The answer to a request.
    fn send(
        &self,
        to: &Collection<Document>,
        session: Option<Document>,
        request: Request<'_>,
    ) -> SimulatedResponse<Response>;

    /// The events that match one of these filters.
    fn watch(
        &self,
        of: Collection<Document>,
        wanted: Vec<Document>,
        after: Option<ResumeToken>,
    ) -> SimulatedResponse<Box<dyn EventStream>>;

    /// A session of the driver that it would use: not one under which a connection broke.
    fn start_session(&self, client: Client) -> SimulatedResponse<ClientSession>;

    /// The driver has used up a number of this session without a command.
    fn skip_number(&self, session: &Document);

    /// A transaction begins, under the next number of this session, with the session's next
    /// command.
    fn begin(&self, session: &Document);

    /// A random number below this one.
    fn random(&self, below: u64) -> u64;
}

/// Lets this server answer what the runtime sends on this thread, or a real one again.
pub fn install(server: Option<Arc<dyn Simulated>>) {
    SIMULATED.set(server);
}

/// The simulated server of this thread.
pub fn simulated() -> Option<Arc<dyn Simulated>> {
    SIMULATED.with_borrow(Option::clone)
}

/// Counts that something is reached.
pub fn reach(row: String) {
    REACHED.with_borrow_mut(|reached| *reached.entry(row).or_default() += 1);
}

/// What this thread has reached since the last call, and how often.
pub fn take_reached() -> BTreeMap<String, u64> {
    REACHED.with_borrow_mut(mem::take)
}
