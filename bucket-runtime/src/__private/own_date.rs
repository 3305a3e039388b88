//! Tells times that serde would not store as dates from all other types. An inherent constant takes
//! precedence over a trait's, so a type that is not a time gives `false`.

use std::marker::PhantomData;

use bucket_core::schema::time::DateField;

/// `MaybeDate::<T>::__IS_OWN`, with [`NoDate`] in scope.
#[derive(Debug)]
pub struct MaybeDate<T: ?Sized>(PhantomData<T>);

impl<T: DateField> MaybeDate<T> {
    /// [`DateField::IS_OWN`]
    pub const __IS_OWN: bool = T::IS_OWN;
}

/// The answer for a type that is not a time.
pub trait NoDate {
    /// Always `false`.
    const __IS_OWN: bool = false;
}

impl<T: ?Sized> NoDate for MaybeDate<T> {}

/// Refuses a field with this message, which ends in the text to paste.
///
/// # Panics
///
/// At compile time, if it is refused.
#[track_caller]
pub const fn refuse_if(is_refused: bool, message: &str) {
    if is_refused {
        panic!("{}", message)
    }
}
