//! `decode`: prints the packets of a capture in words.

mod capture;
mod datagram;
mod fields;
mod flows;
mod json;
mod names;
mod packet;
mod roce;
mod segments;
mod summary;
mod words;

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use clap::ValueEnum;
use samplewire_proto::wire::Packet;

use self::capture::{CaptureReader, Frame};
use self::datagram::{Content, Datagram};
use self::flows::Flows;
use self::packet::{Crc, Decoded};
use self::roce::RoceSighting;
use self::segments::Splitter;
use self::summary::Summary;
use crate::arguments::DecodeArguments;
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::outcome::Outcome;

pub(crate) use self::capture::CaptureError;

/// Filter for printed packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "SCREAMING_SNAKE_CASE")]
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

/// Reads the capture to its end, or as far as possible.
pub(crate) fn run(arguments: &DecodeArguments) -> Result<Outcome, Failure> {
    let is_stdin = arguments.file == Path::new("-");
    let name =
        if is_stdin { "standard input".into() } else { arguments.file.display().to_string() };
    let failed = |source| Failure::Input { path: name.clone(), source };
    let input: Box<dyn Read> = if is_stdin {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(&arguments.file).map_err(|error| failed(error.into()))?)
    };
    let input = BufReader::with_capacity(INPUT_BYTES, input);
    let mut capture = CaptureReader::new(input).map_err(failed)?;
    let out = BufWriter::with_capacity(OUTPUT_BYTES, io::stdout().lock());
    let mut decoder = Decoder::new(arguments, out);
    let ended = loop {
        let written = match capture.next() {
            Ok(Some(frame)) => decoder.frame(&frame),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        };
        // A user may watch a pipe, so flush each line.
        let written = if is_stdin { written.and_then(|()| decoder.out.flush()) } else { written };
        match written {
            // If the reader is gone, the command ends as usual.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Outcome::Whole),
            written => written?,
        }
    };
    match decoder.out.flush() {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Outcome::Whole),
        flushed => flushed?,
    }
    decoder.summary.print(&mut Console::new(Lines::Stderr, false));
    ended.map(|()| Outcome::Whole).map_err(failed)
}

/// Turns frames into lines.
struct Decoder<'a, W> {
    arguments: &'a DecodeArguments,
    out: W,
    splitter: Splitter,
    flows: Flows,
    summary: Summary,
    start_ns: Option<u64>,
}

impl<'a, W: Write> Decoder<'a, W> {
    fn new(arguments: &'a DecodeArguments, out: W) -> Self {
        let (splitter, flows, summary) = (Splitter::new(), Flows::default(), Summary::default());
        Self { arguments, out, splitter, flows, summary, start_ns: None }
    }

    /// Processes a frame; an error comes from the output.
    fn frame(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        self.summary.frames += 1;
        self.start_ns = self.start_ns.or(frame.time_ns);
        match datagram::content(frame.link_type, frame.bytes) {
            Content::Datagram(datagram) => {
                let port = self.arguments.port;
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
        } else if self.arguments.port.is_none() && !self.flows.is_known(&datagram) {
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
        let DecodeArguments { types, verbose, json, .. } = self.arguments;
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
            serde_json::to_writer(&mut self.out, &roce::Line::new(&sighting, *verbose))?;
            return writeln!(self.out);
        }
        writeln!(self.out, "{sighting}")?;
        if *verbose {
            writeln!(self.out, "{}", roce::FieldLines(&sighting))?;
        }
        Ok(())
    }

    fn packet(&mut self, sighting: &Sighting<'_>) -> io::Result<()> {
        let DecodeArguments { types, verbose, json, .. } = self.arguments;
        self.summary.count(&sighting.packet);
        if !types.is_empty() && !types.iter().any(|wanted| wanted.has(&sighting.packet)) {
            return Ok(());
        }
        if *json {
            serde_json::to_writer(&mut self.out, &json::Line::new(sighting, *verbose))?;
            return writeln!(self.out);
        }
        writeln!(self.out, "{}", words::Line { sighting, start_ns: self.start_ns })?;
        if *verbose {
            writeln!(self.out, "{}", words::FieldLines(sighting))?;
        }
        Ok(())
    }
}

impl Wanted {
    fn has(self, packet: &Decoded<'_>) -> bool {
        match self {
            Self::Bad => packet.body.is_err(),
            Self::Roce => false,
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

const INPUT_BYTES: usize = 1 << 18;
const OUTPUT_BYTES: usize = 1 << 16;

#[cfg(test)]
mod tests;
