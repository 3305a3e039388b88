//! Sessions at the command line: what each command says, does, and returns.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::ffi::OsString;

use bucket_cli::__private::Target;
use bucket_runtime::bson::{DateTime, Document, doc};
use bucket_runtime::mongodb::Database;
use bucket_runtime::{Bucket, Outlier};
use bucket_testkit::{Fixture, Server, Test};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

#[path = "session/thresholds.rs"]
mod thresholds;

mod app {
    use super::{Bucket, DateTime, Deserialize, Outlier, Serialize};

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucket)]
    #[bucket(collection = "trades", id = "{customer}_{date}", capacity = 3)]
    pub(super) struct Trade {
        pub(super) customer: i64,
        pub(super) date: DateTime,
        #[bucket(index)]
        pub(super) ticker: String,
    }

    #[derive(Debug, Clone, PartialEq, Bucket)]
    #[bucket(collection = "notes", id = "{topic}_{#}", capacity = 2)]
    pub(super) struct Note {
        pub(super) topic: String,
        pub(super) written: DateTime,
    }

    #[derive(Debug, Clone, PartialEq, Bucket)]
    #[bucket(collection = "visits", id = "{site}_{at/1h}", capacity = 10)]
    pub(super) struct Visit {
        pub(super) site: i64,
        pub(super) at: DateTime,
        pub(super) path: String,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
    #[outlier(collection = "books", reference = "book", threshold = 2)]
    pub(super) struct Book {
        #[serde(rename = "_id")]
        pub(super) id: i64,
        #[outlier(items)]
        pub(super) buyers: Vec<String>,
    }
}
use app::{Book, Note, Trade, Visit};

/// Trades and visits in larger buckets.
mod larger {
    use super::{Bucket, DateTime};

    #[derive(Bucket)]
    #[bucket(collection = "trades", id = "{customer}_{date}", capacity = 5)]
    pub(super) struct Trade {
        customer: i64,
        date: DateTime,
        #[bucket(index)]
        ticker: String,
    }

    #[derive(Bucket)]
    #[bucket(collection = "visits", id = "{site}_{at/1h}", capacity = 100)]
    pub(super) struct Visit {
        site: i64,
        at: DateTime,
        path: String,
    }
}

/// A database, and the command line of its operator.
struct Shell {
    server: &'static Server,
    db: Database,
    uri: String,
    targets: Vec<Target>,
}

impl Fixture for Shell {
    async fn set_up(test: &Test) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let server = test.server();
        let (hosts, options) = server.uri().rsplit_once('/').unwrap();
        Ok(Self {
            server,
            db: Database::set_up(test).await?,
            uri: format!("{hosts}/{}{options}", test.database()),
            targets: vec![
                bucket_cli::target!(app::Trade),
                bucket_cli::target!(app::Book),
            ],
        })
    }
}

impl Shell {
    /// Runs a command; returns the exit code and what it printed, with `shop`
    /// for the database's name.
    async fn run(&self, command: &str) -> (u8, String) {
        self.run_on(&self.targets, command).await
    }

    async fn run_on(&self, targets: &[Target], command: &str) -> (u8, String) {
        let arguments = ["ops", "--uri", &self.uri]
            .into_iter()
            .chain(command.split(' '));
        let mut out = Vec::new();
        let arguments = arguments.map(OsString::from);
        let code = bucket_cli::__private::run("", targets, arguments, &mut out).await;
        let out = String::from_utf8(out).unwrap();
        (code, out.replace(self.db.name(), "shop"))
    }

    /// Eight trades of two customers, and two books.
    async fn fill(&self) {
        let trades = Trade::buckets(&self.db).await.unwrap();
        let trade = |n: i64| Trade {
            customer: if n < 7 { 1 } else { 2 },
            date: DateTime::from_millis(n * 1000),
            ticker: "MDB".to_owned(),
        };
        trades.append_many((0..8).map(trade)).await.unwrap();
        let books = Book::outliers(&self.db).await.unwrap();
        for (id, buyers) in [(1, 1), (2, 5)] {
            let buyers = (0..buyers).map(|n| format!("user{n}")).collect();
            books.insert(&Book { id, buyers }).await.unwrap();
        }
    }

    /// So many visits of three sites in each of so many hours.
    async fn visit(&self, hours: i64, per_hour: i64) {
        let visits = Visit::buckets(&self.db).await.unwrap();
        let visit = |n: i64| {
            let (hour, of_hour) = (n / per_hour, n % per_hour);
            Visit {
                site: n % 3,
                at: DateTime::from_millis(hour / 3 * 3_600_000 + of_hour * 1000),
                path: format!("/page/{}", n % 7),
            }
        };
        let all = (0..3 * hours * per_hour).map(visit);
        visits.append_many(all).await.unwrap();
    }

    async fn documents(&self, collection: &str) -> Vec<Document> {
        let collection = self.db.collection(collection);
        let found = collection.find(doc! {}).sort(doc! { "_id": 1 });
        found.await.unwrap().try_collect().await.unwrap()
    }
}

#[bucket_testkit::test]
async fn what_is_there_is_described(shell: Shell) {
    shell.fill().await;
    let (code, said) = shell.run("stats").await;
    assert_eq!(code, 0);
    assert_eq!(
        said.lines()
            .filter(|line| !line.contains("bytes"))
            .collect::<Vec<_>>(),
        [
            "Trade (shop.trades)",
            "  4 buckets with 8 items: 66 % full (capacity 3)",
            "  2 open, 0 sealed",
            "  customer 1: 7 items in 3 buckets",
            "  customer 2: 1 item in 1 bucket",
            "Book (shop.books, extra_books)",
            "  2 parents with 3 items of their own (threshold 2)",
            "  1 outlier, 50 % of the parents",
            "  3 items in 1 extras document",
            "  _id 2: 3 items in extras",
        ]
    );
    let (code, said) = shell.run("stats Trade --json").await;
    let value: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        (code, &value["items"], &value["open"]),
        (0, &8.into(), &2.into())
    );
    let (code, said) = shell.run("advise Book").await;
    assert!(code == 0 && said.contains("documents"), "{said}");
    let (code, said) = shell.run("advise").await;
    assert_eq!(code, 0);
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(
        lines[..7],
        [
            "Trade (shop.trades)",
            "  8 items in 4 buckets; 2 keys, half of which have at most 1",
            "    capacity  buckets  bytes  full bucket  filled  keys in one bucket",
            "           3        4  576 B        156 B    66 %                50 %",
            "          10        2  336 B        240 B    40 %               100 %  ← recommended",
            "  take a capacity of 10: 2 buckets instead of 4 (write `capacity = 10`; then `change-capacity Trade` for new buckets, or `migrate_from` for all)",
            "  keep the order: the buckets begin in the order of their ids",
        ]
    );
    assert!(
        said.contains("\nBook (shop.books, extra_books)\n  2 documents"),
        "{said}"
    );
    assert_eq!(shell.run("--version").await.0, 0);
}

/// In time windows, the capacity is that of a window. Once the collection has it, nothing is left to change.
#[bucket_testkit::test]
async fn windows_are_advised_on(shell: Shell) {
    let targets = [bucket_cli::target!(app::Visit)];
    shell.visit(48, 95).await;
    let (code, said) = shell.run_on(&targets, "advise").await;
    assert_eq!(code, 0);
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(
        lines,
        [
            "Visit (shop.visits)",
            "  13,680 items in 1,440 buckets; 144 windows of keys, half of which have at most 95",
            "    capacity  buckets   bytes  full bucket  filled  windows in one bucket",
            "          10    1,440  638 kB        460 B    95 %                    0 %",
            "          20      720  552 kB        800 B    95 %                    0 %",
            "          50      288  500 kB       1.8 kB    95 %                    0 %",
            "         100      144  482 kB       3.5 kB    95 %                  100 %  ← recommended",
            "  take a capacity of 100: 144 buckets instead of 1,440 (write `capacity = 100`; then `change-capacity \
             Visit` for new buckets, or `migrate_from` for all)",
        ]
    );
    let larger = [bucket_cli::target!(larger::Visit)];
    let (code, said) = shell.run_on(&larger, "change-capacity Visit").await;
    assert_eq!(code, 0, "{said}");
    let (_, said) = shell.run_on(&larger, "verify").await;
    assert!(
        said.contains("no problems in 1,440 buckets, 13,680 items"),
        "{said}"
    );
    let (_, said) = shell.run_on(&larger, "advise").await;
    assert!(said.ends_with("  keep the capacity of 100\n"), "{said}");
}

#[bucket_testkit::test]
async fn windows_of_single_items_are_too_short(shell: Shell) {
    shell.visit(48, 1).await;
    let targets = [bucket_cli::target!(app::Visit)];
    let (code, said) = shell.run_on(&targets, "advise").await;
    let kept = "  keep the capacity of 10\n  no capacity fills these buckets, since at least half of the windows have a \
                single item: take longer windows";
    assert!(code == 0 && said.contains(kept), "{said}");
}

#[bucket_testkit::test]
async fn a_collection_is_drawn_as_it_is(shell: Shell) {
    shell.fill().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    let draw = async |command: &str| {
        let command = format!("stats {command} --html {}", file.display());
        let (code, said) = shell.run(&command).await;
        assert!(code == 0 && said.ends_with("report.html\n"), "{said}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        std::fs::read_to_string(&file).unwrap()
    };
    let trades = draw("Trade").await;
    for text in [
        "<h1>4 buckets with 8 items: 66 % full (capacity 3)</h1>",
        "4 buckets: 2 full, 2 open, 0 sealed; 66 % of the room is taken.",
        "The 2 keys from the largest to the smallest; the largest has 7 items",
        "The 2 largest keys in 8 windows of 1 second; the fullest cell has 3 items.",
        "<title>rank 1, 1970-01-01 00:00:03: 3</title>",
        "<tr><th scope=\"row\">1970-01-01 00:00:06</th><td>1</td><td>0</td></tr>",
    ] {
        assert!(trades.contains(text), "{text}\n{trades}");
    }
    assert!(!trades.contains("customer 1"), "{trades}");
    let trades = draw("Trade --values").await;
    assert!(trades.contains("customer 1: 7 items in 3 buckets"));
    let books = draw("Book").await;
    // One book has one buyer, the other two of its own and three in extras.
    let lengths = "2 documents with 6 items; the longest array has 5.";
    assert!(
        books.contains(lengths) && books.contains(">threshold 2</text>"),
        "{books}"
    );
    assert!(books.contains("1 bucket: 0 full, 1 open"), "{books}");
    for wrong in ["", "Trade Book", "Trade --values"] {
        let target = if wrong.contains("--values") {
            String::new()
        } else {
            format!(" --html {}", file.display())
        };
        assert_eq!(
            shell.run(format!("stats {wrong}{target}").trim()).await.0,
            2,
            "{wrong}"
        );
    }
    let nowhere = folder.path().join("nowhere/report.html");
    let (code, _) = shell
        .run(&format!("stats Trade --html {}", nowhere.display()))
        .await;
    assert_eq!(code, 2);
}

#[bucket_testkit::test]
async fn what_does_not_exist_is_said_to_be_missing(shell: Shell) {
    for command in ["verify Trade", "repair Trade", "repair Trade --dry-run"] {
        let (code, said) = shell.run(command).await;
        assert!(
            code == 1 && said.contains("the collection does not exist"),
            "{said}"
        );
    }
    assert_eq!(shell.run("stats").await.0, 0);

    let (code, all) = shell.run("indexes").await;
    assert_eq!((code, all.matches("createIndex(").count()), (0, 4));
    for command in ["indexes --check", "indexes --create --dry-run"] {
        let (code, said) = shell.run(command).await;
        assert_eq!(
            (code, said.matches("missing: db.getCollection").count()),
            (1, 4),
            "{said}"
        );
    }
    assert!(shell.db.list_collection_names().await.unwrap().is_empty());
    assert_eq!(shell.run("indexes --create").await.0, 0);
    let (code, said) = shell.run("indexes --check --json").await;
    assert!(code == 0 && said.contains("\"missing\":[]"), "{said}");
    let (code, said) = shell.run("verify Trade").await;
    assert_eq!(
        (code, &*said),
        (
            0,
            "Trade (shop.trades)\n  no problems in 0 buckets, 0 items\n"
        )
    );
}

#[bucket_testkit::test]
async fn problems_are_listed_and_repaired(shell: Shell) {
    shell.fill().await;
    let wrong = doc! { "$set": { "count": 9 } };
    let trades = shell.db.collection::<Document>("trades");
    trades.update_one(doc! { "count": 3 }, wrong).await.unwrap();
    let before = shell.documents("trades").await;
    for command in ["verify", "repair --dry-run", "verify Trade --json"] {
        let (code, said) = shell.run(command).await;
        assert!(code == 1 && said.contains("G2"), "{command}: {said}");
    }
    assert_eq!(shell.documents("trades").await, before);
    let (_, said) = shell.run("verify Trade --json").await;
    let told: serde_json::Value = serde_json::from_str(&said).unwrap();
    let text =
        "G2: bucket \"1_0000000000\" holds 3 items, but its count differs; `repair` corrects it";
    assert_eq!((&told["buckets"], &told["items"]), (&4.into(), &8.into()));
    assert_eq!(
        told["problems"],
        serde_json::json!([{
            "kind": "WrongCount", "ids": ["1_0000000000"], "key": "1", "repairable": true,
            "remedy": "corrects it", "text": text,
        }])
    );
    let (code, said) = shell.run("verify Trade").await;
    assert_eq!(
        (code, said),
        (
            1,
            format!(
                "Trade (shop.trades)\n  1 WrongCount\n    {text}\n  1 problem in 4 buckets, 8 items\n"
            )
        )
    );
    let (code, said) = shell.run("repair Trade").await;
    assert_eq!(
        (code, &*said),
        (
            0,
            "Trade (shop.trades)\n  repaired: 1 WrongCount\n  no problems are left\n"
        )
    );
    let (code, said) = shell.run("repair --json").await;
    assert_eq!(
        (code, said.matches("\"repaired\":{}").count()),
        (0, 2),
        "{said}"
    );
}

/// Of many problems of a kind, five show what it is.
#[bucket_testkit::test]
async fn problems_that_are_alike_are_counted(shell: Shell) {
    shell.fill().await;
    let books = shell.db.collection::<Document>("books");
    let long = (3..10_i64).map(|id| doc! { "_id": id, "buyers": ["a", "b", "c"] });
    books.insert_many(long).await.unwrap();
    let no_flag = doc! { "$unset": { "has_extras": 1 } };
    books.update_one(doc! { "_id": 2 }, no_flag).await.unwrap();
    let wrong = doc! { "$set": { "count": 9 } };
    let trades = shell.db.collection::<Document>("trades");
    trades.update_many(doc! {}, wrong).await.unwrap();

    let too_large = |id: i64| {
        format!(
            "    O2: parent Long(\"{id}\") with 3 items exceeds the threshold or `max_bytes`; `repair` splits it\n"
        )
    };
    let told = |listed: String| {
        format!(
            "Book (shop.books, extra_books)\n  1 NoFlag\n    O3: parent Long(\"2\") has extras but no flag; `repair` \
             sets it\n  7 TooLarge\n{listed}  8 problems in 9 parents, 1 extras document, 27 items\n"
        )
    };
    let sorted = |said: &str| {
        let mut lines: Vec<_> = said.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    // The shards of a cluster answer in any order.
    let (code, said) = shell.run("verify Book --all").await;
    let each = told((3..10).map(too_large).collect());
    assert_eq!((code, sorted(&said)), (1, sorted(&each)));
    let would_repair = "  would be repaired: 1 NoFlag, 7 TooLarge\n";
    for (command, would_repair) in [("verify Book", ""), ("repair Book --dry-run", would_repair)] {
        let (code, said) = shell.run(command).await;
        let listed: Vec<_> = said.lines().filter(|line| line.contains("O2: ")).collect();
        let listed: String = listed.iter().map(|line| format!("{line}\n")).collect();
        let more = "    and 2 more; `--all` lists each\n";
        let told = told(listed + more) + would_repair;
        assert_eq!((code, &*said), (1, &*told), "{command}");
        assert_eq!(said.matches("O2: ").count(), 5);
    }
    let (_, said) = shell.run("verify Book --json").await;
    assert_eq!(said.matches("\"TooLarge\"").count(), 7, "{said}");

    // Of buckets, and of what a repair leaves.
    let (_, said) = shell.run("verify Trade").await;
    assert!(said.contains("  4 WrongCount\n    G2: "), "{said}");
    books.delete_many(doc! {}).await.unwrap();
    let extra = |n: i64| doc! { "_id": format!("{n}_0000000000"), "book": n, "count": 1, "buyers_extra": ["a"] };
    let extras = shell.db.collection::<Document>("extra_books");
    extras.insert_many((10..16).map(extra)).await.unwrap();
    for (all, listed) in [("", 5), (" --all", 7)] {
        let (code, said) = shell.run(&format!("repair Book{all}")).await;
        assert_eq!((code, said.matches("O3: ").count()), (1, listed), "{said}");
        assert!(said.contains("  7 NoParent\n"), "{said}");
    }
}

#[bucket_testkit::test]
async fn extras_without_a_parent_are_deleted_when_told(shell: Shell) {
    shell.fill().await;
    let books = shell.db.collection::<Document>("books");
    books.delete_one(doc! { "_id": 2 }).await.unwrap();
    let (code, said) = shell.run("repair Book").await;
    assert!(code == 1 && said.contains("nothing was repaired"), "{said}");
    assert_eq!(shell.documents("extra_books").await.len(), 1);
    let (code, said) = shell.run("repair Book --delete-orphans").await;
    assert!(
        code == 0 && said.contains("repaired: 1 NoParent") && said.contains("deleted: 3 items"),
        "{said}"
    );
    assert!(shell.documents("extra_books").await.is_empty());
    let (code, said) = shell.run("verify Book").await;
    assert!(
        code == 0 && said.contains("no problems in 1 parent, 0 extras documents"),
        "{said}"
    );
}

#[bucket_testkit::test]
async fn buckets_leave_and_come_back(shell: Shell) {
    shell.fill().await;
    let before = shell.documents("trades").await;
    let file = format!("{}.jsonl", shell.db.name());
    let file = std::env::temp_dir().join(file);
    let path = file.to_str().unwrap();

    let (code, said) = shell.run(&format!("export Trade {path}")).await;
    assert!(code == 0 && said.contains("4 buckets in"), "{said}");
    shell
        .db
        .collection::<Document>("trades")
        .delete_many(doc! {})
        .await
        .unwrap();
    let (code, said) = shell.run(&format!("import Trade {path} --dry-run")).await;
    assert!(
        code == 0 && said.contains("4 lines would be imported"),
        "{said}"
    );
    assert!(shell.documents("trades").await.is_empty());
    let (code, said) = shell.run(&format!("import Trade {path}")).await;
    assert!(
        code == 0 && said.contains("stored 4 buckets with 8 items; already there: 0"),
        "{said}"
    );
    assert_eq!(shell.documents("trades").await, before);

    // A file that is there stays, unless told otherwise.
    assert_eq!(shell.run(&format!("export Trade {path}")).await.0, 3);
    let limit = "1970-01-01T00:00:02Z";
    for (only, buckets) in [
        ("--key 2".to_owned(), 1),
        (format!("--before {limit}"), 1),
        (format!("--key 2 --before {limit}"), 0),
    ] {
        let command = format!("export Trade {path} --overwrite {only}");
        let (code, said) = shell.run(&command).await;
        let things = if buckets == 1 { "bucket" } else { "buckets" };
        let expected = format!("{buckets} {things} in");
        assert!(code == 0 && said.contains(&expected), "{only}: {said}");
    }
    assert_eq!(
        shell
            .run(&format!("export Trade {path} --overwrite --key x"))
            .await
            .0,
        3
    );
    std::fs::write(&file, "{}\n").unwrap();
    let (code, said) = shell.run(&format!("import Trade {path}")).await;
    assert!(code == 1 && said.contains("line 1: "), "{said}");
    std::fs::remove_file(file).unwrap();
}

#[bucket_testkit::test]
async fn buckets_change_their_capacity(shell: Shell) {
    shell.fill().await;
    let before = shell.documents("trades").await;
    let larger = [bucket_cli::target!(larger::Trade)];
    let change = async |command| shell.run_on(&larger, command).await;
    assert_eq!(change("verify").await.0, 3);
    let (code, said) = change("change-capacity Trade --dry-run").await;
    let plan = "  the capacity is 3, and would be 5: open buckets would be sealed";
    assert!(code == 0 && said.contains(plan), "{said}");
    assert_eq!(shell.documents("trades").await, before);
    assert_eq!(change("verify").await.0, 3);
    let (code, said) = change("change-capacity Trade").await;
    assert!(
        code == 0 && said.contains("the capacity was 3, and is now 5"),
        "{said}"
    );
    assert_eq!(change("verify").await.0, 0);
    let (code, said) = change("change-capacity Trade --json").await;
    assert_eq!(code, 0);
    let value: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        (&value["stored"], &value["capacity"]),
        (&5.into(), &5.into())
    );
    let (code, said) = change("change-capacity Trade").await;
    assert!(
        code == 0 && said.contains("the capacity is 5 already"),
        "{said}"
    );

    // And back to three items each; the change was interrupted when its index was still hidden.
    shell.run("change-capacity Trade").await;
    let index = doc! { "name": "bucket_open_3", "hidden": true };
    let hide = doc! { "collMod": "trades", "index": index };
    shell.db.run_command(hide).await.unwrap();
    let (code, said) = shell.run("change-capacity Trade --dry-run").await;
    let plan = "the capacity would be 3: the change was interrupted";
    assert!(code == 0 && said.contains(plan), "{said}");
    assert_eq!(shell.run("verify Trade").await.0, 3);
    let (code, said) = shell.run("change-capacity Trade").await;
    assert!(
        code == 0 && said.contains("the capacity is now 3"),
        "{said}"
    );
    assert_eq!(shell.run("verify Trade").await.0, 0);

    // Without a collection.
    shell.db.drop().await.unwrap();
    let (code, said) = shell.run("change-capacity Trade --dry-run").await;
    assert!(code == 0 && said.contains("there was no index"), "{said}");
}

#[bucket_testkit::test]
async fn numbered_buckets_leave_by_the_time_of_their_items(shell: Shell) {
    let notes = Note::buckets(&shell.db).await.unwrap();
    for n in 0..6 {
        let written = DateTime::from_millis(n * 1000);
        let topic = "a".to_owned();
        notes.append(&Note { topic, written }).await.unwrap();
    }
    let target = [bucket_cli::target!(app::Note)];
    let file = std::env::temp_dir().join(format!("{}.jsonl", shell.db.name()));
    let export = async |only: &str| {
        let command = format!("export Note {} --overwrite {only}", file.display());
        shell.run_on(&target, &command).await
    };
    let before = "--before 1970-01-01T00:00:03Z";
    assert_eq!(export(before).await.0, 3);
    assert_eq!(export(&format!("{before} --time nothing")).await.0, 3);
    assert_eq!(export("--time written").await.0, 2);
    let (code, said) = export(&format!("{before} --time written")).await;
    assert!(code == 0 && said.contains("2 buckets in"), "{said}");
    std::fs::remove_file(file).unwrap();
}

#[bucket_testkit::test]
async fn a_flat_collection_moves_into_buckets(shell: Shell) {
    let flat = shell.db.collection("flat");
    let trade = |n: i64| doc! { "customer": n % 2, "date": DateTime::from_millis(n * 1000), "ticker": "MDB" };
    flat.insert_many((0..10).map(trade)).await.unwrap();
    let (code, said) = shell.run("import-flat Trade flat --dry-run").await;
    assert!(
        code == 0 && said.contains("10 items of shop.flat would"),
        "{said}"
    );
    assert!(shell.documents("trades").await.is_empty());
    let (code, said) = shell.run("import-flat Trade flat").await;
    assert!(
        code == 0 && said.contains("10 items of shop.flat in buckets"),
        "{said}"
    );
    let before = shell.documents("trades").await;
    assert_eq!(before.len(), 4);
    for option in ["", " --dry-run"] {
        let (code, said) = shell.run(&format!("import-flat Trade flut{option}")).await;
        let nothing = "shop.flut does not exist, or holds no documents";
        assert!(code == 1 && said.contains(nothing), "{said}");
    }
    // Not once more.
    let (code, said) = shell.run("import-flat Trade flat --dry-run").await;
    assert!(code == 3, "{said}");
    assert_eq!(shell.documents("trades").await, before);

    // A dry run reads; what is not a trade can be left out.
    shell
        .db
        .collection::<Document>("trades")
        .drop()
        .await
        .unwrap();
    flat.insert_one(doc! { "_id": "other", "customer": 7 })
        .await
        .unwrap();
    for (option, code, part) in [
        (
            "--dry-run",
            1,
            "10 items of shop.flat would be imported; 1 cannot be read",
        ),
        ("", 3, ""),
        (
            "--skip-unreadable",
            1,
            "10 items of shop.flat in buckets; 1 cannot be read",
        ),
    ] {
        let (got, said) = shell
            .run(format!("import-flat Trade flat {option}").trim_end())
            .await;
        assert!(got == code && said.contains(part), "{option}: {said}");
        assert_eq!(said.contains(r#"_id "other""#), !part.is_empty(), "{said}");
    }
    assert_eq!(shell.documents("trades").await, before);

    // The first five are listed, or each.
    let trades = shell.db.collection::<Document>("trades");
    trades.drop().await.unwrap();
    let others = (0..6).map(|_| doc! { "customer": 7 });
    flat.insert_many(others).await.unwrap();
    let dry = "import-flat Trade flat --dry-run";
    for (option, listed, more) in [("", 5, true), (" --all", 7, false)] {
        let (code, said) = shell.run(&format!("{dry}{option}")).await;
        assert!(code == 1 && said.contains("7 cannot be read"), "{said}");
        assert_eq!(said.matches("the flat document with _id").count(), listed);
        let says_more = said.contains("\n  and 2 more; `--all` lists each\n");
        assert_eq!(says_more, more, "{said}");
    }
}

#[bucket_testkit::test]
async fn what_cannot_be_done_is_an_exit_code(shell: Shell) {
    assert_eq!(shell.run("verify Trades").await.0, 2);
    assert_eq!(shell.run("fix").await.0, 2);
    assert_eq!(shell.run("--help").await.0, 0);
    assert_eq!(shell.run("export Book /nowhere/file").await.0, 3);
    assert_eq!(shell.run("export Trade /nowhere/file").await.0, 3);
    assert_eq!(shell.run("shard --hashed --by-window").await.0, 2);
    let (code, said) = shell.run("shard Trade --hashed --dry-run").await;
    assert_eq!(
        (code, &*said),
        (
            0,
            "Trade (shop.trades)\n  would be sharded by { \"customer\": \"hashed\" }\n"
        )
    );
    let (code, said) = shell.run("shard Trade --hashed").await;
    match shell.server.is_sharded().await.unwrap() {
        true => assert!(code == 0 && said.contains("  sharded by"), "{said}"),
        false => assert_eq!(code, 3),
    }
    let nowhere = ["ops", "--uri", "mongodb://localhost", "verify"].map(OsString::from);
    let code = bucket_cli::__private::run("", &shell.targets, nowhere, &mut Vec::new()).await;
    assert_eq!(code, 2);
}
