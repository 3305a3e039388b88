//! Stores a bucket that the server refused beside others: where its id is free, or its bucket is
//! empty.

use bucket_core::{
    error::{duplicate_index, error_text},
    protocol::range::Range,
    schema::names::{OPEN_INDEX, UNIQUE_INDEX},
    server::{pause::pause, wire::Request},
    value::exact::exact_document,
};
use bucket_runtime::{
    __ops::{Engine, TRIES},
    Result,
};
use mongodb::bson::{RawDocumentBuf, doc};

use super::{
    line::Archived,
    refused_line::{RefusedLine, RefusedReason},
    stored_fields,
};

/// The outcome of importing one line of an archive.
#[derive(Debug)]
pub(super) enum LineOutcome {
    /// A bucket with this number of items was stored.
    Stored(usize),
    AlreadyThere,
    Refused(RefusedLine),
}

/// Tries until no other writer is faster. Each try reads what is there, so it can be repeated, also
/// after one whose result is not known.
pub(super) async fn put_back(engine: &Engine, mut archived: Archived) -> Result<LineOutcome> {
    let mut is_taken = false;
    for tries in 0..TRIES {
        pause(tries).await;
        let target = engine.target_of(&archived.scope);
        let mut this = archived.scope.bucket(&archived.id);
        let found = target.find(this.clone(), Range::unordered()).read_latest();
        let found = found.rows::<RawDocumentBuf>(None).await?;
        let stored = found.first().map(|raw| exact_document(raw));
        let items = (stored.as_ref()).map(|stored| {
            let stored = stored.as_ref()?;
            Some(stored_fields::elements(archived.scope.spec, stored))
        });
        let sent = match items {
            None => (target.insert(archived.document.clone(), None).await).map(|()| true),
            // Appends have added the further ones.
            Some(Some(items)) if items.starts_with(archived.elements()) => {
                return Ok(LineOutcome::AlreadyThere);
            }
            Some(Some([])) => {
                this.insert(archived.scope.spec.items, doc! { "$size": 0 });
                let replace = Request::Replace(this, &archived.document);
                target.send(replace, None).await.map(|done| done.found > 0)
            }
            Some(_) => return Ok(archived.refused(RefusedReason::Taken)),
        };
        let error = match sent {
            Ok(true) => return Ok(LineOutcome::Stored(archived.items)),
            Ok(false) => None,
            Err(error) => Some(error),
        };
        let refused_by = (error.as_ref()).and_then(|error| duplicate_index(error.driver()?));
        bucket_core::reached!("an archived bucket is refused by {refused_by:?}");
        match refused_by {
            Some(OPEN_INDEX) => stored_fields::seal(&mut archived.document),
            Some(UNIQUE_INDEX) => return Ok(archived.refused(RefusedReason::Elsewhere)),
            Some("_id_") if is_taken => return Ok(archived.refused(RefusedReason::IdTaken)),
            Some("_id_") => is_taken = true,
            _ => match error {
                None => {}
                Some(error) => match error.driver().filter(|_| error.is_refusal()) {
                    Some(driver) => {
                        let answer = error_text(driver);
                        return Ok(archived.refused(RefusedReason::ByServer(answer)));
                    }
                    None => return Err(error),
                },
            },
        }
    }
    Ok(archived.refused(RefusedReason::Contended))
}
