//! Single parents, as they are stored, and with all of their items.

use bucket_core::server::call::span;
use futures_util::TryStreamExt;

use super::{extras::get_with_extras, parent::Parent};
use crate::{
    outlier::{IdRef, Outlier, Outliers},
    read::{part::Whole, settings::ReadDocument},
};

impl<T: Outlier> Outliers<T> {
    /// The parent as it is stored, with up to `threshold` items, and whether there are more. One
    /// round trip, whatever the number of extras.
    ///
    /// An outlier that has lost some of its own items holds fewer than the threshold, although
    /// there are extras: [`items(id).limit(n)`](Self::items) gives the first `n` items in any case.
    ///
    /// ```no_run
    /// # use bucket_runtime::{IdRef, Outlier, Outliers};
    /// # async fn example<Book: Outlier>(books: Outliers<Book>, id: IdRef<'_, Book>) -> bucket_runtime::Result<()> {
    /// if let Some(book) = books.get(id).await? {
    ///     println!("{}", if book.has_extras { "… and more" } else { "all of them" });
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn get<'s>(&self, id: IdRef<'_, T>) -> ReadDocument<'s, Option<Parent<T>>> {
        let parent = self.parent(id);
        ReadDocument::new(span!(get), move |mut settings| async move {
            let parent = parent.read_with(&settings);
            parent.get::<Whole<T>>(&mut settings).await
        })
    }

    /// The parent with all of its items joined, in memory. One round trip if it has no extras. To
    /// read many items, take [`items`](Self::items).
    pub fn get_all<'s>(&self, id: IdRef<'_, T>) -> ReadDocument<'s, Option<T>> {
        let parent = self.parent(id);
        ReadDocument::new(span!(get_all), move |settings| async move {
            let found = get_with_extras::<Whole<T>>(parent, settings, false).await?;
            let Some((mut document, mut extras)) = found else {
                return Ok(None);
            };
            while let Some(bucket) = extras.try_next().await? {
                document.items_mut().extend(bucket.items);
            }
            Ok(Some(document))
        })
    }
}
