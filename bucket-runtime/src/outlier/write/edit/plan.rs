//! The two kinds of edit of a parent's items. Where the parent has a total, a removal from the
//! extras is a transaction that also updates the total.

use bucket_core::server::transaction::{self, Attempt};
use futures_util::future::BoxFuture;
use mongodb::ClientSession;

use super::protocol::{Edited, ExtrasEditor, FoundExtras, ItemPlace, ParentEditor};
use crate::{
    Result,
    outlier::{Outlier, extra::ExtraItem},
    write::edit::{Plan, Planned},
};

/// A change of items, wherever they are.
pub(super) enum ItemEdit<'p, T: Outlier, O> {
    /// Items change, and stay where they are.
    Update(Plan<'p, ExtraItem<T>, O>),
    /// Items go.
    Removal(PlanRemoval<T, O>),
}

/// Plans a removal, in any task.
type PlanRemoval<T, O> = fn(&ExtrasEditor<T>, &mut FoundExtras<T>) -> Result<Planned<O>>;

impl<T: Outlier, O: Send + 'static> ItemEdit<'_, T, O> {
    /// Changes the matching items of one document.
    pub(super) async fn edit(
        &mut self,
        editor: &ParentEditor,
        place: &ItemPlace,
        session: Option<&mut ClientSession>,
    ) -> Result<Edited<O>> {
        let plan = match self {
            Self::Update(plan) => return editor.change(place, *plan, session).await,
            Self::Removal(plan) => plan,
        };
        let is_own = matches!(place, ItemPlace::Own);
        match editor.parent.scope.spec.total.filter(|_| !is_own) {
            None => editor.change(place, plan, session).await,
            Some(total) => {
                let remove = RemoveCountedExtras {
                    editor: editor.clone(),
                    place: place.clone(),
                    total,
                    plan: *plan,
                };
                transaction::run_in(&editor.parent.collections.parents, remove, session).await
            }
        }
    }
}

/// Removes from the extras, and subtracts from the total.
struct RemoveCountedExtras<T: Outlier, O> {
    editor: ParentEditor,
    place: ItemPlace,
    total: &'static str,
    plan: PlanRemoval<T, O>,
}

impl<T: Outlier, O: Send + 'static> Attempt for RemoveCountedExtras<T, O> {
    type Output = Edited<O>;

    fn attempt<'s>(&'s self, session: &'s mut ClientSession) -> BoxFuture<'s, Result<Edited<O>>> {
        Box::pin(async move {
            let (mut plan, parent) = (self.plan, &self.editor.parent);
            let removed = (self.editor).change(&self.place, &mut plan, Some(&mut *session));
            let removed = removed.await?;
            if !removed.values.is_empty() {
                let count = -(removed.values.len() as i64);
                parent.count_extras(self.total, count, session).await?;
            }
            Ok(removed)
        })
    }
}
