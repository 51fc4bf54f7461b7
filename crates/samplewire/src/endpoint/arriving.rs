//! Received packets: each packet finds its stream, its opening or the listener.

use std::hint::black_box;

use samplewire_io::{Batch, LinkError, Meta};
use samplewire_proto::Nanos;
use samplewire_proto::wire::{self, WireError};
use samplewire_roce::wire::WireError as FrameError;

use super::guard::tag_of;
use super::listening::OpeningContext;
use super::{Endpoint, Entry, Station};

impl Endpoint {
    /// Takes all packets that have come.
    pub(super) fn take_all(&mut self, now: Nanos, batch: &Batch) -> Result<(), LinkError> {
        if self.listening.is_none() {
            self.fetch(batch);
            batch.iter().for_each(|(bytes, meta)| self.take(now, bytes, meta));
            return Ok(());
        }
        if let Some(index) = self.listening.as_ref().and_then(|it| it.index_at(now))
            && let Some(Entry::Playing(playing)) = self.streams.get_mut(self.streams.len() - 1)
        {
            playing.set_clock(index);
        }
        batch.iter().try_for_each(|(bytes, meta)| self.take_listening(now, bytes, meta))
    }

    /// Takes frames that have come to the station; returns whether there were any.
    #[inline(never)]
    pub(super) fn take_frames(&mut self, now: Nanos) -> Result<bool, LinkError> {
        let Self { station: Some(station), streams, departures, arrivals, counts, .. } = self
        else {
            return Ok(false);
        };
        let mut has_frames = false;
        for _ in 0..FRAMES_MAX {
            let Some(len) = station.recv()? else { break };
            has_frames = true;
            let frame = match station.frame(len) {
                Ok(frame) => frame,
                Err(FrameError::Icrc) => {
                    counts.corrupted += 1;
                    continue;
                }
                Err(_) => {
                    counts.foreign += 1;
                    continue;
                }
            };
            let place = Station::place_of(frame.packet().bth.destination);
            let is_ours = match streams.get_mut(place) {
                Some(Entry::Receiving(stream)) => stream.flow.handle_frame(now, &frame),
                Some(Entry::Sending(stream)) => stream.flow.handle_frame(now, &frame),
                _ => false,
            };
            match (is_ours, streams.goes_out(place)) {
                (true, true) => departures.call(place),
                (true, false) => arrivals.call(place),
                (false, _) => counts.foreign += 1,
            }
        }
        Ok(has_frames)
    }

    /// Prefetches the state of the streams in a batch. With a thousand streams none is in a cache.
    /// These reads overlap, while the reads of one visit wait for those of the previous visit.
    fn fetch(&self, batch: &Batch) {
        if self.streams.len() == 1 {
            return;
        }
        let mut last = None;
        for (bytes, _) in batch {
            let place = tag_of(bytes).and_then(|tag| self.streams.place_of(tag));
            if place != last
                && let Some(Entry::Receiving(stream)) = place.and_then(|it| self.streams.get(it))
            {
                let (receiver, snapshot) = (&stream.flow.receiver, &stream.flow.snapshot);
                black_box((receiver.next_index(), receiver.promise_end(), receiver.rtt()));
                black_box((receiver.stats().delivered, receiver.stats().reports, snapshot.rtt_ns));
            }
            last = place;
        }
    }

    /// Takes a packet for a stream that this end opened, or opens.
    fn take(&mut self, now: Nanos, bytes: &[u8], meta: &Meta) {
        self.dropped = meta.dropped.or(self.dropped);
        // Borrowed: a copy would have the size of the largest packet.
        let parsed = wire::parse(bytes);
        let (header, packet) = match &parsed {
            Ok((header, packet)) => (header, packet),
            Err(error) => return self.take_damaged(bytes, meta, error),
        };
        let place = self.streams.find(meta.peer, header, packet);
        let is_ours = match place.and_then(|place| self.streams.get_mut(place)) {
            Some(Entry::Receiving(stream)) if stream.flow.peer() == meta.peer => {
                stream.flow.note_drops(meta);
                stream.flow.handle(now, header, packet, meta.ecn)
            }
            Some(Entry::Sending(stream)) => stream.flow.handle(now, meta.peer, header, packet),
            Some(Entry::Opening(opening)) if opening.address() == meta.peer => {
                opening.handle(now, header, packet, bytes.len());
                true
            }
            _ => false,
        };
        match place {
            Some(place) if is_ours => self.call(place),
            _ => {
                self.strays += 1;
                match self.streams.only() {
                    // The stream has counted it.
                    Some(stream) if place.is_some() && stream.flow.peer() == meta.peer => {}
                    Some(stream) => stream.flow.snapshot.foreign += 1,
                    None => self.counts.foreign += 1,
                }
            }
        }
    }

    /// Counts an invalid packet at the stream whose tag it carries, or at the only stream that the
    /// endpoint can have.
    fn take_damaged(&mut self, bytes: &[u8], meta: &Meta, error: &WireError) {
        let place = tag_of(bytes).and_then(|tag| self.streams.place_with(tag, meta.peer));
        self.strays += u64::from(place.is_none());
        let stream = match place {
            None => self.streams.only(),
            Some(place) => match self.streams.get_mut(place) {
                Some(Entry::Receiving(stream)) => Some(&mut **stream),
                _ => None,
            },
        };
        match (error, stream) {
            (WireError::Crc, Some(stream)) if stream.flow.peer() == meta.peer => {
                stream.flow.snapshot.corrupted += 1;
            }
            (_, Some(stream)) => stream.flow.snapshot.foreign += 1,
            (WireError::Crc, None) => self.counts.corrupted += 1,
            (_, None) => self.counts.foreign += 1,
        }
    }

    /// Takes a packet for a stream that another end has opened, or opens.
    fn take_listening(&mut self, now: Nanos, bytes: &[u8], meta: &Meta) -> Result<(), LinkError> {
        let Some(listening) = &mut self.listening else { return Ok(()) };
        let parsed = wire::parse(bytes);
        // The tag names the stream, even if there is only one.
        if let Ok((header, packet)) = &parsed
            && let Some(place) = listening.listener.stream_of(header.tag).map(usize::from)
            && let Some(Entry::Sending(sending)) = self.streams.get_mut(place)
            && sending.flow.handle(now, meta.peer, header, packet)
        {
            self.departures.call(place);
            return Ok(());
        }
        let place = self.streams.len() - 1;
        if let Some(Entry::Playing(playing)) = self.streams.get_mut(place)
            && playing.handle(now, meta, &parsed)
        {
            self.arrivals.call(place);
            return Ok(());
        }
        let mut context = OpeningContext {
            link: &mut self.link,
            station: self.station.as_deref_mut(),
            last_index: self.departures.last_index(),
            streams: &mut self.streams,
            counts: &mut self.counts,
        };
        if let Some(place) = listening.handle(now, meta.peer, bytes, &parsed, &mut context)? {
            self.call(place);
        }
        Ok(())
    }
}

/// Frames of one turn, at most.
const FRAMES_MAX: usize = 64;
