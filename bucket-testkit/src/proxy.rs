//! A line between a client and a server on which commands and answers get lost.

mod faults;
mod message;

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use mongodb::{
    Client, Database,
    bson::doc,
    options::{ClientOptions, ServerAddress},
};
use tokio::{
    io::AsyncWriteExt,
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    time::sleep,
};

use self::{faults::Faults, message::Message};
use crate::error::{Error, Result};

/// What a [`Proxy`] does with a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The command is carried out and answered.
    Pass,
    /// The connection is cut before the server gets the command.
    CutBefore,
    /// The server carries the command out, and the connection is cut instead of the answer.
    CutAfter,
    /// The server carries the command out, and the answer comes so much later.
    Delay(Duration),
    /// The server carries the command out, and the answer waits for [`Proxy::release`].
    Hold,
}

/// A line between clients and a server on which commands and answers get lost, so that tests can
/// see what an application does then.
///
/// The driver repeats most commands once after a broken connection. So a single cut goes unnoticed,
/// and two in a row leave a write in doubt: it failed, and is maybe stored.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use bucket_testkit::{Proxy, Server};
///
/// let server = Server::start().await?;
/// let proxy = Proxy::start(server.uri()).await?;
/// let db = proxy.database("zoo")?;
///
/// // One of ten writes is slow, or cut off once, or in doubt. Another seed gives other ones.
/// proxy.fail_at_random(42, 0.1);
/// // … what is to be tested, with `db` …
/// proxy.pass();
/// // … and then what is stored.
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Proxy {
    plan: Arc<Mutex<Plan>>,
    released: Arc<watch::Sender<u64>>,
    options: ClientOptions,
}

#[derive(Debug, Default)]
struct Plan {
    /// The text that a command's first bytes must contain to meet one of these fates.
    mark: String,
    fates: VecDeque<Fate>,
    faults: Option<Faults>,
    met: usize,
}

/// The command in flight on a connection, and its fate.
type InFlight = Mutex<(i32, Fate)>;

impl Proxy {
    /// Starts a proxy for the primary of the server with this connection string. It ends with the
    /// tokio runtime.
    ///
    /// # Errors
    ///
    /// When the connection string is invalid, or the server does not answer.
    pub async fn start(uri: &str) -> Result<Self> {
        let failed = |error| Error::caused("connecting to the server of a proxy", error);
        let mut options = ClientOptions::parse(uri).await.map_err(failed)?;
        let client = Client::with_options(options.clone()).map_err(failed)?;
        let admin = client.database("admin");
        let hello = admin.run_command(doc! { "hello": 1 }).await;
        let to = match hello.map_err(failed)?.get_str("primary") {
            Ok(primary) => primary.to_owned(),
            Err(_) => options.hosts[0].to_string(),
        };
        let failed = |error| Error::caused("listening for a proxy", error);
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        options.hosts = vec![ServerAddress::Tcp {
            host: "127.0.0.1".to_owned(),
            port: Some(port),
        }];
        options.repl_set_name = None;
        options.direct_connection = Some(true);
        let proxy = Self {
            plan: Arc::default(),
            released: Arc::new(watch::channel(0).0),
            options,
        };
        let relay = proxy.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (relay, to) = (relay.clone(), to.clone());
                tokio::spawn(async move {
                    if let Ok(server) = TcpStream::connect(to).await {
                        relay.relay(client, server).await;
                    }
                });
            }
        });
        Ok(proxy)
    }

    /// The options of a client that goes through the proxy.
    pub fn options(&self) -> ClientOptions {
        self.options.clone()
    }

    /// A database through the proxy, by a client of its own.
    ///
    /// # Errors
    ///
    /// When the driver does not take the options of the connection string.
    pub fn database(&self, name: &str) -> Result<Database> {
        let client = Client::with_options(self.options());
        let client = client.map_err(|error| Error::caused("making a client", error))?;
        Ok(client.database(name))
    }

    /// The fates of the next commands that contain this text in their first two thousand bytes: the
    /// name of a command, say, or of a collection. All others pass.
    ///
    /// ```no_run
    /// # use bucket_testkit::{Fate, Proxy};
    /// # fn example(proxy: &Proxy) {
    /// // The next insert is carried out, and so is its repetition, but the client never learns it.
    /// proxy.next("insert", [Fate::CutAfter, Fate::CutAfter]);
    /// # }
    /// ```
    pub fn next(&self, mark: &str, fates: impl IntoIterator<Item = Fate>) {
        *self.plan() = Plan {
            mark: mark.to_owned(),
            fates: fates.into_iter().collect(),
            ..Plan::default()
        };
    }

    /// Lets this share of the commands that write meet a fault, by this seed. A third of them are
    /// slow, by up to 50 milliseconds, so that other writers overtake them. A third are cut off
    /// once, before or after the server has carried them out; what the driver repeats is done all
    /// the same. And a third are left in doubt: carried out or not, and the repetition is cut off,
    /// too.
    pub fn fail_at_random(&self, seed: u64, share: f64) {
        *self.plan() = Plan {
            faults: Some(Faults::new(seed, share)),
            ..Plan::default()
        };
    }

    /// Lets all commands pass again.
    pub fn pass(&self) {
        *self.plan() = Plan::default();
    }

    /// How many commands have contained the text of [`next`](Self::next) since then, or have met a
    /// fault at random.
    pub fn met(&self) -> usize {
        self.plan().met
    }

    /// Whether each fate of [`next`](Self::next) has met a command.
    pub fn is_done(&self) -> bool {
        self.plan().fates.is_empty()
    }

    /// Releases all answers that are held.
    pub fn release(&self) {
        self.released.send_modify(|times| *times += 1);
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes messages on until one side has gone or the connection is to be cut.
    async fn relay(&self, client: TcpStream, server: TcpStream) {
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let in_flight = Mutex::new((0, Fate::Pass));
        let _ = tokio::select! {
            ended = self.requests(from_client, to_server, &in_flight) => ended,
            ended = self.replies(from_server, to_client, &in_flight) => ended,
        };
    }

    async fn requests(
        &self,
        mut from: OwnedReadHalf,
        mut to: OwnedWriteHalf,
        in_flight: &InFlight,
    ) -> io::Result<()> {
        loop {
            let message = Message::read(&mut from).await?;
            let fate = self.plan().fate(&message);
            if fate == Fate::CutBefore {
                return Ok(());
            }
            *lock(in_flight) = (message.id(), fate);
            to.write_all(message.bytes()).await?;
        }
    }

    async fn replies(
        &self,
        mut from: OwnedReadHalf,
        mut to: OwnedWriteHalf,
        in_flight: &InFlight,
    ) -> io::Result<()> {
        let mut released = self.released.subscribe();
        loop {
            let message = Message::read(&mut from).await?;
            let (request, fate) = *lock(in_flight);
            if request == message.answered() {
                match fate {
                    Fate::CutAfter => return Ok(()),
                    Fate::Hold => released.changed().await.map_err(io::Error::other)?,
                    Fate::Delay(time) => sleep(time).await,
                    Fate::Pass | Fate::CutBefore => {}
                }
            }
            to.write_all(message.bytes()).await?;
        }
    }
}

fn lock(in_flight: &InFlight) -> MutexGuard<'_, (i32, Fate)> {
    in_flight.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Plan {
    fn fate(&mut self, message: &Message) -> Fate {
        let fate = match &mut self.faults {
            Some(faults) => faults.fate(message),
            None if message.begins_with(&self.mark) => {
                Some(self.fates.pop_front().unwrap_or(Fate::Pass))
            }
            None => None,
        };
        self.met += usize::from(fate.is_some());
        fate.unwrap_or(Fate::Pass)
    }
}
