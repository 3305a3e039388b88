//! Transactions of our own.

use std::time::Duration;

use futures_util::future::BoxFuture;
use mongodb::{
    ClientSession, ClusterTime,
    bson::Timestamp,
    error::{Error as DriverError, ErrorKind},
    options::ReadConcern,
};
use tokio::{task::JoinError, time::Instant};

use crate::{
    Result,
    error::{Kind, duplicate_index, is_aborted, is_too_many_transactions},
    schema::names::OPEN_INDEX,
    server::{
        Server, call,
        wire::{self, Request},
    },
};

/// How long a transaction is retried; the server aborts one that is not committed after 60 seconds
/// (`transactionLifetimeLimitSeconds`).
const MAX_TRANSACTION: Duration = Duration::from_secs(150);

/// The longest pause between two attempts.
const MAX_RACE_PAUSE: Duration = Duration::from_millis(500);

/// The body of a transaction, between its begin and its commit.
pub trait Attempt: Send + Sync + 'static {
    type Output: Send;

    /// Whether it compares reads of several documents, which a cluster otherwise gives as they are
    /// at a different moment on each shard.
    const READS_ONE_MOMENT: bool = false;

    fn attempt<'s>(&'s self, session: &'s mut ClientSession)
    -> BoxFuture<'s, Result<Self::Output>>;

    /// Whether a further attempt may succeed after the server has refused this one: others have
    /// taken an id, or the place of the open bucket.
    fn has_lost(&self, error: &DriverError) -> bool {
        is_lost_race(error)
    }
}

/// Whether others have taken the id, or the place of the open bucket.
pub fn is_lost_race(error: &DriverError) -> bool {
    matches!(duplicate_index(error), Some(OPEN_INDEX | "_id_"))
}

/// Runs a transaction until it commits. A write that lost a race, including one for an id, starts
/// it again.
///
/// The transaction runs in a task of its own. One whose commit was dropped before it was sent would
/// lock its documents until the server ends it, which by default takes a minute.
pub async fn run<A: Attempt>(server: &Server, attempt: A) -> Result<A::Output> {
    run_after(server, attempt, CausalTime::default()).await.0
}

/// Runs an attempt in the caller's session, if there is one. If that session is in a transaction,
/// the attempt becomes a part of it, and the caller commits it.
///
/// Otherwise the transaction has a session of its own, causally between the calls of the caller's:
/// if a call were dropped in a transaction of the caller's session, the next call would join that
/// transaction, and nobody would commit it.
pub async fn run_in<A: Attempt>(
    server: &Server,
    attempt: A,
    session: Option<&mut ClientSession>,
) -> Result<A::Output> {
    let Some(session) = session else {
        return run(server, attempt).await;
    };
    if is_in_transaction(server, session).await? {
        return attempt.attempt(session).await;
    }
    let (done, time) = run_after(server, attempt, CausalTime::of(session)).await;
    time.advance(session);
    done
}

/// Whether a session is in a transaction: then the driver refuses to begin another one. (A session
/// that reads from a snapshot cannot begin one, either: the server refuses its writes.)
async fn is_in_transaction(server: &Server, session: &mut ClientSession) -> Result<bool> {
    match wire::skip_number(session).await {
        Ok(()) => Ok(false),
        Err(error) if matches!(*error.kind, ErrorKind::Transaction { .. }) => Ok(true),
        Err(error) => Err(server.target().read_error(error)),
    }
}

/// The times that a session has seen. A session that begins with them sees as much.
#[derive(Default)]
struct CausalTime {
    cluster: Option<ClusterTime>,
    operation: Option<Timestamp>,
}

impl CausalTime {
    fn of(session: &ClientSession) -> Self {
        Self {
            cluster: session.cluster_time().cloned(),
            operation: session.operation_time(),
        }
    }

    fn advance(&self, session: &mut ClientSession) {
        if let Some(cluster) = &self.cluster {
            session.advance_cluster_time(cluster);
        }
        if let Some(operation) = self.operation {
            session.advance_operation_time(operation);
        }
    }
}

/// [`run`], after this time; also returns that of the commit.
async fn run_after<A: Attempt>(
    server: &Server,
    attempt: A,
    mut time: CausalTime,
) -> (Result<A::Output>, CausalTime) {
    let server_of_task = server.clone();
    let work = async move {
        let done = begin_and_commit(&server_of_task, &attempt, &mut time).await;
        (done, time)
    };
    // Boxed, so that the compiler makes a task for each output, not for each attempt.
    let work: BoxFuture<'static, _> = Box::pin(call::in_task(work));
    let task = tokio::spawn(work);
    match task.await.map_err(JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // The tokio runtime is shutting down.
        Err(Err(cancelled)) => {
            let error = server.target().error(Kind::Driver).in_doubt();
            let error = error.with_source(Box::new(cancelled));
            (Err(error), CausalTime::default())
        }
    }
}

async fn begin_and_commit<A: Attempt>(
    server: &Server,
    attempt: &A,
    time: &mut CausalTime,
) -> Result<A::Output> {
    let session = server.start_session().await;
    let mut session = session.map_err(|error| server.target().read_error(error))?;
    time.advance(&mut session);
    begin::<A>(server, &mut session).await?;
    let done = commit_or_retry(server, attempt, &mut session).await;
    *time = CausalTime::of(&session);
    done
}

async fn begin<A: Attempt>(server: &Server, session: &mut ClientSession) -> Result<()> {
    let concern = A::READS_ONE_MOMENT.then(ReadConcern::snapshot);
    let begun = wire::begin(session, concern).await;
    begun.map_err(|error| server.target().read_error(error))
}

/// Runs the body of a transaction that has begun, and commits it; again from its begin after a lost
/// race.
async fn commit_or_retry<A: Attempt>(
    server: &Server,
    attempt: &A,
    session: &mut ClientSession,
) -> Result<A::Output> {
    let end = Instant::now() + MAX_TRANSACTION;
    let mut pause = Duration::from_millis(1);
    loop {
        let error = match attempt.attempt(session).await {
            Ok(done) => match commit(server, session).await {
                Ok(()) => return Ok(done),
                Err(error) => server.target().write_error(error),
            },
            Err(error) => error,
        };
        // The server ends the transaction by itself if this command does not arrive.
        let _ = server.send(Request::Abort, Some(&mut *session)).await;
        let Some(driver) = error.driver() else {
            return Err(error);
        };
        let again =
            attempt.has_lost(driver) || is_aborted(driver) || is_too_many_transactions(driver);
        crate::reached!("a transaction fails, and begins again: {again}");
        if !again || Instant::now() > end {
            return Err(error);
        }
        call::again();
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_RACE_PAUSE);
        begin::<A>(server, session).await?;
    }
}

/// A commit whose answer was lost is sent again: the server carries it out once.
async fn commit(server: &Server, session: &mut ClientSession) -> Result<(), DriverError> {
    let end = Instant::now() + MAX_TRANSACTION;
    loop {
        match server.send(Request::Commit, Some(&mut *session)).await {
            Err(error)
                if Instant::now() < end
                    && error.contains_label(mongodb::error::UNKNOWN_TRANSACTION_COMMIT_RESULT) => {}
            done => return done.map(drop),
        }
    }
}
