//! The secret of a session and everything drawn from it.
//!
//! A session holds 32 bytes from the operating system, written once into its log. Every draw is a keyed hash of
//! (secret, purpose, game, sequence), so that two replicas draw the same. The secret never leaves the server: it has no
//! text form, its `Debug` shows nothing, and no view or error holds it (S-24).

use std::fmt;

use crate::ids::{PlayerId, REQUEST_ID_BYTES_MAX, RequestId};
use crate::seat::Seat;

/// 32 bytes of entropy of one session. Shows nothing when printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

/// A request id as it is kept: 64 bits of a hash keyed by the session's secret over (seat, request id) (S-25).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestHash(pub u64);

/// A number of 猜先, or that none was given. Shows neither when printed: until the start nobody may learn them, not even
/// from a log line (S-29).
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct GuessNumber(pub Option<u8>);

impl fmt::Debug for GuessNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// What a draw is for. Two purposes never share a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Who opens (S-29).
    Opener,
    /// A number of 猜先 that the player of a seat did not give (S-29).
    Number(Seat),
    /// The seed of an automatic move (S-9).
    AutoMove,
    /// Chance inside a game (Banqi's deal).
    Deal,
}

impl Purpose {
    /// A number for the hash, stable for ever: records are replayed years later.
    const fn code(self) -> u8 {
        match self {
            Self::Opener => 1,
            Self::Number(Seat::One) => 2,
            Self::Number(Seat::Two) => 3,
            Self::AutoMove => 4,
            Self::Deal => 5,
        }
    }
}

// Domains of the keyed hash: draws, request ids and command digests never collide.
const DOMAIN_DRAW: u8 = 1;
const DOMAIN_REQUEST: u8 = 2;
const DOMAIN_COMMAND: u8 = 3;

impl Secret {
    /// A secret of these bytes, which must come from the operating system's generator.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, for the store's codec alone.
    #[must_use]
    pub const fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    /// 64 drawn bits: the same for the same (secret, purpose, game, sequence), for ever.
    #[must_use]
    pub fn draw(&self, purpose: Purpose, game: u8, sequence: u64) -> u64 {
        next_u64(&mut self.draws(purpose, game, sequence))
    }

    /// A draw from `0..n`, uniform without the bias of a remainder; 0 when `n` is 0.
    #[must_use]
    pub fn draw_below(&self, n: u64, purpose: Purpose, game: u8, sequence: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        // Numbers at or above the largest multiple of n are drawn again.
        let excess = (u64::MAX % n + 1) % n;
        let mut draws = self.draws(purpose, game, sequence);
        loop {
            let drawn = next_u64(&mut draws);
            if drawn <= u64::MAX - excess {
                return drawn % n;
            }
        }
    }

    fn draws(&self, purpose: Purpose, game: u8, sequence: u64) -> blake3::OutputReader {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&[DOMAIN_DRAW, purpose.code(), game]);
        hasher.update(&sequence.to_le_bytes());
        hasher.finalize_xof()
    }

    /// The hash under which a request of `seat` is remembered (S-25).
    #[must_use]
    pub fn request_hash(&self, seat: Seat, request: &RequestId) -> RequestHash {
        // In one piece, which costs far less than a hasher: a request id has at most 64 bytes.
        let id = request.as_str().as_bytes();
        let mut input = [0; 2 + REQUEST_ID_BYTES_MAX];
        input[..2].copy_from_slice(&[DOMAIN_REQUEST, seat.number()]);
        input[2..2 + id.len()].copy_from_slice(id);
        let hash = blake3::keyed_hash(&self.0, &input[..2 + id.len()]);
        RequestHash(first_u64(hash.as_bytes()))
    }

    /// 64 bits that stand for the arguments of a join when its request id comes again (S-25).
    pub(crate) fn digest_join(&self, player: &PlayerId, ready: bool) -> u64 {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&[DOMAIN_COMMAND, u8::from(ready)]);
        hasher.update(player.as_str().as_bytes());
        first_u64(hasher.finalize().as_bytes())
    }
}

fn first_u64(hash: &[u8; 32]) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash[..8]);
    u64::from_le_bytes(bytes)
}

fn next_u64(reader: &mut blake3::OutputReader) -> u64 {
    let mut bytes = [0; 8];
    reader.fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
