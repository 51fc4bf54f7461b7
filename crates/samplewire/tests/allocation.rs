//! A stream takes no memory once it flows, and no more than it says.

mod rig;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use rig::Device;
use samplewire::format::Format;
use samplewire::receiver::ReceiverOptions;
use samplewire::source::NullSource;
use samplewire::transmitter::{Overflow, TransmitterOptions};
use samplewire_io::FaultSpec;
use samplewire_io::faults::Direction;

/// The system's allocator, which counts the calls and bytes of all threads.
struct Counting;

static CALLS: AtomicU64 = AtomicU64::new(0);
static BYTES_HELD: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        BYTES_HELD.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES_HELD.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn flowing_stream_with_repairs_allocates_nothing_and_holds_what_it_says() {
    let faults = FaultSpec::new().loss(0.01).corrupt(0.001).duplicate(0.001).seed(4);
    let device = Device::start(
        "127.0.0.1:0",
        Box::new(NullSource::new(Format::Sc16, 1, 1e9).expect("a rate in range")),
        &TransmitterOptions::new(),
        (&faults, &faults),
        Overflow::Wait,
    );
    // The device's thread has taken its own memory by then.
    std::thread::sleep(std::time::Duration::from_millis(100));
    let held_before = BYTES_HELD.load(Ordering::Relaxed);
    let mut receiver = device.receive(&ReceiverOptions::new());
    let mut blocks = 0;
    let mut before = (0, receiver.stats());
    let mut bytes_held = 0;
    for block in receiver.by_ref() {
        drop(block);
        blocks += 1;
        if blocks == 1_000 {
            bytes_held = BYTES_HELD.load(Ordering::Relaxed) - held_before;
            before.0 = CALLS.load(Ordering::Relaxed);
        }
        if blocks == 21_000 {
            break;
        }
    }
    let calls = CALLS.load(Ordering::Relaxed) - before.0;
    let stats = receiver.stats().stream;
    assert!(stats.delivered > 100_000 && stats.repaired > 1_000, "{stats:?}");
    assert_eq!(calls, 0, "allocations over {} packets", stats.delivered);
    assert!(device.log.counts(Direction::Transmit).lost > 1_000);
    let said = receiver.memory_bytes() as u64;
    println!("the receiver says {said} bytes and the process took {bytes_held}");
    assert!((said * 9 / 10..said * 11 / 10).contains(&bytes_held));
    receiver.close();
    device.finish();
}
