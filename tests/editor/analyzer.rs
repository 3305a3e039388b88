//! rust-analyzer, asked about one file by the Language Server Protocol.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

/// A place in the file; both numbers begin at 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

pub(crate) struct Analyzer {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The file's address.
    uri: String,
    requests: u64,
}

impl Analyzer {
    /// Opens the file, and waits until the crate is loaded and its derives are built.
    pub(crate) fn start(folder: &Path, file: &str, text: &str) -> Self {
        let mut process = Command::new("rust-analyzer")
            .current_dir(folder)
            .env("CARGO_TARGET_DIR", folder.join("target"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let root = format!("file://{}", folder.display());
        let mut analyzer = Self {
            input: process.stdin.take().unwrap(),
            output: BufReader::new(process.stdout.take().unwrap()),
            process,
            uri: format!("{root}/{file}"),
            requests: 0,
        };
        let settings = json!({ "checkOnSave": false, "cachePriming": { "enable": false } });
        let status = json!({ "experimental": { "serverStatusNotification": true } });
        analyzer.ask(
            "initialize",
            json!({ "rootUri": root, "capabilities": status, "initializationOptions": settings }),
        );
        analyzer.tell("initialized", json!({}));
        let document =
            json!({ "uri": analyzer.uri, "languageId": "rust", "version": 1, "text": text });
        analyzer.tell("textDocument/didOpen", json!({ "textDocument": document }));
        analyzer.read_until(|message| {
            let is_status = message["method"] == "experimental/serverStatus";
            is_status && message["params"]["quiescent"] == true
        });
        analyzer
    }

    /// The places that change when the name at this place is another one.
    pub(crate) fn renamed(&mut self, at: Place) -> BTreeSet<Place> {
        let mut parameters = self.at(at);
        parameters["newName"] = json!("another_name");
        let answer = self.ask("textDocument/rename", parameters);
        let edits = &answer["documentChanges"][0]["edits"];
        assert!(edits.is_array(), "{answer}");
        starts(edits)
    }

    /// The places that name the same as this one, the definition among them.
    pub(crate) fn references(&mut self, at: Place) -> BTreeSet<Place> {
        let mut parameters = self.at(at);
        parameters["context"] = json!({ "includeDeclaration": true });
        starts(&self.ask("textDocument/references", parameters))
    }

    pub(crate) fn definitions(&mut self, at: Place) -> BTreeSet<Place> {
        let parameters = self.at(at);
        let mut answer = self.ask("textDocument/definition", parameters);
        let uri = json!(self.uri);
        answer
            .as_array_mut()
            .unwrap()
            .retain(|found| found["uri"] == uri);
        starts(&answer)
    }

    fn at(&self, Place { line, column }: Place) -> Value {
        json!({
            "textDocument": { "uri": self.uri },
            "position": { "line": line, "character": column },
        })
    }

    fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.requests += 1;
        let id = json!(self.requests);
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }));
        let mut answer =
            self.read_until(|message| message["id"] == id && message["method"].is_null());
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].take()
    }

    fn tell(&mut self, method: &str, parameters: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": parameters }));
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        self.input.flush().unwrap();
    }

    /// The first message that is wanted. Requests of rust-analyzer's own get an empty answer.
    fn read_until(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.read();
            if is_wanted(&message) {
                return message;
            }
            if !message["id"].is_null() && !message["method"].is_null() {
                self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": null }));
            }
        }
    }

    fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).unwrap();
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", value)) => length = value.parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        let mut text = vec![0; length];
        self.output.read_exact(&mut text).unwrap();
        serde_json::from_slice(&text).unwrap()
    }
}

impl Drop for Analyzer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Where the ranges of these edits or locations begin.
fn starts(ranges: &Value) -> BTreeSet<Place> {
    let starts = ranges.as_array().unwrap().iter().map(|found| {
        let start = &found["range"]["start"];
        let number = |name: &str| usize::try_from(start[name].as_u64().unwrap()).unwrap();
        Place {
            line: number("line"),
            column: number("character"),
        }
    });
    starts.collect()
}
