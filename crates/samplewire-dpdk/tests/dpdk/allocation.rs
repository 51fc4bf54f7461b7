//! Sending and receiving take no memory once a link is made.

use std::time::Duration;

use samplewire_io::{Batch, Ecn, Link, Outgoing};
use samplewire_testing::{CountingAllocator, in_namespace};

use crate::shared::{DEVICE, FAR_DEVICE, FAR_NETWORK, NETWORK, link, meet, near_and_far};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn link_over_dpdk_takes_none() {
    let name = "allocation::link_over_dpdk_takes_none";
    if !in_namespace(name, &near_and_far(1_500)) {
        return;
    }
    let mut near = link(DEVICE, NETWORK, |options| options);
    let mut far = link(FAR_DEVICE, FAR_NETWORK, |options| options);
    meet(&mut near, &mut far);
    let (mut batch, mut received) = (Batch::new(64, 1_500), 0);
    let packets = [Outgoing::whole(far.local_addr(), Ecn::Ect0, &[7; 1_400]); 64];
    let before = CountingAllocator::calls_of_thread();
    for _ in 0..200 {
        near.send(&packets).unwrap();
        near.recv(&mut batch).unwrap();
        far.wait(Duration::from_millis(1)).unwrap();
        far.recv(&mut batch).unwrap();
        received += batch.len();
    }
    let taken = CountingAllocator::calls_of_thread() - before;
    assert!(received > 5_000, "{received}");
    assert_eq!(taken, 0);
    drop(Box::new(received));
    assert_eq!(CountingAllocator::calls_of_thread() - before, 1, "the counter counts");
}
