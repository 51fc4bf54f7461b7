//! Captures in words: each packet of a pcapng or pcap file as a line, its fields, or a JSON object.

mod block;
mod datagram;
mod fields;
mod flows;
mod json;
mod names;
mod packet;
mod reader;
mod roce;
mod segments;
mod summary;
mod words;

use std::io::{self, Read, Write};

use samplewire_proto::wire::Packet;

use self::block::BlockSighting;
use self::datagram::{Content, Datagram};
use self::flows::Flows;
use self::packet::{Crc, Decoded};
use self::reader::Frame;
use self::roce::RoceSighting;
use self::segments::Splitter;

pub(crate) use self::reader::{CaptureError, CaptureReader};
pub(crate) use self::summary::Summary;

/// What to write.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// Use only datagrams from or to this UDP port, and show all of them.
    pub(crate) port: Option<u16>,
    /// Write only these packets; all of them if there is none.
    pub(crate) types: Vec<Wanted>,
    /// Write every field of each packet, and the bytes of DATA.
    pub(crate) fields: bool,
    /// Write one JSON object a line.
    pub(crate) json: bool,
    /// Flush the output behind each frame: its reader may watch it.
    pub(crate) flushes: bool,
}

/// Packets to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Data = 0,
    Mark = 1,
    Report = 2,
    Open = 3,
    Challenge = 4,
    Accept = 5,
    Refuse = 6,
    Close = 7,
    CloseAck = 8,
    /// An invalid packet.
    Bad,
    /// A RoCEv2 packet.
    Roce,
    /// A frame of the block transfer.
    Block,
}

/// A captured packet with its context.
#[derive(Clone, Copy, Debug)]
struct Sighting<'a> {
    frame: u64,
    time_ns: Option<u64>,
    datagram: Datagram<'a>,
    /// Its position, from 0, in a datagram that held several.
    segment: Option<usize>,
    packet: Decoded<'a>,
    samples: Option<u64>,
}

/// Why packets are not all written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DecodeError {
    /// The capture cannot be read, or not to its end.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The output takes no more.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Reads a capture to its end, or as far as possible, and writes its packets. Returns their counts, and
/// why it ended early if it did.
pub(crate) fn decode(
    capture: CaptureReader<impl Read>,
    out: impl Write,
    options: &Options,
) -> (Summary, Result<(), DecodeError>) {
    let mut decoder = Decoder::new(options, out);
    let ended = decoder.run(capture);
    let flushed = decoder.out.flush();
    (decoder.summary, ended.and(flushed.map_err(DecodeError::from)))
}

/// Turns frames into lines.
struct Decoder<'a, W> {
    options: &'a Options,
    out: W,
    splitter: Splitter,
    flows: Flows,
    summary: Summary,
    start_ns: Option<u64>,
}

impl<'a, W: Write> Decoder<'a, W> {
    fn new(options: &'a Options, out: W) -> Self {
        let (splitter, flows, summary) = (Splitter::new(), Flows::default(), Summary::default());
        Self { options, out, splitter, flows, summary, start_ns: None }
    }

    fn run(&mut self, mut capture: CaptureReader<impl Read>) -> Result<(), DecodeError> {
        while let Some(frame) = capture.next()? {
            self.frame(&frame)?;
            if self.options.flushes {
                self.out.flush()?;
            }
        }
        Ok(())
    }

    /// Processes a frame; an error comes from the output.
    fn frame(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        self.summary.frames += 1;
        self.start_ns = self.start_ns.or(frame.time_ns);
        if self.options.port.is_none()
            && let Some(sighting) = BlockSighting::new(frame, self.start_ns)
        {
            return self.block(&sighting);
        }
        match datagram::content(frame.link_type, frame.bytes) {
            Content::Datagram(datagram) => {
                let port = self.options.port;
                let ports = [datagram.source.port(), datagram.destination.port()];
                if port.is_none_or(|port| ports.contains(&port)) {
                    return if datagram.destination.port() == samplewire_roce::wire::UDP_PORT {
                        self.roce(frame, &datagram)
                    } else {
                        self.datagram(frame, datagram)
                    };
                }
                self.summary.others += 1;
            }
            Content::Fragment => self.summary.fragments += 1,
            Content::Link(link) => *self.summary.links.entry(link).or_default() += 1,
            Content::Other => self.summary.others += 1,
        }
        Ok(())
    }

    fn datagram(&mut self, frame: &Frame<'_>, datagram: Datagram<'_>) -> io::Result<()> {
        let Datagram { payload, len_bytes, .. } = datagram;
        let run = self.flows.run(&datagram);
        let packet_len = self.splitter.packet_len(payload, len_bytes, run);
        let is_run = packet_len < len_bytes;
        let mut packets = Packets { rest: Some(payload), rest_len: len_bytes, packet_len };
        if packets.clone().any(|packet| packet.crc == Crc::Right) {
            self.flows.learn(&datagram, is_run.then_some(packet_len));
        } else if self.options.port.is_none() && !self.flows.is_known(&datagram) {
            self.summary.foreign += 1;
            self.summary.foreign_cut += u64::from(payload.len() < len_bytes);
            return Ok(());
        }
        self.summary.runs += u64::from(is_run);
        packets.by_ref().enumerate().try_for_each(|(place, packet)| {
            self.summary.packets_of_runs += u64::from(is_run);
            let mut samples = None;
            if let (Some(header), Ok(body)) = (&packet.header, &packet.body) {
                if let Packet::Accept(accept) = body {
                    self.flows.learn_terms(&datagram, header, accept);
                }
                samples = self.flows.samples(&datagram, header, body);
            }
            let segment = is_run.then_some(place);
            let Frame { number, time_ns, .. } = *frame;
            self.packet(&Sighting { frame: number, time_ns, datagram, segment, packet, samples })
        })
    }

    /// Shows a datagram to the port of RoCEv2: one packet, and its ICRC covers the IP header.
    fn roce(&mut self, frame: &Frame<'_>, datagram: &Datagram<'_>) -> io::Result<()> {
        let Options { types, fields, json, .. } = self.options;
        let bytes = roce::frame_of(datagram);
        let sighting = RoceSighting::new(frame, datagram, &bytes, self.start_ns);
        self.summary.count_roce(&sighting);
        let is_wanted = |wanted: &Wanted| match wanted {
            Wanted::Roce => true,
            Wanted::Bad => sighting.error().is_some(),
            _ => false,
        };
        if !types.is_empty() && !types.iter().any(is_wanted) {
            return Ok(());
        }
        if *json {
            serde_json::to_writer(&mut self.out, &roce::Line::new(&sighting, *fields))?;
            return writeln!(self.out);
        }
        writeln!(self.out, "{sighting}")?;
        if *fields {
            writeln!(self.out, "{}", roce::FieldLines(&sighting))?;
        }
        Ok(())
    }

    /// Shows a frame of the block transfer.
    fn block(&mut self, sighting: &BlockSighting<'_>) -> io::Result<()> {
        let Options { types, fields, json, .. } = self.options;
        self.summary.count_block(sighting);
        let is_wanted = |wanted: &Wanted| match wanted {
            Wanted::Block => true,
            Wanted::Bad => sighting.error().is_some(),
            _ => false,
        };
        if !types.is_empty() && !types.iter().any(is_wanted) {
            return Ok(());
        }
        if *json {
            serde_json::to_writer(&mut self.out, &block::Line::new(sighting, *fields))?;
            return writeln!(self.out);
        }
        writeln!(self.out, "{sighting}")?;
        if *fields {
            writeln!(self.out, "{}", block::FieldLines(sighting))?;
        }
        Ok(())
    }

    fn packet(&mut self, sighting: &Sighting<'_>) -> io::Result<()> {
        let Options { types, fields, json, .. } = self.options;
        self.summary.count(&sighting.packet);
        if !types.is_empty() && !types.iter().any(|wanted| wanted.has(&sighting.packet)) {
            return Ok(());
        }
        if *json {
            serde_json::to_writer(&mut self.out, &json::Line::new(sighting, *fields))?;
            return writeln!(self.out);
        }
        writeln!(self.out, "{}", words::Line { sighting, start_ns: self.start_ns })?;
        if *fields {
            writeln!(self.out, "{}", words::FieldLines(sighting))?;
        }
        Ok(())
    }
}

impl Wanted {
    /// All of them, with their names.
    pub(crate) const NAMES: [(&'static str, Self); 12] = [
        ("DATA", Self::Data),
        ("MARK", Self::Mark),
        ("REPORT", Self::Report),
        ("OPEN", Self::Open),
        ("CHALLENGE", Self::Challenge),
        ("ACCEPT", Self::Accept),
        ("REFUSE", Self::Refuse),
        ("CLOSE", Self::Close),
        ("CLOSE_ACK", Self::CloseAck),
        ("BAD", Self::Bad),
        ("ROCE", Self::Roce),
        ("BLOCK", Self::Block),
    ];

    fn has(self, packet: &Decoded<'_>) -> bool {
        match self {
            Self::Bad => packet.body.is_err(),
            Self::Roce | Self::Block => false,
            kind => packet.type_number() == Some(kind as u8),
        }
    }
}

/// The packets of a datagram, without those that were not captured at all.
#[derive(Clone, Debug)]
struct Packets<'a> {
    rest: Option<&'a [u8]>,
    rest_len: usize,
    packet_len: usize,
}

impl<'a> Iterator for Packets<'a> {
    type Item = Decoded<'a>;

    fn next(&mut self) -> Option<Decoded<'a>> {
        let rest = self.rest?;
        let len_bytes = self.packet_len.min(self.rest_len);
        let (bytes, rest) = rest.split_at(len_bytes.min(rest.len()));
        self.rest = (!rest.is_empty()).then_some(rest);
        self.rest_len -= len_bytes;
        Some(Decoded::new(bytes, len_bytes))
    }
}

#[cfg(test)]
mod tests;
