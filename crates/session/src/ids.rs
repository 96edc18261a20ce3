//! A type for each kind of id, checked once where it enters.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use data_encoding::{BASE32_NOPAD, BASE32HEX_NOPAD};
use thiserror::Error;

/// The most bytes that a player id may have.
pub const PLAYER_ID_BYTES_MAX: usize = 128;
/// The most bytes that a request id may have.
pub const REQUEST_ID_BYTES_MAX: usize = 64;

/// Why a text is no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum IdError {
    /// Nothing was given.
    #[error("is empty")]
    Empty,
    /// More bytes than allowed.
    #[error("has {bytes} bytes, at most {bytes_max} are allowed")]
    TooLong {
        /// How many bytes were given.
        bytes: usize,
        /// How many are allowed.
        bytes_max: usize,
    },
    /// Holds a control character (line ends and tabs among them).
    #[error("holds a control character")]
    ControlCharacter,
    /// Not in the form that this server gives its ids.
    #[error("is not an id of this server")]
    Malformed,
}

/// Bytes of a [`SessionId`] or [`TicketId`]: two of the shard, ten of a keyed hash.
const ID_BYTES: usize = 12;
/// Characters of its text: five bits each.
const ID_TEXT_BYTES: usize = 20;

macro_rules! hashed_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; ID_BYTES]);

        impl $name {
            /// The id on `shard` with these hash bytes.
            #[must_use]
            pub fn new(shard: u16, hash: [u8; 10]) -> Self {
                let mut bytes = [0; ID_BYTES];
                bytes[..2].copy_from_slice(&shard.to_be_bytes());
                bytes[2..].copy_from_slice(&hash);
                Self(bytes)
            }

            /// The shard that the id names.
            #[must_use]
            pub fn shard(&self) -> u16 {
                u16::from_be_bytes([self.0[0], self.0[1]])
            }

            /// The id as bytes: two of the shard (big endian), ten of the hash.
            #[must_use]
            pub fn as_bytes(&self) -> &[u8; ID_BYTES] {
                &self.0
            }

            /// The id as text: ASCII.
            fn text(&self) -> [u8; ID_TEXT_BYTES] {
                let mut text = [0; ID_TEXT_BYTES];
                BASE32HEX_NOPAD.encode_mut(&self.0, &mut text);
                text.map(|byte| byte.to_ascii_lowercase())
            }

            /// The id with exactly these bytes.
            #[must_use]
            pub fn from_bytes(bytes: [u8; ID_BYTES]) -> Self {
                Self(bytes)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                if text.is_empty() {
                    return Err(IdError::Empty);
                }
                // Only the canonical spelling is an id, so that one session has one name in every key and log.
                let given: [u8; ID_TEXT_BYTES] =
                    text.as_bytes().try_into().map_err(|_| IdError::Malformed)?;
                let mut bytes = [0; ID_BYTES];
                BASE32HEX_NOPAD
                    .decode_mut(&given.map(|byte| byte.to_ascii_uppercase()), &mut bytes)
                    .map_err(|_| IdError::Malformed)?;
                let id = Self(bytes);
                if id.text() == given { Ok(id) } else { Err(IdError::Malformed) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(std::str::from_utf8(&self.text()).unwrap_or_default())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }
    };
}

hashed_id! {
    /// A session. Made as a keyed hash of (caller, request id), so that a repeated creation finds the first one.
    /// Written as 20 lower-case characters; the first bytes name its shard.
    SessionId
}

hashed_id! {
    /// A matchmaking ticket, made like a [`SessionId`]; its shard bytes are zero, tickets live in the hall's slot.
    TicketId
}

/// A player as the calling backend names them: 1 to 128 bytes of UTF-8 without control characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlayerId(Arc<str>);

impl PlayerId {
    /// The id, if `text` can be one.
    ///
    /// # Errors
    /// [`IdError`] when it is empty, too long, or holds a control character.
    pub fn new(text: &str) -> Result<Self, IdError> {
        check_text(text, PLAYER_ID_BYTES_MAX)?;
        Ok(Self(text.into()))
    }

    /// The id as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id as it appears in keys: encoded, so that no character of a caller's choosing gets there.
    #[must_use]
    pub fn key(&self) -> String {
        BASE32_NOPAD
            .encode(&blake3::hash(self.0.as_bytes()).as_bytes()[..15])
            .to_ascii_lowercase()
    }
}

impl fmt::Display for PlayerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PlayerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlayerId({:?})", &*self.0)
    }
}

/// A caller's name for one mutating command (S-25): 1 to 64 bytes of UTF-8 without control characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(Box<str>);

impl RequestId {
    /// The id, if `text` can be one.
    ///
    /// # Errors
    /// [`IdError`] when it is empty, too long, or holds a control character.
    pub fn new(text: &str) -> Result<Self, IdError> {
        check_text(text, REQUEST_ID_BYTES_MAX)?;
        Ok(Self(text.into()))
    }

    /// The id as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn check_text(text: &str, bytes_max: usize) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    if text.len() > bytes_max {
        return Err(IdError::TooLong {
            bytes: text.len(),
            bytes_max,
        });
    }
    if text.chars().any(char::is_control) {
        return Err(IdError::ControlCharacter);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_names_its_shard_and_has_one_spelling() {
        let id = SessionId::new(0x0102, [7; 10]);
        let text = id.to_string();
        assert_eq!(text.len(), 20);
        assert_eq!(text.parse(), Ok(id));
        assert_eq!(id.shard(), 0x0102);
        assert_eq!(text.to_uppercase().parse::<SessionId>(), Err(IdError::Malformed));
        assert_eq!(text[..19].parse::<SessionId>(), Err(IdError::Malformed));
        assert_eq!("".parse::<SessionId>(), Err(IdError::Empty));
    }

    #[test]
    fn texts_from_outside_are_bounded_and_printable() {
        assert!(PlayerId::new(&"x".repeat(128)).is_ok());
        assert_eq!(
            PlayerId::new(&"x".repeat(129)),
            Err(IdError::TooLong {
                bytes: 129,
                bytes_max: 128
            })
        );
        assert_eq!(PlayerId::new("a\nb"), Err(IdError::ControlCharacter));
        assert_eq!(RequestId::new(""), Err(IdError::Empty));
        assert!(RequestId::new("黑白棋").is_ok());
    }
}
