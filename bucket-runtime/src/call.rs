//! A call before it is sent, where its settings are all that its method does not ask for.

use bucket_core::server::call::{Span, run};
use futures_util::future::BoxFuture;
use mongodb::ClientSession;

use crate::{Error, Result};

/// A call that is not sent yet: await it. The method that returns it says what it does; `S` are its
/// settings.
#[must_use = "nothing is sent until this is awaited"]
pub struct Call<'s, T, S = (), E = Error> {
    send: Box<dyn FnOnce(S) -> BoxFuture<'s, Result<T, E>> + Send + 's>,
    pub(crate) settings: S,
}

/// The only setting of most writes: the session that carries them out.
#[derive(Default)]
pub struct InSession<'s>(pub(crate) Option<&'s mut ClientSession>);

/// A write that is not sent yet: await it. The method that returns it says what it does.
///
/// ```no_run
/// # use bucket_runtime::{Bucket, Buckets, mongodb::Client};
/// # async fn example<Trade: Bucket>(client: Client, trades: Buckets<Trade>, trade: Trade) -> Result<(), Box<dyn std::error::Error>> {
/// trades.append(&trade).await?;
///
/// let mut session = client.start_session().await?;
/// session.start_transaction().await?;
/// trades.append(&trade).session(&mut session).await?;
/// session.commit_transaction().await?;
/// # Ok(())
/// # }
/// ```
pub type Write<'s, T, E = Error> = Call<'s, T, InSession<'s>, E>;

impl<'s, T, S, E> Call<'s, T, S, E>
where
    T: Send + 's,
    S: Default + 's,
    E: AsRef<Error> + Send + 's,
{
    /// A call that `send` carries out by its settings, in a span.
    #[doc(hidden)]
    pub fn new<F>(span: fn() -> Span, send: impl FnOnce(S) -> F + Send + 's) -> Self
    where
        F: Future<Output = Result<T, E>> + Send + 's,
    {
        Self {
            send: Box::new(move |settings| run(span, Box::pin(send(settings)), false)),
            settings: S::default(),
        }
    }
}

impl<'s, T, E> Write<'s, T, E> {
    /// Carries the whole call out in this session, as commands of its own. In a transaction, all
    /// its steps are part of it; a race that it loses then ends in an error with the driver's label
    /// `TransientTransactionError`, so the transaction can run again.
    pub fn session(mut self, session: impl Into<&'s mut ClientSession>) -> Self {
        self.settings = InSession(Some(session.into()));
        self
    }
}

impl<'s, T, S, E> IntoFuture for Call<'s, T, S, E> {
    type Output = Result<T, E>;
    type IntoFuture = BoxFuture<'s, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        (self.send)(self.settings)
    }
}
