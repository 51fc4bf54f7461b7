//! Gaps at the handle: however they crowd, each index is in one gap or in one block, in order.

use samplewire::format::Format;
use samplewire::receiver::Block;
use samplewire::source::StreamInfo;
use samplewire::{DeviceOptions, ReceiveOptions};
use samplewire_proto::Cause;
use samplewire_proto::wire::Flags;
use samplewire_testing::PATIENCE;

/// A device that sends packets of metadata, each behind a loss of its source, and then samples: the
/// gaps have no samples between them.
#[test]
fn crowd_of_gaps_before_one_block_is_reported_in_full() {
    let info = StreamInfo::new(Format::Sc16, 1, 1e6).expect("a rate in range");
    let options = DeviceOptions::new().payload_bytes(SAMPLES as u16 * 4);
    let mut listener =
        options.sends(info).listen("127.0.0.1:0").expect("a free port").listeners.remove(0);
    let address = listener.local_addr();
    let device = std::thread::spawn(move || {
        let mut stream = listener.accept(PATIENCE).expect("it works").expect("one comes");
        let mut send = |lost: u64, flags| {
            let filling = stream.quantum(PATIENCE).expect("it works").expect("room");
            let index = stream.next_index() + lost;
            stream.submit(filling, SAMPLES as usize * 4, index, flags).expect("it follows");
        };
        for crowd in CROWDS {
            (0..crowd - 1).for_each(|gap| send(gap + 1, Flags::META | Flags::OVERFLOW));
            send(crowd, Flags::OVERFLOW);
        }
        let end = stream.finish(0).expect("it works");
        (stream.session().first_index, end.final_index)
    });
    let mut receiver = ReceiveOptions::new().timeout(PATIENCE).open(address).expect("it answers");
    let mut next = receiver.info().first_index;
    let (mut samples, mut gaps, mut crowd) = (0, 0, 0);
    let mut crowds = Vec::new();
    for block in receiver.by_ref().map(Result::unwrap) {
        assert!(block.gaps().len() <= Block::GAPS_MAX);
        for gap in block.gaps() {
            assert_eq!((gap.first, gap.cause), (next, Cause::SourceOverflow));
            next = gap.end();
            gaps += gap.count();
            crowd += 1;
        }
        assert_eq!(block.index(), next);
        next += block.len() as u64;
        samples += block.len() as u64;
        if !block.is_empty() {
            crowds.push(std::mem::take(&mut crowd));
        }
    }
    let (first, end) = device.join().expect("the device does not panic");
    assert_eq!((next, samples + gaps), (end, end - first));
    assert_eq!((samples, crowds), (SAMPLES * CROWDS.len() as u64, CROWDS.to_vec()));
}

/// Gaps before a block: fewer than one block carries, as many, and more.
const CROWDS: [u64; 7] = [1, 3, 4, 5, 8, 9, 13];

const SAMPLES: u64 = 352;
