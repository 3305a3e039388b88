//! The two kinds of edit of a parent's items. Where the parent has a total, a removal from the
//! extras is a transaction that also updates the total.

use bucket_core::server::transaction::{self, Attempt};
use futures_util::future::BoxFuture;
use mongodb::ClientSession;

use super::protocol::{ExtrasEditor, FoundExtras, ParentEditor};
use crate::{
    Result,
    outlier::{Outlier, extra::ExtraItem},
    write::edit::{Plan, Planned, Selection},
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
    pub(super) fn plan(&mut self) -> Plan<'_, ExtraItem<T>, O> {
        match self {
            Self::Update(plan) => *plan,
            Self::Removal(plan) => plan,
        }
    }

    /// Changes the matching items of one document of the extras.
    pub(super) async fn change_extras(
        &mut self,
        editor: &ParentEditor,
        selection: Selection,
        session: Option<&mut ClientSession>,
    ) -> Result<Vec<O>> {
        match (self, editor.parent.scope.spec.total) {
            (Self::Removal(plan), Some(_)) => {
                let remove = RemoveCountedExtras {
                    editor: editor.clone(),
                    selection,
                    plan: *plan,
                };
                transaction::run_in(&editor.parent.collections.parents, remove, session).await
            }
            (edit, _) => {
                editor
                    .of_extras(selection)
                    .change(edit.plan(), session)
                    .await
            }
        }
    }
}

/// Removes from the extras, and subtracts from the total.
struct RemoveCountedExtras<T: Outlier, O> {
    editor: ParentEditor,
    selection: Selection,
    plan: PlanRemoval<T, O>,
}

impl<T: Outlier, O: Send + 'static> Attempt for RemoveCountedExtras<T, O> {
    type Output = Vec<O>;

    fn attempt<'s>(&'s self, session: &'s mut ClientSession) -> BoxFuture<'s, Result<Vec<O>>> {
        Box::pin(async move {
            let (mut plan, parent) = (self.plan, &self.editor.parent);
            let extras = self.editor.of_extras(self.selection.clone());
            let removed = extras.change(&mut plan, Some(&mut *session)).await?;
            if !removed.is_empty() {
                let count = -(removed.len() as i64);
                parent.count_extras(count, session).await?;
            }
            Ok(removed)
        })
    }
}
