//! Counts the items of a parent again, to find or correct a wrong total.

use bucket_core::{
    server::transaction::{self, Attempt},
    value::number::whole,
};
use bucket_runtime::{
    __ops::{ParentHandle, number},
    Result,
};
use futures_util::future::BoxFuture;
use mongodb::{ClientSession, bson::Bson};

use super::command::{count_own_items, set_total};

/// The total of the parent and the number of its items, unless they are the same; with `correct` it
/// writes the number into the total.
pub(super) async fn recount(
    parent: ParentHandle,
    total: &'static str,
    correct: bool,
) -> Result<Option<(Bson, u64)>> {
    let server = parent.collections.parents.clone();
    let recount = RecountTotal {
        parent,
        total,
        correct,
    };
    transaction::run(&server, recount).await
}

/// Counts in both collections at one moment.
struct RecountTotal {
    parent: ParentHandle,
    total: &'static str,
    correct: bool,
}

impl Attempt for RecountTotal {
    type Output = Option<(Bson, u64)>;

    const READS_ONE_MOMENT: bool = true;

    fn attempt<'s>(
        &'s self,
        session: &'s mut ClientSession,
    ) -> BoxFuture<'s, Result<Option<(Bson, u64)>>> {
        Box::pin(async move {
            let Self { parent, total, .. } = self;
            let (scope, target) = (&parent.scope, parent.parent());
            let own = target.pipeline(count_own_items(scope, total));
            let Some(mut own) = own.first(Some(&mut *session)).await? else {
                return Ok(None);
            };
            let extras = parent.extras().pipeline(scope.count_extras());
            let items = number(&own, "items") + extras.sum(Some(&mut *session)).await?;
            let stored = own.remove("total").unwrap_or(Bson::Null);
            if whole(&stored) == i64::try_from(items).ok() {
                return Ok(None);
            }
            if self.correct {
                let correct = set_total(scope, total, items);
                target.modify(correct, session).await?;
            }
            Ok(Some((stored, items)))
        })
    }
}
