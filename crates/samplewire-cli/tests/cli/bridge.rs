//! A bridge in the background.

use crate::harness::{Background, Ran};

/// A bridge that carries samples; killed when it is dropped.
pub(crate) struct Bridge(Background);

impl Bridge {
    /// Starts one, and waits until it carries samples.
    pub(crate) fn start<A: AsRef<str>>(arguments: &[A]) -> Self {
        let arguments: Vec<&str> =
            std::iter::once("bridge").chain(arguments.iter().map(AsRef::as_ref)).collect();
        Self(Background::start(&arguments, Vec::new(), "carrying samples"))
    }

    /// What it printed before it carried samples.
    pub(crate) fn head(&self) -> &str {
        &self.0.head
    }

    /// Where it is a device.
    pub(crate) fn address(&self) -> &str {
        let (_, after) = self.0.head.split_once("a bridge to ZeroMQ, listening on ").unwrap();
        after.lines().next().unwrap()
    }

    /// Where its socket of this kind listens.
    pub(crate) fn socket(&self, kind: &str) -> String {
        self.sockets(kind).remove(0)
    }

    /// Where its sockets of this kind listen.
    pub(crate) fn sockets(&self, kind: &str) -> Vec<String> {
        let lines = self.0.head.lines().filter(|line| line.split_whitespace().next() == Some(kind));
        lines.map(|line| line.split_once("listening on tcp://").unwrap().1.to_owned()).collect()
    }

    /// See [`Background::interrupt`].
    pub(crate) fn interrupt(self) -> Ran {
        self.0.interrupt()
    }

    /// See [`Background::finish`].
    pub(crate) fn finish(self) -> Ran {
        self.0.finish()
    }
}
