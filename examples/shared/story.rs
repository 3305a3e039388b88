//! The teller: it finds a server, listens to the driver, and prints steps.

use std::{
    error::Error,
    fmt::Display,
    sync::mpsc::{Receiver, channel},
};

use bucket_runtime::{
    Bucket,
    mongodb::{
        self, Client, Database,
        bson::{Document, doc},
        event::{EventHandler, command::CommandEvent},
        options::ClientOptions,
    },
};
use bucket_testkit::Server;
use futures_util::TryStreamExt;

use crate::{
    shell,
    text::{NOTE_WIDTH, bold, note, paragraph},
};

/// The database on a server of the reader's own.
const DATABASE: &str = "bucket_examples";

/// A story about one collection, told step by step on the terminal.
pub struct Story {
    server: Server,
    database: Database,
    collection: &'static str,
    commands: Receiver<Document>,
    steps: u32,
}

impl Story {
    /// Starts a throw-away server, or takes that of `MONGODB_URI`, and clears the stage there: the
    /// collection that an earlier run has left is dropped.
    ///
    /// # Errors
    ///
    /// When there is no server, or when it does not answer.
    pub async fn begin<T: Bucket>(title: &str) -> Result<Self, Box<dyn Error>> {
        println!("{}", bold(title));
        let server = Server::start().await?;
        let options = ClientOptions::parse(server.uri()).await;
        let mut options = options.map_err(|error| format!("MONGODB_URI is no use: {error}"))?;
        // The connection string may hold a password, the addresses do not.
        let hosts: Vec<_> = options.hosts.iter().map(ToString::to_string).collect();
        let hosts = hosts.join(", ");
        let (sender, commands) = channel();
        options.command_event_handler = Some(EventHandler::callback(move |event| {
            if let CommandEvent::Started(started) = event {
                // Nobody listens any more once the story has ended.
                let _ = sender.send(started.command);
            }
        }));

        let database = Client::with_options(options)?.database(DATABASE);
        let collection = T::SPEC.collection;
        let existing = database.list_collection_names().await;
        let existing = existing.map_err(|error| format!("{hosts} does not answer: {error}"))?;
        paragraph(&match server.is_throw_away() {
            true => format!("On a throw-away server at {hosts}, which ends with this program."),
            false => format!("On your server at {hosts}, in {DATABASE}.{collection}."),
        });
        if existing.iter().any(|name| name == collection) {
            database.collection::<Document>(collection).drop().await?;
            paragraph(&format!(
                "Dropped the {DATABASE}.{collection} that was there."
            ));
        }
        Ok(Self {
            server,
            database,
            collection,
            commands,
            steps: 0,
        })
    }

    /// The database in which the story takes place.
    pub fn database(&self) -> Database {
        self.database.clone()
    }

    /// The same database through a client that nobody listens to, for a load that is timed: the
    /// driver writes out each command for a listener, which costs more than sending it.
    ///
    /// # Errors
    ///
    /// Those of [`Server::database`].
    pub async fn quiet_database(&self) -> Result<Database, bucket_testkit::Error> {
        self.server.database(DATABASE).await
    }

    /// Begins a step: a headline, and a sentence that explains it.
    pub fn step(&mut self, headline: &str, sentence: impl Display) {
        self.steps += 1;
        println!("\n{}", bold(&format!("{}. {headline}", self.steps)));
        paragraph(&sentence.to_string());
    }

    /// Prints a remark.
    pub fn remark(&self, text: impl Display) {
        println!();
        paragraph(&text.to_string());
    }

    /// Prints a call that is about to be made, and begins to listen; [`show!`](crate::show) does.
    pub fn calls(&self, call: &str) {
        while self.commands.try_recv().is_ok() {}
        println!();
        note("call", call);
    }

    /// Prints the commands that the driver has sent since [`calls`](Self::calls).
    pub fn sent(&self) {
        for command in self.commands.try_iter() {
            note("sent", &shell::command(&command, NOTE_WIDTH));
        }
    }

    /// Prints the documents that match, as they are stored.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub async fn stored(&self, filter: Document) -> Result<(), mongodb::error::Error> {
        let collection = self.database.collection::<Document>(self.collection);
        let found = collection.find(filter).sort(doc! { "_id": 1 }).await?;
        let found: Vec<Document> = found.try_collect().await?;
        println!();
        for document in found {
            note("stored", &shell::value(&document.into(), NOTE_WIDTH));
        }
        Ok(())
    }

    /// Ends the story, and says where its data is.
    pub fn end(self) {
        println!();
        paragraph(&match self.server.is_throw_away() {
            true => format!(
                "The server ends here, and its data with it. To keep the data, set MONGODB_URI to a \
                 server of yours; it goes to {DATABASE}.{} there.",
                self.collection
            ),
            false => format!(
                "The data stays in {DATABASE}.{} for you to look at.",
                self.collection
            ),
        });
    }
}
