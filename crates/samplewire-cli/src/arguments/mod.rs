//! The command line: verbs, options, defaults.

#![expect(rustdoc::broken_intra_doc_links, reason = "these are help texts, not Markdown")]

mod bridge;
mod carriage;
mod congestion;
mod control;
mod decode;
mod demo;
mod doctor;
mod emulate;
mod find;
mod latency;
mod link;
mod metrics;
mod nic;
mod probe;
mod rate;
mod real_time;
mod record;
mod replay;
mod roce;
mod sim;
mod slow;
mod study;
mod switch;
mod top;
pub(crate) mod values;
mod verify;
mod web;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueHint};
use clap_complete::Shell;

pub(crate) use bridge::BridgeArguments;
pub(crate) use carriage::{CarriageOption, ReceiveCarriageOption};
pub(crate) use congestion::{
    CongestionOptions, ExploreArguments, ScenarioKind, SimControl, TrafficKind,
};
pub(crate) use control::ControlOptions;
pub(crate) use decode::{DecodeArguments, DissectorArguments};
pub(crate) use demo::DemoArguments;
pub(crate) use doctor::DoctorArguments;
pub(crate) use emulate::{EmulateArguments, TimeSource};
pub(crate) use find::FindArguments;
pub(crate) use latency::LatencyArguments;
pub(crate) use link::{InterfaceOption, LinkOption};
pub(crate) use metrics::MetricsOption;
pub(crate) use nic::{
    Access, ConsoleAddress, EchoArguments, ImageArguments, LinkName, LinkOptions, ModesArguments,
    NicArguments, NicCount, NicRateArguments, NicReceiveArguments, NicSendArguments, NicVerb,
    Picture, RegsArguments, RttArguments, SchemeOptions, TripOptions,
};
pub(crate) use probe::ProbeArguments;
pub(crate) use rate::{RateArguments, Way};
pub(crate) use real_time::RealTimeOptions;
pub(crate) use record::RecordArguments;
pub(crate) use replay::ReplayArguments;
pub(crate) use roce::{
    BenchArguments, ListenArguments, RoceArguments, RoceVerb, SendArguments, SenderOptions,
    StationOptions,
};
pub(crate) use sim::{SimArguments, SimRun};
pub(crate) use slow::SlowOption;
pub(crate) use study::{PacingArguments, Study, StudyArguments, WindowArguments};
pub(crate) use switch::{MarkAt, SwitchArguments};
pub(crate) use top::TopArguments;
pub(crate) use verify::VerifyArguments;
pub(crate) use web::{WebAccess, WebArguments, WebControl, WebOption};

/// Samples over Ethernet: every index is delivered, or listed in a gap with its cause.
#[derive(Debug, Parser)]
#[command(name = "samplewire", version, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Cli {
    /// Read options from a TOML file: a table for each verb, a key for each of its options. The
    /// command line takes precedence
    #[arg(long, value_name = "FILE.toml", global = true)]
    pub(crate) config: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Act as a device: send a recording or a generated signal to each receiver that opens it
    Emulate(EmulateArguments),
    /// List the devices on the local networks
    Find(FindArguments),
    /// Query what a device streams, without opening the stream
    Probe(ProbeArguments),
    /// Receive a device's stream into a file or standard output
    Record(RecordArguments),
    /// Prove that a recording is unchanged, and that each index is in it or named as missing
    Verify(VerifyArguments),
    /// Send a recording to a device, which plays it at its time
    Replay(ReplayArguments),
    /// Measure the sample rate of a stream, and what is lost, late or missing
    Rate(RateArguments),
    /// Measure how long before its time a burst must leave for a device
    Latency(LatencyArguments),
    /// Bridge a device's streams to and from ZeroMQ: GNU Radio, srsRAN
    Bridge(BridgeArguments),
    /// Diagnose a host that loses samples, and print the commands that correct it
    Doctor(DoctorArguments),
    /// Show the streams of this host: rates, repair, window, round trip, gaps
    Top(TopArguments),
    /// Show a device's streams in a browser: spectrum, waterfall, and an account of every sample
    Web(WebArguments),
    /// Show a device and a receiver in one process, over a link that loses packets
    Demo(DemoArguments),
    /// Run the protocol on virtual time, under faults, and account for every index
    Sim(SimArguments),
    /// Measure over a range of settings: tables, CSV, SVG
    Study(StudyArguments),
    /// Forward Ethernet frames between TAP devices and virtual machines, through the switch model
    Switch(SwitchArguments),
    /// Move files over RoCEv2, to and from RDMA network cards and other programs
    Roce(RoceArguments),
    /// Raw Ethernet to a board's NIC, or between hosts: round trips, throughput, files
    Nic(NicArguments),
    /// Print the packets of a capture (pcapng or pcap) in words
    Decode(DecodeArguments),
    /// Print or install the dissector that shows the packets in Wireshark and tshark
    Dissector(DissectorArguments),
    /// Print a shell's completions for this command
    #[command(after_help = COMPLETIONS_AFTER_HELP)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write manual pages, one for each verb
    #[command(after_help = MAN_AFTER_HELP)]
    Man {
        /// The folder
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
}

const COMPLETIONS_AFTER_HELP: &str = "\
Example:
  samplewire completions bash > ~/.local/share/bash-completion/completions/samplewire";

const MAN_AFTER_HELP: &str = "\
Example:
  samplewire man ~/.local/share/man/man1
  man samplewire-record";

const AFTER_HELP: &str = "\
Numbers: 250M, 2.5e8 and 250000000 are the same. Times: 5ms, 1.5s, 2min; a bare number is seconds.

A device string can replace a device's address, and sets options:
addr=10.0.0.2,window=4096.

Try it:
  samplewire emulate --source scene                       in one terminal
  samplewire record 127.0.0.1 out.sigmf-data --nsamps 1e8 in another
  samplewire top                                          both, while they run
  samplewire verify out.sigmf-data                        check the recording
  samplewire demo                                         both in one
  samplewire emulate --play out.sigmf-data --rate 2M      a device that plays, and
  samplewire replay in.sigmf-meta 127.0.0.1               what it plays

Exit status: 0 whole, 1 usage (an option, an address or a file), 2 unreachable, refused or broken \
off, 3 samples missing or not in time, an early end, or a recording that contradicts its metadata, 4 \
a threshold (--fail-on), 130 Ctrl-C, 128 + N any other signal N (the file is closed and valid)";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn options_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }

    #[test]
    fn each_verb_has_a_help_of_80_columns_with_an_example() {
        check_help(&Cli::command().term_width(80), "samplewire");
    }

    #[test]
    fn errors_state_the_range_that_help_states() {
        for (line, wrong, range) in [
            ("record h f --window", "0", "1 to 2^24"),
            ("record h f --window", "99999999999", "1 to 2^24"),
            ("rate h --mtu", "9001", "576 to 9000"),
            ("replay f h --mtu", "575", "576 to 9000"),
            ("replay f h --link-rate", "1k", "10k to 10T"),
            ("emulate --link-rate", "11Tb/s", "10k to 10T"),
            ("emulate --control-rate", "99k", "100k to 1T"),
            ("replay f h --control-rate", "2T", "100k to 1T"),
            ("emulate --streams", "1025", "1 to 1024"),
            ("record h f --priority", "100", "1 to 99"),
            ("find --port", "65536", "1 to 65535"),
            ("decode f --port", "0", "1 to 65535"),
            ("emulate --line-rate", "9k", "1M to 10T"),
            ("emulate --slow", "0", "1 to 1000"),
            ("switch --slow", "1001", "1 to 1000"),
            ("switch --loss", "0.6", "0 to 0.5"),
            ("switch --rate", "9k", "10k to 10T"),
            ("study window --damage", "51%", "0 to 0.5"),
            ("study window --windows", "0", "1 to 2^24"),
            ("study window --mtu", "9001", "576 to 9000"),
            ("study window --rounds", "0", "1 to 65535"),
            ("study pacing --rounds", "0", "1 to 100000"),
        ] {
            let words = format!("samplewire {line} {wrong}");
            let error = Cli::try_parse_from(words.split(' ')).unwrap_err().to_string();
            let error = error.replace("from ", "");
            assert!(error.contains(wrong) && error.contains(range), "{error}");
            let verbs: Vec<_> = line.split(' ').take_while(|word| word.len() > 1).collect();
            let mut command = Cli::command();
            let mut verb = &mut command;
            for name in verbs.iter().take_while(|word| !word.starts_with("--")) {
                verb = verb.find_subcommand_mut(name).expect("a verb");
            }
            let name = line.rsplit("--").next().expect("an option");
            let option = verb.get_arguments().find(|it| it.get_long() == Some(name));
            let help = option.and_then(|it| it.get_help()).expect("it has help").to_string();
            assert!(help.replace("from ", "").contains(range), "--{name}: {help}");
        }
    }

    /// Checks a verb and those below it.
    fn check_help(command: &clap::Command, words: &str) {
        let help = command.clone().term_width(80).render_long_help().to_string();
        let longest = help.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(80), "{words}: {longest:?} columns\n{help}");
        let (_, examples) = help.split_once("Example").unwrap_or_default();
        assert!(
            command.has_subcommands() || examples.contains(words),
            "no example of `{words}` in:\n{help}"
        );
        for verb in command.get_subcommands() {
            check_help(verb, &format!("{words} {}", verb.get_name()));
        }
    }
}
