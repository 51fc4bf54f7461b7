//! Plays received streams into files.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use samplewire::device::Player;
use samplewire::format::Format;
use samplewire::source::StreamInfo;
use samplewire::transmitter::SendError;
use samplewire::{DeviceOptions, SampleIndex, SendOptions, SendStream};
use samplewire_io::{Udp, UdpOptions};
use samplewire_proto::wire::Flags;
use samplewire_record::sink::{self, SinkOptions};

/// Returns the index of the first sample, after the device accepts it.
fn opened(stream: &SendStream) -> SampleIndex {
    assert!(stream.wait_ready(Duration::from_secs(5)).expect("the port works"), "it is silent");
    stream.session().first_index
}

/// Submits a burst of 100 nonzero samples.
fn submit(
    transmitter: &mut SendStream,
    index: SampleIndex,
    flags: Flags,
) -> Result<SampleIndex, SendError> {
    let filling = transmitter.quantum(Duration::from_secs(5))?;
    let mut filling = filling.expect("there is room");
    filling.bytes_mut()[..400].fill(1);
    transmitter.submit(filling, 400, index, flags | Flags::END_OF_BURST).expect("it follows");
    Ok(index + 100)
}

/// `docs/protocol.md#6.10`: a jump into a file takes the same work whatever its length.
#[test]
fn zeros_of_a_jump_are_a_hole_of_the_file() {
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    for name in ["a.raw", "a.sigmf-data"] {
        let path = folder.path().join(name);
        let info = StreamInfo::new(Format::Sc16, 1, RATE_HZ).expect("a rate in range");
        let options = SinkOptions::new().sha512(false);
        let mut sink = sink::open(&path, &info, &options).expect("it is free");
        let options = DeviceOptions::new().window(64).play_jump_max(HOUR);
        let udp = Udp::bind("127.0.0.1:0".parse().expect("an address"), &UdpOptions::new());
        let device = options.plays(info.clone()).listen_over(Box::new(udp.expect("a free port")));
        let device = device.expect("it listens");
        let sender = std::thread::spawn(move || {
            let mut transmitter = SendOptions::new().open(device.address)?;
            opened(&transmitter);
            let mut next = submit(&mut transmitter, 0, Flags::START)?;
            for _ in 0..JUMPS {
                next = submit(&mut transmitter, next + JUMP, Flags::OVERFLOW)?;
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(transmitter.finish(0)?)
        });
        let mut receive_listener = device.receive_listener.expect("it plays");
        let incoming = receive_listener.accept(Duration::from_secs(10)).expect("the port works");
        let incoming = incoming.expect("it is open");
        let mut player = Player::new(incoming.receiver, None, incoming.underflow, &mut sink);
        while player.run(TURN, |_| ()).expect("there is room") {}
        let played = player.finish();
        sender.join().expect("it does not panic").expect("it is sent");
        assert_eq!(played.counts.underrun_samples, JUMPS * JUMP);
        let written = sink.finish().expect("there is room").samples;
        assert_eq!(written, 100 + JUMPS * (JUMP + 100), "{name}");
        let mut file = File::open(&path).expect("it is there");
        let used_bytes = file.metadata().expect("it is there").blocks() * 512;
        assert!(used_bytes < 2_000_000, "{name}: {used_bytes} bytes on the disk");
        for jump in 0..=JUMPS {
            let mut around = [7; 404];
            let at = jump * (JUMP + 100) * 4;
            file.seek(SeekFrom::Start(at.saturating_sub(4))).expect("it is a file");
            file.read_exact(&mut around).expect("it is as long");
            let expected = if at == 0 { [[1; 4], [1; 4]] } else { [[0; 4], [1; 4]] };
            assert_eq!([&around[..4], &around[4..8]], expected, "{name}, jump {jump}");
        }
    }
}

const HOUR: Duration = Duration::from_secs(3_600);
/// 600 MB.
const JUMP: u64 = 150_000_000;
const JUMPS: u64 = 3;
const RATE_HZ: f64 = 1e6;
const TURN: Duration = Duration::from_millis(20);
