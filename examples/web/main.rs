//! A small web site: twenty thousand flights, airport by airport and page by page, with filters. It
//! works without JavaScript, and a page's place is in its URL.
//!
//! ```text
//! cargo run --example web
//! ```
//!
//! The example starts a throw-away server, loads the flights, and prints the URL to open. With
//! `MONGODB_URI=mongodb://localhost` it runs on a server of yours, in `bucket_examples.flights_web`,
//! which it drops first and leaves there afterwards. Its console shows each call of the library: the
//! items, the round trips and the bytes of every page that is visited.

mod data;
mod pages;
mod site;

use std::{error::Error, net::Ipv4Addr};

use bucket_examples::thousands;
use bucket_testkit::Server;
use tokio::net::TcpListener;
use tracing_subscriber::fmt::format::FmtSpan;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // A line for each call of the library, once it is done.
    tracing_subscriber::fmt()
        .compact()
        .with_target(false)
        .with_span_events(FmtSpan::CLOSE)
        .init();
    let server = Server::start().await?;
    let db = server.database("bucket_examples").await?;
    let (flights, loaded) = data::load(&db, usize::MAX).await?;
    println!("{} flights are loaded", thousands(loaded));

    // Loopback only, on any free port.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("open http://{} (Ctrl-C ends it)", listener.local_addr()?);
    axum::serve(listener, site::router(flights, data::airports()?)).await?;
    Ok(())
}
