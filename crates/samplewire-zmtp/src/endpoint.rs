//! The address of a socket: `tcp://HOST:PORT`.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};

/// Which end listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// This end listens.
    Bind,
    /// This end connects to the other, repeatedly.
    Connect,
}

/// The address of a socket, as the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    way: Option<Way>,
    host: String,
    port: u16,
}

impl Endpoint {
    /// Parses `tcp://HOST:PORT`, optionally with `bind:` or `connect:` before it.
    ///
    /// # Errors
    /// The error in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (way, rest) = match text.split_once(':') {
            Some(("bind", rest)) => (Some(Way::Bind), rest),
            Some(("connect", rest)) => (Some(Way::Connect), rest),
            _ => (None, text),
        };
        let wrong =
            |why: &str| format!("`{text}` {why}: write tcp://HOST:PORT, or tcp://*:PORT to listen");
        let place = match rest.split_once("://") {
            Some(("tcp", place)) => place,
            Some((other, _)) => {
                return Err(wrong(&format!("has the transport {other}, and only tcp is there")));
            }
            None => return Err(wrong("is no ZeroMQ endpoint")),
        };
        let (host, port) = place.rsplit_once(':').ok_or_else(|| wrong("has no port"))?;
        let port = match port {
            "*" => 0,
            _ => port.parse().map_err(|_| wrong("has no port from 0 to 65535"))?,
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        match (host.as_str(), way) {
            ("", _) => Err(wrong("has no host")),
            ("*", Some(Way::Connect)) => Err(wrong("needs a host to connect to")),
            _ => Ok(Self { way, host, port }),
        }
    }

    /// Which end listens: the user's choice, or `default`; `*` always listens.
    pub(super) fn way(&self, default: Way) -> Way {
        if self.host == "*" { Way::Bind } else { self.way.unwrap_or(default) }
    }

    /// Resolves the address.
    ///
    /// # Errors
    /// The name is unknown.
    ///
    /// # Blocking
    /// During name resolution.
    pub(super) fn resolve(&self) -> io::Result<SocketAddr> {
        if self.host == "*" {
            return Ok((Ipv4Addr::UNSPECIFIED, self.port).into());
        }
        let mut found = (self.host.as_str(), self.port).to_socket_addrs()?;
        found.next().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such host"))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "tcp://[{}]:{}", self.host, self.port)
        } else {
            write!(f, "tcp://{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_those_of_zeromq() {
        let any = Endpoint::parse("tcp://*:5555").unwrap();
        assert_eq!(any.way(Way::Connect), Way::Bind);
        assert_eq!(any.resolve().unwrap(), "0.0.0.0:5555".parse().unwrap());
        let six = Endpoint::parse("connect:tcp://[::1]:2000").unwrap();
        assert_eq!(six.way(Way::Bind), Way::Connect);
        assert_eq!(six.resolve().unwrap(), "[::1]:2000".parse().unwrap());
        assert_eq!(six.to_string(), "tcp://[::1]:2000");
        let bound = Endpoint::parse("bind:tcp://127.0.0.1:*").unwrap();
        assert_eq!(bound.way(Way::Connect), Way::Bind);
        assert_eq!(bound.resolve().unwrap().port(), 0);
    }

    #[test]
    fn invalid_endpoint_is_reported_with_the_correct_form() {
        for (text, why) in [
            ("127.0.0.1:5555", "is no ZeroMQ endpoint"),
            ("ipc:///tmp/x", "transport ipc"),
            ("tcp://host", "has no port"),
            ("tcp://host:65536", "0 to 65535"),
            ("tcp://:1", "no host"),
            ("connect:tcp://*:1", "needs a host"),
        ] {
            let words = Endpoint::parse(text).unwrap_err();
            assert!(words.contains(why) && words.contains("tcp://HOST:PORT"), "{words}");
        }
    }
}
