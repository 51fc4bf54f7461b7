//! A program that sends a stream, with its source.

use std::time::Duration;

use samplewire::transmitter::{Canceller, Filling, SendError, SendStream, SessionEnd};
use samplewire_proto::Nanos;
use samplewire_proto::SampleIndex;
use samplewire_proto::sender::NewPacket;
use samplewire_proto::wire::{CloseReason, Flags};

use super::Turn;
use crate::check::{Agreed, Session, SessionId};
use crate::payload;
use crate::source::{Outlet, Source, SourceSpec};

/// The program's half of a stream that goes out.
#[derive(Debug)]
pub(super) struct SendProgram {
    stream: SendStream,
    pub(super) session: SessionId,
    source: Source,
    begun: Option<Begun>,
    /// A quantum for a packet that does not follow what is begun.
    spare: Option<Filling>,
    has_room: bool,
}

/// A quantum that is not full.
#[derive(Debug)]
struct Begun {
    filling: Filling,
    len_bytes: usize,
    index: SampleIndex,
    flags: Flags,
}

impl SendProgram {
    pub(super) fn new(
        turn: &mut Turn<'_>,
        stream: SendStream,
        session: SessionId,
        source: SourceSpec,
    ) -> Self {
        let source = SourceSpec { samples: stream.session().packet_samples, ..source };
        let source = Source::new(source, stream.session().first_index, turn.now, turn.rng.fork());
        Self { stream, session, source, begun: None, spare: None, has_room: true }
    }

    /// Makes what is due.
    pub(super) fn run(&mut self, turn: &mut Turn<'_>) {
        let session = &mut turn.checker.sessions[self.session];
        let Self { stream, begun, spare, .. } = self;
        let mut outlet = Submitted { stream, begun, spare, session };
        let held = self.source.run(turn.now, &mut outlet);
        // A converter fills its quanta.
        if !self.source.is_converter() {
            outlet.flush(Flags::NONE);
        }
        self.has_room = outlet.has_room(self.source.may_break());
        turn.checker.note(self.session, held);
    }

    /// When the source is due.
    pub(super) fn next_at(&self) -> Option<Nanos> {
        self.source.next_at(self.has_room)
    }

    pub(super) const fn lost_in_all(&self) -> u64 {
        self.source.lost_in_all()
    }

    /// How the stream ended, if it has.
    pub(super) fn end(&self) -> Option<SessionEnd> {
        match self.stream.check() {
            Err(SendError::Ended(end)) => Some(*end),
            _ => None,
        }
    }
}

/// A stream that takes packets in quanta.
struct Submitted<'a> {
    stream: &'a mut SendStream,
    begun: &'a mut Option<Begun>,
    spare: &'a mut Option<Filling>,
    session: &'a mut Session,
}

impl Submitted<'_> {
    /// Hands over what has been filled.
    fn flush(&mut self, flags: Flags) {
        let is_filled = |begun: &mut Begun| begun.len_bytes > 0 || flags != Flags::NONE;
        if let Some(begun) = self.begun.take_if(is_filled) {
            let flags = begun.flags | flags;
            self.stream
                .submit(begun.filling, begun.len_bytes, begun.index, flags)
                .expect("the source makes what follows");
        }
    }

    /// Takes a quantum to fill where none is begun; says whether one is.
    fn begin(&mut self) -> bool {
        if self.begun.is_none() {
            let filling = self.spare.take().or_else(|| quantum_of(self.stream));
            *self.begun = filling.map(|filling| Begun {
                filling,
                len_bytes: 0,
                index: 0,
                flags: Flags::NONE,
            });
        }
        self.begun.is_some()
    }

    fn put(&mut self, index: SampleIndex, flags: Flags, samples: u32) {
        let begun = self.begun.as_mut().expect("there is room");
        if begun.len_bytes == 0 {
            (begun.index, begun.flags) = (index, flags.without(Flags::END_OF_BURST));
        }
        let ends_burst = flags.contains(Flags::END_OF_BURST);
        let Agreed { key, payload_bytes, packet_samples, .. } = self.session.agreed;
        let len_bytes = samples as usize * (usize::from(payload_bytes) / packet_samples as usize);
        let bytes = &mut begun.filling.bytes_mut()[begun.len_bytes..][..len_bytes];
        payload::write(key, index, samples, flags, bytes);
        begun.len_bytes += len_bytes;
        let is_full = begun.len_bytes == begun.filling.bytes_mut().len();
        self.session.submitted(NewPacket {
            index,
            flags,
            burst_samples: samples,
            len_bytes: payload_bytes,
            payload_crc: 0,
        });
        if ends_burst {
            self.flush(Flags::END_OF_BURST);
        } else if is_full {
            self.flush(Flags::NONE);
        }
    }
}

impl Outlet for Submitted<'_> {
    fn is_ended(&self) -> bool {
        self.stream.check().is_err()
    }

    fn has_room(&mut self, may_break: bool) -> bool {
        if !self.begin() {
            return false;
        }
        if may_break
            && self.begun.as_ref().is_some_and(|begun| begun.len_bytes > 0)
            && self.spare.is_none()
        {
            *self.spare = quantum_of(self.stream);
            return self.spare.is_some();
        }
        true
    }

    fn push(&mut self, index: SampleIndex, flags: Flags, samples: u32) -> Result<(), String> {
        // What the first packet of a quantum says, the quantum says.
        if flags.without(Flags::END_OF_BURST) != Flags::NONE {
            self.flush(Flags::NONE);
        }
        if !self.begin() {
            return Err("a quantum was there and is not".into());
        }
        self.put(index, flags, samples);
        Ok(())
    }

    fn close(&mut self, _now: Nanos, lost: u64, reason: CloseReason) {
        self.flush(Flags::NONE);
        self.session.closed_with(lost);
        self.session.is_failed = reason == CloseReason::DeviceFault;
        self.stream.start_finish(lost, reason);
    }

    fn cancel(&mut self, _now: Nanos) {
        let canceller: Canceller = self.stream.canceller();
        canceller.cancel();
        self.session.cut_short();
    }
}

fn quantum_of(stream: &mut SendStream) -> Option<Filling> {
    stream.quantum(Duration::ZERO).ok().flatten()
}
