//! Appends, reads, removals and migrations for as long as asked, while memory and connections are
//! watched.

use std::{
    iter,
    sync::Arc,
    time::{Duration, Instant},
};

use bucket_runtime::mongodb::Database;
use bucket_testkit::Server;
use tokio::task::JoinSet;

use crate::{
    Result,
    items::{Millis, Numbered, Seconds, UniqueNumbered, Windows},
    keeper::Keeper,
    load::Load,
    migrate,
    usage::Usage,
};

/// The number of keeper tasks for each kind of bucket.
const KEEPERS: i64 = 2;

/// How much more memory the second half of a run may take than the first. A leak that grows with the
/// number of calls exceeds that within ten minutes.
const GROWTH: f64 = 1.3;

/// Works for `minutes`, and prints a line per minute; an error if a read differs from what was written,
/// or memory or connections grow.
pub(crate) async fn run_for(minutes: u64, pace: Duration) -> Result<()> {
    run(minutes as usize, Duration::from_secs(60), pace).await
}

async fn run(lines: usize, every: Duration, pace: Duration) -> Result<()> {
    let server = Server::start().await?;
    let db = server.client().await?.database("soak");
    let load = Arc::new(Load::new(pace));
    let mut tasks = JoinSet::new();
    start(&mut tasks, &db, &load).await?;
    let begin = Instant::now();
    let mut usages = Vec::new();
    for line in 1..=lines {
        let next = every * line as u32;
        tokio::time::sleep(next.saturating_sub(begin.elapsed())).await;
        // A task ends early only if it has found an error.
        if let Some(ended) = tasks.try_join_next() {
            return ended?;
        }
        let usage = Usage::now(&db).await?;
        let (minutes, calls) = (begin.elapsed().as_secs_f64() / 60.0, load.calls());
        println!("{minutes:6.1} min  {calls} calls, {usage:?}");
        usages.push(usage);
    }
    load.end();
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    println!("all: {} calls", load.calls());
    bounded(&usages)
}

async fn start(tasks: &mut JoinSet<Result<()>>, db: &Database, load: &Arc<Load>) -> Result<()> {
    macro_rules! keep {
        ($($type:ident)+) => {$(
            let collection = db.collection::<$type>(stringify!($type));
            let buckets = <$type as bucket_runtime::Bucket>::buckets_in(collection).await?;
            for keeper in 0..KEEPERS {
                tasks.spawn(Keeper::new(buckets.clone(), keeper, Arc::clone(load)).run());
            }
        )+};
    }
    keep!(Seconds Millis Windows Numbered UniqueNumbered);
    tasks.spawn(migrate::run(db.clone(), Arc::clone(load)));
    Ok(())
}

/// Neither memory nor connections grow from the first half to the second. The first reading is left
/// out, since pools and caches fill up then.
fn bounded(usages: &[Usage]) -> Result<()> {
    let readings = usages.get(1..).unwrap_or_default();
    let (first, second) = readings.split_at(readings.len() / 2);
    if first.is_empty() {
        return Ok(());
    }
    let most = |half: &[Usage]| {
        let memory = half.iter().map(|usage| usage.memory).fold(0.0, f64::max);
        let connections = half.iter().map(|usage| usage.connections).max();
        [memory, connections.unwrap_or_default() as f64]
    };
    let grown = iter::zip(most(first), most(second));
    for (what, (before, after)) in iter::zip(["memory", "connections"], grown) {
        if after > before * GROWTH {
            return Err(format!("{what} grew from {before} to {after}").into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_written_for_a_while_is_what_is_read() -> Result<()> {
        run(2, Duration::from_secs(2), Duration::from_millis(20)).await
    }

    #[test]
    fn what_grows_is_noticed() {
        let usage = |memory, connections| Usage {
            memory,
            connections,
        };
        let steady = [9.0, 40.0, 42.0, 41.0, 43.0].map(|mb| usage(mb, 10));
        assert!(bounded(&steady).is_ok());
        let growing = [9.0, 40.0, 50.0, 60.0, 70.0].map(|mb| usage(mb, 10));
        assert!(bounded(&growing).is_err());
        let leaking = [9, 10, 20, 30, 40].map(|connections| usage(40.0, connections));
        assert!(bounded(&leaking).is_err());
    }
}
