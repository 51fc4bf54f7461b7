//! A bridge in the background.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::thread::JoinHandle;

use crate::harness::{Ran, gather, signal, spawn, wait};

/// A bridge that carries samples; killed when it is dropped.
pub(crate) struct Bridge {
    child: Child,
    /// What it printed until it began.
    pub(crate) head: String,
    outputs: Option<[JoinHandle<Vec<u8>>; 2]>,
}

impl Bridge {
    /// Starts one, and waits until it carries samples.
    pub(crate) fn start<A: AsRef<str>>(arguments: &[A]) -> Self {
        let arguments: Vec<&str> =
            std::iter::once("bridge").chain(arguments.iter().map(AsRef::as_ref)).collect();
        let mut child = spawn(&arguments);
        let stderr = gather(child.stderr.take().expect("it is piped"));
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut head = String::new();
        while !head.contains("carrying samples") {
            if stdout.read_line(&mut head).expect("standard output can be read") == 0 {
                let stderr = stderr.join().expect("reading does not panic");
                panic!("{arguments:?}: {head}{}", String::from_utf8_lossy(&stderr));
            }
        }
        Self { child, head, outputs: Some([gather(stdout), stderr]) }
    }

    /// Where it is a device.
    pub(crate) fn address(&self) -> &str {
        let (_, after) = self.head.split_once("a bridge to ZeroMQ, listening on ").unwrap();
        after.lines().next().unwrap()
    }

    /// Where its socket of this kind listens.
    pub(crate) fn socket(&self, kind: &str) -> String {
        self.sockets(kind).remove(0)
    }

    /// Where its sockets of this kind listen.
    pub(crate) fn sockets(&self, kind: &str) -> Vec<String> {
        let lines = self.head.lines().filter(|line| line.split_whitespace().next() == Some(kind));
        lines.map(|line| line.split_once("listening on tcp://").unwrap().1.to_owned()).collect()
    }

    /// Sends SIGINT, and returns what it printed since it began.
    pub(crate) fn interrupt(self) -> Ran {
        signal(&self.child, libc::SIGINT);
        self.finish()
    }

    /// Waits until it ends by itself, and returns what it printed since it began.
    pub(crate) fn finish(mut self) -> Ran {
        let status = wait(&mut self.child);
        let outputs = self.outputs.take().expect("they are taken once");
        let [stdout, stderr] = outputs.map(|output| output.join().expect("reading does not panic"));
        Ran { status, stdout, stderr: String::from_utf8(stderr).expect("words are UTF-8") }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let is_over = matches!(self.child.try_wait(), Ok(Some(_)));
        if !is_over && self.child.kill().is_ok() {
            wait(&mut self.child);
        }
    }
}
