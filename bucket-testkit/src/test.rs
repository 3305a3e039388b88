//! The attribute `test`: the server and the database that it gives to a test.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt::Debug;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::{process, thread};

use mongodb::{Client, Database};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::OnceCell;

use crate::error::Result;
use crate::server::Server;

/// The longest part of a test's name in the name of its database, which has at
/// most 63 bytes.
const LONGEST: usize = 40;

/// Why a fixture could not be set up.
type Failure = Box<dyn StdError + Send + Sync>;

/// A running test with [`test`](macro@crate::test), for a [`Fixture`].
pub struct Test {
    server: &'static Server,
    database: String,
    /// The client of all fixtures, since a session works only with what its own client gives.
    client: OnceCell<Client>,
}

impl Test {
    /// The server that the test shares with others.
    ///
    /// ```no_run
    /// # fn example(test: &bucket_testkit::Test) {
    /// println!("{}", test.server().uri());
    /// # }
    /// ```
    #[must_use]
    pub fn server(&self) -> &'static Server {
        self.server
    }

    /// The name of the test's own database, which is dropped after the test.
    ///
    /// ```no_run
    /// # fn example(test: &bucket_testkit::Test) {
    /// println!("{}", test.database());
    /// # }
    /// ```
    #[must_use]
    pub fn database(&self) -> &str {
        &self.database
    }
}

/// A value that a test with [`test`](macro@crate::test) can take as a parameter: a
/// [`Database`], a [`Client`], the `&'static` [`Server`], or a type of your own
/// that sets up what your tests need.
///
/// ```
/// use std::error::Error;
///
/// use bucket_testkit::{Fixture, Test};
/// use mongodb::bson::{Document, doc};
/// use mongodb::{Collection, Database};
///
/// struct Pets(Collection<Document>);
///
/// impl Fixture for Pets {
///     async fn set_up(test: &Test) -> Result<Self, Box<dyn Error + Send + Sync>> {
///         let pets = Database::set_up(test).await?.collection("pets");
///         pets.insert_one(doc! { "_id": "Ada", "legs": 8 }).await?;
///         Ok(Self(pets))
///     }
/// }
///
/// #[bucket_testkit::test]
/// async fn a_pet_is_found(pets: Pets) -> mongodb::error::Result<()> {
///     assert!(pets.0.find_one(doc! { "_id": "Ada" }).await?.is_some());
///     Ok(())
/// }
/// ```
pub trait Fixture: Sized {
    /// Sets it up for a test.
    ///
    /// # Errors
    ///
    /// An error fails the test.
    fn set_up(test: &Test) -> impl Future<Output = Result<Self, Failure>>;
}

/// The client of this test, and of its [`Database`]: a session of one works with
/// the other. Each test has its own, since clients work only in the runtime that
/// created them.
impl Fixture for Client {
    async fn set_up(test: &Test) -> Result<Self, Failure> {
        let client = test.client.get_or_try_init(|| test.server.client());
        Ok(client.await?.clone())
    }
}

/// The server itself.
impl Fixture for &'static Server {
    async fn set_up(test: &Test) -> Result<Self, Failure> {
        Ok(test.server)
    }
}

/// The test's own database, which is empty.
impl Fixture for Database {
    async fn set_up(test: &Test) -> Result<Self, Failure> {
        Ok(Client::set_up(test).await?.database(&test.database))
    }
}

/// The value that a test returns.
pub trait Outcome {
    /// Why the test failed.
    fn failure(self) -> Option<String>;
}

impl Outcome for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<T, E: Debug> Outcome for Result<T, E> {
    fn failure(self) -> Option<String> {
        self.err().map(|error| format!("{error:?}"))
    }
}

/// A function that takes fixtures.
#[diagnostic::on_unimplemented(
    message = "this test takes or returns something that the testkit does not know",
    label = "an argument or the output is not supported",
    note = "help: take `db: Database` and `client: Client` by value, the server as `&Server`, or a type of yours that is a `Fixture`; return `()` or a `Result`"
)]
pub trait TestFunction<Fixtures> {
    /// Sets up the fixtures and runs the function.
    fn run(self, test: &Test) -> impl Future<Output = Option<String>>;
}

macro_rules! test_functions {
    ($(($($fixture:ident),*))+) => {$(
        impl<Function, Run, $($fixture),*> TestFunction<($($fixture,)*)> for Function
        where
            Function: FnOnce($($fixture),*) -> Run,
            Run: Future<Output: Outcome>,
            $($fixture: Fixture,)*
        {
            #[allow(unused_variables, reason = "a test may take nothing")]
            async fn run(self, test: &Test) -> Option<String> {
                self($(match $fixture::set_up(test).await {
                    Ok(fixture) => fixture,
                    Err(error) => return Some(error.to_string()),
                }),*)
                .await
                .failure()
            }
        }
    )+};
}

test_functions! { () (A) (A, B) (A, B, C) (A, B, C, D) }

/// Runs a test.
///
/// # Panics
///
/// When the test fails.
pub fn run<Fixtures: 'static>(
    name: &str,
    server: Option<&str>,
    workers: Option<usize>,
    function: impl TestFunction<Fixtures> + 'static,
) {
    // Boxed, so that the compiler makes the rest once, and not for each test.
    let function: BoxedTest = Box::new(move |test| Box::pin(function.run(test)));
    if let Some(failure) = runtime(workers).block_on(failure(name, server, function)) {
        panic!("{failure}");
    }
}

type BoxedTest = Box<dyn for<'t> FnOnce(&'t Test) -> Running<'t>>;

/// A test that runs. It returns why it failed.
type Running<'t> = Pin<Box<dyn Future<Output = Option<String>> + 't>>;

/// Runs a test, and returns why it failed.
async fn failure(name: &str, server: Option<&str>, function: BoxedTest) -> Option<String> {
    let server = match shared(server).await {
        Ok(server) => server,
        Err(error) => return Some(error.to_string()),
    };
    let test = Test {
        server,
        database: database(name),
        client: OnceCell::new(),
    };
    let kept = Kept(&test);
    let failure = function(&test).await;
    if failure.is_none() {
        std::mem::forget(kept);
        let database = server.database(&test.database).await;
        if let Ok(database) = database {
            // Whatever is left of it is in nobody's way.
            let _ = database.drop().await;
        }
    }
    failure
}

/// Zero workers are as many as the machine has cores.
fn runtime(workers: Option<usize>) -> Runtime {
    let mut builder = match workers {
        None => Builder::new_current_thread(),
        Some(_) => Builder::new_multi_thread(),
    };
    if let Some(workers @ 1..) = workers {
        builder.worker_threads(workers);
    }
    let runtime = builder.enable_all().build();
    runtime.unwrap_or_else(|error| panic!("no runtime for the test: {error}"))
}

/// Says where a failed test's data are.
struct Kept<'t>(&'t Test);

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        let Test {
            server, database, ..
        } = self.0;
        let until = match server.is_throw_away() {
            true => ", which ends with the tests; with MONGODB_URI they stay",
            false => "",
        };
        let how = if thread::panicking() {
            "panicked"
        } else {
            "failed"
        };
        let uri = server.uri();
        eprintln!("the test {how}; its data are in the database `{database}` at {uri}{until}");
    }
}

/// The name of a new database: two runs, and two tests of one run, never
/// share one.
fn database(test: &str) -> String {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let plain = test
        .replace("::", "_")
        .replace(|letter| !is_plain(letter), "_");
    let tail = &plain[plain.len().saturating_sub(LONGEST)..];
    format!(
        "{}_{}_{number}",
        tail.trim_start_matches('_'),
        process::id()
    )
}

/// The server of this name that the tests of this process share, started by
/// the first of them; without a name, the one that the variables choose.
pub(crate) async fn shared(name: Option<&str>) -> Result<&'static Server> {
    type Servers = HashMap<Option<String>, &'static OnceCell<Server>>;
    static SERVERS: LazyLock<Mutex<Servers>> = LazyLock::new(Mutex::default);
    let cell = {
        let mut servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
        // A handful for the life of the process.
        *(servers.entry(name.map(str::to_owned)))
            .or_insert_with(|| Box::leak(Box::new(OnceCell::new())))
    };
    let start = async || match name {
        None => Server::start().await,
        Some(name) => Server::start_named(name).await,
    };
    cell.get_or_try_init(start).await
}

#[cfg(test)]
mod tests {
    use super::database;

    #[test]
    fn a_database_is_named_after_its_test_and_has_it_alone() {
        let name = "pets::tests::a_pet_is_found_again_after_whatever_happened_to_it_meanwhile";
        let (one, other) = (database(name), database(name));
        assert_ne!(one, other);
        assert!(
            one.starts_with("after_whatever_happened_to_it_meanwhile_"),
            "{one}"
        );
        assert!(one.len() < 64, "{one}");
    }
}
