//! The steps of the MongoDB manual's page on the outlier pattern, on the terminal: a book that
//! sells like most books, and one that sells like no other.
//!
//! ```text
//! cargo run --example books
//! ```
//!
//! The example starts a throw-away server. With `MONGODB_URI=mongodb://localhost` it runs on a server of
//! yours, in `bucket_examples.sales` and `bucket_examples.extra_sales`, which it drops first and
//! leaves there afterwards.

use std::error::Error;

use bucket_examples::{Story, show, thousands};
use bucket_runtime::mongodb::bson::doc;
use bucket_runtime::{Outlier, Part};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

/// A book and its buyers. Few books have more than fifty buyers, so fifty stay in the document.
#[derive(Debug, Clone, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "sales",
    extras = "extra_sales",
    reference = "book_id",
    threshold = 50
)]
struct Book {
    #[serde(rename = "_id")]
    id: i64,
    title: String,
    year: i32,
    author: String,
    #[outlier(items)]
    customers_purchased: Vec<String>,
}

/// The fields of a book that a list shows.
#[derive(Debug, Part)]
#[part(of = Book)]
struct Title {
    title: String,
    year: i32,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut story = Story::begin_outliers::<Book>("Books and who bought them").await?;
    let db = story.database();
    let buyers: Vec<_> = (0..1000).map(|n| format!("user{n:02}")).collect();

    story.step(
        "Open the two collections",
        "Books need no index of their own. Their extras get two: for reading, and for writing.",
    );
    let books = show!(story, Book::outliers(&db).await?);
    let extras = books.extras_collection();

    story.step(
        "Insert a typical book",
        "It is stored exactly as the struct says.",
    );
    let typical = book(1, "Invisible Cities", 1972, "Italo Calvino", &buyers[..3]);
    show!(story, books.insert(&typical).await?);
    story.stored(doc! { "_id": 1 }).await?;

    story.step(
        "A book sells, up to the threshold",
        "Buyers join the array, by a command that finds the book only while there is room.",
    );
    let bestseller = book(2, "The Wooden Amulet", 2023, "Lesley Moreno", &[]);
    books.insert(&bestseller).await?;
    books.push_many(&2, &buyers[..49]).await?;
    show!(story, books.push(&2, "user49").await?);
    story.stored(doc! { "_id": 2 }).await?;

    story.step(
        "The buyer after that",
        "The command finds no room. So the book is flagged, and the buyer opens an extras document.",
    );
    show!(story, books.push(&2, "user50").await?);
    story.stored(doc! { "_id": 2 }).await?;
    story.stored_in(extras, doc! {}).await?;

    story.step(
        "One more buyer",
        "The handle remembers that this book is an outlier: one command, as for any other book.",
    );
    show!(story, books.push(&2, "user51").await?);

    story.step(
        "Hundreds of buyers",
        "They join the extras document, as many in one command as it has room for.",
    );
    show!(story, books.push_many(&2, &buyers[52..]).await?);
    story.stored_in(extras, doc! {}).await?;

    story.step(
        "The page of a typical book",
        "All of it is in one document: that is what the missing flag says.",
    );
    let page = show!(story, books.get_all(&1).await?).ok_or("book 1 is gone")?;
    println!("   cost   {}", story.cost());
    print(&page, false);

    story.step(
        "The page of the bestseller",
        "Also one query: it returns the first buyers, and the flag says that there are more.",
    );
    let page = show!(story, books.get(&2).await?).ok_or("book 2 is gone")?;
    println!("   cost   {}", story.cost());
    print(&page.document, page.has_extras);

    story.step(
        "All buyers of the bestseller",
        "Only a call for all buyers reads the extras: first those with ids of another kind, as the \
         manual writes them, then the numbered ones.",
    );
    let page = show!(story, books.get_all(&2).await?).ok_or("book 2 is gone")?;
    println!("   cost   {}", story.cost());
    print(&page, false);

    story.step(
        "A list of books",
        "It never touches the extras: a bestseller in it takes no more than its first buyers.",
    );
    let list = show!(story, books.find(doc! {}).sort(doc! { "title": 1 }).await?);
    println!("   cost   {}", story.cost());
    for book in list.try_collect::<Vec<_>>().await? {
        print(&book.document, book.has_extras);
    }

    story.step(
        "A list of titles",
        "It needs no buyers at all, so the server sends only what the struct `Title` names.",
    );
    let titles = books.find(doc! {}).sort(doc! { "title": 1 });
    let titles = show!(story, titles.parts::<Title>().await?);
    println!("   cost   {}\n", story.cost());
    for title in titles.try_collect::<Vec<_>>().await? {
        let more = if title.has_extras {
            " (an outlier)"
        } else {
            ""
        };
        println!("   {}, {}{more}", title.document.title, title.document.year);
    }

    story.step(
        "Take a buyer out, wherever it is",
        "The caller need not know where. The same command corrects the count of the extras.",
    );
    let buyer = Book::FIELDS.customers_purchased.item();
    books.remove_item(&2, buyer.eq("user07")).await?;
    let found = show!(story, books.remove_item(&2, buyer.eq("user500")).await?);
    let left = books.count(&2).await?;
    println!("\n   found  {found:?}; the book has {left} buyers left");
    story.stored_in(extras, doc! {}).await?;

    story.step(
        "Push to a book that does not exist",
        "The call fails, and nothing is stored.",
    );
    let refused = show!(story, books.push(&3, "user00").await);
    story.remark(refused.err().ok_or("the push was not refused")?);
    let sales = books.collection();
    let parents = sales.count_documents(doc! { "_id": 3 }).await?;
    let extras = extras.count_documents(doc! { "book_id": 3 }).await?;
    println!("\n   stored {parents} books and {extras} extras documents with that id");

    story.end();
    Ok(())
}

/// A book with its first buyers.
fn book(id: i64, title: &str, year: i32, author: &str, buyers: &[String]) -> Book {
    Book {
        id,
        title: title.to_owned(),
        year,
        author: author.to_owned(),
        customers_purchased: buyers.to_vec(),
    }
}

/// Prints a book, with the first and the last of its buyers.
fn print(book: &Book, more: bool) {
    let buyers = &book.customers_purchased;
    let shown = match buyers.as_slice() {
        [first, second, _, .., last] => format!("{first}, {second} … {last}"),
        few => few.join(", "),
    };
    let more = if more { ", and more" } else { "" };
    println!("\n   {} ({}), by {}", book.title, book.year, book.author);
    println!(
        "   {} buyers: {shown}{more}",
        thousands(buyers.len() as u64)
    );
}
