//! For which peers a listener may open a stream: one that has shown a cookie of its own, in time, and has not
//! opened one by the same attempt before (`docs/protocol.md#3.2`, `#3.9`, `#3.10`).

use std::collections::HashMap;

use samplewire_proto::session::{OpenRequest, Peer};
use samplewire_proto::wire::{self, Packet, Role};
use samplewire_proto::{Departure, Nanos};

use crate::packets::ProcessId;

/// What each listener has said since it started.
#[derive(Debug, Default)]
pub(crate) struct Openings {
    listeners: Vec<Listener>,
}

#[derive(Debug, Default)]
struct Listener {
    /// To whom each cookie was given first, for which attempt, and when.
    cookies: HashMap<[u8; 16], (Peer, u64, Nanos)>,
    accepted: Vec<Accepted>,
}

#[derive(Clone, Copy, Debug)]
struct Accepted {
    stream: u16,
    peer: Peer,
    nonce: u64,
    departure: Departure,
    at: Nanos,
}

impl Openings {
    /// A listener has sent a packet to somebody.
    pub(crate) fn answered(&mut self, listener: ProcessId, now: Nanos, peer: Peer, bytes: &[u8]) {
        if let Ok((_, Packet::Challenge(challenge))) = wire::parse(bytes) {
            let attempt = challenge.nonce | NONCE_STEPS;
            let cookies = &mut self.of(listener).cookies;
            cookies.entry(challenge.cookie).or_insert((peer, attempt, now));
        }
    }

    /// A listener lets its application decide on an OPEN, which would take over the stream that is
    /// open or not.
    pub(crate) fn asked(
        &mut self,
        listener: ProcessId,
        now: Nanos,
        peer: &Peer,
        bytes: &[u8],
        takes_over: bool,
    ) -> Result<(), String> {
        let Ok((header, Packet::Open(open))) = wire::parse(bytes) else {
            return Err("the application is asked without an OPEN".into());
        };
        let Listener { cookies, accepted } = self.of(listener);
        let given = cookies.get(&open.cookie);
        let is_proven = given.is_some_and(|(to, attempt, at)| {
            let is_its_own = to == peer && *attempt == open.nonce | NONCE_STEPS;
            is_its_own && now.since(*at) < COOKIE_LIFE
        });
        if !is_proven {
            return Err(format!("{peer:?} opens with a cookie given as {given:?}, now {now:?}"));
        }
        if open.role == Role::Describe {
            return Ok(());
        }
        let of_stream = accepted.iter().rev().filter(|it| it.stream == open.stream);
        for (age, earlier) in of_stream.enumerate().take(REMEMBERED) {
            let is_recent = earlier.peer == *peer && now.since(earlier.at) < COOKIE_LIFE;
            let is_overtaken = takes_over && age == 0;
            if is_recent && earlier.nonce == open.nonce {
                return Err(format!("a copy of an OPEN opens once more: {earlier:?}"));
            }
            if is_recent && is_overtaken && header.departure.before(earlier.departure) {
                return Err(format!("an OPEN that left before takes over: {earlier:?}"));
            }
        }
        Ok(())
    }

    /// A listener has accepted an OPEN.
    pub(crate) fn accepted(
        &mut self,
        listener: ProcessId,
        now: Nanos,
        request: &OpenRequest,
        bytes: &[u8],
    ) {
        let OpenRequest { stream, peer, nonce, .. } = *request;
        if let Ok((header, _)) = wire::parse(bytes) {
            let accepted = Accepted { stream, peer, nonce, departure: header.departure, at: now };
            self.of(listener).accepted.push(accepted);
        }
    }

    /// A listener has restarted: it has another key, and remembers nothing.
    pub(crate) fn restarted(&mut self, listener: ProcessId) {
        *self.of(listener) = Listener::default();
    }

    fn of(&mut self, listener: ProcessId) -> &mut Listener {
        let number = usize::from(listener);
        if self.listeners.len() <= number {
            self.listeners.resize_with(number + 1, Listener::default);
        }
        &mut self.listeners[number]
    }
}

/// Bits of a nonce that a cookie does not cover.
const NONCE_STEPS: u64 = 0xFF;
/// A cookie is void after it, and openings are forgotten.
const COOKIE_LIFE: Nanos = Nanos::from_millis(16_000);
/// Openings of a stream that a listener remembers at least.
const REMEMBERED: usize = 4;
