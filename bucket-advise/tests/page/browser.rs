//! A real browser, which shows pages in a frame of any width.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Names of the same browser.
const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// A browser that takes longer has stopped.
const PATIENCE: Duration = Duration::from_secs(120);

/// Chromium, which writes its profile into this folder.
pub(super) struct Browser {
    program: PathBuf,
    folder: PathBuf,
}

/// What the browser has to say of a page.
pub(super) struct Shown {
    /// What the script in the frame's parent wrote.
    pub(super) told: serde_json::Value,
    /// The lines of the console.
    pub(super) console: Vec<String>,
}

impl Browser {
    /// The browser in `CHROMIUM`, or the one on the path.
    pub(super) fn find(folder: &Path) -> Self {
        let path = env::var_os("PATH").unwrap_or_default();
        let mut places = env::split_paths(&path)
            .flat_map(|folder| NAMES.map(|name| folder.join(name)))
            .filter(|program| program.is_file());
        let program = env::var_os("CHROMIUM").map(PathBuf::from);
        Self {
            program: program
                .or_else(|| places.next())
                .expect("install Chromium (`apt-get install chromium`), or name it in `CHROMIUM`"),
            folder: folder.to_owned(),
        }
    }

    /// Opens the page in a frame so wide, lets the script run beside it, and hears what that tells.
    pub(super) fn show(&self, page: &str, width: u32, script: &str, options: &[&str]) -> Shown {
        let source = page.replace('&', "&amp;").replace('"', "&quot;");
        let outer = format!(
            "<!DOCTYPE html><meta charset=\"utf-8\"><body style=\"margin:0\">\
             <iframe width=\"{width}\" height=\"12000\" style=\"border:0\" srcdoc=\"{source}\"></iframe>\
             <pre hidden id=\"told\"></pre><script>\n\
             const frame = document.querySelector('iframe');\n\
             const tell = told => document.getElementById('told').textContent = JSON.stringify(told);\n\
             frame.onload = () => {{ const page = frame.contentDocument; tell(({script})(page)); }};\n</script>"
        );
        let file = self.folder.join("outer.html");
        std::fs::write(&file, outer).unwrap();
        let url = format!("file://{}", file.display());
        let (dom, console) = self.run(&[options, &["--dump-dom", &url]].concat());
        let told = dom.split_once("id=\"told\">").unwrap().1;
        let told = told.split_once("</pre>").unwrap().0;
        let told = told
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&");
        Shown {
            told: serde_json::from_str(&told).unwrap(),
            console,
        }
    }

    /// Runs it to its end, or for as long as patience lasts.
    fn run(&self, options: &[&str]) -> (String, Vec<String>) {
        let (out, err) = (self.folder.join("out"), self.folder.join("err"));
        let to = |file: &Path| Stdio::from(std::fs::File::create(file).unwrap());
        let mut browser = Command::new(&self.program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
            ])
            .args([
                "--no-first-run",
                "--disable-background-networking",
                "--disable-sync",
            ])
            .args(["--disable-component-update", "--enable-logging=stderr"])
            .arg(format!(
                "--user-data-dir={}",
                self.folder.join("profile").display()
            ))
            .args(["--window-size=1200,1000"])
            .args(options)
            .stdout(to(&out))
            .stderr(to(&err))
            .spawn()
            .unwrap();
        let begin = Instant::now();
        while browser.try_wait().unwrap().is_none() {
            if begin.elapsed() > PATIENCE {
                browser.kill().unwrap();
                panic!("{} has stopped", self.program.display());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let said = String::from_utf8_lossy(&std::fs::read(&err).unwrap()).into_owned();
        let console = said.lines().filter(|line| line.contains("CONSOLE"));
        let dom = std::fs::read_to_string(&out).unwrap();
        (dom, console.map(str::to_owned).collect())
    }
}
