//! Payments over a line on which answers get lost: a ledger that treats every failure alike pays twice.
//!
//! ```text
//! cargo run --example doubts
//! ```
//!
//! The example starts a throw-away server, and a line to it that fails by a seed. With
//! `MONGODB_URI=mongodb://localhost` it runs on a server of yours, in `bucket_examples`, and drops its collections
//! first. This is a test of an application, told as a story: `bucket_testkit::Proxy` does the same in your tests.

use std::error::Error;

use bucket_runtime::mongodb::bson::DateTime;
use bucket_runtime::{Bucket, Buckets};
use bucket_testkit::{Proxy, Server};

/// A payment that cannot be told from another one.
#[derive(Debug, Clone, Bucket)]
#[bucket(collection = "careless_payments", id = "{account}_{#}", capacity = 50)]
struct Payment {
    account: i64,
    at: DateTime,
    cents: i64,
}

/// A payment with an identity, so that an account holds it once, however often it is sent.
#[derive(Debug, Clone, Bucket)]
#[bucket(collection = "careful_payments", id = "{account}_{#}", capacity = 50)]
struct Referenced {
    account: i64,
    at: DateTime,
    cents: i64,
    #[bucket(unique)]
    reference: i64,
}

const ACCOUNT: i64 = 1;
const PAYMENTS: i64 = 40;
const CENTS: i64 = 250;

/// The fault of which `is_maybe_stored` warns: it sends a payment again until a call succeeds.
async fn pay_carelessly(payments: &Buckets<Payment>, at: DateTime) {
    let payment = Payment {
        account: ACCOUNT,
        at,
        cents: CENTS,
    };
    while payments.append(&payment).await.is_err() {}
}

/// Sends a payment again, too, but one that the account holds already is left alone.
async fn pay_carefully(payments: &Buckets<Referenced>, reference: i64, at: DateTime) -> u32 {
    let payment = Referenced {
        account: ACCOUNT,
        at,
        cents: CENTS,
        reference,
    };
    let mut doubts = 0;
    while let Err(error) = payments.append(&payment).await {
        doubts += u32::from(error.is_maybe_stored());
    }
    doubts
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::start().await?;
    let direct = server.database("bucket_examples").await?;
    for collection in [Payment::SPEC.collection, Referenced::SPEC.collection] {
        direct.collection::<()>(collection).drop().await?;
    }
    let proxy = Proxy::start(server.uri()).await?;
    let db = proxy.database("bucket_examples")?;
    let careless = Payment::buckets(&db).await?;
    let careful = Referenced::buckets(&db).await?;

    println!(
        "{PAYMENTS} payments of {CENTS} cents each, on a line on which one of five writes meets a fault.\n"
    );

    proxy.fail_at_random(7, 0.2);
    for _ in 0..PAYMENTS {
        pay_carelessly(&careless, DateTime::now()).await;
    }
    let faults = proxy.met();
    proxy.pass();
    report(
        "sent again after every failure",
        faults,
        careless.count(&ACCOUNT).await?,
    );

    proxy.fail_at_random(7, 0.2);
    let mut doubts = 0;
    for reference in 0..PAYMENTS {
        doubts += pay_carefully(&careful, reference, DateTime::now()).await;
    }
    let faults = proxy.met();
    proxy.pass();
    report(
        "sent again with a reference",
        faults,
        careful.count(&ACCOUNT).await?,
    );
    println!(
        "\n{doubts} calls of the second kind failed with `is_maybe_stored`. Sending them again stored what was missing."
    );

    // What a test would assert.
    if careful.count(&ACCOUNT).await? != PAYMENTS.unsigned_abs() {
        return Err("the careful ledger is wrong".into());
    }
    Ok(())
}

fn report(how: &str, faults: usize, stored: u64) {
    let paid = i128::from(stored) * i128::from(CENTS);
    let wrong = paid - i128::from(PAYMENTS * CENTS);
    let verdict = match wrong {
        0 => "right to the cent".to_owned(),
        wrong => format!("{wrong} cents too many"),
    };
    println!("{how:<32} {faults:>3} faults, {stored} payments stored: {verdict}");
}
