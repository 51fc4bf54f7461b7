//! A command whose counters are exported, and what reads them.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::harness::{signal, wait};

/// A command with a folder of its own for sockets; killed when it is dropped.
pub(crate) struct Metered {
    pub(crate) child: Child,
    /// Where the page is.
    pub(crate) url: String,
    /// The first line of standard output, if it was requested.
    first_line: String,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Metered {
    pub(crate) fn start(sockets: &Path, arguments: &[&str], has_line: bool) -> Self {
        let mut child = command(sockets)
            .args(arguments)
            .args(["--metrics", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary was built for this test");
        let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut url = String::new();
        stderr.read_line(&mut url).expect("standard error can be read");
        // The command's later output must have a reader.
        std::thread::spawn(move || stderr.read_to_string(&mut String::new()));
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut first_line = String::new();
        if has_line {
            stdout.read_line(&mut first_line).expect("standard output can be read");
        }
        let url = url.trim().strip_prefix("metrics: http://").expect(&url);
        let url = url.strip_suffix("/metrics").expect(url).to_owned();
        Self { child, url, first_line, stdout }
    }

    /// A device, with its address.
    pub(crate) fn device(sockets: &Path, arguments: &[&str]) -> (Self, String) {
        Self::listening(sockets, &[&["emulate"], arguments].concat())
    }

    /// A command that listens, with its address.
    pub(crate) fn listening(sockets: &Path, arguments: &[&str]) -> (Self, String) {
        let own = if arguments.contains(&"--listen") { &[][..] } else { &LOCAL };
        let all = [arguments, own].concat();
        let device = Self::start(sockets, &all, true);
        let address = device.first_line.trim().split_once("listening on ").expect("it listens").1;
        let address = address.to_owned();
        (device, address)
    }

    pub(crate) fn signal(&self, number: i32) {
        signal(&self.child, number);
    }

    /// The page's numbers by their names and causes, as a plain client gets them.
    pub(crate) fn numbers(&self) -> BTreeMap<String, f64> {
        numbers_of(&self.url)
    }

    /// Waits for its end; returns its status and its standard output.
    pub(crate) fn finish(mut self) -> (i32, String) {
        let status = wait(&mut self.child);
        let mut words = String::new();
        self.stdout.read_to_string(&mut words).expect("standard output can be read");
        (status.code().expect("it was not killed"), words)
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        let is_over = matches!(self.child.try_wait(), Ok(Some(_)));
        if !is_over && self.child.kill().is_ok() {
            wait(&mut self.child);
        }
    }
}

const LOCAL: [&str; 2] = ["--listen", "127.0.0.1:0"];

pub(crate) fn command(sockets: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_samplewire"));
    command.env("XDG_RUNTIME_DIR", sockets);
    command
}

/// See [`Metered::numbers`]; the page is at this address.
pub(crate) fn numbers_of(address: &str) -> BTreeMap<String, f64> {
    let page = get(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    let (head, body) = page.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    let lines = body.lines().filter(|line| !line.starts_with('#'));
    lines.map(number).collect()
}

fn get(address: &str, request: &str) -> String {
    let mut wire = TcpStream::connect(address).expect("it listens");
    wire.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    wire.read_to_string(&mut answer).expect("it answers in words");
    answer
}

/// `name{..}` of a line without its labels, but for the cause, and the value.
fn number(line: &str) -> (String, f64) {
    let (name, value) = line.rsplit_once(' ').expect("a value");
    let cause = name.split_once("cause=\"").map_or("", |(_, rest)| rest.trim_end_matches("\"}"));
    let name = name.split('{').next().expect("a name");
    (format!("{name}{cause}"), value.parse().expect("a number"))
}

/// `top --once --json`, and its exit status.
pub(crate) fn top(sockets: &Path, arguments: &[&str]) -> (i32, Value) {
    let all = [&["top", "--json", "--interval", "300ms"], arguments].concat();
    let output = command(sockets).args(all).output().expect("it runs");
    let document = serde_json::from_slice(&output.stdout).expect("JSON");
    (output.status.code().expect("it ends without a signal"), document)
}
