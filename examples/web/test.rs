//! The site as a visitor sees it: by plain HTTP, and in a browser if there is one.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod data;
mod pages;
mod site;

use std::{
    error::Error,
    io::Write,
    net::{Ipv4Addr, SocketAddr},
    process::Command,
};

use bucket_runtime::mongodb::Database;
use bucket_testkit::{Fixture, Test};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// The address of a site with some of the flights, which each test has for itself.
struct Site(SocketAddr);

impl Fixture for Site {
    async fn set_up(test: &Test) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let db = Database::set_up(test).await?;
        let (flights, loaded) = data::load(&db, 2000).await.unwrap();
        assert_eq!(loaded, 2000);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let router = site::router(flights, data::airports().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self(address))
    }
}

/// A server's answer.
struct Answer {
    status: u16,
    headers: String,
    html: String,
}

async fn get(address: SocketAddr, path: &str) -> Answer {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (headers, html) = answer.split_once("\r\n\r\n").unwrap();
    Answer {
        status: headers[9..12].parse().unwrap(),
        headers: headers.to_lowercase(),
        html: html.to_owned(),
    }
}

impl Answer {
    /// The texts of a column of the table.
    fn column(&self, n: usize) -> Vec<String> {
        let (_, rows) = self.html.split_once("<tbody>").unwrap_or_default();
        let rows = rows.split("<tr").skip(1);
        rows.map(|row| {
            let cell = row.split("<td").nth(n).unwrap();
            let text = cell.split_once('>').unwrap().1;
            text.split_once('<').unwrap().0.to_owned()
        })
        .collect()
    }

    /// The target of the link with this `rel`.
    fn link(&self, rel: &str) -> Option<String> {
        let (_, link) = self.html.split_once(&format!("<a rel=\"{rel}\" href=\""))?;
        Some(link.split_once('"')?.0.replace("&amp;", "&"))
    }
}

/// The times of all flights on this page and those that its links lead to, and the number of these
/// pages.
async fn walk(address: SocketAddr, first: &str, rel: &str) -> (Vec<String>, usize) {
    let (mut times, mut pages) = (Vec::new(), 0);
    let mut path = Some(first.to_owned());
    while let Some(at) = path {
        let answer = get(address, &at).await;
        assert_eq!(answer.status, 200, "{at}");
        times.push(answer.column(1));
        pages += 1;
        path = answer.link(rel);
    }
    if rel == "prev" {
        times.reverse();
    }
    (times.concat(), pages)
}

#[bucket_testkit::test]
async fn links_lead_through_all_flights_and_back(Site(address): Site) {
    let start = get(address, "/").await;
    assert_eq!(start.status, 200);
    assert!(
        start
            .headers
            .contains("content-security-policy: default-src 'none'")
    );
    let counts: Vec<usize> = start.column(4).iter().map(|n| n.parse().unwrap()).collect();
    assert_eq!(counts.iter().sum::<usize>(), 2000);
    assert!(counts.is_sorted_by(|a, b| a >= b));
    let (_, busiest) = start.html.split_once("href=\"/airports/").unwrap();
    let first = format!("/airports/{}", &busiest[..3]);

    let (times, pages) = walk(address, &first, "next").await;
    assert_eq!(times.len(), counts[0]);
    assert!(times.is_sorted());
    assert_eq!(pages, counts[0].div_ceil(20));

    let mut last = first.clone();
    while let Some(next) = get(address, &last).await.link("next") {
        last = next;
    }
    assert!(last.contains("?after="), "{last}");
    assert_eq!(walk(address, &last, "prev").await, (times, pages));
}

#[bucket_testkit::test]
async fn filters_show_what_matches_and_stay_in_the_links(Site(address): Site) {
    let all = walk_columns(address, "/airports/ATL").await;
    let late: Vec<_> = all
        .iter()
        .filter(|(_, delay)| *delay > 10)
        .cloned()
        .collect();
    assert!(late.len() > 20, "{late:?}");
    assert_eq!(
        walk_columns(address, "/airports/ATL?late=10&to=").await,
        late
    );

    let (to, _) = &late[0];
    let path = format!("/airports/ATL?late=10&to={}", to.to_lowercase());
    let there: Vec<_> = late
        .iter()
        .filter(|(other, _)| other == to)
        .cloned()
        .collect();
    assert_eq!(walk_columns(address, &path).await, there);

    // The links lead back, too, and not into a list with another filter.
    let mut last = "/airports/ATL?late=10&to=".to_owned();
    while let Some(next) = get(address, &last).await.link("next") {
        last = next;
    }
    let (back, _) = walk(address, &last, "prev").await;
    assert_eq!(back.len(), late.len());
    let other = get(address, &last.replace("late=10", "late=11")).await;
    assert_eq!(other.status, 400);
    assert!(other.html.contains("not the place of a page"));

    let none = get(address, "/airports/ATL?late=100000").await;
    assert_eq!(none.status, 200);
    assert!(none.html.contains("There are no such flights"));
    // The form shows the values of the query.
    assert!(none.html.contains("value=\"100000\""));
}

/// The destinations and delays on all pages from this one on.
async fn walk_columns(address: SocketAddr, first: &str) -> Vec<(String, i32)> {
    let mut found = Vec::new();
    let mut path = Some(first.to_owned());
    while let Some(at) = path {
        let answer = get(address, &at).await;
        let delays = answer.column(4).into_iter();
        let delays = delays.map(|delay| delay.parse().unwrap());
        found.extend(answer.column(2).into_iter().zip(delays));
        path = answer.link("next");
    }
    found
}

#[bucket_testkit::test]
async fn what_cannot_be_read_is_said_and_never_run(Site(address): Site) {
    for (path, status, says) in [
        ("/nowhere", 404, "no such page"),
        ("/airports/XXX", 404, "no airport “XXX”"),
        (
            "/airports/ATL?after=1698335223'",
            400,
            "not the place of a page",
        ),
        ("/airports/ATL?before=-", 400, "not the place of a page"),
        ("/airports/ATL?late=soon", 400, "“soon” is not"),
        ("/airports/ATL?late=99999999999", 400, "whole number"),
        ("/airports/ATL?to=L%27X", 400, "three letters"),
        (
            "/airports/ATL?late=1&after=-1",
            400,
            "not the place of a page",
        ),
        (
            "/airports/ATL?late=1&before=AQ",
            400,
            "not the place of a page",
        ),
        ("/airports/ATL?late=1&late=2", 400, "duplicate field"),
    ] {
        let answer = get(address, path).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.html);
        assert!(answer.html.contains(says), "{path}: {}", answer.html);
    }
    let script = "%3Cscript%3Ealert(1)%3C/script%3E";
    for path in [
        format!("/airports/{}", script.replace('/', "%2F")),
        format!("/airports/ATL?after={script}"),
        format!("/airports/ATL?late={script}"),
        format!("/airports/ATL?to={script}"),
        format!("/airports/ATL?to=%22%3E{script}"),
    ] {
        let answer = get(address, &path).await;
        assert!(answer.status >= 400, "{path}");
        assert!(
            answer.html.contains("&lt;script&gt;"),
            "{path}: {}",
            answer.html
        );
        assert!(!answer.html.contains("<script"), "{path}");
    }
}

/// The name of a browser that can be run without a screen.
fn browser() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.into_iter().find(|name| {
        let version = Command::new(name).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    })
}

#[bucket_testkit::test]
async fn a_browser_shows_the_pages(Site(address): Site) {
    let Some(browser) = browser() else {
        // Not with `println!`, whose text is hidden when a test passes.
        let said = "a_browser_shows_the_pages: skipped, no browser is installed (chromium)\n";
        std::io::stderr().write_all(said.as_bytes()).unwrap();
        return;
    };
    for (path, says) in [
        ("/", "<h1>Flights by airport</h1>"),
        ("/airports/ATL?late=10", "value=\"10\""),
        ("/airports/ATL?after=no", "not the place of a page"),
    ] {
        let shown = tokio::process::Command::new(browser)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
            ])
            .args(["--dump-dom", &format!("http://{address}{path}")])
            .output()
            .await
            .unwrap();
        let dom = String::from_utf8_lossy(&shown.stdout);
        assert!(dom.contains(says), "{path}: {dom} {shown:?}");
    }
}
