//! The arguments that a field accepts as its value.

/// A value for a field of type `V`: a `V`, a reference to one, text for a `String`, and for an
/// `Option<V>` also a `V`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value for a field of type `{V}`",
    label = "a value of type `{V}` belongs here",
    note = "help: pass a value of type `{V}`, or a reference to one"
)]
pub trait Value<V> {
    /// The value as the field holds it.
    fn into_value(self) -> V;
}

impl<V> Value<V> for V {
    fn into_value(self) -> V {
        self
    }
}

impl<V: Clone> Value<V> for &V {
    fn into_value(self) -> V {
        self.clone()
    }
}

impl Value<String> for &str {
    fn into_value(self) -> String {
        self.to_owned()
    }
}

impl<V> Value<Option<V>> for V {
    fn into_value(self) -> Option<V> {
        Some(self)
    }
}

impl Value<Option<String>> for &str {
    fn into_value(self) -> Option<String> {
        Some(self.to_owned())
    }
}
