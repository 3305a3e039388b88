//! The servers that calls reach.

use mongodb::{event::cmap::CmapEvent, options::ServerAddress};

use super::{CURRENT, Calls};

/// Tells the current call which server it got a connection to.
///
/// Pass it to a client of which spans and metrics are to name the server (`server.address`, `server.port`); the
/// driver tells it to nobody else. Needs the feature `tracing`.
///
/// ```no_run
/// use bucket_runtime::mongodb::{Client, event::EventHandler, options::ClientOptions};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let mut options = ClientOptions::parse("mongodb://localhost").await?;
/// options.cmap_event_handler = Some(EventHandler::callback(bucket_runtime::trace_server));
/// let client = Client::with_options(options)?;
/// # Ok(())
/// # }
/// ```
pub fn trace_server(event: CmapEvent) {
    // The driver calls its handler in the task that asks for the connection.
    if let CmapEvent::ConnectionCheckedOut(event) = event {
        let _ = CURRENT.try_with(|calls| calls.name_server(&event.address));
    }
}

impl Calls {
    fn name_server(&self, address: &ServerAddress) {
        for call in &*self.0 {
            call.name_server(address);
        }
    }
}
