//! The cost of the derives at compile time.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use bucket_benches::{
    Bars, Chart, Contestant, Figure, Result, Samples, Unit, cpu_seconds_of_children, in_turn,
};

use crate::bench::{Bench, Theme};

pub(crate) const THEME: Theme = Theme {
    name: "derive_check",
    figures: &[
        &BUCKET_1,
        &BUCKET_20,
        &BUCKET_100,
        &FULL_100,
        &FIELDS_100,
        &OUTLIER_1,
        &OUTLIER_20,
        &OUTLIER_100,
        &PART_100,
    ],
    measure: |bench| Box::pin(measure(bench)),
};

macro_rules! figures {
    ($($name:ident $key:literal $structs:literal $derive:literal $peer:literal;)+) => {$(
        static $name: Figure = Figure::new(
            $key,
            Unit::Seconds,
            concat!(
                "CPU time of `rustc --emit=metadata` for ", $structs, " with ", $derive,
                ", against ", $peer,
            ),
        )
        .to_reach(1.25);
    )+};
}

figures! {
    BUCKET_1 "derive_check_1" "a struct" "`Bucket`" "serde's two derives";
    BUCKET_20 "derive_check_20" "20 structs" "`Bucket`" "serde's two derives";
    BUCKET_100 "derive_check_100" "100 structs" "`Bucket`" "serde's two derives";
    FULL_100 "derive_check_full_100" "100 structs" "`Bucket` with windows, rollups, `unique`, `max_len` and indexes" "serde's two derives";
    FIELDS_100 "derive_check_fields_100" "100 structs" "`Fields` and serde's two" "serde's two alone";
    OUTLIER_1 "derive_check_outlier_1" "a struct" "`Outlier` and serde's two" "serde's two alone";
    OUTLIER_20 "derive_check_outlier_20" "20 structs" "`Outlier` and serde's two" "serde's two alone";
    OUTLIER_100 "derive_check_outlier_100" "100 structs" "`Outlier` and serde's two" "serde's two alone";
    PART_100 "derive_check_part_100" "100 structs of three fields" "`Part`" "serde's `Deserialize`";
}

/// The cases: how many structs, with which derive, and the figure.
static CASES: [(usize, Kind, &Figure); 9] = [
    (1, Kind::Bucket, &BUCKET_1),
    (20, Kind::Bucket, &BUCKET_20),
    (100, Kind::Bucket, &BUCKET_100),
    (100, Kind::Full, &FULL_100),
    (100, Kind::Fields, &FIELDS_100),
    (1, Kind::Outlier, &OUTLIER_1),
    (20, Kind::Outlier, &OUTLIER_20),
    (100, Kind::Outlier, &OUTLIER_100),
    (100, Kind::Part, &PART_100),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bucket,
    /// Buckets with every attribute of a field.
    Full,
    /// Structs inside of items.
    Fields,
    Outlier,
    /// Parts of one bucket's struct.
    Part,
}

/// This folder is kept between runs, since checking the dependencies takes longer than all rounds
/// together.
const SCRATCH: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/derive_check");

async fn measure(bench: Bench) -> Result<()> {
    let compile = compiler(Path::new(SCRATCH))?;
    let mut bars = Bars::new(
        "CPU time of rustc, dependencies checked before",
        Unit::Seconds,
    );
    for (structs, kind, figure) in CASES {
        let sources = [ours(kind, structs), peer(kind, structs)];
        let contestants = [("ours", 0), ("peer", 1)].map(|(name, nth)| {
            let (compile, source) = (compile.clone(), sources[nth].clone());
            Contestant::new(move |_| {
                let (compile, source) = (compile.clone(), source.clone());
                async move {
                    tokio::task::spawn_blocking(move || cpu_time(&compile, name, &source)).await?
                }
            })
        });
        let samples = in_turn(bench.pick(9, 3), contestants).await?;
        let [ours, peer] = &samples;
        bench.report.figure(figure, ours, peer);
        if kind == Kind::Bucket {
            let group = [("Bucket", ours), ("Serialize, Deserialize", peer)];
            bars = bars.group(format!("structs: {structs}"), group);
        }
    }
    bench.report.chart("derive_check", Chart::Bars(bars));
    Ok(())
}

/// The rustc command by which cargo checks a crate with our dependencies, without the name of its
/// source: the derives are measured without cargo's own time.
fn compiler(folder: &Path) -> Result<Vec<String>> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let runtime = root.join("bucket-runtime").canonicalize()?;
    let manifest = format!(
        "[package]\nname = \"measured\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nbucket-runtime = {{ path = {runtime:?} }}\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\n\n[workspace]\n",
    );
    let source = folder.join("src/lib.rs");
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(&source, "")?;
    // The versions of this workspace, so that cargo fetches nothing.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let output = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()))
        .args(["check", "--verbose", "--offline"])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("CARGO_INCREMENTAL", "0")
        .output()?;
    let log = String::from_utf8_lossy(&output.stderr);
    let line = log
        .lines()
        .rfind(|line| line.contains(" --crate-name measured "));
    let line = line.and_then(|line| line.split_once('`')?.1.strip_suffix('`'));
    let line = line.ok_or_else(|| format!("cargo check in {} failed: {log}", folder.display()))?;
    let words = line.split_once("rustc ").map_or(line, |(_, words)| words);
    // Quoted text is one word, even with spaces.
    let words = words.split('\'').enumerate();
    let words = words.flat_map(|(nth, part)| match nth % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    let is_kept = |word: &String| {
        !word.starts_with("--error-format") && !word.starts_with("--json") && word != "src/lib.rs"
    };
    Ok(words.filter(is_kept).collect())
}

/// The CPU time that a source takes, on any number of cores.
fn cpu_time(compile: &[String], name: &str, source: &str) -> Result<Samples> {
    let path = Path::new(SCRATCH).join(format!("{name}.rs"));
    fs::write(&path, source)?;
    let before = cpu_time_of_children()?;
    let status = Command::new(env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()))
        .args(compile)
        .arg(&path)
        .arg("--emit=metadata")
        .current_dir(SCRATCH)
        .status()?;
    if !status.success() {
        return Err(format!("{} does not compile", path.display()).into());
    }
    Ok(vec![cpu_time_of_children()? - before])
}

fn cpu_time_of_children() -> Result<f64> {
    Ok(cpu_seconds_of_children().ok_or("the system does not tell the CPU time")?)
}

fn ours(kind: Kind, structs: usize) -> String {
    match kind {
        Kind::Bucket => source(kind, structs, |nth| {
            format!(
                "#[derive(Debug, Clone, Bucket)]\n\
                 #[bucket(collection = \"trades{nth}\", id = \"{{customer_id}}_{{date}}\", \
                 capacity = 10, items = \"history\")]",
            )
        }),
        Kind::Full => source(kind, structs, |nth| {
            format!(
                "#[derive(Debug, Clone, Bucket)]\n\
                 #[bucket(collection = \"trades{nth}\", id = \"{{customer_id}}_{{date/1h}}\", capacity = 10)]",
            )
        }),
        Kind::Fields => source(kind, structs, |_| {
            "#[derive(Debug, Clone, Serialize, Deserialize, Fields)]".to_owned()
        }),
        Kind::Outlier => source(kind, structs, |nth| {
            format!(
                "#[derive(Debug, Clone, Serialize, Deserialize, Outlier)]\n\
                 #[outlier(collection = \"books{nth}\", reference = \"book_id\", threshold = 50)]",
            )
        }),
        Kind::Part => {
            let parts = source(kind, structs, |_| {
                "#[derive(Debug, Part)]\n#[part(of = Trade)]".to_owned()
            });
            parts + WHOLE
        }
    }
}

/// The struct that the parts are of.
const WHOLE: &str = "
#[derive(Bucket)]
#[bucket(collection = \"trades\", id = \"{customer_id}_{date}\", capacity = 10)]
pub struct Trade {
    pub customer_id: i64,
    pub date: DateTime,
    pub ticker: String,
    pub side: Side,
}
";

fn peer(kind: Kind, structs: usize) -> String {
    if kind == Kind::Part {
        let derive = |_| "#[derive(Debug, Deserialize)]".to_owned();
        return source(kind, structs, derive) + WHOLE;
    }
    let source = source(kind, structs, |_| {
        "#[derive(Debug, Clone, Serialize, Deserialize)]".to_owned()
    });
    let lines = source.split_inclusive('\n');
    let is_ours = |line: &&str| {
        ["#[outlier", "#[bucket"]
            .iter()
            .any(|own| line.trim_start().starts_with(own))
    };
    lines.filter(|line| !is_ours(line)).collect()
}

fn source(kind: Kind, structs: usize, derive: impl Fn(usize) -> String) -> String {
    let mut source =
        "#![allow(unused_imports)]\nuse bucket_runtime::{Bucket, Fields, Outlier, Part, bson::DateTime};\n\
                      use serde::{Deserialize, Serialize};\n\n\
                      #[derive(Debug, Clone, Serialize, Deserialize)]\n\
                      pub enum Side {\n    Buy,\n    Sell,\n}\n\n\
                      #[derive(Debug, Clone, Serialize, Deserialize, Fields)]\n\
                      pub struct Venue {\n    pub city: String,\n    pub code: i32,\n}\n"
            .to_owned();
    for nth in 0..structs {
        let derive = derive(nth);
        source += &match kind {
            Kind::Bucket => format!(
                "\n{derive}\n#[serde(rename_all = \"camelCase\")]\npub struct Trade{nth} {{\n    \
                 pub customer_id: i64,\n    pub date: DateTime,\n    pub ticker: String,\n    \
                 #[serde(rename = \"type\")]\n    pub side: Side,\n    \
                 #[serde(rename = \"qty\", alias = \"quantity\")]\n    pub quantity: i32,\n}}\n",
            ),
            Kind::Full => format!(
                "\n{derive}\npub struct Trade{nth} {{\n    \
                 pub customer_id: i64,\n    pub date: DateTime,\n    \
                 #[bucket(max_len = 8, index)]\n    pub ticker: String,\n    \
                 pub side: Side,\n    \
                 #[bucket(sum, min, max)]\n    pub quantity: i32,\n    \
                 #[bucket(unique)]\n    pub number: i64,\n    \
                 #[bucket(index(city))]\n    pub venue: Venue,\n    \
                 pub note: Option<i32>,\n}}\n",
            ),
            Kind::Fields => format!(
                "\n{derive}\npub struct Order{nth} {{\n    \
                 pub number: i64,\n    pub ticker: String,\n    pub side: Side,\n    \
                 pub venue: Venue,\n    pub note: Option<i32>,\n}}\n",
            ),
            Kind::Outlier => format!(
                "\n{derive}\npub struct Book{nth} {{\n    #[serde(rename = \"_id\")]\n    \
                 pub id: i64,\n    pub title: String,\n    pub year: i32,\n    pub author: String,\n    \
                 #[outlier(items)]\n    pub customers_purchased: Vec<String>,\n}}\n",
            ),
            Kind::Part => format!(
                "\n{derive}\npub struct Quote{nth} {{\n    pub date: DateTime,\n    \
                 pub ticker: String,\n    pub side: Side,\n}}\n",
            ),
        };
    }
    source
}
