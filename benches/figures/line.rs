//! A line to the server that delays what goes over it, as a network does.

use std::time::Duration;

use bucket_benches::Result;
use bucket_runtime::mongodb::options::ClientOptions;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc,
    time::{Instant, sleep_until},
};

/// Starts a line to the first server of this connection string, and returns the connection string of its
/// near end. Each round trip over it takes `delay` longer, to about a millisecond.
pub(crate) async fn to(uri: &str, delay: Duration) -> Result<String> {
    let server = ClientOptions::parse(uri).await?.hosts[0].to_string();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let near = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let Ok(server) = TcpStream::connect(&server).await else {
                continue;
            };
            // Without this, the system would hold small messages back.
            if client
                .set_nodelay(true)
                .and(server.set_nodelay(true))
                .is_err()
            {
                continue;
            }
            let ((from_client, to_client), (from_server, to_server)) =
                (client.into_split(), server.into_split());
            carry(from_client, to_server, delay / 2);
            carry(from_server, to_client, delay / 2);
        }
    });
    Ok(format!("mongodb://{near}/?directConnection=true"))
}

/// Carries bytes in one direction. What is under way holds nothing up that follows it.
fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, delay: Duration) {
    let (send, mut arrive) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    tokio::spawn(async move {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(read @ 1..) = from.read(&mut bytes).await {
            if send
                .send((Instant::now() + delay, bytes[..read].to_vec()))
                .is_err()
            {
                break;
            }
        }
    });
    tokio::spawn(async move {
        while let Some((due, bytes)) = arrive.recv().await {
            sleep_until(due).await;
            if to.write_all(&bytes).await.is_err() {
                break;
            }
        }
    });
}
