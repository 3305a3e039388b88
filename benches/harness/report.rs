//! Prints figures, and writes them as tables.

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    Environment, Options, Result, Samples, chart::Chart, machine::busy, pair::median, text::number,
};

/// A comparison, by its name, unit and goal.
#[derive(Debug)]
pub struct Figure {
    name: &'static str,
    unit: Unit,
    what: &'static str,
    goal: Option<Goal>,
}

/// The unit of samples; it also decides whether more is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds per call; less is better.
    Micros,
    /// Seconds; less is better.
    Seconds,
    /// Megabytes; less is better.
    Megabytes,
    /// Items per second; more is better.
    ItemsPerSecond,
}

#[derive(Debug, Clone, Copy)]
enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

impl Figure {
    /// A figure without a goal. `what` completes the sentence "The ratio of …".
    #[must_use]
    pub const fn new(name: &'static str, unit: Unit, what: &'static str) -> Self {
        Self {
            name,
            unit,
            what,
            goal: None,
        }
    }

    /// The ratio to reach; a ratio that is better reaches the goal, too.
    #[must_use]
    pub const fn to_reach(self, ratio: f64) -> Self {
        let goal = match self.unit {
            Unit::ItemsPerSecond => Goal::AtLeast(ratio),
            Unit::Micros | Unit::Seconds | Unit::Megabytes => Goal::AtMost(ratio),
        };
        Self {
            goal: Some(goal),
            ..self
        }
    }

    /// The name by which the command line selects the figure.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl Unit {
    /// The unit as it is printed.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Micros => "us",
            Self::Seconds => "s",
            Self::Megabytes => "MB",
            Self::ItemsPerSecond => "items/s",
        }
    }
}

impl Goal {
    fn is_reached(self, ratio: f64) -> bool {
        match self {
            Self::AtMost(goal) => ratio <= goal,
            Self::AtLeast(goal) => ratio >= goal,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtMost(goal) => format!("≤ {goal}"),
            Self::AtLeast(goal) => format!("≥ {goal}"),
        }
    }
}

/// A figure that was measured.
struct Outcome {
    figure: &'static Figure,
    ours: f64,
    peer: f64,
    n: usize,
}

impl Outcome {
    fn ratio(&self) -> f64 {
        self.ours / self.peer
    }
}

/// The measurements so far. Clones share them.
#[derive(Clone)]
pub struct Report {
    options: Options,
    so_far: Arc<Mutex<SoFar>>,
}

#[derive(Default)]
struct SoFar {
    outcomes: Vec<Outcome>,
    charts: Vec<(&'static str, Chart)>,
}

impl Report {
    /// Begins a report, with a warning if the machine is busy.
    #[must_use]
    pub fn begin(options: Options) -> Self {
        if let Some(warning) = busy() {
            println!("{warning}");
        }
        Self {
            options,
            so_far: Arc::default(),
        }
    }

    /// The options from the command line.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Prints a figure and keeps it for the table, if the command line asks for it.
    pub fn figure(&self, figure: &'static Figure, ours: &Samples, peer: &Samples) {
        if !self.options.wants(figure.name) {
            return;
        }
        let outcome = Outcome {
            figure,
            ours: median(ours),
            peer: median(peer),
            n: ours.len().min(peer.len()),
        };
        let unit = figure.unit.label();
        println!(
            "figure: {} ratio {:.3} (ours {} {unit}, peer {} {unit}, n={})",
            figure.name,
            outcome.ratio(),
            plain(outcome.ours),
            plain(outcome.peer),
            outcome.n,
        );
        self.so_far().outcomes.push(outcome);
    }

    /// Prints the medians of several variants of a peer, and returns the index of the best.
    #[must_use]
    pub fn best_of<const N: usize>(
        &self,
        what: &str,
        unit: Unit,
        names: [&str; N],
        variants: &[Samples; N],
    ) -> usize {
        let each = names.iter().zip(variants);
        let each = each.map(|(name, samples)| format!("{name} {}", plain(median(samples))));
        let each: Vec<_> = each.collect();
        println!("  {what}: {} {}", each.join(", "), unit.label());
        let better = |a: &usize, b: &usize| {
            let ascending = median(&variants[*a]).total_cmp(&median(&variants[*b]));
            match unit {
                Unit::ItemsPerSecond => ascending,
                Unit::Micros | Unit::Seconds | Unit::Megabytes => ascending.reverse(),
            }
        };
        (0..N).max_by(better).unwrap_or(0)
    }

    /// Adds the chart of a theme.
    pub fn chart(&self, theme: &'static str, chart: Chart) {
        self.so_far().charts.push((theme, chart));
    }

    /// Prints the tables, and after a full run writes them and the charts to this folder; after one of long
    /// figures their charts.
    ///
    /// # Errors
    ///
    /// When a file cannot be written.
    pub fn end(&self, environment: &Environment, folder: &Path) -> Result<()> {
        let tables = self.tables(environment);
        println!("\n{tables}");
        if !self.options.keeps_charts() {
            return Ok(());
        }
        fs::create_dir_all(folder)?;
        if self.options.is_full() {
            fs::write(folder.join("table.md"), tables)?;
        }
        for (theme, chart) in &self.so_far().charts {
            fs::write(folder.join(format!("{theme}.svg")), chart.svg())?;
        }
        Ok(())
    }

    /// The tables: figures with a goal, then those without.
    fn tables(&self, environment: &Environment) -> String {
        let mut text = format!("{}\n", environment.line());
        let so_far = self.so_far();
        let (goals, others): (Vec<_>, Vec<_>) = (so_far.outcomes.iter())
            .partition::<Vec<_>, _>(|outcome| outcome.figure.goal.is_some());
        if !goals.is_empty() {
            text += "\n| figure | what against what | ours | peer | ratio | to reach | reached |\n";
            text += "| --- | --- | ---: | ---: | ---: | --- | --- |\n";
        }
        for outcome in goals {
            let goal = outcome.figure.goal;
            let reached = goal.is_some_and(|goal| goal.is_reached(outcome.ratio()));
            let (goal, reached) = (
                goal.map(Goal::text).unwrap_or_default(),
                if reached { "yes" } else { "**no**" },
            );
            let _ = writeln!(text, "{} {goal} | {reached} |", row(outcome));
        }
        if !others.is_empty() {
            text += "\n| figure | what against what | ours | peer | ratio |\n";
            text += "| --- | --- | ---: | ---: | ---: |\n";
        }
        for outcome in others {
            let _ = writeln!(text, "{}", row(outcome));
        }
        text
    }

    fn so_far(&self) -> MutexGuard<'_, SoFar> {
        self.so_far.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn row(outcome: &Outcome) -> String {
    let Outcome {
        figure, ours, peer, ..
    } = outcome;
    let unit = figure.unit.label();
    format!(
        "| `{}` | {} | {} {unit} | {} {unit} | {:.2} |",
        figure.name,
        figure.what,
        number(*ours),
        number(*peer),
        outcome.ratio(),
    )
}

/// A number for programs, without separators.
fn plain(value: f64) -> String {
    number(value).replace(',', "")
}
