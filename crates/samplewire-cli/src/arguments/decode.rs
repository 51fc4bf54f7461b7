//! Options of `decode` and `dissector`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::values;
use crate::capture::Wanted;

/// Decodes a capture.
#[derive(Args, Debug)]
#[command(after_help = DECODE_AFTER_HELP)]
pub(crate) struct DecodeArguments {
    /// A capture in pcapng or pcap; - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Use only datagrams from or to this UDP port, 1 to 65535, and show all of them; those to port
    /// 4791 are RoCEv2
    #[arg(long, value_name = "PORT", value_parser = values::between::<u16>(1, 65_535))]
    pub(crate) port: Option<u16>,

    /// Print only these types: DATA, MARK, REPORT, OPEN, CHALLENGE, ACCEPT, REFUSE, CLOSE,
    /// CLOSE_ACK as the packet states it; BAD for an invalid packet, ROCE for RoCEv2, BLOCK for the
    /// block transfer
    #[arg(long = "type", value_name = "TYPE,..", value_delimiter = ',', ignore_case = true,
        value_parser = wanted())]
    pub(crate) types: Vec<Wanted>,

    /// Print every field of each packet, and the bytes of DATA
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Print one JSON object per line for each packet, with the field names and number forms of
    /// vectors/README.md
    #[arg(long)]
    pub(crate) json: bool,
}

/// Wireshark's dissector.
#[derive(Args, Debug)]
#[command(after_help = DISSECTOR_AFTER_HELP)]
pub(crate) struct DissectorArguments {
    /// Write it into Wireshark's folder for personal Lua plugins instead, and print the path
    #[arg(long)]
    pub(crate) install: bool,

    /// Install into this folder
    #[arg(long, value_name = "DIR", requires = "install")]
    pub(crate) folder: Option<PathBuf>,
}

/// Packets by their names.
fn wanted() -> impl TypedValueParser<Value = Wanted> {
    let values = Wanted::NAMES.map(|(name, wanted)| match wanted {
        Wanted::Bad => PossibleValue::new(name).help("An invalid packet"),
        Wanted::Roce => PossibleValue::new(name).help("A RoCEv2 packet"),
        Wanted::Block => PossibleValue::new(name).help("A frame of the block transfer"),
        _ => PossibleValue::new(name),
    });
    PossibleValuesParser::new(values).map(|text| {
        let mut named = Wanted::NAMES.into_iter();
        let found = named.find(|(name, _)| name.eq_ignore_ascii_case(&text));
        found.expect("the parser has checked it").1
    })
}

const DECODE_AFTER_HELP: &str = "\
Without --port, a valid CRC identifies a packet. After the first valid packet, all datagrams \
between the same two ports are shown, valid or not. Datagrams that the kernel joined are split at \
the length at which the first CRC is valid.

Examples:
  samplewire record 127.0.0.1 null --nsamps 1e5 --capture out.pcapng
  samplewire decode out.pcapng --type OPEN,ACCEPT,CLOSE,BAD
  tcpdump -i eth0 -w - udp port 9100 | samplewire decode -

Exit status: 0 the whole file was read, 1 usage, or the file is not a capture or is truncated (the \
packets before that are printed).";

const DISSECTOR_AFTER_HELP: &str = "\
Examples:
  samplewire dissector --install
  tshark -r out.pcapng -Y 'samplewire.seq > 100 && samplewire.type == 0'
  tshark -r out.pcapng -d udp.port==9100,samplewire -V";
