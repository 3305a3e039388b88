//! Collections of many shapes, that a newcomer may have.

use bucket_runtime::bson::oid::ObjectId;
use bucket_runtime::bson::spec::BinarySubtype;
use bucket_runtime::bson::{Binary, Bson, DateTime, Document, Timestamp, Uuid, doc};

/// The first second of all invented times.
const BEGIN: i64 = 1_700_000_000;

pub(super) fn at(seconds: i64) -> DateTime {
    DateTime::from_millis((BEGIN + seconds) * 1000)
}

pub(super) fn oid(n: u64) -> ObjectId {
    let mut bytes = [7; 12];
    bytes[4..].copy_from_slice(&n.to_be_bytes());
    ObjectId::from_bytes(bytes)
}

/// A number that looks random, and is the same in every run.
pub(super) fn mixed(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 33
}

/// One of these texts, in turn.
pub(super) fn one_of(texts: &[&'static str], n: u64) -> &'static str {
    texts[usize::try_from(n).unwrap() % texts.len()]
}

pub(super) fn repeat(n: u64, document: impl Fn(u64) -> Document) -> Vec<Document> {
    (0..n).map(document).collect()
}

fn rows<const N: usize>(csv: &str) -> Vec<[String; N]> {
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    let row = |row: csv::Result<csv::StringRecord>| {
        let row = row.unwrap();
        std::array::from_fn(|at| row[at].to_owned())
    };
    rows.records().map(row).collect()
}

const FLIGHTS: &str = include_str!("../../../examples/data/flights-20k.csv");
const AIRPORTS: &str = include_str!("../../../examples/data/airports.csv");

/// Twenty thousand flights, as a plain `insertMany` stores them.
pub(super) fn flights() -> Vec<Document> {
    let flight = |[date, origin, destination, delay, distance]: [String; 5]| {
        doc! {
            "date": DateTime::parse_rfc3339_str(date).unwrap(), "origin": origin, "destination": destination,
            "delay": delay.parse::<i32>().unwrap(), "distance": distance.parse::<i32>().unwrap(),
        }
    };
    rows(FLIGHTS).into_iter().map(flight).collect()
}

/// Airports, each with all of its departures.
pub(super) fn airports() -> Vec<Document> {
    let flights = flights();
    let airport = |[iata, name, city, state]: [String; 4]| {
        let departures = flights
            .iter()
            .filter(|flight| flight.get_str("origin") == Ok(&iata));
        let departure = |flight: &Document| {
            let [date, to, delay] =
                ["date", "destination", "delay"].map(|name| flight.get(name).cloned());
            Bson::from(doc! { "date": date, "to": to, "delay": delay })
        };
        let departures: Vec<_> = departures.map(departure).collect();
        doc! { "_id": iata, "name": name, "city": format!("{city}, {state}"), "departures": departures }
    };
    rows(AIRPORTS).into_iter().map(airport).collect()
}

/// The manual's trades, as its upsert stores them.
pub(super) fn trades() -> Vec<Document> {
    repeat(120, |n| {
        let customer = 100 + i64::try_from(n / 6).unwrap();
        let length = if n % 6 == 5 { 3 } else { 10 };
        let begin = i64::try_from(n).unwrap() * 100_000;
        let trade = |item: i64| {
            let (side, ticker) =
                [("buy", "MDB"), ("sell", "GOOG")][usize::try_from(item % 2).unwrap()];
            Bson::from(doc! {
                "date": at(begin + item * 60), "ticker": format!("{ticker}{}", mixed(n) % 20),
                "type": side, "qty": i32::try_from(mixed(n) % 500).unwrap(),
            })
        };
        doc! {
            "_id": format!("{customer}_{}", BEGIN + begin), "customerId": customer, "count": length,
            "history": (0..i64::from(length)).map(trade).collect::<Vec<_>>(),
        }
    })
}

/// The manual's sales: a few books have most of the buyers.
pub(super) fn sales() -> Vec<Document> {
    repeat(30, |n| {
        let buyers = if n == 17 { 1200 } else { n };
        doc! {
            "_id": i64::try_from(n).unwrap(), "title": format!("Book {n}"), "year": 2000 + i32::try_from(n % 20).unwrap(),
            "author": format!("Author {}", n % 7),
            "customers_purchased": (0..buyers).map(|buyer| format!("user{buyer:02}")).collect::<Vec<_>>(),
        }
    })
}

/// Nested documents, an optional field, a state, and times under another name.
pub(super) fn orders() -> Vec<Document> {
    repeat(3000, |n| {
        let mut order = doc! {
            "_id": oid(n), "customerId": i32::try_from(mixed(n) % 40).unwrap(), "createdAt": at(i64::try_from(n).unwrap() * 50),
            "status": one_of(&["open", "paid", "sent back"], mixed(n + 9)),
            "shipTo": { "city": format!("City {}", mixed(n) % 90), "zipCode": null },
            "lines": [{ "sku": format!("sku{n}"), "unitPrice": 1.5 * (n as f64) }],
        };
        if n.is_multiple_of(5) {
            order.insert("couponCode", format!("C{n}"));
            order.insert("shipTo", doc! { "city": "Oslo", "zipCode": "0150" });
        }
        order
    })
}

/// Measurements: only numbers beside the key and the time.
pub(super) fn readings() -> Vec<Document> {
    repeat(4000, |n| {
        doc! {
            "sensor": format!("s{}", n % 8), "ts": at(i64::try_from(n).unwrap()), "celsius": 20.5 + (n % 9) as f64,
            "humidity": i32::try_from(n % 100).unwrap(), "is_raining": n % 3 == 0,
        }
    })
}

/// Items that come up to an hour late.
pub(super) fn late_events() -> Vec<Document> {
    repeat(3000, |n| {
        let late = i64::try_from(mixed(n) % 3600).unwrap();
        doc! {
            "device": format!("d{}", n % 5), "time": at(i64::try_from(n).unwrap() * 120 - late),
            "message": format!("message {}", mixed(n)),
        }
    })
}

/// Items without a time.
pub(super) fn notes() -> Vec<Document> {
    repeat(
        600,
        |n| doc! { "_id": oid(n), "topic_id": oid(mixed(n) % 12), "text": format!("note {n}") },
    )
}

/// Several types at a place, nulls, empty arrays, arrays in arrays.
pub(super) fn mixtures() -> Vec<Document> {
    repeat(500, |n| {
        let value: Bson = match n % 4 {
            0 => "text".into(),
            1 => 7_i32.into(),
            2 => doc! { "inside": at(5) }.into(),
            _ => vec![Bson::from(1), "two".into()].into(),
        };
        let number: Bson = if n % 2 == 0 { 3_i32.into() } else { 2.5.into() };
        let whole: Bson = if n % 2 == 0 {
            3_i32.into()
        } else {
            (1_i64 << 40).into()
        };
        doc! {
            "user": format!("u{}", n % 9), "at": at(i64::try_from(n).unwrap() * 60), "anything": value,
            "number": number, "whole": whole, "nothing": null, "none": [], "maybe": [1, null],
            "matrix": [[1, 2], [3]], "pairs": [{ "a": 1 }, { "a": 2, "b": "x" }],
        }
    })
}

/// Names that are no names of Rust, and names that collide.
pub(super) fn odd_names() -> Vec<Document> {
    repeat(300, |n| {
        doc! {
            "type": format!("t{}", n % 6), "when": at(i64::try_from(n).unwrap() * 60), "self": "a", "2nd": 2,
            "with space": true, "größe": 1.5, "withSpace": false, "$price": 5, "a.b": 6, "日本": "x",
            "map": { "a.b": 1, "": 2 }, "items": i32::try_from(n).unwrap(), "count": "many", "Document": { "fn": 1 },
        }
    })
}

/// A thousand names, which are data.
pub(super) fn wide() -> Vec<Document> {
    repeat(300, |n| {
        let mut document = doc! { "host": format!("h{}", n % 4), "at": at(i64::try_from(n).unwrap() * 60), "ok": true };
        for m in 0..10 {
            document.insert(format!("metric_{}", mixed(n * 10 + m) % 1000), 0.5);
        }
        document
    })
}

/// Types that only BSON has.
pub(super) fn types() -> Vec<Document> {
    repeat(200, |n| {
        let mut bytes = [5; 16];
        bytes[15] = u8::try_from(n % 10).unwrap();
        doc! {
            "account": Uuid::from_bytes(bytes), "booked": at(i64::try_from(n).unwrap() * 3600),
            "amount": Bson::Decimal128("12.34".parse().unwrap()),
            "scan": Binary { subtype: BinarySubtype::Generic, bytes: vec![1, 2, 3] },
            "stamp": Timestamp { time: 5, increment: 6 }, "of": oid(n), "state": Bson::Null,
        }
    })
}

/// Ids that mean something, and a key of two fields.
pub(super) fn quotes() -> Vec<Document> {
    repeat(900, |n| {
        doc! {
            "_id": format!("Q{n:05}"), "exchange": one_of(&["XETRA", "NYSE"], n),
            "symbol": format!("S{}", mixed(n) % 15), "date": at(i64::try_from(n).unwrap() * 30), "note": format!("n{n}"),
        }
    })
}

/// Posts whose comments are documents; some posts lack them.
pub(super) fn posts() -> Vec<Document> {
    repeat(200, |n| {
        let mut post = doc! { "_id": oid(n), "title": format!("Post {n}"), "postedAt": at(i64::try_from(n).unwrap()), "viewCount": 5 };
        let comments = match n {
            50 | 150 => 900,
            _ => n % 7,
        };
        let comment = |m: u64| {
            let mut comment = doc! { "userName": format!("u{m}"), "text": "a comment of some words", "sentAt": at(5) };
            if m.is_multiple_of(2) {
                comment.insert("replyTo", format!("u{}", m / 2));
            }
            Bson::from(comment)
        };
        if n % 10 != 3 {
            post.insert("comments", (0..comments).map(comment).collect::<Vec<_>>());
        }
        post
    })
}

/// Outliers that others have flagged, and a type of the items that differs.
pub(super) fn playlists() -> Vec<Document> {
    repeat(120, |n| {
        let tracks = if n == 7 { 3000 } else { 3 + n % 20 };
        let track = |m: u64| match m % 3 {
            0 => Bson::from("a name"),
            _ => Bson::from(i32::try_from(m).unwrap()),
        };
        doc! {
            "_id": format!("list {n}"), "has_extras": false, "genre": one_of(&["rock", "JAZZ"], n),
            "tracks": (0..tracks).map(track).collect::<Vec<_>>(),
        }
    })
}

/// Documents that are all huge.
pub(super) fn machines() -> Vec<Document> {
    repeat(8, |n| {
        let log = |m: u64| {
            Bson::from(
                doc! { "at": at(i64::try_from(m).unwrap()), "level": one_of(&["info", "warn"], u64::from(m.is_multiple_of(9))), "line": format!("line {m}") },
            )
        };
        let length = 2000 + n * 100;
        doc! { "_id": format!("m{n}"), "log": (0..length).map(log).collect::<Vec<_>>() }
    })
}

/// Buckets of this library, with a window of a quarter of an hour.
pub(super) fn quarters() -> Vec<Document> {
    repeat(40, |n| {
        let begin = (BEGIN / 900 + i64::try_from(n / 4).unwrap()) * 900;
        let item = |m: i64| {
            Bson::from(
                doc! { "at": DateTime::from_millis((begin + m * 60) * 1000), "celsius": 1.5 },
            )
        };
        let room = format!("r/{}", n % 4);
        doc! {
            "_id": format!("{}_{begin}", room.replace('_', "%5F")), "room": room,
            "window": DateTime::from_millis(begin * 1000), "count": 12,
            "items": (0..12).map(item).collect::<Vec<_>>(),
        }
    })
}

/// Numbered buckets of this library.
pub(super) fn pages() -> Vec<Document> {
    repeat(30, |n| {
        let book = oid(n / 3);
        let length: i32 = if n % 3 == 2 { 4 } else { 25 };
        let item = |m: i32| Bson::from(doc! { "line": format!("line {m} of {n}") });
        doc! {
            "_id": format!("{}_{:010}", book.to_hex(), n % 3), "book": book, "count": length,
            "items": (0..length).map(item).collect::<Vec<_>>(),
        }
    })
}

/// Arrays in arrays, of which one grows, and one is deeper than types are told apart.
pub(super) fn grids() -> Vec<Document> {
    let deep = |n: i32| (0..9).fold(Bson::from(n), |inner, _| vec![inner].into());
    repeat(60, |n| {
        let rows = if n == 17 { 900 } else { n % 9 };
        let row = |m: u64| Bson::from(vec![i32::try_from(m).unwrap(), 7]);
        doc! {
            "_id": i64::try_from(n).unwrap(), "rows": (0..rows).map(row).collect::<Vec<_>>(),
            "deep": deep(i32::try_from(n).unwrap()),
        }
    })
}
