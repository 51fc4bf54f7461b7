//! Sends frames of EtherType 0x88B5 back with their addresses swapped, and frees others. Each processor serves frames by turns.

#![no_std]
#![no_main]

use samplewire_nic_apps::echo;
use samplewire_nic_images::{ALL_FRAMES, Choice, own_mac, start};
use samplewire_nic_runtime::{entry, soc};

entry!(main);

fn main() -> ! {
    let server = start(Choice::Turns, ALL_FRAMES, own_mac());
    loop {
        if !echo(&server) {
            soc::sleep();
        }
    }
}
