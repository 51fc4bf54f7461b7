//! A real session, recorded at its socket, to be sent again.

use std::error::Error;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use samplewire::ReceiveOptions;
use samplewire_io::{Capture, Link, Udp, UdpOptions};

use crate::honest::OWNER;

/// The payloads of a session in the order in which they crossed the socket.
pub(crate) struct Recording {
    /// The address that the receiver had.
    pub(crate) client: SocketAddr,
    pub(crate) from_client: Vec<Vec<u8>>,
    pub(crate) from_device: Vec<Vec<u8>>,
}

impl Recording {
    /// Opens `device` as the honest program does, receives for a while and closes; at most
    /// [`PACKETS_MAX`] packets each way are kept.
    pub(crate) fn make(device: SocketAddr) -> Result<Self, Box<dyn Error>> {
        let file = Shared::default();
        let link = Udp::client(device, &UdpOptions::new())?;
        let client = link.local_addr();
        let capture = Capture::new(link, file.clone())?;
        let options = ReceiveOptions::new().owner(OWNER);
        let mut receiver = options.open_over(Box::new(capture), device)?;
        let until = Instant::now() + Duration::from_millis(50);
        while Instant::now() < until {
            receiver.next_within(Duration::from_millis(10))?;
        }
        receiver.close();
        let file = file.0.lock().expect("no panic");
        let mut recording = Self { client, from_client: Vec::new(), from_device: Vec::new() };
        for (to, payload) in payloads(&file) {
            let side = if to == device.port() {
                &mut recording.from_client
            } else {
                &mut recording.from_device
            };
            if side.len() < PACKETS_MAX {
                side.push(payload.to_vec());
            }
        }
        Ok(recording)
    }
}

/// A file in memory.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The destination port and the UDP payload of each IPv4 packet of a pcapng file.
fn payloads(file: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = file;
    let blocks = std::iter::from_fn(move || {
        let word = |at: usize| Some(u32::from_le_bytes(*rest.get(at..)?.first_chunk()?) as usize);
        let (kind, len) = (word(0)?, word(4)?);
        let (block, after) = rest.split_at_checked(len)?;
        rest = after;
        Some((kind, block))
    });
    blocks.filter(|(kind, _)| *kind == ENHANCED_PACKET).filter_map(|(_, block)| {
        let len = u32::from_le_bytes(*block.get(20..)?.first_chunk()?) as usize;
        let packet = block.get(28..28 + len)?;
        Some((u16::from_be_bytes([packet[22], packet[23]]), &packet[28..]))
    })
}

const ENHANCED_PACKET: usize = 6;

/// Of each side.
const PACKETS_MAX: usize = 4_096;
