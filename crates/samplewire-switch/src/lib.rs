//! A model of an Ethernet switch: a shared buffer, a queue for each port and class, ECN marks, PFC.
//!
//! It owns no clock: frames come in by [`Switch::handle_frame`], and what has left a port's wire by
//! `now` comes out of [`Switch::poll_transmit`]. A frame that does not fit is dropped at the tail.
//! Store and forward: a frame's bytes are in the buffer from its arrival to the end of its departure.
//! Memory is bounded by the buffer: a frame takes at least [`FRAME_BYTES_MIN`] of it.
//!
//! Drain order: before a `handle_*` at `now`, [`Switch::poll_transmit`] until nothing is left that
//! ended before `now`: a frame that still counts as on the wire takes room, and the next frame of its
//! port starts at its end. After the call [`Switch::poll_transmit`] and [`Switch::poll_pause`] until
//! both are `None`, then sleep until [`Switch::poll_timeout`].

#![forbid(unsafe_code)]

mod config;
mod pause;
mod port;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use samplewire_proto::{Nanos, Rng};

pub use config::{Marking, MarkingPoint, Pfc, SwitchConfig, SwitchConfigError};
pub use pause::PauseFrame;
use pause::Pauses;
use port::{Port, Queued};

/// Priorities of IEEE 802.1Q, each with a queue at every port.
pub const CLASSES: usize = 8;

/// What the smallest frame takes of a wire, preamble and gap included.
pub const FRAME_BYTES_MIN: u32 = 84;

/// A frame on its way into the switch.
#[derive(Clone, Copy, Debug)]
pub struct FrameIn<F> {
    /// Index of the port that it came in by.
    pub ingress: usize,
    /// Index of the port that it leaves by.
    pub egress: usize,
    /// Its priority, below [`CLASSES`].
    pub class: usize,
    /// What it takes of the wire, preamble and gap included.
    pub wire_bytes: u32,
    /// Whether it may be marked: ECT(0), ECT(1) or CE.
    pub is_ecn_capable: bool,
    /// Whatever the caller knows it by.
    pub frame: F,
}

/// A frame that has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameOut<F> {
    /// Index of the port that it left by.
    pub egress: usize,
    /// When its last byte left.
    pub at: Nanos,
    /// Whether the switch has marked it.
    pub is_marked: bool,
    /// As given to [`Switch::handle_frame`].
    pub frame: F,
}

/// What a switch has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchCounts {
    /// Frames that left.
    pub forwarded: u64,
    /// Frames that found no room.
    pub dropped: u64,
    /// Frames that were marked.
    pub marked: u64,
    /// PAUSE frames that stopped a sender, refreshes included.
    pub pauses: u64,
}

/// The switch.
#[derive(Debug)]
pub struct Switch<F> {
    config: SwitchConfig,
    ports: Vec<Port<F>>,
    pauses: Pauses,
    /// When the frame on the wire of each busy port has left.
    ends: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// Whether a neighbour has ever sent a PAUSE: without it no port waits.
    was_paused: bool,
    /// Bytes of all queues and of the frames that are leaving.
    used_bytes: u64,
    rng: Rng,
    counts: SwitchCounts,
}

impl<F> Switch<F> {
    /// A switch with one port for each of these rates, in bits a second.
    ///
    /// # Errors
    ///
    /// A rate of zero, or thresholds that contradict each other.
    pub fn new(
        config: SwitchConfig,
        port_bps: &[u64],
        seed: u64,
    ) -> Result<Self, SwitchConfigError> {
        config.check(port_bps)?;
        Ok(Self {
            config,
            ports: port_bps.iter().map(|&bps| Port::new(bps)).collect(),
            pauses: Pauses::new(config.pfc, port_bps.len()),
            ends: BinaryHeap::new(),
            was_paused: false,
            used_bytes: 0,
            rng: Rng::new(seed),
            counts: SwitchCounts::default(),
        })
    }

    /// Takes a frame; `false` when it was dropped.
    ///
    /// # Panics
    ///
    /// A port or class that does not exist. With debug assertions, also when a frame that ended
    /// before `now` was not drained.
    pub fn handle_frame(&mut self, now: Nanos, frame: FrameIn<F>) -> bool {
        self.debug_assert_drained(now);
        if !self.has_room(frame.wire_bytes) {
            self.counts.dropped += 1;
            return false;
        }
        let bytes = u64::from(frame.wire_bytes.max(FRAME_BYTES_MIN));
        let port = &mut self.ports[frame.egress];
        let is_marked = frame.is_ecn_capable
            && self.config.marking.is_some_and(|marking| {
                marking.at == MarkingPoint::Enqueue
                    && marking.draws(port.queued_bytes(frame.class), &mut self.rng)
            });
        self.used_bytes += bytes;
        self.pauses.arrived(now, frame.ingress, frame.class, bytes);
        let queued = Queued {
            frame: frame.frame,
            bytes: bytes as u32,
            ingress: frame.ingress,
            is_ecn_capable: frame.is_ecn_capable,
            is_marked,
        };
        port.push(frame.class, queued);
        self.start(now, frame.egress);
        true
    }

    /// Whether a frame that takes so many bytes of the wire finds room.
    pub fn has_room(&self, wire_bytes: u32) -> bool {
        self.used_bytes + u64::from(wire_bytes.max(FRAME_BYTES_MIN)) <= self.config.buffer_bytes
    }

    /// Takes a PAUSE from the neighbour of a port: the class stands still until `until`. A frame
    /// that is leaving leaves whole.
    ///
    /// # Panics
    ///
    /// As [`Self::handle_frame`].
    pub fn handle_pause(&mut self, now: Nanos, port: usize, class: usize, until: Nanos) {
        self.debug_assert_drained(now);
        self.was_paused = true;
        self.ports[port].pause(class, until);
        self.start(now, port);
    }

    /// The next frame whose last byte has left by `now`, in the order of their ends.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<FrameOut<F>> {
        let (egress, at) = self.next_end()?;
        if at > now {
            return None;
        }
        self.ends.pop();
        let (class, queued) = self.ports[egress].finish();
        let bytes = u64::from(queued.bytes);
        self.used_bytes -= bytes;
        self.pauses.departed(queued.ingress, class, bytes);
        self.counts.forwarded += 1;
        self.counts.marked += u64::from(queued.is_marked);
        self.start(at, egress);
        Some(FrameOut { egress, at, is_marked: queued.is_marked, frame: queued.frame })
    }

    /// The next PAUSE frame to send to a neighbour.
    pub fn poll_pause(&mut self, now: Nanos) -> Option<PauseFrame> {
        let pause = self.pauses.poll(now)?;
        self.counts.pauses += u64::from(pause.span > Nanos(0));
        Some(pause)
    }

    /// When the next frame has left, or a pause ends or has to be refreshed.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        let end = self.next_end().map(|(_, at)| at);
        let waiting = self.ports.iter().filter(|_| self.was_paused);
        let resume = waiting.filter_map(Port::resumes_at).min();
        [end, resume, self.pauses.due()].into_iter().flatten().min()
    }

    /// Restarts ports whose pause is over; for callers that slept until
    /// [`poll_timeout`](Self::poll_timeout).
    ///
    /// # Panics
    ///
    /// With debug assertions, when a frame that ended before `now` was not drained.
    pub fn handle_timeout(&mut self, now: Nanos) {
        self.debug_assert_drained(now);
        if self.was_paused {
            (0..self.ports.len()).for_each(|port| self.start(now, port));
        }
    }

    /// Bytes that wait at a port, the frame that is leaving not among them.
    pub fn queued_bytes(&self, port: usize) -> u64 {
        (0..CLASSES).map(|class| self.ports[port].queued_bytes(class)).sum()
    }

    /// What the switch has done since its start.
    pub const fn counts(&self) -> &SwitchCounts {
        &self.counts
    }

    fn next_end(&self) -> Option<(usize, Nanos)> {
        self.ends.peek().map(|&Reverse((at, port))| (port, at))
    }

    fn debug_assert_drained(&self, now: Nanos) {
        let end = self.next_end();
        debug_assert!(end.is_none_or(|(_, at)| at >= now), "{end:?} is not drained at {now:?}");
    }

    /// Puts the next frame of a port on the wire, and marks it there if that is the place.
    fn start(&mut self, now: Nanos, port: usize) {
        let marking = self.config.marking.filter(|marking| marking.at == MarkingPoint::Dequeue);
        let rng = &mut self.rng;
        let ends_at = self.ports[port].start(now, |waiting_bytes| {
            marking.is_some_and(|marking| marking.draws(waiting_bytes, rng))
        });
        self.ends.extend(ends_at.map(|at| Reverse((at, port))));
    }
}

/// A queue of frames.
type Frames<F> = VecDeque<Queued<F>>;
