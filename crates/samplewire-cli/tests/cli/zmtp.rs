//! The other side of a ZeroMQ socket, as small as possible: written from RFC 23, not from the
//! command's code.

use std::io::{BufReader, BufWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use samplewire_testing::wait_for;

/// A peer after the handshake.
pub(crate) struct Peer {
    input: BufReader<TcpStream>,
    output: BufWriter<TcpStream>,
}

impl Peer {
    /// Connects to `tcp://ADDRESS` as a socket of this kind; waits for a listener that is not there
    /// yet.
    pub(crate) fn connect(address: &str, kind: &str) -> Self {
        let stream = wait_for(address, TIME_MAX, || TcpStream::connect(address).ok());
        Self::over(stream, kind)
    }

    /// Accepts the next connection.
    pub(crate) fn accept(listener: &TcpListener, kind: &str) -> Self {
        Self::over(listener.accept().expect("somebody comes").0, kind)
    }

    fn over(stream: TcpStream, kind: &str) -> Self {
        stream.set_read_timeout(Some(TIME_MAX)).unwrap();
        stream.set_write_timeout(Some(TIME_MAX)).unwrap();
        stream.set_nodelay(true).unwrap();
        let input = BufReader::with_capacity(1 << 18, stream.try_clone().unwrap());
        let mut peer = Self { input, output: BufWriter::with_capacity(1 << 18, stream) };
        peer.output.write_all(&hello(kind)).unwrap();
        peer.output.flush().unwrap();
        let mut greeting = [0; 64];
        peer.input.read_exact(&mut greeting).unwrap();
        assert_eq!((greeting[0], greeting[9], greeting[10]), (0xFF, 0x7F, 3));
        let (flags, body) = peer.read_frame();
        assert_eq!((flags, &body[..6]), (0x04, &b"\x05READY"[..]));
        peer
    }

    fn frame(&mut self, flags: u8, body: &[u8]) {
        if body.len() < 256 {
            self.output.write_all(&[flags, body.len() as u8]).unwrap();
        } else {
            self.output.write_all(&[flags | 0x02]).unwrap();
            self.output.write_all(&(body.len() as u64).to_be_bytes()).unwrap();
        }
        self.output.write_all(body).unwrap();
    }

    /// Sends a message of these parts.
    pub(crate) fn send(&mut self, parts: &[&[u8]]) {
        for (at, part) in parts.iter().enumerate() {
            self.frame(u8::from(at + 1 < parts.len()), part);
        }
        self.output.flush().unwrap();
    }

    fn read_frame(&mut self) -> (u8, Vec<u8>) {
        self.try_frame().expect("a frame comes")
    }

    fn try_frame(&mut self) -> std::io::Result<(u8, Vec<u8>)> {
        let mut flags = [0];
        self.input.read_exact(&mut flags)?;
        let len = if flags[0] & 0x02 == 0 {
            let mut len = [0];
            self.input.read_exact(&mut len)?;
            usize::from(len[0])
        } else {
            let mut len = [0; 8];
            self.input.read_exact(&mut len)?;
            u64::from_be_bytes(len) as usize
        };
        let mut body = vec![0; len];
        self.input.read_exact(&mut body)?;
        Ok((flags[0], body))
    }

    /// The next message, in its parts; `None` once the other side has closed.
    pub(crate) fn receive(&mut self) -> Option<Vec<Vec<u8>>> {
        let mut parts = Vec::new();
        loop {
            let (flags, body) = self.try_frame().ok()?;
            parts.push(body);
            if flags & 0x01 == 0 {
                return Some(parts);
            }
        }
    }
}

/// The greeting and the READY of a socket of this kind.
pub(crate) fn hello(kind: &str) -> Vec<u8> {
    let mut hello = b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL".to_vec();
    hello.resize(64, 0);
    let properties = [b"\x05READY\x0bSocket-Type\0\0\0", &[kind.len() as u8][..], kind.as_bytes()];
    let ready = properties.concat();
    hello.extend([0x04, ready.len() as u8]);
    hello.extend(ready);
    hello
}

const TIME_MAX: Duration = Duration::from_secs(30);
