//! A gate in front of the server: a client's commands wait until the test lets them through.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicI32, Ordering},
    mpsc,
};

use bucket_runtime::mongodb::{
    Client, Database,
    bson::Document,
    event::{EventHandler, command::CommandEvent},
    options::ClientOptions,
};
use bucket_testkit::Server;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

enum Told {
    Wants(Document),
    Answered,
    Over,
}

/// The writer's side of the gate.
#[derive(Clone)]
pub(crate) struct Gate {
    closed: Arc<AtomicBool>,
    tell: UnboundedSender<Told>,
}

/// The side of the test, which lets the writer's commands through.
pub(crate) struct Gated {
    told: UnboundedReceiver<Told>,
    pass: mpsc::Sender<()>,
    /// The command that the writer sends next; `None` once it has ended.
    pub(crate) next: Option<Document>,
}

impl Gate {
    /// A client behind a gate that is still open.
    pub(crate) async fn new(server: &Server, db: &str) -> (Database, Self, Gated) {
        let (tell, told) = unbounded_channel();
        let (pass, passes) = mpsc::channel();
        let closed = Arc::new(AtomicBool::new(false));
        let gate = Self { closed, tell };
        let at_gate = gate.clone();
        let (passes, held) = (Mutex::new(passes), AtomicI32::new(0));
        let mut options = ClientOptions::parse(server.uri()).await.unwrap();
        // The driver calls this before it sends a command, and sends it when this returns.
        options.command_event_handler = Some(EventHandler::callback(move |event| {
            if !at_gate.closed.load(Ordering::SeqCst) {
                return;
            }
            let answered = |request| {
                if request == held.load(Ordering::SeqCst) {
                    let _ = at_gate.tell.send(Told::Answered);
                }
            };
            match event {
                CommandEvent::Started(started) if is_step(&started.command) => {
                    held.store(started.request_id, Ordering::SeqCst);
                    let _ = at_gate.tell.send(Told::Wants(started.command));
                    let pass = || passes.lock().unwrap().recv();
                    let _ = tokio::task::block_in_place(pass);
                }
                CommandEvent::Succeeded(event) => answered(event.request_id),
                CommandEvent::Failed(event) => answered(event.request_id),
                _ => {}
            }
        }));
        let db = Client::with_options(options).unwrap().database(db);
        let next = None;
        (db, gate, Gated { told, pass, next })
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    pub(crate) fn over(&self) {
        let _ = self.tell.send(Told::Over);
    }
}

impl Gated {
    /// Waits until the writer is about to send a command, or has ended.
    pub(crate) async fn wait(&mut self) {
        self.next = loop {
            match self.told.recv().await {
                Some(Told::Wants(command)) => break Some(command),
                Some(Told::Answered) => {}
                Some(Told::Over) | None => break None,
            }
        };
    }

    /// Lets the command through, and waits for its answer and for the next step.
    pub(crate) async fn let_through(&mut self) {
        self.pass.send(()).unwrap();
        while !matches!(self.told.recv().await, Some(Told::Answered) | None) {}
        self.wait().await;
    }
}

/// Whether a command is a step of the protocol. Setting up a session is not, nor is the empty update
/// that finds out a session's number.
fn is_step(command: &Document) -> bool {
    let name = command.keys().next().map_or("", String::as_str);
    let mut updates = command.get_array("updates").into_iter().flatten();
    let update = (updates.next()).and_then(|first| first.as_document()?.get_document("u").ok());
    let set = update.and_then(|update| update.get_document("$set").ok());
    let of_nothing = set.is_some_and(|set| set.contains_key("_"));
    matches!(
        name,
        "find" | "aggregate" | "update" | "insert" | "delete" | "findAndModify"
    ) && !of_nothing
}
