//! Block transfer: keeps a file in packet memory, and transfers it back.
//!
//! The file has as many packets as the NIC has buffers, less those to receive: 16, or [`SLOTS`] if it is
//! built for more buffers. Processor 0 gets all frames; the others stop.

#![no_std]
#![no_main]

use samplewire_nic_apps::{BUFFERS_TO_RECEIVE, BlockEcho, Crc32c};
use samplewire_nic_driver::Buffer;
use samplewire_nic_images::{OUR_FRAMES, own_mac};
use samplewire_nic_runtime::{Clock, Mmio, entry, soc};
use samplewire_proto::Nanos;

entry!(main);

/// A bit for each packet of a file.
const WORDS: usize = 360;
/// Buffers for a file, if the NIC has so many: 17.0 MB of 1,477 bytes each.
const SLOTS: usize = 32 * WORDS;

/// The processor's registers for a CRC-32C. The registers hold the bitwise inverse of the CRC.
struct CrcRegisters;

impl Crc32c for CrcRegisters {
    fn extend(&mut self, crc: u32, bytes: &[u8]) -> u32 {
        soc::set_crc(!crc);
        for byte in bytes {
            soc::add_byte_to_crc(*byte);
        }
        !soc::crc()
    }

    fn extend_words(&mut self, crc: u32, words: &[u32]) -> u32 {
        soc::set_crc(!crc);
        // A loop takes as long as a word.
        let (eights, rest) = words.as_chunks::<8>();
        for eight in eights {
            for word in eight {
                soc::add_word_to_crc(*word);
            }
        }
        for word in rest {
            soc::add_word_to_crc(*word);
        }
        !soc::crc()
    }
}

fn main() -> ! {
    let mac = own_mac();
    let mut slots = [const { None::<Buffer<Mmio>> }; SLOTS];
    let (server, slots) =
        samplewire_nic_images::start_keeping(OUR_FRAMES, mac, BUFFERS_TO_RECEIVE, &mut slots);
    if soc::core() != 0 {
        soc::stop();
    }
    let mut echo = BlockEcho::<_, _, WORDS>::new(server, mac, slots, CrcRegisters);
    let mut clock = Clock::new();
    let mut now = Nanos(0);
    loop {
        let (millis, is_next) = clock.read();
        if is_next {
            now = Nanos::from_millis(millis);
            soc::check_stack();
        }
        echo.poll(now);
    }
}
