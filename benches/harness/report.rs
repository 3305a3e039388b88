//! Prints figures, and writes them as tables.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    Environment, Options, Result, Samples,
    chart::Chart,
    figure::{Figure, Goal, Unit},
    machine::busy,
    pair::median,
    ratio::Ratio,
    text::number,
};

/// A figure that was measured.
struct Outcome {
    figure: &'static Figure,
    ours: Samples,
    peer: Samples,
    ratio: Ratio,
}

/// The measurements so far. Clones share them.
#[derive(Clone)]
pub struct Report {
    options: Options,
    so_far: Arc<Mutex<SoFar>>,
}

#[derive(Default)]
struct SoFar {
    theme: &'static str,
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

    /// Begins a theme: a word that selects its name selects all of its figures.
    pub fn begin_theme(&self, name: &'static str) {
        self.so_far().theme = name;
    }

    /// Whether the command line asks for this figure of the current theme.
    #[must_use]
    pub fn wants(&self, figure: &Figure) -> bool {
        self.options.wants(figure.name) || self.options.wants(self.so_far().theme)
    }

    /// Prints a figure and keeps it for the table, if the command line asks for it.
    pub fn figure(&self, figure: &'static Figure, ours: &Samples, peer: &Samples) {
        if !self.wants(figure) {
            return;
        }
        let ratio = Ratio::of(ours, peer);
        let unit = figure.unit.label();
        println!(
            "figure: {} ratio {} (ours {} {unit}, peer {} {unit}, n={})",
            figure.name,
            ratio.text(),
            plain(median(ours)),
            plain(median(peer)),
            ours.len().min(peer.len()),
        );
        self.so_far().outcomes.push(Outcome {
            figure,
            ours: ours.clone(),
            peer: peer.clone(),
            ratio,
        });
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
            match unit.is_rate() {
                true => ascending,
                false => ascending.reverse(),
            }
        };
        (0..N).max_by(better).unwrap_or(0)
    }

    /// Adds a chart of the theme.
    pub fn chart(&self, name: &'static str, chart: Chart) {
        self.so_far().charts.push((name, chart));
    }

    /// Prints the table of the current theme, and begins the next with none. If all of the theme was measured at
    /// full length, it writes the table, the samples and the chart to the server's folder in this one.
    ///
    /// # Errors
    ///
    /// When a file cannot be written.
    pub fn end_theme(&self, environment: &Environment, results: &Path) -> Result<()> {
        let theme = self.so_far().theme;
        let table = self.table(
            environment,
            &Others::of(results, &environment.server, theme),
        );
        println!("\n{table}");
        if self.options.is_whole(theme) {
            let folder = results.join(&environment.server);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join(format!("{theme}.md")), table)?;
            fs::write(folder.join(format!("{theme}.tsv")), self.samples())?;
            for (name, chart) in &self.so_far().charts {
                fs::write(folder.join(format!("{name}.svg")), chart.svg())?;
            }
        }
        *self.so_far() = SoFar::default();
        Ok(())
    }

    fn table(&self, environment: &Environment, others: &Others) -> String {
        let mut text = format!("{}\n\n", environment.line());
        text += "| figure | what against what | ours | peer | ratio (95 %) | to reach | reached |";
        let _ = writeln!(
            text,
            "{}",
            others.column(|server| format!("ratio on {server}"))
        );
        text += "| --- | --- | ---: | ---: | ---: | --- | --- |";
        let _ = writeln!(text, "{}", others.column(|_| "---:".to_owned()));
        for outcome in &self.so_far().outcomes {
            let name = outcome.figure.name;
            let ratio = |_: &str| others.ratios.get(name).cloned().unwrap_or_default();
            let _ = writeln!(text, "{}{}", row(outcome), others.column(ratio));
        }
        text
    }

    /// All samples of each figure, ours and the peer's, in the order in which they were taken.
    fn samples(&self) -> String {
        let mut text = "figure\tunit\tours\tpeer\n".to_owned();
        for Outcome {
            figure, ours, peer, ..
        } in &self.so_far().outcomes
        {
            let line = |samples: &Samples| {
                let samples = samples.iter().map(|sample| format!("{sample:.3e}"));
                samples.collect::<Vec<_>>().join(" ")
            };
            let (name, unit) = (figure.name, figure.unit.label());
            let _ = writeln!(text, "{name}\t{unit}\t{}\t{}", line(ours), line(peer));
        }
        text
    }

    fn so_far(&self) -> MutexGuard<'_, SoFar> {
        self.so_far.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The ratios of another server, whose table stands in a folder beside this one's.
#[derive(Default)]
struct Others {
    server: Option<String>,
    ratios: BTreeMap<String, String>,
}

impl Others {
    /// Those of a theme on the server with the lowest version, if there are several. Without a table there is no column.
    fn of(results: &Path, server: &str, theme: &str) -> Self {
        let folders = fs::read_dir(results).into_iter().flatten().flatten();
        let names = folders.filter_map(|folder| folder.file_name().into_string().ok());
        let mut tables: Vec<_> = names
            .filter(|name| name != server)
            .filter_map(|name| {
                let table = fs::read_to_string(results.join(&name).join(format!("{theme}.md")));
                Some((name, table.ok()?))
            })
            .collect();
        tables.sort();
        let Some((server, table)) = tables.into_iter().next() else {
            return Self::default();
        };
        let ratios = table.lines().filter_map(|line| {
            let mut cells = line.split(" | ");
            let name = cells.next()?.strip_prefix("| `")?.strip_suffix('`')?;
            Some((name.to_owned(), cells.nth(3)?.to_owned()))
        });
        Self {
            server: Some(server),
            ratios: ratios.collect(),
        }
    }

    /// A cell of the further column, if there is one.
    fn column(&self, cell: impl Fn(&str) -> String) -> String {
        let server = self.server.as_ref();
        server.map_or_else(String::new, |server| format!(" {} |", cell(server)))
    }
}

fn row(outcome: &Outcome) -> String {
    let Outcome {
        figure,
        ours,
        peer,
        ratio,
    } = outcome;
    let reached = figure.goal.map(|goal| goal.is_reached(ratio.value));
    format!(
        "| `{}` | {} | {} {unit} | {} {unit} | {} | {} | {} |",
        figure.name,
        figure.what,
        number(median(ours)),
        number(median(peer)),
        ratio.text(),
        figure.goal.map(Goal::text).unwrap_or_default(),
        reached.map_or("", |reached| if reached { "yes" } else { "**no**" }),
        unit = figure.unit.label(),
    )
}

/// A number for programs, without separators.
fn plain(value: f64) -> String {
    number(value).replace(',', "")
}

#[cfg(test)]
mod tests {
    use super::{Environment, Figure, Options, Others, Report, Unit, fs};

    #[test]
    fn a_table_repeats_the_ratios_of_the_other_server() -> crate::Result<()> {
        static FIGURE: Figure =
            Figure::new("speed", Unit::Micros, "ours, against theirs").to_reach(1.0);
        let folder = std::env::temp_dir().join(format!("bucket_benches_{}", std::process::id()));
        let table = |server: &str| {
            let report = Report::begin(Options::default());
            report.figure(&FIGURE, &vec![2.0; 3], &vec![4.0; 3]);
            let environment = Environment {
                date: "2023-10-26".to_owned(),
                server: server.to_owned(),
                driver: "3.9.1".to_owned(),
            };
            report.table(&environment, &Others::of(&folder, server, "theme"))
        };
        let row =
            "| `speed` | ours, against theirs | 2.00 us | 4.00 us | 0.50 (0.50–0.50) | ≤ 1 | yes |";
        let alone = table("6.0.5");
        assert!(alone.ends_with(&format!("{row}\n")), "{alone}");
        fs::create_dir_all(folder.join("6.0.5"))?;
        fs::write(folder.join("6.0.5/theme.md"), alone)?;
        let beside = table("8.2.0");
        fs::remove_dir_all(&folder)?;
        assert!(beside.contains("| ratio on 6.0.5 |\n"), "{beside}");
        assert!(
            beside.ends_with(&format!("{row} 0.50 (0.50–0.50) |\n")),
            "{beside}"
        );
        Ok(())
    }
}
