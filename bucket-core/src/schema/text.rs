//! Texts that the compiler puts together.

use crate::schema::size::layout::digits;

/// A text that the compiler puts together.
pub(crate) struct Text {
    bytes: [u8; Self::MAX_LEN],
    len: usize,
}

impl Text {
    /// The most bytes that such a text can have.
    pub(crate) const MAX_LEN: usize = 512;

    pub(crate) const EMPTY: Self = Self {
        bytes: [0; Self::MAX_LEN],
        len: 0,
    };

    pub(crate) const fn push(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        let mut at = 0;
        while at < text.len() {
            self.bytes[self.len] = text[at];
            self.len += 1;
            at += 1;
        }
        self
    }

    pub(crate) const fn number(mut self, number: u64) -> Self {
        let last = self.len + digits(number + 1) as usize;
        let (mut at, mut rest) = (last, number);
        while at > self.len {
            at -= 1;
            self.bytes[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.len = last;
        self
    }

    pub(crate) const fn as_str(&self) -> &str {
        match str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => panic!("two texts make a text"),
        }
    }
}
