//! The trait behind `#[derive(ItemPart)]`.

use serde::de::MapAccess;

use crate::{protocol::field::Fields, read::part::PartReader};

/// Some fields of a parent's items, for reads that need no others: the server sends only these.
///
/// The struct of the items derives [`Fields`](trait@crate::Fields). Derive this one for a struct with the fields
/// to read, and read with [`ParentItems::parts`](crate::action::ParentItems::parts). A field has the name and the
/// type of a field of the items, which the compiler checks, and is read as that one is; its serde attributes are
/// those of [`BucketPart`](crate::BucketPart).
///
/// ```no_run
/// use bucket_runtime::{Fields, ItemPart, Outlier};
/// use futures_util::TryStreamExt;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Outlier)]
/// #[outlier(collection = "users", reference = "user_id", threshold = 50)]
/// struct User {
///     _id: i64,
///     #[outlier(items)]
///     followers: Vec<Follower>,
/// }
///
/// #[derive(Serialize, Deserialize, Fields)]
/// struct Follower {
///     user: i64,
///     since: i64,
///     note: String,
/// }
///
/// #[derive(Debug, ItemPart)]
/// #[part(of = Follower)]
/// struct FollowerId {
///     user: i64,
/// }
///
/// # async fn example(db: bucket_runtime::mongodb::Database) -> bucket_runtime::Result<()> {
/// let users = User::outliers(&db).await?;
/// let mut newest = users.items(&7).newest_first().limit(20).parts::<FollowerId>().await?;
/// while let Some(follower) = newest.try_next().await? {
///     println!("{}", follower.user);
/// }
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a part of a parent's item",
    label = "`ItemPart` is not implemented for this type",
    note = "help: add `#[derive(ItemPart)]` and `#[part(of = …)]` to the struct"
)]
pub trait ItemPart: Sized + Send + 'static {
    /// The struct of the items.
    type Of: Fields;

    /// The stored names of each field.
    const NAMES: &'static [&'static [&'static str]];

    /// Reads the fields of an item.
    ///
    /// # Errors
    ///
    /// If a value is missing, or cannot be read.
    fn read<'de, A: MapAccess<'de>>(fields: &mut PartReader<A>) -> Result<Self, A::Error>;
}
