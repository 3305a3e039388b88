//! The site: what each URL asks for, and which reads answer it.

use std::{error::Error, fmt, str::FromStr, sync::Arc};

use axum::{
    Router,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{StatusCode, header},
    response::{AppendHeaders, Html, IntoResponse, Response},
    routing::get,
};
use bucket_runtime::{
    Bucket, Buckets, Filter, ItemToken,
    mongodb::bson::{Document, doc},
};
use futures_util::TryStreamExt;
use serde::Deserialize;

use crate::{
    data::{Airports, Flight},
    pages::{self, Listing},
};

/// How many flights a page shows.
const PER_PAGE: u64 = 20;

pub(crate) struct Site {
    flights: Buckets<Flight>,
    pub(crate) airports: Airports,
}

/// The query of an airport's URL. A form sends its empty fields, too, so all fields are text.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    /// Only flights that were more than this many minutes late.
    pub(crate) late: String,
    /// Only flights to this airport.
    pub(crate) to: String,
    /// The token of the page before, or of the page after.
    after: String,
    before: String,
}

pub(crate) fn router(flights: Buckets<Flight>, airports: Airports) -> Router {
    Router::new()
        .route("/", get(start))
        .route("/airports/{code}", get(airport))
        .fallback(async || Failure::NotFound("There is no such page.".to_owned()))
        .with_state(Arc::new(Site { flights, airports }))
}

async fn start(State(site): State<Arc<Site>>) -> Result<Response, Failure> {
    // The driver's own handle, for an aggregation that the buckets have no call for.
    let busiest = [
        doc! { "$group": { "_id": "$origin", "flights": { "$sum": "$count" } } },
        doc! { "$sort": { "flights": -1, "_id": 1 } },
    ];
    let found = site.flights.collection().aggregate(busiest).await?;
    let found: Vec<Document> = found.try_collect().await?;
    let airports = found.iter().filter_map(|group| {
        let flights = group.get_i32("flights").ok()?;
        Some((group.get_str("_id").ok()?, flights))
    });
    Ok(page(pages::start(&site, airports)))
}

async fn airport(
    State(site): State<Arc<Site>>,
    Path(code): Path<String>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(asked) = asked.map_err(|error| Failure::BadRequest(error.body_text()))?;
    if !site.airports.contains_key(&code) {
        return Err(Failure::NotFound(format!("There is no airport “{code}”.")));
    }
    let listing = listing(&site.flights, &code, &asked, filter(&asked)?).await?;
    Ok(page(pages::airport(&site, &code, &asked, &listing)))
}

/// The query's conditions; `None` if it has none.
fn filter(asked: &Asked) -> Result<Option<Filter<Flight>>, Failure> {
    let field = Flight::FIELDS;
    let mut filter = None;
    if !asked.late.is_empty() {
        let minutes: i32 = number("The delay", &asked.late)?;
        filter = Some(field.delay.gt(minutes));
    }
    if !asked.to.is_empty() {
        let to = asked.to.to_uppercase();
        if to.len() != 3 || !to.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            let text = format!("A destination is three letters, and “{}” is not.", asked.to);
            return Err(Failure::BadRequest(text));
        }
        let to = field.to.eq(to);
        filter = Some(match filter {
            Some(late) => late.and(to),
            None => to,
        });
    }
    Ok(filter)
}

/// A page of the flights that match: the first ones, or a neighbour of the page that the URL names.
async fn listing(
    flights: &Buckets<Flight>,
    code: &str,
    asked: &Asked,
    filter: Option<Filter<Flight>>,
) -> Result<Listing, Failure> {
    let mut list = flights.items(code);
    if let Some(filter) = filter {
        list = list.filter(filter);
    }
    let page = list.page_of_items(PER_PAGE);
    let page = match (token(&asked.after)?, token(&asked.before)?) {
        (Some(after), _) => page.after(&after),
        (None, Some(before)) => page.before(&before),
        (None, None) => page,
    };
    let page = page
        .await
        .map_err(|error| match error.is_token_mismatch() {
            true if asked.after.is_empty() => no_place(&asked.before),
            true => no_place(&asked.after),
            false => error.into(),
        })?;
    Ok(Listing {
        previous: page.previous.map(|token| format!("before={token}")),
        next: page.next.map(|token| format!("after={token}")),
        flights: page.items,
    })
}

/// The token of a place between flights.
fn token(text: &str) -> Result<Option<ItemToken>, Failure> {
    match text {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| no_place(text)),
    }
}

fn no_place(text: &str) -> Failure {
    Failure::BadRequest(format!("“{text}” is not the place of a page in this list."))
}

fn number<N: FromStr>(what: &str, text: &str) -> Result<N, Failure> {
    let wrong = |_| Failure::BadRequest(format!("{what} is a whole number, and “{text}” is not."));
    text.trim().parse().map_err(wrong)
}

fn page(html: maud::Markup) -> Response {
    // These pages load nothing from elsewhere, and must not.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'";
    let headers = AppendHeaders([(header::CONTENT_SECURITY_POLICY, policy)]);
    (headers, Html(html.into_string())).into_response()
}

/// The answer to a visitor when something is wrong.
pub(crate) enum Failure {
    BadRequest(String),
    NotFound(String),
    /// Not the visitor's fault, and its details are not shown.
    Internal(Box<dyn Error + Send + Sync>),
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Internal(error.into())
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadRequest(text) | Self::NotFound(text) => f.write_str(text),
            Self::Internal(error) => write!(f, "{error}"),
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let (status, title, text) = match self {
            Self::BadRequest(text) => (StatusCode::BAD_REQUEST, "That cannot be read", text),
            Self::NotFound(text) => (StatusCode::NOT_FOUND, "Not found", text),
            Self::Internal(error) => {
                eprintln!("{error}");
                let text = "The flights cannot be read at the moment.".to_owned();
                (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "Something is wrong",
                    text,
                )
            }
        };
        (status, page(pages::failure(title, &text))).into_response()
    }
}
