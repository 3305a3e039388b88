//! The two kinds of edit of a parent's items. Where the parent has a total, a removal from the
//! extras is a transaction that also updates the total.

use bucket_core::server::transaction::{self, Attempt};
use futures_util::future::BoxFuture;
use mongodb::ClientSession;

use super::protocol::{Edited, ExtrasEditor, FoundExtras, ItemPlace, ParentEditor};
use crate::{Result, outlier::Outlier, write::edit::Planned};

/// A change of items, wherever they are.
pub(super) trait ItemEdit<T: Outlier, O>: Send {
    /// Changes the matching items of one document.
    fn edit(
        &mut self,
        editor: &ParentEditor,
        place: &ItemPlace,
        session: Option<&mut ClientSession>,
    ) -> impl Future<Output = Result<Edited<O>>> + Send;
}

/// Items change, and stay where they are.
pub(super) struct PlannedUpdate<P>(pub(super) P);

/// Items go.
pub(super) struct PlannedRemoval<T: Outlier, O>(
    pub(super) fn(&ExtrasEditor<T>, &mut FoundExtras<T>) -> Result<Planned<O>>,
);

impl<T, O, P> ItemEdit<T, O> for PlannedUpdate<P>
where
    T: Outlier,
    O: Send,
    P: FnMut(&ExtrasEditor<T>, &mut FoundExtras<T>) -> Result<Planned<O>> + Send,
{
    async fn edit(
        &mut self,
        editor: &ParentEditor,
        place: &ItemPlace,
        session: Option<&mut ClientSession>,
    ) -> Result<Edited<O>> {
        editor.change(place, &mut self.0, session).await
    }
}

impl<T: Outlier, O: Send + 'static> ItemEdit<T, O> for PlannedRemoval<T, O> {
    async fn edit(
        &mut self,
        editor: &ParentEditor,
        place: &ItemPlace,
        session: Option<&mut ClientSession>,
    ) -> Result<Edited<O>> {
        let is_own = matches!(place, ItemPlace::Own);
        match editor.parent.scope.spec.total.filter(|_| !is_own) {
            None => editor.change(place, self.0, session).await,
            Some(total) => {
                let remove = RemoveCountedExtras {
                    editor: editor.clone(),
                    place: place.clone(),
                    total,
                    plan: self.0,
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
    plan: fn(&ExtrasEditor<T>, &mut FoundExtras<T>) -> Result<Planned<O>>,
}

impl<T: Outlier, O: Send + 'static> Attempt for RemoveCountedExtras<T, O> {
    type Output = Edited<O>;

    fn attempt<'s>(&'s self, session: &'s mut ClientSession) -> BoxFuture<'s, Result<Edited<O>>> {
        Box::pin(async move {
            let ParentEditor { parent, .. } = &self.editor;
            let removed = self
                .editor
                .change(&self.place, self.plan, Some(&mut *session));
            let removed = removed.await?;
            if !removed.values.is_empty() {
                let count = -(removed.values.len() as i64);
                parent.count_extras(self.total, count, session).await?;
            }
            Ok(removed)
        })
    }
}
