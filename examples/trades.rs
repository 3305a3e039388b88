//! The steps of the MongoDB manual's page on the bucket pattern, on the terminal: each step shows
//! the call, what the driver sent for it, and what the server holds afterwards.
//!
//! ```text
//! cargo run --example trades
//! ```
//!
//! The example starts a throw-away server. With `MONGODB_URI=mongodb://localhost` it runs on a server of
//! yours, in `bucket_examples.trades`, which it drops first and leaves there afterwards.

use std::error::Error;

use bucket_examples::{Story, moment, show};
use bucket_runtime::Bucket;
use bucket_runtime::mongodb::bson::{DateTime, doc};
use serde::{Deserialize, Serialize};

/// A trade of one customer. The application shows ten on a page, so ten make a bucket.
#[derive(Debug, Clone, Bucket)]
#[serde(rename_all = "camelCase")]
#[bucket(
    collection = "trades",
    id = "{customer_id}_{date}",
    capacity = 10,
    items = "history"
)]
struct Trade {
    customer_id: i64,
    date: DateTime,
    ticker: String,
    #[serde(rename = "type")]
    side: Side,
    #[serde(rename = "qty", alias = "quantity")]
    quantity: i32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Side {
    Buy,
    Sell,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut story = Story::begin::<Trade>("Trades in buckets").await?;
    let db = story.database();

    story.step(
        "Three trades",
        "The application shows the trades of one customer at a time, ten to a page.",
    );
    let three = [
        trade(123, "2023-10-26T15:47:03.434Z", "MDB", Side::Buy, 419)?,
        trade(123, "2023-10-30T09:32:57.765Z", "MDB", Side::Sell, 29)?,
        trade(456, "2023-10-31T11:16:02.120Z", "GOOG", Side::Buy, 50)?,
    ];
    print(&three);

    story.step(
        "Open the collection",
        "One small index lets the server refuse a second open bucket for a customer. The other \
         commands check what kind of server it is, and that it supports what the library needs.",
    );
    let trades = show!(story, Trade::buckets(&db).await?);

    story.step(
        "Append the first trade",
        "Customer 123 has no bucket yet: this command makes one, named after customer and time.",
    );
    show!(story, trades.append(&three[0]).await?);
    story.stored(trades.filter(&123)).await?;
    story.remark(
        "(Buckets of large items count their bytes in a field `oversize`, which this one does not need: \
         the condition keeps every bucket within its max_bytes, 4 MiB.)",
    );

    story.step(
        "Append the other two",
        "The same customer's trade joins the bucket; another customer's trade opens another one.",
    );
    trades.append(&three[1]).await?;
    trades.append(&three[2]).await?;
    story.stored(doc! {}).await?;
    let (ours, manual) = (three[0].date.timestamp_millis() / 1000, 1_698_349_623);
    story.remark(format!(
        "(The manual's sample has 123_{manual} where we have 123_{ours}: it was made in a zone {} \
         hours behind UTC. Ours are true epoch seconds.)",
        (manual - ours) / 3600
    ));

    story.step(
        "Read a page",
        "A page is one document, from a range of ids in which no other customer's bucket can be.",
    );
    let first = show!(story, trades.page(&123, 1).await?).ok_or("there is no page 1")?;
    print(&first.items);

    story.step(
        "A trade joins a bucket",
        "This handle has opened the bucket, so it names it. If it were no longer open, the server would \
         refuse the impossible _id, and the handle would go on with the command of step 3.",
    );
    let joins = trade(123, "2023-11-02T11:43:10Z", "MSFT", Side::Buy, 42)?;
    show!(story, trades.append(&joins).await?);
    story.stored(trades.filter(&123)).await?;

    story.step(
        "The eleventh trade opens the next bucket",
        "One more trade a day, until the bucket is full: then the command of step 3 inserts the next one.",
    );
    for day in 3..=10 {
        let date = format!("2023-11-{day:02}T15:00:00Z");
        let daily = trade(123, &date, "MDB", Side::Buy, day)?;
        trades.append(&daily).await?;
    }
    story.stored(trades.filter(&123)).await?;

    story.step(
        "Page by number",
        "Page n is the nth document: the server steps over n - 1 ids and fetches one document.",
    );
    let second = show!(story, trades.page(&123, 2).await?).ok_or("there is no page 2")?;
    print(&second.items);

    story.step(
        "Page by token",
        "The newest five trades, and the five before them: the token fits into a link, and names their place.",
    );
    let newest = || trades.items(&123).newest_first().page_of_items(5);
    let page = show!(story, newest().await?);
    print(&page.items);
    let text = page.next.ok_or("there is no next page")?.to_string();
    println!("\n   token  {text}");
    let next = show!(story, newest().after(&text.parse()?).await?);
    print(&next.items);

    story.end();
    Ok(())
}

fn trade(
    customer_id: i64,
    date: &str,
    ticker: &str,
    side: Side,
    quantity: i32,
) -> Result<Trade, Box<dyn Error>> {
    let (date, ticker) = (DateTime::parse_rfc3339_str(date)?, ticker.to_owned());
    Ok(Trade {
        customer_id,
        date,
        ticker,
        side,
        quantity,
    })
}

fn print(trades: &[Trade]) {
    println!("\n   customer  date                 ticker  side  quantity");
    for trade in trades {
        let (customer, ticker, quantity) = (trade.customer_id, &trade.ticker, trade.quantity);
        let (date, side) = (moment(trade.date), format!("{:?}", trade.side));
        println!("   {customer:>8}  {date}  {ticker:<6}  {side:<4}  {quantity:>8}");
    }
}
