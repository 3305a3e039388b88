//! A proxy between a client and the server. It cuts the connection at a command, or holds the answer
//! back. To the client that is a failing network: before the server has seen the command, or after the
//! server has carried it out.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex},
};

use bucket_runtime::mongodb::{
    Client, Database,
    bson::doc,
    options::{ClientOptions, ServerAddress},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};

/// The proxy's treatment of a command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fate {
    /// The command is carried out and answered.
    Pass,
    /// The connection is cut before the server gets it.
    CutBefore,
    /// The server carries it out, and the connection is cut instead of the answer.
    CutAfter,
    /// The server carries it out, and the answer waits for [`Proxy::release`].
    Hold,
}

#[derive(Clone)]
pub(crate) struct Proxy {
    plan: Arc<Mutex<Plan>>,
    released: Arc<watch::Sender<u64>>,
    options: ClientOptions,
}

#[derive(Default)]
struct Plan {
    /// The text that a command's first bytes must contain to meet a fate.
    mark: &'static str,
    fates: VecDeque<Fate>,
    met: usize,
}

impl Proxy {
    /// A proxy for the primary of the server with this connection string.
    pub(crate) async fn start(uri: &str) -> Self {
        let mut options = ClientOptions::parse(uri).await.unwrap();
        let client = Client::with_options(options.clone()).unwrap();
        let admin = client.database("admin");
        let hello = admin.run_command(doc! { "hello": 1 }).await.unwrap();
        let to = match hello.get_str("primary") {
            Ok(primary) => primary.to_owned(),
            Err(_) => options.hosts[0].to_string(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        options.hosts = vec![ServerAddress::parse(format!("127.0.0.1:{port}")).unwrap()];
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
                    let server = TcpStream::connect(to).await.unwrap();
                    relay.relay(client, server).await;
                });
            }
        });
        proxy
    }

    /// The options of a client that goes through the proxy.
    pub(crate) fn options(&self) -> ClientOptions {
        self.options.clone()
    }

    /// A database through the proxy.
    pub(crate) fn database(&self, name: &str) -> Database {
        Client::with_options(self.options()).unwrap().database(name)
    }

    /// The fates of the next commands that contain this text in their first bytes.
    pub(crate) fn next(&self, mark: &'static str, fates: impl IntoIterator<Item = Fate>) {
        *self.plan.lock().unwrap() = Plan {
            mark,
            fates: fates.into_iter().collect(),
            met: 0,
        };
    }

    /// How many commands have contained that text since then.
    pub(crate) fn met(&self) -> usize {
        self.plan.lock().unwrap().met
    }

    /// Whether each fate has met a command.
    pub(crate) fn is_done(&self) -> bool {
        self.plan.lock().unwrap().fates.is_empty()
    }

    /// Releases all answers that are held.
    pub(crate) fn release(&self) {
        self.released.send_modify(|times| *times += 1);
    }

    /// Passes messages on until one side has gone or the connection is to be cut.
    async fn relay(&self, client: TcpStream, server: TcpStream) {
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let doomed = Mutex::new((0, Fate::Pass));
        let _ = tokio::select! {
            ended = self.requests(from_client, to_server, &doomed) => ended,
            ended = self.replies(from_server, to_client, &doomed) => ended,
        };
    }

    async fn requests(
        &self,
        mut from: OwnedReadHalf,
        mut to: OwnedWriteHalf,
        doomed: &Mutex<(i32, Fate)>,
    ) -> io::Result<()> {
        loop {
            let message = message(&mut from).await?;
            let fate = self.plan.lock().unwrap().fate(&message);
            if fate == Fate::CutBefore {
                return Ok(());
            }
            *doomed.lock().unwrap() = (int(&message, 4), fate);
            to.write_all(&message).await?;
        }
    }

    async fn replies(
        &self,
        mut from: OwnedReadHalf,
        mut to: OwnedWriteHalf,
        doomed: &Mutex<(i32, Fate)>,
    ) -> io::Result<()> {
        let mut released = self.released.subscribe();
        loop {
            let message = message(&mut from).await?;
            let (request, fate) = *doomed.lock().unwrap();
            match fate {
                Fate::CutAfter if request == int(&message, 8) => return Ok(()),
                Fate::Hold if request == int(&message, 8) => {
                    released.changed().await.map_err(io::Error::other)?;
                }
                _ => {}
            }
            to.write_all(&message).await?;
        }
    }
}

impl Plan {
    fn fate(&mut self, message: &[u8]) -> Fate {
        let begin = &message[..message.len().min(2000)];
        let mark = self.mark.as_bytes();
        if mark.is_empty() || !begin.windows(mark.len()).any(|part| part == mark) {
            return Fate::Pass;
        }
        self.met += 1;
        self.fates.pop_front().unwrap_or(Fate::Pass)
    }
}

/// A message of the wire protocol: its length comes first.
async fn message(from: &mut OwnedReadHalf) -> io::Result<Vec<u8>> {
    let length = from.read_i32_le().await?;
    let mut message = length.to_le_bytes().to_vec();
    message.resize(usize::try_from(length).map_err(io::Error::other)?, 0);
    from.read_exact(&mut message[4..]).await?;
    Ok(message)
}

/// A number from the header: a request has its own id at 4, a reply has the request's id at 8.
fn int(message: &[u8], at: usize) -> i32 {
    i32::from_le_bytes([
        message[at],
        message[at + 1],
        message[at + 2],
        message[at + 3],
    ])
}
