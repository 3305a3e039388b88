//! The CPU time of both sides.

use std::process;

use bucket_benches::{Contestant, Result, cpu_seconds, cpu_seconds_of_threads};
use bucket_runtime::bson::doc;

use crate::{bench::Bench, writers::timed_by};

/// The clock of the CPU time that the server and this process take together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cpu {
    server: u32,
}

impl Cpu {
    pub(crate) async fn of(bench: &Bench) -> Result<Self> {
        let admin = bench.db.client().database("admin");
        let status = admin.run_command(doc! { "serverStatus": 1 }).await?;
        let server = status.get_i64("pid")?.try_into()?;
        Ok(Self { server })
    }

    /// In seconds; NaN if this machine does not tell.
    pub(crate) fn seconds(self) -> f64 {
        self.of_server() + self.of_client()
    }

    /// The client's alone, which is this process.
    pub(crate) fn of_client(self) -> f64 {
        cpu_seconds(process::id()).unwrap_or(f64::NAN)
    }

    /// The server's alone.
    pub(crate) fn of_server(self) -> f64 {
        cpu_seconds(self.server).unwrap_or(f64::NAN)
    }

    /// The server's and this process's threads that are alive, each to the nanosecond: for what takes only a few
    /// ticks of the other clocks.
    pub(crate) fn of_threads(self) -> [f64; 2] {
        [self.server, process::id()].map(|pid| cpu_seconds_of_threads(pid).unwrap_or(f64::NAN))
    }

    /// A contestant that calls `call` once for each input, by this many tasks at once. A round gives calls a second,
    /// and for each call the microseconds and those of the server's CPU time.
    pub(crate) fn calls_by<I, C>(
        self,
        tasks: usize,
        inputs: Vec<I>,
        call: impl Fn(I) -> C + Clone + Send + 'static,
    ) -> Contestant
    where
        I: Clone + Send + 'static,
        C: Future<Output = Result<()>> + Send + 'static,
    {
        Contestant::new(move |_| {
            let (inputs, call) = (inputs.clone(), call.clone());
            async move {
                let calls = inputs.len() as f64;
                let [before, _] = self.of_threads();
                let (rate, times) = timed_by(tasks, inputs, call).await?;
                let [after, _] = self.of_threads();
                let cpu = (after - before) / calls * 1e6;
                Ok(vec![rate, times.iter().sum::<f64>() / calls, cpu])
            }
        })
    }
}
