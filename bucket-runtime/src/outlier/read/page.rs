//! One page of a parent's items, with tokens for the pages beside it.

use super::{item_form::ParentItemForm, items::ParentItems};
use crate::{
    Result,
    outlier::Outlier,
    read::items::{ItemPage, PagePlace},
};

impl<T: Outlier, F: ParentItemForm<Of = T>> ParentItems<'_, T, F> {
    pub(super) async fn page(mut self, limit: u64, place: PagePlace) -> Result<ItemPage<F::Item>> {
        let PagePlace { token, backwards } = place;
        self.1.newest_first ^= backwards;
        // One more tells whether there are others.
        self.1.limit = Some(limit.saturating_add(1));
        let mut rows = self.rows(token.as_ref()).await?;
        let mut found = Vec::new();
        for _ in 0..limit {
            let Some(row) = rows.next().await? else {
                break;
            };
            found.extend(rows.read(&row)?.map(F::item));
            rows.place.note_given(row);
        }
        // If the next row cannot be read, that is an error of the next page.
        let has_more = !matches!(rows.next().await, Ok(None));
        let beyond = has_more
            .then(|| rows.place.token(&rows.list.items))
            .flatten();
        Ok(ItemPage::of_read(found, backwards, token, beyond))
    }
}
