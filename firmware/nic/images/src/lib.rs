//! What all images do first.

#![no_std]

mod host;

pub use host::{Place, run_host};

pub use samplewire_nic_driver::Choice;
use samplewire_nic_driver::{Buffer, Config, Nic, Server, StartError};
use samplewire_nic_runtime::{Mmio, soc};

/// This board's Ethernet address: the one that the NIC has before its start.
#[inline(always)]
pub fn own_mac() -> [u8; 6] {
    Nic::new(Mmio).mac()
}

/// Starts the NIC for all processors, which get frames by `choice`, and returns this processor's server.
/// Processor 0 starts it; the others wait.
pub fn start(choice: Choice, filter: u32, mac: [u8; 6]) -> Server<Mmio> {
    let config = Config { mac, servers: soc::cores(), choice, buffers: 64, filter };
    start_by(|nic| nic.start(&config))
}

/// Starts the NIC for processor 0 alone, which gets all frames, and returns this processor's server.
pub fn start_alone(filter: u32, mac: [u8; 6]) -> Server<Mmio> {
    let config = Config { mac, servers: 1, choice: Choice::Turns, buffers: 64, filter };
    start_by(|nic| nic.start(&config))
}

/// Starts the NIC for processor 0 alone with `free` buffers, and puts one more into each slot. Returns the
/// slots that have one: all, or 64 less `free` where the NIC is not built for so many buffers.
pub fn start_keeping(
    filter: u32,
    mac: [u8; 6],
    free: u32,
    slots: &mut [Option<Buffer<Mmio>>],
) -> (Server<Mmio>, &mut [Option<Buffer<Mmio>>]) {
    let buffers = slots.len() as u32 + free;
    let config = Config { mac, servers: 1, choice: Choice::Turns, buffers, filter };
    let mut count = 0;
    let server = start_by(|nic| {
        let mut keep = |buffer| {
            slots[count] = Some(buffer);
            count += 1;
        };
        match nic.start_keeping(&config, free, &mut keep) {
            Err(StartError::Refused) => {
                nic.start_keeping(&Config { buffers: 64, ..config }, free, keep)
            }
            result => result,
        }
    });
    (server, &mut slots[..count])
}

#[inline(always)]
fn start_by(start: impl FnOnce(Nic<Mmio>) -> Result<(), StartError>) -> Server<Mmio> {
    let nic = Nic::new(Mmio);
    if soc::core() == 0 {
        if let Err(error) = start(nic) {
            soc::print(error.text());
            soc::exit(1);
        }
    } else {
        // After a restart the NIC is enabled until processor 0, which begins at the same time, disables
        // it: with its second access.
        let begin = soc::cycles();
        while soc::cycles().wrapping_sub(begin) < RESTART_CYCLES {}
    }
    while !nic.is_started() {}
    Server::new(Mmio, soc::core())
}

/// Processor 0 has some 50 instructions before that access.
const RESTART_CYCLES: u32 = 1000;

/// Frames that are kept: all.
pub const ALL_FRAMES: u32 = 8;

/// Frames that are kept: those to our address, and broadcasts.
pub const OUR_FRAMES: u32 = 3;
