//! Each order in which callers and workers can take the lock of a queue. Nothing else guards it, so these are all
//! interleavings that any threads can have.

use std::collections::{BTreeMap, BTreeSet};

use bucket_core::{
    protocol::command::{IndexedScope, KeyScope},
    schema::{
        key::KeyPart,
        open_index::OpenIndex,
        spec::{BucketSpec, IdFormat, KeyName, Ordinal},
    },
};
use futures_util::FutureExt;
use mongodb::bson::Bson;

use super::{Combiner, Entry, InFlight, Owner, Worker};
use crate::write::caller::Answered;

/// A task, by what it does next under the lock.
enum Task {
    /// A caller puts its item into the queue.
    Push(usize),
    /// A caller, or a task that has gone on with a key, looks whether a worker is missing.
    Look,
    /// A caller is dropped.
    GiveUp(usize),
    /// A worker takes what is ready.
    Take(Worker),
    /// A worker has found nothing ready.
    End(Worker),
    /// A worker puts back the last item of each key that has several, unless it has waited for a command before.
    PutBack(Worker, Vec<InFlight>),
    /// A worker lets go of a key.
    LetGo(Worker, Vec<InFlight>),
    /// A task of its own lets go of a key that needed a further command.
    LetGoOfOne(Box<InFlight>),
}

/// A queue and all that use it.
struct System {
    combiner: Combiner,
    /// The key of each item.
    keys: &'static [&'static str],
    callers: BTreeMap<usize, Answered>,
    tasks: Vec<Task>,
    in_flight: BTreeSet<String>,
    put_back: BTreeSet<usize>,
    sent: Vec<usize>,
    /// Whether the last caller may be dropped.
    gives_up: bool,
}

impl System {
    fn new(keys: &'static [&'static str], gives_up: bool) -> Self {
        let mut tasks = Vec::from_iter((0..keys.len()).map(Task::Push));
        tasks.extend(gives_up.then(|| Task::GiveUp(keys.len() - 1)));
        Self {
            combiner: Combiner::default(),
            keys,
            callers: BTreeMap::new(),
            tasks,
            in_flight: BTreeSet::new(),
            put_back: BTreeSet::new(),
            sent: Vec::new(),
            gives_up,
        }
    }

    /// The system after the tasks at these places have gone on, one after the other.
    fn after(keys: &'static [&'static str], gives_up: bool, path: &[usize]) -> Self {
        let mut system = Self::new(keys, gives_up);
        path.iter().for_each(|at| system.go_on(*at));
        system
    }

    /// The task at this place goes on.
    fn go_on(&mut self, at: usize) {
        let next = match self.tasks.remove(at) {
            Task::Push(item) => {
                self.push(item);
                Some(Task::Look)
            }
            Task::Look => Worker::new(&self.combiner.queue).map(Task::Take),
            Task::GiveUp(item) => {
                self.callers.remove(&item);
                None
            }
            Task::Take(mut worker) => {
                let taken = worker.take_next();
                for key in &taken {
                    let prefix = key.batch.scope.prefix.clone();
                    assert!(self.in_flight.insert(prefix), "a key is in flight twice");
                }
                Some(match taken.is_empty() {
                    true => Task::End(worker),
                    false => Task::PutBack(worker, taken),
                })
            }
            Task::End(worker) => {
                drop(worker);
                None
            }
            Task::PutBack(worker, mut taken) => {
                taken.iter_mut().for_each(|key| self.put_back(key));
                Some(Task::LetGo(worker, taken))
            }
            Task::LetGo(worker, mut taken) => {
                match taken.pop() {
                    // A key that needs a further command.
                    Some(key) if key.batch.scope.prefix == "b" => {
                        self.tasks.push(Task::LetGoOfOne(Box::new(key)))
                    }
                    Some(key) => self.let_go(key),
                    None => {}
                }
                Some(match taken.is_empty() {
                    true => Task::Take(worker),
                    false => Task::LetGo(worker, taken),
                })
            }
            Task::LetGoOfOne(key) => {
                self.let_go(*key);
                Some(Task::Look)
            }
        };
        self.tasks.extend(next);
    }

    fn push(&mut self, item: usize) {
        let entered = self.combiner.room.enter(0).now_or_never();
        let (owner, answered) = entered.expect("room for some items");
        self.callers.insert(item, answered);
        let entry = Bson::Int64(item as i64).into();
        (self.combiner.queue).push(&scope(self.keys[item]), owner, entry);
    }

    fn put_back(&mut self, key: &mut InFlight) {
        if key.batch.len() > 1
            && let Some(last) = key.batch.entries.pop_back()
        {
            match self.put_back.insert(number(&last)) {
                true => key.put_back([last].into()),
                false => key.batch.entries.push_back(last),
            }
        }
        self.sent
            .extend(key.batch.entries.drain(..).map(|item| number(&item)));
    }

    fn let_go(&mut self, key: InFlight) {
        self.in_flight.remove(&key.batch.scope.prefix);
        drop(key);
    }

    /// All that decides what can happen from here.
    fn signature(&self) -> String {
        let tasks = self.tasks.iter().map(|task| match task {
            Task::Push(item) => format!("push {item}"),
            Task::Look => "look".to_owned(),
            Task::GiveUp(item) => format!("give up {item}"),
            Task::Take(_) => "take".to_owned(),
            Task::End(_) => "end".to_owned(),
            Task::PutBack(_, keys) => format!("put back {:?}", shown(keys)),
            Task::LetGo(_, keys) => format!("let go {:?}", shown(keys)),
            Task::LetGoOfOne(key) => format!("let go of one {}", key.batch.scope.prefix),
        });
        let mut tasks = Vec::from_iter(tasks);
        tasks.sort();
        let queue = self.combiner.queue.lock();
        let waiting = queue.waiting.iter();
        let waiting = waiting.map(|(prefix, key)| (prefix, numbers(&key.entries)));
        let waiting = BTreeMap::from_iter(waiting);
        let (ready, workers) = (&queue.ready, queue.workers);
        let mut sent = self.sent.clone();
        sent.sort_unstable();
        let callers = Vec::from_iter(self.callers.keys());
        let put_back = &self.put_back;
        format!("{tasks:?} {waiting:?} {ready:?} {workers} {sent:?} {callers:?} {put_back:?}")
    }

    /// Each item was sent once, and nothing is left.
    fn assert_ended(mut self) {
        let queue = self.combiner.queue.lock();
        assert!(
            queue.waiting.is_empty() && queue.ready.is_empty(),
            "{queue:?}"
        );
        assert_eq!(queue.workers, 0);
        drop(queue);
        self.sent.sort_unstable();
        let all = Vec::from_iter(0..self.keys.len());
        let all_but_last = &all[..all.len() - 1];
        let is_sent = self.sent == all || self.gives_up && self.sent == all_but_last;
        assert!(is_sent, "{:?}", self.sent);
    }
}

/// A key whose ids have this prefix.
fn scope(prefix: &str) -> IndexedScope {
    const ID: IdFormat = IdFormat::new("", &["_"], Ordinal::Number);
    const SPEC: BucketSpec = BucketSpec::new("tests", ID, 4, &[KeyName::new("k")]);
    let key = KeyScope {
        prefix: prefix.to_owned(),
        ..KeyScope::new(&SPEC, vec![KeyPart::of::<String>(prefix)])
    };
    key.by(OpenIndex::first(4))
}

fn number((_, entry): &(Owner, Entry)) -> usize {
    entry.element.as_i64().map_or(0, |n| n as usize)
}

fn numbers<'i>(items: impl IntoIterator<Item = &'i (Owner, Entry)>) -> Vec<usize> {
    items.into_iter().map(number).collect()
}

fn shown(keys: &[InFlight]) -> Vec<(&str, Vec<usize>)> {
    let keys = keys.iter();
    keys.map(|key| (&*key.batch.scope.prefix, numbers(&key.batch.entries)))
        .collect()
}

/// Takes each step from each state; returns how many states there are.
fn explore(keys: &'static [&'static str], gives_up: bool) -> usize {
    let mut seen = BTreeSet::new();
    let mut paths = vec![Vec::new()];
    while let Some(path) = paths.pop() {
        let system = System::after(keys, gives_up, &path);
        if !seen.insert(system.signature()) {
            continue;
        }
        match system.tasks.len() {
            0 => system.assert_ended(),
            tasks => paths.extend((0..tasks).map(|at| [&path[..], &[at]].concat())),
        }
    }
    seen.len()
}

#[test]
fn g1_whatever_the_threads_do_each_item_is_sent_once() {
    for keys in [
        &["a", "a", "a"][..],
        &["a", "a", "b"],
        &["b", "b", "b"],
        &["a", "b", "c"],
        &["a", "b", "c", "d"],
    ] {
        for gives_up in [false, true] {
            println!("{keys:?}, {gives_up}: {} states", explore(keys, gives_up));
        }
    }
}
