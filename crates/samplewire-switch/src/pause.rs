//! PFC: which neighbours are paused, by the bytes that they have in the buffer.

use samplewire_proto::Nanos;

use crate::{CLASSES, Pfc};

/// A PAUSE frame for a neighbour (IEEE 802.1Qbb).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseFrame {
    /// The port whose neighbour is paused or resumed.
    pub port: usize,
    /// Which class stands still.
    pub class: usize,
    /// For how long; zero ends the pause.
    pub span: Nanos,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    held_bytes: u64,
    /// When the PAUSE of a paused neighbour must be repeated; `None` for another.
    refresh_at: Option<Nanos>,
}

/// All neighbours, by port and class.
#[derive(Debug)]
pub(super) struct Pauses {
    pfc: Option<Pfc>,
    states: Vec<[State; CLASSES]>,
    /// The earliest refresh as of the last poll that found nothing; `None` if there was none.
    due: Option<Nanos>,
    /// Whether a neighbour has crossed a threshold since the last poll that found none.
    has_crossed: bool,
}

impl Pauses {
    pub(super) fn new(pfc: Option<Pfc>, ports: usize) -> Self {
        let states = vec![[State::default(); CLASSES]; ports];
        Self { pfc, states, due: None, has_crossed: false }
    }

    pub(super) fn arrived(&mut self, now: Nanos, port: usize, class: usize, bytes: u64) {
        let state = &mut self.states[port][class];
        state.held_bytes += bytes;
        if let Some(pfc) = self.pfc
            && state.held_bytes > pfc.xoff_bytes
            && state.refresh_at.is_none()
        {
            state.refresh_at = Some(now);
            self.has_crossed = true;
        }
    }

    pub(super) fn departed(&mut self, port: usize, class: usize, bytes: u64) {
        let state = &mut self.states[port][class];
        state.held_bytes -= bytes;
        if let Some(pfc) = self.pfc
            && state.held_bytes <= pfc.xon_bytes
            && state.refresh_at.is_some()
        {
            self.has_crossed = true;
        }
    }

    pub(super) fn due(&self) -> Option<Nanos> {
        self.due
    }

    pub(super) fn poll(&mut self, now: Nanos) -> Option<PauseFrame> {
        let pfc = self.pfc?;
        if !self.has_crossed && self.due.is_none_or(|due| due > now) {
            return None;
        }
        for (port, classes) in self.states.iter_mut().enumerate() {
            for (class, state) in classes.iter_mut().enumerate() {
                let Some(refresh_at) = state.refresh_at else { continue };
                if state.held_bytes <= pfc.xon_bytes {
                    state.refresh_at = None;
                    return Some(PauseFrame { port, class, span: Nanos(0) });
                }
                if refresh_at <= now {
                    state.refresh_at = Some(now + REFRESH);
                    return Some(PauseFrame { port, class, span: PAUSE });
                }
            }
        }
        self.has_crossed = false;
        self.due = self.states.iter().flatten().filter_map(|state| state.refresh_at).min();
        None
    }
}

/// The longest pause of a frame at 100 Gb/s: 65,535 quanta of 512 bits. It is repeated well
/// before it ends.
const PAUSE: Nanos = Nanos(335_539);
const REFRESH: Nanos = Nanos(200_000);
