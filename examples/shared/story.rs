//! The narrator: it finds a server, listens to the driver, and prints steps.

use std::{
    cell::Cell,
    error::Error,
    fmt::{self, Display},
    sync::mpsc::{Receiver, channel},
};

use bucket_runtime::{
    Bucket, Outlier,
    mongodb::{
        self, Client, Collection, Database,
        bson::{Document, doc},
        event::{EventHandler, command::CommandEvent},
        options::ClientOptions,
    },
};
use bucket_testkit::Server;
use futures_util::TryStreamExt;

use crate::{
    shell,
    text::{NOTE_WIDTH, bold, note, paragraph, thousands},
};

/// The database on a user's own server.
const DATABASE: &str = "bucket_examples";

/// A story about one or two collections, told step by step on the terminal.
pub struct Story {
    server: Server,
    database: Database,
    collections: Vec<&'static str>,
    heard: Receiver<Heard>,
    cost: Cell<Cost>,
    steps: u32,
}

/// The messages of the driver's listener.
enum Heard {
    Command(Document),
    /// The answer to a command, with its size in bytes.
    Reply(u64),
}

/// The cost of a call: how many commands it sent, and how many bytes came back.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Cost {
    /// The number of commands.
    pub queries: u64,
    /// The bytes of the server's replies.
    pub bytes: u64,
}

impl Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queries = if self.queries == 1 {
            "query"
        } else {
            "queries"
        };
        let (number, bytes) = (self.queries, thousands(self.bytes));
        write!(f, "{number} {queries}, {bytes} bytes read")
    }
}

impl Story {
    /// Starts a throw-away server, or uses that of `MONGODB_URI`, and drops the story's collection
    /// if an earlier run has left it.
    ///
    /// # Errors
    ///
    /// When there is no server, or when it does not answer.
    pub async fn begin<T: Bucket>(title: &str) -> Result<Self, Box<dyn Error>> {
        Self::begin_with(title, vec![T::SPEC.collection]).await
    }

    /// Like [`begin`](Self::begin), for a struct with outliers, which uses two collections.
    ///
    /// # Errors
    ///
    /// Those of [`begin`](Self::begin).
    pub async fn begin_outliers<T: Outlier>(title: &str) -> Result<Self, Box<dyn Error>> {
        Self::begin_with(title, vec![T::SPEC.collection, T::SPEC.extras]).await
    }

    async fn begin_with(
        title: &str,
        collections: Vec<&'static str>,
    ) -> Result<Self, Box<dyn Error>> {
        println!("{}", bold(title));
        let server = Server::start().await?;
        let options = ClientOptions::parse(server.uri()).await;
        let mut options =
            options.map_err(|error| format!("MONGODB_URI cannot be used: {error}"))?;
        // The connection string may hold a password, the addresses do not.
        let hosts: Vec<_> = options.hosts.iter().map(ToString::to_string).collect();
        let hosts = hosts.join(", ");
        let (sender, heard) = channel();
        options.command_event_handler = Some(EventHandler::callback(move |event| {
            // Nobody listens any more after the end of the story.
            let _ = match event {
                CommandEvent::Started(started) => sender.send(Heard::Command(started.command)),
                CommandEvent::Succeeded(done) => sender.send(Heard::Reply(size(&done.reply))),
                _ => Ok(()),
            };
        }));

        let database = Client::with_options(options)?.database(DATABASE);
        let existing = database.list_collection_names().await;
        let existing = existing.map_err(|error| format!("{hosts} does not answer: {error}"))?;
        paragraph(&match server.is_throw_away() {
            true => format!("On a throw-away server at {hosts}, which ends with this program."),
            false => format!("On your server at {hosts}, in {}.", named(&collections)),
        });
        for collection in &collections {
            if existing.iter().any(|name| name == collection) {
                database.collection::<Document>(collection).drop().await?;
                paragraph(&format!(
                    "Dropped the {DATABASE}.{collection} of an earlier run."
                ));
            }
        }
        Ok(Self {
            server,
            database,
            collections,
            heard,
            cost: Cell::default(),
            steps: 0,
        })
    }

    /// The story's database.
    pub fn database(&self) -> Database {
        self.database.clone()
    }

    /// The story's database through a client without a listener, for a load that is timed: for a
    /// listener the driver writes out each command, which costs more than sending it.
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

    /// Prints a call that is about to be made, and begins to listen; [`show!`](crate::show) calls
    /// this.
    pub fn calls(&self, call: &str) {
        while self.heard.try_recv().is_ok() {}
        println!();
        note("call", call);
    }

    /// Prints the commands that the driver has sent since [`calls`](Self::calls).
    pub fn sent(&self) {
        for command in self.hear() {
            note("sent", &shell::command(&command, NOTE_WIDTH));
        }
    }

    /// Prints the cost of a call, without its commands; [`cost!`](crate::cost) calls this.
    pub fn cost_only(&self) {
        self.hear();
        note("cost", &self.cost().to_string());
    }

    /// The commands since the call, whose cost is that of the last call from now on.
    fn hear(&self) -> Vec<Document> {
        let (mut commands, mut cost) = (Vec::new(), Cost::default());
        for heard in self.heard.try_iter() {
            match heard {
                Heard::Command(command) => commands.push(command),
                Heard::Reply(bytes) => cost.bytes += bytes,
            }
        }
        cost.queries = commands.len() as u64;
        self.cost.set(cost);
        commands
    }

    /// The cost of the last call shown.
    pub fn cost(&self) -> Cost {
        self.cost.get()
    }

    /// Prints the matching documents of the story's first collection, as they are stored.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub async fn stored(&self, filter: Document) -> Result<(), mongodb::error::Error> {
        let collection = self.database.collection(self.collections[0]);
        self.stored_in(&collection, filter).await
    }

    /// Prints the matching documents of any collection, as they are stored.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub async fn stored_in(
        &self,
        collection: &Collection<Document>,
        filter: Document,
    ) -> Result<(), mongodb::error::Error> {
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
        let collections = named(&self.collections);
        println!();
        paragraph(&match self.server.is_throw_away() {
            true => format!(
                "The server ends here, and its data with it. To keep the data, set MONGODB_URI to a \
                 server of yours; it goes to {collections} there."
            ),
            false => format!("The data stays in {collections} for you to look at."),
        });
    }
}

/// The full names of collections.
fn named(collections: &[&str]) -> String {
    let names: Vec<_> = collections
        .iter()
        .map(|collection| format!("{DATABASE}.{collection}"))
        .collect();
    names.join(" and ")
}

/// The size of a document in bytes.
fn size(document: &Document) -> u64 {
    let mut bytes = Vec::new();
    // A document that was read can always be written again.
    let _ = document.to_writer(&mut bytes);
    bytes.len() as u64
}
