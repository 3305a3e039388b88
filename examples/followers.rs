//! Users and their followers: most have a few, a celebrity has many, and nobody follows twice.
//!
//! ```text
//! cargo run --example followers
//! ```
//!
//! The example starts a throw-away server. With `MONGODB_URI=mongodb://localhost` it runs on a server of
//! yours, in `bucket_examples.users` and `bucket_examples.extra_users`, which it drops first and
//! leaves there afterwards.

use std::error::Error;

use bucket_examples::{Story, cost, moment, show, thousands};
use bucket_ops::OutlierOps;
use bucket_runtime::mongodb::bson::{DateTime, doc};
use bucket_runtime::{Appended, Fields, Outlier};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

/// A user and the followers. A page shows at most twenty, so twenty stay in the document.
#[derive(Debug, Serialize, Deserialize, Outlier)]
#[outlier(collection = "users", reference = "user_id", threshold = 20)]
struct User {
    #[serde(rename = "_id")]
    id: i64,
    name: String,
    #[outlier(items, unique = user)]
    followers: Vec<Follower>,
}

/// Who follows, and since when.
#[derive(Debug, Clone, Serialize, Deserialize, Fields)]
struct Follower {
    user: i64,
    since: DateTime,
}

/// The users of the story.
const ALICE: i64 = 1;
const BOB: i64 = 2;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut story = Story::begin_outliers::<User>("Users and who follows them").await?;

    story.step(
        "Open the two collections",
        "One index of the extras keeps a follower from standing there twice.",
    );
    let users = cost!(story, User::outliers(&story.database()).await?);

    story.step(
        "Two users sign up",
        "Each is one document, stored as the struct says.",
    );
    for (id, name) in [(ALICE, "Alice"), (BOB, "Bob")] {
        let (name, followers) = (name.to_owned(), Vec::new());
        let user = User {
            id,
            name,
            followers,
        };
        users.insert(&user).await?;
    }
    story.stored(doc! {}).await?;

    story.step("Follow", "One update, which looks whether 100 follows Bob.");
    let first = show!(story, users.push(&BOB, follower(100)).await?);
    tell_push(first);

    story.step(
        "A double click",
        "It is sent again. Nothing is stored, and the answer says so.",
    );
    let again = cost!(story, users.push(&BOB, follower(100)).await?);
    tell_push(again);
    story.stored(doc! { "_id": BOB }).await?;

    story.step(
        "A celebrity",
        "Alice gets 1,500 followers. The first twenty stay with her, the others go to her extras.",
    );
    let stored = users.push_many(&ALICE, (100..1_600).map(follower)).await?;
    println!("\n   pushed {} followers", thousands(stored));
    story.stored(doc! { "_id": ALICE }).await?;
    story.stored_in(users.extras_collection(), doc! {}).await?;

    story.step(
        "Another double click",
        "900 follows Alice already, and stands in her extras. They are looked up by an index.",
    );
    let again = cost!(story, users.push(&ALICE, follower(900)).await?);
    tell_push(again);

    story.step(
        "The newest followers",
        "The extras come first then, from the end. Only what is asked for is sent.",
    );
    let newest = || users.items(&ALICE).newest_first();
    let found: Vec<_> = cost!(story, newest().limit(5).await?.try_collect().await?);
    print(&found);

    story.step(
        "A page of them",
        "With the page comes a token of the next one, for a link.",
    );
    let page = cost!(story, newest().page_of_items(5).await?);
    print(&page.items);
    let next = page.next.ok_or("there is no further page")?;
    println!("\n   next   ?after={next}");

    story.step(
        "The next page, after somebody has followed",
        "The token holds its place: no follower is shown twice, and none is left out.",
    );
    users.push(&ALICE, follower(1_600)).await?;
    let page = cost!(story, newest().page_of_items(5).after(&next).await?);
    print(&page.items);

    story.step(
        "Does 777 follow Alice?",
        "The condition names a field of the follower. The first match ends the search.",
    );
    let item = User::FIELDS.followers.item();
    let found = cost!(story, users.find_item(&ALICE, item.user.eq(777)).await?);
    match found {
        Some(found) => println!("\n   found  since {}", moment(found.item.since)),
        None => println!("\n   found  no"),
    }

    story.step(
        "How many",
        "All followers, and those since a certain moment. The server counts.",
    );
    let since = follower(1_500).since;
    let all = cost!(story, users.count(&ALICE).await?);
    let recent = item.since.gte(since);
    let recent = cost!(story, users.count(&ALICE).filter(recent).await?);
    let (all, moment) = (thousands(all), moment(since));
    println!("\n   found  {all} followers, {recent} since {moment}");

    story.step(
        "A new name",
        "Only the changed field is written, so followers may come and go meanwhile.",
    );
    let rename = |user: &mut User| user.name = "Alice Liddell".to_owned();
    cost!(story, users.update(&ALICE, rename).await?);

    story.step(
        "Unfollow, and follow again",
        "The follower is taken out wherever it is. Then it is new, so it comes last.",
    );
    let of_777 = User::FIELDS.followers.item().user.eq(777);
    let gone = cost!(story, users.remove_item(&ALICE, of_777).await?);
    println!("\n   found  {gone:?}");
    tell_push(users.push(&ALICE, follower(777)).await?);

    story.step(
        "A list of users",
        "It never touches the extras, so Alice costs no more than anybody else.",
    );
    let list = cost!(story, users.find(doc! {}).sort(doc! { "name": 1 }).await?);
    println!();
    for user in list.try_collect::<Vec<_>>().await? {
        let more = if user.has_extras { " and more" } else { "" };
        let User {
            name, followers, ..
        } = user.document;
        println!("   {name:<13}  {}{more}", followers.len());
    }

    story.step(
        "Verify",
        "It reads everything, and looks for users that are too long, extras that no flag leads to, and \
         followers that stand twice.",
    );
    let verified = OutlierOps::<User>::of(&story.database()).verify().await?;
    let (items, problems) = (thousands(verified.items), verified.problems.len());
    println!("\n   found  {items} followers, {problems} problems");

    story.end();
    Ok(())
}

/// A follower; each follows a minute after the one before.
fn follower(user: i64) -> Follower {
    let since = DateTime::from_millis(1_798_761_600_000 + user * 60_000);
    Follower { user, since }
}

fn tell_push(pushed: Appended) {
    println!(
        "\n   pushed {}",
        match pushed {
            Appended::Stored => "a new follower",
            Appended::AlreadyThere => "nothing: it was there already",
        }
    );
}

fn print(followers: &[Follower]) {
    println!();
    for Follower { user, since } in followers {
        println!("   {user:>6}  since {}", moment(*since));
    }
}
