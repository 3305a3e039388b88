//! Watches a key from its beginning, and goes on by token whenever the stream ends.

use std::{sync::Arc, time::Duration};

use bucket_runtime::{Error, WatchToken};
use futures_util::StreamExt;
use rand::{Rng, rngs::StdRng};
use tokio::{
    sync::{oneshot, watch},
    time::{sleep, timeout},
};

use super::list::List;
use crate::{
    history::{Call, Item, Watched},
    load::Load,
};

/// How long a watcher waits for the last item.
const LAST_WAIT: Duration = Duration::from_secs(120);

/// The pause after an error.
const PAUSE: Duration = Duration::from_millis(200);

/// One item in this many ends the stream, and another one goes on by token.
const DROPPED: u32 = 10;

/// The last item of a key, and the time at which its append began.
pub(super) type Last = Option<(i64, Duration)>;

pub(super) struct Watcher<L> {
    pub(super) id: usize,
    pub(super) list: L,
    pub(super) key: i64,
    pub(super) load: Arc<Load>,
    pub(super) rng: StdRng,
    pub(super) last: watch::Receiver<Last>,
}

impl<L: List> Watcher<L> {
    /// Watches until the last item comes, and records all items. It says when it has begun.
    pub(super) async fn run(mut self, begun: oneshot::Sender<()>) {
        let begin = self.load.log.now();
        let mut given = Vec::new();
        let mut last = self.last.clone();
        let too_long = async {
            let known = last.wait_for(Option::is_some).await;
            if known.is_ok_and(|last| last.is_some()) {
                sleep(LAST_WAIT).await;
            }
        };
        tokio::select! {
            () = self.collect(&mut given, begun) => {}
            () = too_long => println!("a watch of key {} does not give the last item", self.key),
        }
        let Some((_, complete_since)) = *self.last.borrow() else {
            return;
        };
        let watched = Watched {
            complete_since,
            given,
        };
        let call = Call::Watch(watched);
        self.load.log.record(self.id, self.key, begin, call);
    }

    async fn collect(&mut self, given: &mut Vec<(Duration, Item)>, begun: oneshot::Sender<()>) {
        let (mut token, mut begun) = (None, Some(begun));
        loop {
            match self.follow(given, &mut token, &mut begun).await {
                Ok(true) => return,
                Ok(false) => {}
                // Faults end streams. Whether the next one goes on where this one was, the history tells.
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    /// Follows one stream; returns whether it has given the last item.
    async fn follow(
        &mut self,
        given: &mut Vec<(Duration, Item)>,
        token: &mut Option<WatchToken>,
        begun: &mut Option<oneshot::Sender<()>>,
    ) -> Result<bool, Error> {
        let mut watch = self.list.watch(self.key);
        if let Some(token) = token {
            watch = watch.resume_after(token);
        }
        let mut stream = watch.await?;
        *token = Some(stream.token().clone());
        if let Some(begun) = begun.take() {
            // Nobody waits any more if the run has failed.
            let _ = begun.send(());
        }
        loop {
            // The last item may become known after it was given.
            let next = timeout(Duration::from_secs(1), stream.next()).await;
            let has_ended = matches!(next, Ok(None));
            let is_dropped = next.is_ok() && self.rng.random_ratio(1, DROPPED);
            if let Ok(Some(new)) = next {
                let item = L::item_of(new?);
                given.push((self.load.log.now(), item));
                *token = Some(stream.token().clone());
            }
            let last = self.last.borrow().map(|(n, _)| n);
            if last.is_some_and(|last| given.iter().any(|(_, item)| item.n == last)) {
                return Ok(true);
            }
            if has_ended || is_dropped {
                return Ok(false);
            }
        }
    }
}
