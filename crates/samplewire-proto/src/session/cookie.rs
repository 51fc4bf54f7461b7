//! Cookies: what proves that a peer receives at the address it sends from, without a memory
//! (`docs/protocol.md#3.2`).
//!
//! A cookie is SipHash-2-4-128 over epoch, peer and nonce under a key that only the listener has.
//! It binds the nonce without its lowest byte, which counts the sizes that an opener tries: one
//! CHALLENGE serves all of them. A MAC that is linear, as a CRC with a secret start value, would
//! not do: from a few cookies anybody could compute those of other addresses.

use siphasher::sip128::SipHasher24;

use super::Peer;
use crate::number::Nanos;

/// Makes and checks cookies.
#[derive(Clone, Debug)]
pub(super) struct Cookies {
    hasher: SipHasher24,
}

impl Cookies {
    /// Starts with a secret key.
    pub(super) fn new(key: [u8; 16]) -> Self {
        Self { hasher: SipHasher24::new_with_key(&key) }
    }

    /// The cookie for a peer's attempt.
    pub(super) fn make(&self, now: Nanos, peer: &Peer, nonce: u64) -> [u8; 16] {
        self.of_epoch(now.0 / EPOCH.0, peer, nonce)
    }

    /// Whether `cookie` was made for this peer's attempt in the present epoch or the last.
    pub(super) fn check(&self, now: Nanos, peer: &Peer, nonce: u64, cookie: &[u8; 16]) -> bool {
        let epoch = now.0 / EPOCH.0;
        let present = self.of_epoch(epoch, peer, nonce);
        let last = self.of_epoch(epoch.wrapping_sub(1), peer, nonce);
        is_equal(&present, cookie) | is_equal(&last, cookie)
    }

    fn of_epoch(&self, epoch: u64, peer: &Peer, nonce: u64) -> [u8; 16] {
        let mut covered = [0; 34];
        covered[..8].copy_from_slice(&epoch.to_be_bytes());
        covered[8..26].copy_from_slice(&peer.0);
        covered[26..].copy_from_slice(&(nonce | NONCE_STEPS).to_be_bytes());
        self.hasher.hash(&covered).as_bytes()
    }
}

/// Compares without a hint in its duration how many bytes agree.
fn is_equal(a: &[u8; 16], b: &[u8; 16]) -> bool {
    u128::from_ne_bytes(*a) ^ u128::from_ne_bytes(*b) == 0
}

/// How long a key's cookies look alike: a cookie is valid for one to two epochs.
const EPOCH: Nanos = Nanos::from_millis(8_000);
/// After this a cookie is void.
pub(super) const LIFETIME_MAX: Nanos = Nanos(2 * EPOCH.0);
/// The bits of a nonce that count the sizes tried.
pub(super) const NONCE_STEPS: u64 = 0xFF;

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: Peer = Peer::v4([192, 0, 2, 1], 4000);
    const NONCE: u64 = 0x0123_4567_89AB_CD00;

    fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    #[test]
    fn cookie_lives_through_the_next_epoch_and_no_longer() {
        let cookies = Cookies::new([1; 16]);
        for made in [0, 7_999, 8_000, 80_500] {
            let cookie = cookies.make(ms(made), &PEER, NONCE);
            assert!(cookies.check(ms(made), &PEER, NONCE, &cookie));
            assert!(cookies.check(ms(made + 8_000), &PEER, NONCE, &cookie));
            assert!(!cookies.check(ms(made + 16_000), &PEER, NONCE, &cookie));
        }
        let late = cookies.make(ms(8_000), &PEER, NONCE);
        assert!(!cookies.check(ms(7_999), &PEER, NONCE, &late), "not before it was made");
    }

    #[test]
    fn cookie_is_of_one_peer_one_attempt_and_one_key() {
        let cookies = Cookies::new([1; 16]);
        let cookie = cookies.make(ms(1), &PEER, NONCE);
        assert!(!cookies.check(ms(1), &Peer::v4([192, 0, 2, 2], 4000), NONCE, &cookie));
        assert!(!cookies.check(ms(1), &Peer::v4([192, 0, 2, 1], 4001), NONCE, &cookie));
        for bit in 8..64 {
            assert!(!cookies.check(ms(1), &PEER, NONCE ^ 1 << bit, &cookie));
        }
        assert!(!Cookies::new([2; 16]).check(ms(1), &PEER, NONCE, &cookie));
        assert!(cookies.check(ms(1), &PEER, NONCE + 0xFF, &cookie), "one cookie, all sizes");
        for bit in 0..128 {
            let forged = (u128::from_ne_bytes(cookie) ^ 1 << bit).to_ne_bytes();
            assert!(!cookies.check(ms(1), &PEER, NONCE, &forged));
        }
    }
}
