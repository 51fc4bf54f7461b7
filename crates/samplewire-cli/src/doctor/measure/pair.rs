//! The ends of a measured stream, and its runs.
//!
//! An own pair has both ends in network namespaces that end with the processes which hold them, so that
//! nothing is left behind. `ip`, `unshare` and `nsenter` make and enter them.

use std::fs;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::doctor::fix::{CardParameter, Place, Setting};
use crate::failure::Failure;
use crate::plain::plain;
use crate::process::Killed;

/// Both ends of a stream.
#[derive(Debug)]
pub(super) struct Ends {
    program: PathBuf,
    place: Location,
}

#[derive(Debug)]
enum Location {
    Device(SocketAddr),
    Pair { sender: Namespace, receiver: Namespace },
}

/// An end of the own pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Sender,
    Receiver,
}

/// What a run measured.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) bps: f64,
    pub(super) bytes: u64,
    /// CPU time of the whole host.
    pub(super) cpu_s: f64,
    pub(super) missing: u64,
    /// What the receiver requested and did not get, in words.
    pub(super) refused: Option<String>,
}

impl Run {
    pub(super) fn cpu_per_byte(&self) -> f64 {
        self.cpu_s / self.bytes as f64
    }
}

/// A network namespace that ends with the process which holds it.
#[derive(Debug)]
struct Namespace {
    holder: Killed,
    interface: &'static str,
}

impl Ends {
    /// The device, and a receiver on this host.
    pub(super) fn of_device(peer: SocketAddr) -> Self {
        Self { program: own_program(), place: Location::Device(peer) }
    }

    /// Two namespaces with a veth pair.
    ///
    /// # Errors
    /// [`Failure::Measure`] without the rights or the programs.
    pub(super) fn own_pair() -> Result<Self, Failure> {
        let sender = Namespace::new("sw-sender")?;
        let receiver = Namespace::new("sw-receiver")?;
        let [a, b] = [&sender, &receiver].map(Namespace::process);
        let link = ["ip", "link", "add", sender.interface, "netns", &a, "type", "veth"];
        let peer = ["peer", "name", receiver.interface, "netns", &b];
        run(&[&link[..], &peer[..]].concat())?;
        for (end, address) in [(&sender, SENDER), (&receiver, RECEIVER)] {
            let address = format!("{address}/{PREFIX}");
            end.run(&["ip", "address", "add", &address, "dev", end.interface])?;
            end.run(&["ip", "link", "set", end.interface, "up"])?;
        }
        Ok(Self { program: own_program(), place: Location::Pair { sender, receiver } })
    }

    pub(super) const fn has_own_pair(&self) -> bool {
        matches!(self.place, Location::Pair { .. })
    }

    /// Sets a parameter of an end of the own pair.
    pub(super) fn set(
        &self,
        end: End,
        parameter: CardParameter,
        value: &str,
    ) -> Result<(), Failure> {
        let Location::Pair { sender, receiver } = &self.place else { return Ok(()) };
        let end = if end == End::Sender { sender } else { receiver };
        let place = Place::Card(end.interface.to_owned(), parameter);
        let words = Setting { place, value: value.to_owned() }.command();
        end.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Sets the MTU of both ends of the own pair.
    pub(super) fn set_mtu(&self, bytes: u16) -> Result<(), Failure> {
        let Location::Pair { sender, receiver } = &self.place else { return Ok(()) };
        let bytes = bytes.to_string();
        for end in [sender, receiver] {
            end.run(&["ip", "link", "set", end.interface, "mtu", &bytes])?;
        }
        Ok(())
    }

    /// Streams for a time, with these options of the receiver.
    ///
    /// # Errors
    /// [`Failure::Measure`] with what the receiver said.
    pub(super) fn run(&self, arguments: &[&str], span: Duration) -> Result<Run, Failure> {
        let (mut command, _device) = match &self.place {
            Location::Device(peer) => {
                let mut command = Command::new(&self.program);
                command.args(["rate", &peer.to_string()]);
                (command, None)
            }
            Location::Pair { sender, receiver } => {
                let listen = format!("{SENDER}:{PORT}");
                let mut device = sender.enter(&self.program);
                device.args(["emulate", "--source", "null", "--rate", "max", "--once"]);
                device
                    .args(["--listen", &listen])
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .process_group(0);
                let device = Killed(device.spawn().map_err(of_program("nsenter"))?);
                let mut command = receiver.enter(&self.program);
                command.args(["rate", &listen]);
                (command, Some(device))
            }
        };
        command.args(["--json", "--duration", &format!("{}s", span.as_secs_f64())]);
        command.args(arguments).stdin(Stdio::null()).process_group(0);
        let before = cpu_s()?;
        let output = command.output().map_err(of_program("samplewire"))?;
        let cpu_s = cpu_s()? - before;
        parse(&output, cpu_s)
    }
}

/// Reads the document of `rate --json`.
fn parse(output: &Output, cpu_s: f64) -> Result<Run, Failure> {
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    run_of(&document, cpu_s).ok_or_else(|| {
        let words = String::from_utf8_lossy(&output.stderr);
        Failure::Measure(format!("the receiver: {}", plain(words.trim(), WORDS_CHARS_MAX)))
    })
}

fn run_of(document: &Value, cpu_s: f64) -> Option<Run> {
    let end = &document["end"];
    // An interrupted run is none.
    if !matches!(end["result"].as_str()?, "whole" | "missing") {
        return None;
    }
    let receive = &end["receive"];
    let bytes = receive["bytes"].as_u64().filter(|&bytes| bytes > 0)?;
    let (bps, missing) = (receive["goodput_bps"].as_f64()?, receive["samples_missing"].as_u64()?);
    Some(Run { bps, bytes, cpu_s, missing, refused: refused(document) })
}

/// What the receiver requested and did not get.
fn refused(document: &Value) -> Option<String> {
    let real_time = &document["start"]["real_time"][0];
    if let Some(refusal) = real_time["refused"].as_array()?.first() {
        let words = |key: &str| refusal[key].as_str().unwrap_or_default();
        return Some(format!("not granted here: {}: {}", words("what"), words("why")));
    }
    if real_time["pages"] == "small" {
        return Some("not granted here: the pages are small".to_owned());
    }
    let link = document["end"]["links"].as_array()?.first().filter(|it| it["bypassed"] == false)?;
    Some(format!("not granted here: {}", link["words"].as_str().unwrap_or_default()))
}

impl Namespace {
    fn new(interface: &'static str) -> Result<Self, Failure> {
        let mut command = Command::new("unshare");
        command.args(["--net", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C ends this command, which then ends them.
        command.stderr(Stdio::piped()).process_group(0);
        let mut holder = Killed(command.spawn().map_err(of_program("unshare"))?);
        // `cat` answers once it is in its namespace, and ends with this process, whose pipe it reads.
        let echoed = echo(&mut holder);
        if echoed.is_err() {
            let mut words = String::new();
            let stderr = holder.0.stderr.take();
            let _read = stderr.map(|it| it.take(1_000).read_to_string(&mut words));
            let words = plain(words.trim(), WORDS_CHARS_MAX);
            return Err(Failure::Measure(format!(
                "no network namespace: {words}; run it as root, or name a device"
            )));
        }
        Ok(Self { holder, interface })
    }

    fn process(&self) -> String {
        self.holder.0.id().to_string()
    }

    /// A command in this namespace.
    fn enter(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.process(), "--net", "--"]).arg(program);
        command
    }

    /// Runs a command in this namespace.
    fn run(&self, words: &[&str]) -> Result<(), Failure> {
        let process = self.process();
        let enter = ["nsenter", "--target", &process, "--net", "--"];
        run(&[&enter[..], words].concat())
    }
}

fn echo(holder: &mut Killed) -> io::Result<()> {
    let (Some(stdin), Some(stdout)) = (&mut holder.0.stdin, &mut holder.0.stdout) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    stdin.write_all(b"\n")?;
    stdout.read_exact(&mut [0])
}

/// Runs a command without a shell.
fn run(words: &[&str]) -> Result<(), Failure> {
    let (program, arguments) = words.split_first().expect("a command has a word");
    let output = Command::new(program).args(arguments).output().map_err(of_program(program))?;
    if output.status.success() {
        return Ok(());
    }
    let error = String::from_utf8_lossy(&output.stderr);
    let error = plain(error.trim(), WORDS_CHARS_MAX);
    Err(Failure::Measure(format!("{}: {error}", words.join(" "))))
}

fn of_program(name: &str) -> impl FnOnce(io::Error) -> Failure {
    let name = name.to_owned();
    move |error| Failure::Measure(format!("{name}: {error}"))
}

/// CPU time of the whole host since its start, but idle and stolen time: proc_stat(5).
fn cpu_s() -> Result<f64, Failure> {
    let text = fs::read_to_string("/proc/stat")?;
    Ok(busy_s(&text))
}

fn busy_s(text: &str) -> f64 {
    let first = text.lines().next().unwrap_or_default();
    let ticks: Vec<f64> = first.split_whitespace().skip(1).flat_map(str::parse).collect();
    // user nice system idle iowait irq softirq steal
    let busy = [0, 1, 2, 5, 6].into_iter().filter_map(|at| ticks.get(at)).sum::<f64>();
    busy / rustix::param::clock_ticks_per_second() as f64
}

fn own_program() -> PathBuf {
    // A path that does not resolve is found in PATH.
    std::env::current_exe().unwrap_or_else(|_| "samplewire".into())
}

/// Addresses of RFC 2544, section 12, which is for measurements. They are in namespaces of their own.
const SENDER: &str = "198.18.0.1";
const RECEIVER: &str = "198.18.0.2";
const PREFIX: u8 = 30;
const PORT: u16 = 9_100;
const WORDS_CHARS_MAX: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    fn document(pages: &str, refused: &str, links: &str) -> Value {
        let text = format!(
            r#"{{ "start": {{ "real_time": [{{ "pages": {pages}, "refused": [{refused}] }}] }},
                "end": {{ "result": "whole", "links": [{links}],
                    "receive": {{ "bytes": 5, "goodput_bps": 2.5, "samples_missing": 1 }} }} }}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn run_that_got_less_than_requested_states_what_is_missing() {
        let refused = |pages, refused, links| {
            run_of(&document(pages, refused, links), 1.0).unwrap().refused.unwrap_or_default()
        };
        assert_eq!(refused("null", "", ""), "");
        assert_eq!(refused(r#""huge""#, "", r#"{ "bypassed": true, "words": "x" }"#), "");
        assert!(refused(r#""small""#, "", "").contains("small"));
        let refusal = r#"{ "what": "SCHED_FIFO 50", "why": "no right" }"#;
        assert_eq!(refused("null", refusal, ""), "not granted here: SCHED_FIFO 50: no right");
        let link = r#"{ "bypassed": false, "words": "packets go by UDP" }"#;
        assert_eq!(refused("null", "", link), "not granted here: packets go by UDP");
        let mut interrupted = document("null", "", "");
        interrupted["end"]["result"] = "interrupted".into();
        assert_eq!(run_of(&interrupted, 1.0), None);
    }

    #[test]
    fn busy_time_leaves_out_idle_waiting_and_stolen() {
        let ticks = rustix::param::clock_ticks_per_second();
        let text = format!("cpu  {ticks} 0 {ticks} 99999 7777 0 {ticks} 55555 0 0\ncpu0 1 2 3\n");
        assert_eq!(busy_s(&text), 3.0);
        assert_eq!(busy_s(""), 0.0);
    }
}
