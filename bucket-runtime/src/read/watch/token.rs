//! A position in a collection's change stream, as text.

use std::{fmt, str::FromStr, sync::Arc};

use bucket_core::value::bytes;
use mongodb::{
    bson::{Binary, Document, doc, spec::BinarySubtype},
    change_stream::event::ResumeToken,
};

use crate::read::token::{InvalidToken, serde_as_text};

/// A position in a [`WatchStream`](crate::WatchStream), to be stored and resumed from: text of only
/// letters, digits, `-` and `.`.
///
/// It holds the server's own resume token, and how many items of the next command were already
/// given. It belongs to one key of one collection.
///
/// ```
/// use bucket_runtime::WatchToken;
///
/// let token: WatchToken = "8265A1F2C3000000012B0229296E04.2".parse()?;
/// assert_eq!(token.to_string(), "8265A1F2C3000000012B0229296E04.2");
/// assert!("page 7".parse::<WatchToken>().is_err());
/// # Ok::<(), bucket_runtime::InvalidToken>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WatchToken {
    /// The server's token of the last event whose items were all given: its hexadecimal text. Shared,
    /// since each item comes with its position.
    data: Arc<str>,
    /// The server's extra data to tell apart numbers of different types, in a shard key.
    type_bits: Vec<u8>,
    /// How many items of the next event with items were already given.
    pub(super) given: usize,
}

impl WatchToken {
    /// The position after an event; `None` if this library does not know the token's form.
    #[doc(hidden)]
    pub fn after(token: &ResumeToken) -> Option<Self> {
        let token: Document = bytes::read(&bytes::write(token).ok()?).ok()?;
        let type_bits = token.get_binary_generic("_typeBits").ok();
        Some(Self {
            data: token.get_str("_data").ok()?.into(),
            type_bits: type_bits.cloned().unwrap_or_default(),
            given: 0,
        })
    }

    /// The token as the driver takes it.
    #[doc(hidden)]
    pub fn resume_token(&self) -> Option<ResumeToken> {
        let mut token = doc! { "_data": &*self.data };
        if !self.type_bits.is_empty() {
            let bits = Binary {
                subtype: BinarySubtype::Generic,
                bytes: self.type_bits.clone(),
            };
            token.insert("_typeBits", bits);
        }
        bytes::read(&bytes::write(&token).ok()?).ok()
    }
}

impl fmt::Display for WatchToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.data)?;
        if !self.type_bits.is_empty() {
            f.write_str("-")?;
            (self.type_bits.iter()).try_for_each(|byte| write!(f, "{byte:02X}"))?;
        }
        if self.given > 0 {
            write!(f, ".{}", self.given)?;
        }
        Ok(())
    }
}

impl FromStr for WatchToken {
    type Err = InvalidToken;

    fn from_str(text: &str) -> Result<Self, InvalidToken> {
        parse(text).ok_or(InvalidToken {
            source: "`WatchStream::token`",
        })
    }
}

fn parse(text: &str) -> Option<WatchToken> {
    let (text, given) = match text.split_once('.') {
        Some((text, given)) => (text, given.parse().ok().filter(|given| *given > 0)?),
        None => (text, 0),
    };
    let (data, type_bits) = match text.split_once('-') {
        Some((data, bits)) => (data, Some(bits)),
        None => (text, None),
    };
    let is_data = !data.is_empty() && data.bytes().all(|byte| byte.is_ascii_hexdigit());
    Some(WatchToken {
        data: is_data.then(|| data.into())?,
        type_bits: type_bits.map_or(Some(Vec::new()), of_hex)?,
        given,
    })
}

fn of_hex(text: &str) -> Option<Vec<u8>> {
    let digits = Vec::from_iter(text.chars().map(|digit| digit.to_digit(16)));
    let bytes = digits.chunks(2).map(|pair| match pair {
        [Some(high), Some(low)] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    });
    bytes.collect()
}

serde_as_text!(WatchToken);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_the_servers_and_back() {
        for text in ["82FF", "82ff.12", "82FF-80", "82FF-8A01.3"] {
            let token: WatchToken = text.parse().unwrap();
            assert_eq!(token.to_string(), text);
            let server = token.resume_token().unwrap();
            let back = WatchToken::after(&server).unwrap();
            assert_eq!(
                (&back.data, &back.type_bits),
                (&token.data, &token.type_bits)
            );
        }
    }

    #[test]
    fn another_text_is_no_token() {
        for text in [
            "", ".1", "82.0", "82.-1", "82.1.1", "8 2", "82-8", "82-8G", "$where",
        ] {
            assert!(text.parse::<WatchToken>().is_err(), "{text:?}");
        }
    }
}
