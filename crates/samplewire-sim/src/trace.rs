//! What every packet did, a line each, to examine a replayed failure.

use std::fmt::Write;

use samplewire_proto::Nanos;
use samplewire_proto::wire::{self, Packet};
use samplewire_roce::wire::{Body, Frame};

use crate::packets::Meta;

/// Lines of text, or nothing unless requested.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    lines: Option<String>,
}

impl Trace {
    pub(crate) fn start(&mut self) {
        self.lines = Some(String::new());
    }

    /// The lines since the last call.
    pub(crate) fn take(&mut self) -> String {
        self.lines.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Notes what happened to a packet.
    pub(crate) fn note(&mut self, now: Nanos, what: &str, meta: &Meta, bytes: &[u8]) {
        let Some(lines) = &mut self.lines else { return };
        let (from, to) = (meta.from, meta.to);
        write!(lines, "{:>14} {from}->{to} {what} ", now.0).expect("a string takes all");
        if meta.is_frame {
            note_frame(lines, bytes);
            return;
        }
        let written = match wire::parse(bytes) {
            Ok((header, Packet::Report(report))) => {
                let fields = report.fields;
                write!(
                    lines,
                    "Report {} released {} limit {} highest {} settled {}",
                    header.seq, fields.released, fields.limit, fields.highest_end, fields.settled.0
                )
                .expect("a string takes all");
                report
                    .ranges
                    .iter()
                    .try_for_each(|range| write!(lines, " wants {}+{}", range.first, range.count))
            }
            Ok((header, Packet::Data(_))) => write!(
                lines,
                "Data {} index {} flags {:#04x} departure {}",
                header.seq, header.index, header.flags.0, header.departure.0
            ),
            Ok((header, Packet::Mark(mark))) => write!(
                lines,
                "Mark {} oldest {} departure {}",
                header.seq, mark.oldest, header.departure.0
            ),
            Ok((header, packet)) => {
                write!(lines, "{packet:?} tag {:#x} seq {}", header.tag.0, header.seq)
            }
            Err(error) => write!(lines, "{error}"),
        };
        written.expect("a string takes all");
        lines.push('\n');
    }

    /// Notes anything else.
    pub(crate) fn say(&mut self, now: Nanos, what: &dyn std::fmt::Display) {
        if let Some(lines) = &mut self.lines {
            writeln!(lines, "{:>14} {what}", now.0).expect("a string takes all");
        }
    }
}

fn note_frame(lines: &mut String, bytes: &[u8]) {
    let frame = match Frame::new_checked(bytes) {
        Ok(frame) => frame.packet(),
        Err(error) => return writeln!(lines, "{error}").expect("a string takes all"),
    };
    let bth = frame.bth;
    write!(lines, "{} to {} psn {}", bth.opcode.name(), bth.destination.get(), bth.psn)
        .and_then(|()| match frame.body {
            Body::Request { immediate, payload, .. } => {
                writeln!(lines, " {} bytes, immediate {immediate:?}", payload.len())
            }
            Body::Acknowledge(aeth) => writeln!(lines, " {:?}", aeth.syndrome),
            Body::Cnp | Body::Unsupported => writeln!(lines),
        })
        .expect("a string takes all");
}
