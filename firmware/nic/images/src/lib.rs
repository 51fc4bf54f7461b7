//! What all images do first.

#![no_std]

mod host;

pub use host::{Place, run_host};

use samplewire_nic_driver::{Choice, Config, Nic, Server};
use samplewire_nic_runtime::{Mmio, soc};

/// Our Ethernet address.
pub const MAC: [u8; 6] = [0x02, 0x53, 0x57, 0x49, 0x52, 0x00];

/// Starts the NIC for `servers` processors, which share frames by turns, and returns this processor's
/// server. Processor 0 starts it; the others wait.
pub fn start(servers: u32, filter: u32, mac: [u8; 6]) -> Server<Mmio> {
    let nic = Nic::new(Mmio);
    if soc::core() == 0 {
        let config = Config { mac, servers, choice: Choice::Turns, buffers: 64, filter };
        if let Err(error) = nic.start(&config) {
            soc::print(error.text());
            soc::exit(1);
        }
    }
    while !nic.is_started() {}
    Server::new(Mmio, soc::core())
}

/// Frames that are kept: all.
pub const ALL_FRAMES: u32 = 8;

/// Frames that are kept: those to our address, and broadcasts.
pub const OUR_FRAMES: u32 = 3;
