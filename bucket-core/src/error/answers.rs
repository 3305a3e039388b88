//! The driver's errors, made of what a server answers.

use mongodb::{
    bson::{Bson, Deserializer, Document, doc},
    error::{
        CommandError, ErrorKind, InsertManyError, WriteConcernError, WriteError, WriteFailure,
    },
};
use serde::de::DeserializeOwned;

/// A command that failed as a whole.
pub(super) fn command(code: i32, name: &str, message: &str) -> ErrorKind {
    let reply = doc! { "ok": 0.0, "code": code, "codeName": name, "errmsg": message };
    ErrorKind::Command(part::<CommandError>(reply))
}

/// A single statement that failed.
pub(super) fn statement(code: i32, message: &str) -> ErrorKind {
    ErrorKind::Write(WriteFailure::WriteError(write_error(code, message)))
}

pub(super) fn write_error(code: i32, message: &str) -> WriteError {
    part(doc! { "index": 0, "code": code, "errmsg": message })
}

/// A document that was not inserted together with others.
pub(super) fn insertion(code: i32, message: &str) -> ErrorKind {
    let errors = doc! { "writeErrors": [{ "index": 3, "code": code, "errmsg": message }] };
    ErrorKind::InsertMany(part::<InsertManyError>(errors))
}

pub(super) fn write_concern() -> WriteConcernError {
    part(doc! { "code": 64, "codeName": "WriteConcernTimeout", "errmsg": "waiting" })
}

/// An argument that the driver refused, in these words. The driver offers no such error but to
/// whoever names a port that is none, which the message repeats.
#[cfg(feature = "tracing")]
pub(super) fn refused_argument(message: &str) -> ErrorKind {
    let error = mongodb::options::ServerAddress::parse(format!("host:{message}")).unwrap_err();
    *error.kind
}

fn part<T: DeserializeOwned>(reply: Document) -> T {
    T::deserialize(Deserializer::new(Bson::Document(reply))).unwrap()
}
