//! The guide lists which privileges each call needs: with exactly these it works, and without any one of
//! them the error names that one.

mod calls;

use std::{fs, os::unix::fs::PermissionsExt};

use bucket_runtime::{
    Bucket, Error, Outlier, Result,
    mongodb::{
        Client,
        bson::{DateTime, Document, doc},
        options::{ClientOptions, Credential},
    },
};
use bucket_testkit::Server;
use serde::{Deserialize, Serialize};

use self::calls::{Calls, ROWS};
use crate::support::{
    assert_refused,
    database::is_cluster,
    visits::{Visit, visit},
};

/// The visits in larger buckets.
mod larger {
    use super::{Bucket, DateTime};

    #[derive(Bucket)]
    #[bucket(collection = "visits", id = "{page}_{at/1h}", capacity = 3)]
    pub(super) struct Visit {
        page: i64,
        at: DateTime,
        #[bucket(unique)]
        visitor: i64,
        #[bucket(sum)]
        seconds: i64,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "books",
    extras = "more",
    reference = "book",
    threshold = 2
)]
struct Book {
    #[serde(rename = "_id")]
    id: i64,
    #[outlier(index)]
    title: String,
    #[outlier(items)]
    buyers: Vec<String>,
    #[outlier(total)]
    sold: i64,
}

fn book(id: i64, buyers: usize) -> Book {
    let buyer = |n| format!("user{n}");
    Book {
        id,
        title: "Invisible Cities".to_owned(),
        buyers: (0..buyers).map(buyer).collect(),
        sold: 0,
    }
}

/// A server that asks who somebody is, and its first user, who may do everything.
async fn server(test: &str) -> (Server, Client) {
    let folder = format!("bucket-tests-{test}-{}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    fs::create_dir_all(&folder).unwrap();
    let key = folder.join("key");
    fs::write(&key, "of the members of the set").unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let few_rounds = "scramSHA256IterationCount=5000";
    let key = key.to_str().unwrap();
    let options = ["--keyFile", key, "--setParameter", few_rounds];
    let server = Server::start_with(&options).await.unwrap();
    // The server has read the key.
    fs::remove_dir_all(&folder).unwrap();
    let admin = server.database("admin").await.unwrap();
    let root = doc! { "createUser": "root", "pwd": "root", "roles": ["root"] };
    admin.run_command(root).await.unwrap();
    let root = login(&server, "root", "root").await;
    (server, root)
}

/// A client of this user.
async fn login(server: &Server, name: &str, password: &str) -> Client {
    let mut options = ClientOptions::parse(server.uri()).await.unwrap();
    let credential = Credential::builder()
        .username(name.to_owned())
        .password(password.to_owned())
        .source("admin".to_owned())
        .build();
    options.credential = Some(credential);
    Client::with_options(options).unwrap()
}

/// A fresh database, with visits and books in it or empty.
async fn prepare(root: &Client, name: &str, is_filled: bool) {
    let db = root.database(name);
    db.drop().await.unwrap();
    if is_filled {
        let visits = Visit::buckets(&db).await.unwrap();
        visits.append_many((0..5).map(visit)).await.unwrap();
        // A bucket that `repair` mends.
        let wrong = doc! { "_id": "2_0000000000", "page": 2, "window": DateTime::from_millis(0), "count": 5, "items": [] };
        visits.collection().insert_one(wrong).await.unwrap();
        let books = Book::outliers(&db).await.unwrap();
        books.insert(&book(1, 5)).await.unwrap();
        books.insert(&book(2, 1)).await.unwrap();
        let Visit {
            at,
            visitor,
            seconds,
            ..
        } = visit(100);
        let row = doc! { "page": 9, "at": at, "visitor": visitor, "seconds": seconds };
        let flat = db.collection::<Document>("flat");
        flat.insert_one(row).await.unwrap();
    }
}

/// The rows of the guide's table: the calls, the privileges, the built-in roles.
fn guide() -> Vec<(String, Vec<String>, Vec<String>)> {
    let page = include_str!("../../../bucket-ops/src/guide/privileges_and_indexes.md");
    let (_, table) = page.split_once("| --- | --- | --- |\n").unwrap();
    let (_, table) = table.split_once("| --- | --- | --- |\n").unwrap();
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let words = |cell: &str| {
        let words = cell.split('`').skip(1).step_by(2);
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    rows.map(|row| {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        (cells[0].to_owned(), words(cells[1]), words(cells[2]))
    })
    .collect()
}

/// A user whose privileges change.
struct Trial {
    root: Client,
    user: Client,
    /// Whether the database holds what `prepare` filled it with, or nothing; none if calls may have changed it.
    prepared: Option<bool>,
}

impl Trial {
    async fn begin(server: &Server, root: Client) -> Self {
        let admin = root.database("admin");
        let role = doc! { "createRole": "few", "privileges": [], "roles": [] };
        admin.run_command(role).await.unwrap();
        let user = doc! { "createUser": "user", "pwd": "user", "roles": ["few"] };
        admin.run_command(user).await.unwrap();
        Self {
            root,
            user: login(server, "user", "user").await,
            prepared: None,
        }
    }

    /// Runs calls as a user with these privileges and roles.
    async fn run(
        &mut self,
        (is_filled, calls): (bool, Calls),
        privileges: &[&str],
        roles: &[String],
    ) -> Result<()> {
        if self.prepared != Some(is_filled) {
            prepare(&self.root, "shop", is_filled).await;
        }
        let only_reads = ["find", "listIndexes", "changeStream"];
        let may_write = !privileges.iter().all(|one| only_reads.contains(one))
            || !roles.iter().all(|role| role == "read");
        self.prepared = (!may_write).then_some(is_filled);
        let resource = doc! { "db": "shop", "collection": "" };
        let privileges = match privileges.is_empty() {
            true => Vec::new(),
            false => vec![doc! { "resource": resource, "actions": privileges }],
        };
        let roles = roles.iter().map(|role| doc! { "role": role, "db": "shop" });
        let roles = Vec::from_iter(roles);
        let role = doc! { "updateRole": "few", "privileges": privileges, "roles": roles };
        let admin = self.root.database("admin");
        admin.run_command(role).await.unwrap();
        calls(self.user.database("shop")).await
    }
}

#[bucket_testkit::test]
async fn each_call_works_with_the_privileges_of_the_guide_and_names_the_one_it_lacks() {
    if is_cluster().await {
        return;
    }
    let (server, root) = server("calls").await;
    let mut trial = Trial::begin(&server, root).await;
    let guide = guide();
    let rows: Vec<_> = guide.iter().map(|(calls, ..)| calls.as_str()).collect();
    let tried: Vec<_> = ROWS.iter().map(|(calls, ..)| *calls).collect();
    assert_eq!(rows, tried);
    let mut wrong = Vec::new();
    for ((name, privileges, roles), (_, is_filled, calls)) in guide.iter().zip(ROWS) {
        let row = (*is_filled, *calls);
        let all = Vec::from_iter(privileges.iter().map(String::as_str));
        if let Err(error) = trial.run(row, &all, &[]).await {
            wrong.push(format!("{name}, with {all:?}: {error}"));
        }
        if let Err(error) = trial.run(row, &[], roles).await {
            wrong.push(format!("{name}, with the roles {roles:?}: {error}"));
        }
        for lacking in &all {
            let others = all.iter().copied().filter(|other| other != lacking);
            match trial.run(row, &Vec::from_iter(others), &[]).await {
                Ok(()) => wrong.push(format!("{name}: works without `{lacking}`")),
                Err(error) => {
                    let is_named = error.to_string().contains(&format!("`{lacking}`"));
                    if !is_named || !error.is_unauthorized() || error.is_maybe_stored() {
                        wrong.push(format!("{name}, without `{lacking}`: {error}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Only the events of a database have one order, so a user with privileges on the two collections alone cannot watch
/// parents.
#[bucket_testkit::test]
async fn a_watch_of_parents_needs_its_privilege_on_the_database() {
    if is_cluster().await {
        return;
    }
    let (server, root) = server("watch").await;
    prepare(&root, "shop", true).await;
    let admin = root.database("admin");
    let actions = ["find", "changeStream", "listIndexes"].to_vec();
    let both = [Book::SPEC.collection, Book::SPEC.extras];
    for (name, collections) in [("some", &both[..]), ("whole", &[""])] {
        let on = |collection: &&str| {
            let resource = doc! { "db": "shop", "collection": *collection };
            doc! { "resource": resource, "actions": &actions }
        };
        let privileges = Vec::from_iter(collections.iter().map(on));
        let role = doc! { "createRole": name, "privileges": privileges, "roles": [] };
        admin.run_command(role).await.unwrap();
        let user = doc! { "createUser": name, "pwd": name, "roles": [name] };
        admin.run_command(user).await.unwrap();
        let db = login(&server, name, name).await.database("shop");
        match calls::watch_outliers(db).await {
            Ok(()) => assert_eq!(name, "whole"),
            Err(error) => assert!(name == "some" && error.is_unauthorized(), "{error}"),
        }
    }
}

/// The server repeats the refused command, items included, in its answer to a user who lacks a privilege.
#[bucket_testkit::test]
async fn an_error_says_what_to_do_about_a_user_and_holds_no_item() {
    if is_cluster().await {
        return;
    }
    let (server, root) = server("user").await;
    prepare(&root, "shop", true).await;
    let admin = root.database("admin");
    let reads = doc! { "role": "read", "db": "shop" };
    let user = doc! { "createUser": "user", "pwd": "user", "roles": [reads] };
    admin.run_command(user).await.unwrap();

    let db = login(&server, "user", "user").await.database("shop");
    let visits = Visit::buckets(&db).await.unwrap();
    let mut secret = visit(77);
    secret.seconds = 424_242;
    let many = visits.append_many([secret.clone()]).await.unwrap_err();
    let books = Book::outliers(&db).await.unwrap();
    let errors = [
        visits.append(&secret).await.unwrap_err(),
        many.into_failed().remove(0).error,
        books.push(&1, "424242").await.unwrap_err(),
    ];
    for error in errors {
        assert_refused(&error, Error::is_unauthorized);
        let texts = [
            format!("{error}"),
            format!("{error:?}"),
            format!("{error:#?}"),
        ];
        for text in texts {
            assert!(text.contains("lacks a privilege"), "{text}");
            assert!(!text.contains("424242") && !text.contains('{'), "{text}");
        }
    }

    let nobody = server.database("shop").await.unwrap();
    let error = Visit::buckets(&nobody).await.unwrap_err();
    assert!(error.is_unauthorized(), "{error}");
    let text = error.to_string();
    assert!(text.contains("the client names none"), "{text}");

    let wrong = login(&server, "user", "wrong").await.database("shop");
    let text = Visit::buckets(&wrong).await.unwrap_err().to_string();
    assert!(text.contains("the user or the password"), "{text}");
}
