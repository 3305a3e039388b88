//! What the derive costs at compile time.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use bucket_benches::{Bars, Chart, Contestant, Figure, Result, Samples, Unit, in_turn};

use crate::bench::{Bench, Theme};

pub(crate) const THEME: Theme = Theme {
    name: "derive_check",
    figures: &[&DERIVE_CHECK],
    measure: |bench| Box::pin(measure(bench)),
};

static DERIVE_CHECK: Figure = Figure::new(
    "derive_check",
    Unit::Seconds,
    "`cargo check` of a crate with 20 structs that derive `Bucket`, against serde's two derives",
)
.to_reach(1.5);

const STRUCTS: usize = 20;

/// Kept from run to run, since checking the dependencies takes longer than all rounds together.
const SCRATCH: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/derive_check");

async fn measure(bench: Bench) -> Result<()> {
    write_workspace(Path::new(SCRATCH))?;
    let crates = ["ours", "peer"].map(|name| {
        Contestant::new(move |_| async move {
            tokio::task::spawn_blocking(move || check(Path::new(SCRATCH), name)).await?
        })
    });
    let samples = in_turn(bench.pick(15, 5), crates).await?;
    let [ours, peer] = &samples;
    bench.report.figure(&DERIVE_CHECK, ours, peer);
    let bars = Bars::new("cargo check of a crate with 20 structs", Unit::Seconds).group(
        "dependencies checked before",
        [("Bucket", ours), ("Serialize, Deserialize", peer)],
    );
    bench.report.chart("derive_check", Chart::Bars(bars));
    Ok(())
}

/// Two crates with the same structs, the same dependencies and other derives.
fn write_workspace(folder: &Path) -> Result<()> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let workspace = "[workspace]\nresolver = \"3\"\nmembers = [\"ours\", \"peer\"]\n";
    fs::create_dir_all(folder)?;
    fs::write(folder.join("Cargo.toml"), workspace)?;
    // The same versions as here, so that nothing has to be fetched.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let runtime = root.join("bucket-runtime").canonicalize()?;
    for (name, source) in [("ours", ours()), ("peer", peer())] {
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [dependencies]\nbucket-runtime = {{ path = {runtime:?} }}\n\
             serde = {{ version = \"1\", features = [\"derive\"] }}\n",
        );
        fs::create_dir_all(folder.join(name).join("src"))?;
        fs::write(folder.join(name).join("Cargo.toml"), manifest)?;
        fs::write(folder.join(name).join("src/lib.rs"), source)?;
    }
    Ok(())
}

/// Checks one of them anew; the dependencies only if they never were.
fn check(folder: &Path, name: &str) -> Result<Samples> {
    let source = folder.join(name).join("src/lib.rs");
    fs::write(&source, fs::read(&source)?)?;
    let mut command = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    command
        .args(["check", "--quiet", "--offline", "--package", name])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        // Nothing of the last round may be used again.
        .env("CARGO_INCREMENTAL", "0");
    let started = Instant::now();
    let status = command.status()?;
    let seconds = started.elapsed().as_secs_f64();
    if status.success() {
        Ok(vec![seconds])
    } else {
        Err(format!("cargo check of {name} in {} failed", folder.display()).into())
    }
}

fn ours() -> String {
    let derive = |nth| {
        format!(
            "#[derive(Debug, Clone, Bucket)]\n#[serde(rename_all = \"camelCase\")]\n\
             #[bucket(collection = \"trades{nth}\", id = \"{{customer_id}}_{{date}}\", \
             capacity = 10, items = \"history\")]",
        )
    };
    source("use bucket_runtime::{Bucket, bson::DateTime};", derive)
}

fn peer() -> String {
    let derive = |_| {
        "#[derive(Debug, Clone, Serialize, Deserialize)]\n#[serde(rename_all = \"camelCase\")]"
            .to_owned()
    };
    source("use bucket_runtime::bson::DateTime;", derive)
}

fn source(imports: &str, derive: impl Fn(usize) -> String) -> String {
    let mut source = format!(
        "{imports}\nuse serde::{{Deserialize, Serialize}};\n\n\
         #[derive(Debug, Clone, Serialize, Deserialize)]\npub enum Side {{\n    Buy,\n    Sell,\n}}\n",
    );
    for nth in 0..STRUCTS {
        source += &format!(
            "\n{}\npub struct Trade{nth} {{\n    pub customer_id: i64,\n    pub date: DateTime,\n    \
             pub ticker: String,\n    #[serde(rename = \"type\")]\n    pub side: Side,\n    \
             #[serde(rename = \"qty\", alias = \"quantity\")]\n    pub quantity: i32,\n}}\n",
            derive(nth),
        );
    }
    source
}
