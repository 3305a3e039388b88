//! What callers were told, call by call and item by item.

use bucket_runtime::{AppendManyError, Bucket, Error, PushManyError};

use crate::history::Answer::{self, Acknowledged, InDoubt, Refused};

/// The answer of a call; `None` if it was dropped.
pub(crate) fn told<T>(outcome: Option<&Result<T, Error>>) -> Answer {
    match outcome {
        None => InDoubt,
        Some(Ok(_)) => Acknowledged,
        Some(Err(error)) => answer(error),
    }
}

pub(crate) fn answer(error: &Error) -> Answer {
    match error.is_maybe_stored() {
        true => InDoubt,
        false => Refused,
    }
}

/// The answers for the `count` items of an `append_many`, which has taken the first of them from its iterator.
pub(crate) fn told_of_appended<T: Bucket>(
    outcome: Option<Result<u64, AppendManyError<T>>>,
    count: usize,
    taken: usize,
) -> Vec<Answer> {
    let failed = match outcome {
        None => return vec![InDoubt; count],
        Some(Ok(_)) => Vec::new(),
        Some(Err(error)) => error.into_failed(),
    };
    let told = |index| {
        let failed = failed.iter().find(|failed| failed.index == index as u64);
        match failed {
            Some(failed) => answer(&failed.error),
            None if index < taken => Acknowledged,
            // Items that the call did not take from the iterator were not sent.
            None => Refused,
        }
    };
    (0..count).map(told).collect()
}

/// The answers for the `count` items of a `push_many`.
pub(crate) fn told_of_pushed<I>(
    outcome: Option<Result<u64, PushManyError<I>>>,
    count: usize,
) -> Vec<Answer> {
    match outcome {
        None => vec![InDoubt; count],
        Some(Ok(_)) => vec![Acknowledged; count],
        Some(Err(failed)) => {
            let mut told = vec![Acknowledged; count - failed.rest.len()];
            told.resize(count, answer(&failed.error));
            told
        }
    }
}
