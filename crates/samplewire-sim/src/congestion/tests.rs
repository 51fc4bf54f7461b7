use super::*;

/// The wire bytes of an IP packet of so many bytes.
const fn wire_bytes(ip_bytes: u32) -> u32 {
    ip_bytes + 38
}

#[test]
fn senders_share_a_link_that_stays_busy_and_drops_nothing() {
    let ten = Incast::new(10_000_000_000, 10_000_000_000, wire_bytes(4_096));
    let forty = Incast::new(40_000_000_000, 40_000_000_000, wire_bytes(1_000));
    // Senders, and the bounds: utilisation, Jain, p99 and longest queue in bytes.
    let cases = [
        (&ten, 2, 0.998, 0.99, 80_000, 450_000),
        (&ten, 8, 0.998, 0.985, 130_000, 450_000),
        (&ten, 16, 0.998, 0.98, 220_000, 450_000),
        (&ten, 32, 0.997, 0.99, 400_000, 1_000_000),
        (&forty, 2, 0.998, 0.985, 45_000, 150_000),
    ];
    for (scenario, senders, utilisation, jain, p99, longest) in cases {
        for seed in 1..=2 {
            let run = incast(&Incast { senders, seed, ..*scenario }).expect("valid");
            let what = format!("{senders} senders at {} b/s: {run:?}", scenario.sender_bps);
            assert!(run.utilisation >= utilisation && run.utilisation < 1.001, "{what}");
            assert!(run.jain >= jain && run.jain <= 1.0, "{what}");
            assert!(run.queue_p99_bytes <= p99 && run.queue_max_bytes <= longest, "{what}");
            assert_eq!(run.dropped, 0, "{what}");
        }
    }
}

#[test]
fn without_control_the_buffer_fills_and_frames_drop() {
    let scenario = Incast {
        senders: 3,
        control: None,
        span: (Nanos(0), Nanos::from_millis(20)),
        ..Incast::new(10_000_000_000, 10_000_000_000, wire_bytes(4_096))
    };
    let run = incast(&scenario).expect("valid");
    assert!(run.utilisation > 0.99, "{run:?}");
    assert!(run.queue_max_bytes > 1_900_000, "{run:?}");
    assert!(run.dropped > 5_000, "{run:?}");
    assert_eq!(run.cuts, 0, "{run:?}");
}

#[test]
fn a_seed_decides_everything() {
    let scenario = Incast {
        span: (Nanos::from_millis(80), Nanos::from_millis(100)),
        ..Incast::new(10_000_000_000, 10_000_000_000, wire_bytes(4_096))
    };
    let run = |seed| incast(&Incast { seed, ..scenario }).expect("valid");
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn what_contradicts_itself_is_named() {
    let mut scenario = Incast::new(10_000_000_000, 10_000_000_000, 4_134);
    scenario.shared_bps = 0;
    let error = incast(&scenario).err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some("port 2: its rate is 0 b/s"));
}
