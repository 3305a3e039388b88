//! A line to a server: a TCP proxy that can be cut, or hold back all bytes.

use std::{io, net::Ipv4Addr};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// Large enough for many small messages, small enough that a cut goes through a large one.
const CHUNK: usize = 4096;

pub(crate) struct Line {
    address: String,
    state: watch::Sender<State>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct State {
    cuts: u64,
    is_held: bool,
}

impl Line {
    /// A line to the server at this address.
    pub(crate) async fn to(server: &str) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let line = Self {
            address: listener.local_addr()?.to_string(),
            state: watch::Sender::default(),
        };
        let (state, server) = (line.state.clone(), server.to_owned());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(connect(client, server.clone(), state.subscribe()));
            }
        });
        Ok(line)
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Breaks all connections at once; new ones can be made immediately.
    pub(crate) fn cut(&self) {
        self.state.send_modify(|state| state.cuts += 1);
    }

    /// From now on nothing arrives, as if packets were lost, and neither side is told.
    pub(crate) fn hold(&self) {
        self.state.send_modify(|state| state.is_held = true);
    }

    /// The bytes that were held back arrive, late.
    pub(crate) fn release(&self) {
        self.state.send_modify(|state| state.is_held = false);
    }
}

async fn connect(client: TcpStream, server: String, mut state: watch::Receiver<State>) {
    let cuts = state.borrow_and_update().cuts;
    let ways = (state.clone(), state.clone());
    let relay = async move {
        released(&mut ways.0.clone()).await;
        let server = TcpStream::connect(server).await?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        // As soon as one side has gone, the other side's connection is closed.
        tokio::select! {
            ended = pump(from_client, to_server, ways.0) => ended,
            ended = pump(from_server, to_client, ways.1) => ended,
        }
    };
    tokio::select! {
        // The relay may end with an error: connections are meant to break.
        _ = relay => {}
        _ = state.wait_for(|state| state.cuts > cuts) => {}
    }
}

async fn pump(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut state: watch::Receiver<State>,
) -> io::Result<()> {
    let mut bytes = vec![0; CHUNK];
    loop {
        let n = from.read(&mut bytes).await?;
        if n == 0 {
            return Ok(());
        }
        released(&mut state).await;
        to.write_all(&bytes[..n]).await?;
    }
}

async fn released(state: &mut watch::Receiver<State>) {
    // The sender lives as long as the listening task.
    let _ = state.wait_for(|state| !state.is_held).await;
}
