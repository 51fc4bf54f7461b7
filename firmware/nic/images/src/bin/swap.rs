//! Sends each frame back with its addresses swapped. Each processor serves frames by turns.

#![no_std]
#![no_main]

use samplewire_nic_apps::swap;
use samplewire_nic_images::{ALL_FRAMES, Choice, own_mac, start};
use samplewire_nic_runtime::{entry, soc};

entry!(main);

fn main() -> ! {
    let server = start(Choice::Turns, ALL_FRAMES, own_mac());
    loop {
        if !swap(&server) {
            soc::sleep();
        }
    }
}
