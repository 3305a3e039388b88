//! The pages. `maud` escapes every value in them.

use bucket_examples::{moment, thousands};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{
    data::Flight,
    site::{Asked, Site},
};

const STYLE: &str = include_str!("style.css");

/// The flights of a page, and the places of its neighbours.
pub(crate) struct Listing {
    pub(crate) flights: Vec<Flight>,
    /// The parameters of the links to the previous and the next page, besides the filter.
    pub(crate) previous: Option<String>,
    pub(crate) next: Option<String>,
}

pub(crate) fn start<'a>(site: &Site, airports: impl Iterator<Item = (&'a str, i32)>) -> Markup {
    let content = html! {
        h1 { "Flights by airport" }
        p.lead { "Domestic flights of early 2001, the busiest airports first." }
        table {
            thead { tr { th { "Airport" } th { "" } th.wide { "City" } th.number { "Flights" } } }
            tbody {
                @for (code, flights) in airports {
                    @let airport = site.airports.get(code);
                    tr {
                        td { a href=(format!("/airports/{code}")) { (code) } }
                        td { (airport.map_or("", |airport| &airport.name)) }
                        td.wide { (airport.map_or("", |airport| &airport.city)) }
                        td.number { (thousands(u64::from(flights.unsigned_abs()))) }
                    }
                }
            }
        }
    };
    page("Flights by airport", &content)
}

pub(crate) fn airport(site: &Site, code: &str, asked: &Asked, listing: &Listing) -> Markup {
    let airport = site.airports.get(code);
    let name = airport.map_or(code, |airport| &airport.name);
    let path = format!("/airports/{code}");
    let filter = filter(asked);
    let content = html! {
        nav { a href="/" { "All airports" } }
        h1 { (name) " " small { (code) } }
        p.lead { (airport.map_or("", |airport| &airport.city)) }
        form method="get" action=(path) {
            label { "More than " input name="late" type="number" value=(asked.late); " minutes late" }
            label { "To " input.code name="to" value=(asked.to) maxlength="3" placeholder="LAX"; }
            button { "Show" }
            @if !filter.is_empty() { a href=(path) { "Show all" } }
        }
        @if listing.flights.is_empty() {
            p.empty { "There are no such flights. " a href=(path) { "Begin with the first" } }
        } @else {
            (table(site, &listing.flights))
        }
        nav.pages {
            @for (query, rel, text) in [
                (&listing.previous, "prev", "← Earlier"),
                (&listing.next, "next", "Later →"),
            ] {
                @if let Some(query) = query {
                    a rel=(rel) href=(format!("{path}?{filter}{query}")) { (text) }
                } @else {
                    span { (text) }
                }
            }
        }
    };
    page(&format!("Flights from {name}"), &content)
}

pub(crate) fn failure(title: &str, text: &str) -> Markup {
    let content = html! {
        h1 { (title) }
        p.lead { (text) }
        p { a href="/" { "All airports" } }
    };
    page(title, &content)
}

fn table(site: &Site, flights: &[Flight]) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th { "Departure (UTC)" } th { "To" } th.wide { "" }
                    th.number { "Minutes late" } th.number.wide { "Miles" }
                }
            }
            tbody {
                @for flight in flights {
                    tr.late[flight.delay > 15] {
                        td { (moment(flight.date).get(..16).unwrap_or_default()) }
                        td { (flight.to) }
                        td.wide { (site.airports.get(&flight.to).map_or("", |to| &to.city)) }
                        td.number { (flight.delay) }
                        td.number.wide { (flight.miles) }
                    }
                }
            }
        }
    }
}

/// The filter as the beginning of a query. Its values were parsed as a number and as three letters
/// or digits, so nothing needs encoding.
fn filter(asked: &Asked) -> String {
    let fields = [("late", &asked.late), ("to", &asked.to)];
    let given = fields.iter().filter(|(_, value)| !value.is_empty());
    given
        .map(|(name, value)| format!("{name}={}&", value.trim()))
        .collect()
}

fn page(title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (content) } }
        }
    }
}
