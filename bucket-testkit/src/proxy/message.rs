//! The messages of the wire protocol, as far as a proxy looks into them.

use std::io;

use tokio::{io::AsyncReadExt, net::tcp::OwnedReadHalf};

/// Where the body of a message begins, after its header, its flags and the kind of the section.
const BODY: usize = 21;

/// The commands that write.
const WRITES: [&[u8]; 6] = [
    b"insert",
    b"update",
    b"delete",
    b"findAndModify",
    b"bulkWrite",
    b"commitTransaction",
];

#[derive(Debug)]
pub(super) struct Message(Vec<u8>);

impl Message {
    pub(super) async fn read(from: &mut OwnedReadHalf) -> io::Result<Self> {
        let length = from.read_i32_le().await?;
        let mut message = length.to_le_bytes().to_vec();
        message.resize(usize::try_from(length).map_err(io::Error::other)?, 0);
        match message.get_mut(4..) {
            Some(rest) if rest.len() >= 12 => from.read_exact(rest).await?,
            _ => return Err(io::ErrorKind::InvalidData.into()),
        };
        Ok(Self(message))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// A request's own number.
    pub(super) fn id(&self) -> i32 {
        self.int(4)
    }

    /// The number of the request that a reply answers.
    pub(super) fn answered(&self) -> i32 {
        self.int(8)
    }

    fn int(&self, at: usize) -> i32 {
        let bytes = [0, 1, 2, 3].map(|n| self.0[at + n]);
        i32::from_le_bytes(bytes)
    }

    /// Whether the first two thousand bytes contain this text, which is not empty.
    pub(super) fn begins_with(&self, mark: &str) -> bool {
        let begin = &self.0[..self.0.len().min(2000)];
        !mark.is_empty() && find(begin, mark.as_bytes()).is_some()
    }

    /// Whether it is a command that writes: the first field of a body is named after its command.
    pub(super) fn is_write(&self) -> bool {
        let first = self.0.get(BODY + 5..).unwrap_or_default();
        let name = first.split(|byte| *byte == 0).next();
        name.is_some_and(|name| WRITES.contains(&name))
    }

    /// The session and the number by which the server recognises a repeated command.
    pub(super) fn number(&self) -> Option<Vec<u8>> {
        let field = |head: &[u8], length| {
            let at = find(&self.0, head)? + head.len();
            self.0.get(at..at + length)
        };
        let session = field(b"\x03lsid\0", 30)?;
        let number = field(b"\x12txnNumber\0", 8)?;
        Some([session, number].concat())
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A message with this command, and with this number of its session.
    pub(in crate::proxy) fn command(name: &str, number: Option<u8>) -> Message {
        let mut bytes = vec![0; BODY + 4];
        bytes.extend([2]);
        bytes.extend(name.as_bytes());
        bytes.extend(b"\0\x06\0\0\0trades\0");
        if let Some(number) = number {
            bytes.extend(b"\x03lsid\0");
            bytes.extend([7; 30]);
            bytes.extend(b"\x12txnNumber\0");
            bytes.extend(u64::from(number).to_le_bytes());
        }
        Message(bytes)
    }

    #[test]
    fn a_command_is_known_by_the_name_of_its_first_field() {
        assert!(command("update", None).is_write());
        assert!(!command("find", None).is_write());
        assert!(!command("updates", None).is_write());
        assert!(command("find", None).begins_with("trades"));
        assert!(!command("find", None).begins_with(""));
    }

    #[test]
    fn a_repeated_command_is_known_by_session_and_number() {
        let number = |number| command("update", number).number();
        assert_eq!(number(None), None);
        assert_eq!(number(Some(1)), number(Some(1)));
        assert_ne!(number(Some(1)), number(Some(2)));
    }
}
