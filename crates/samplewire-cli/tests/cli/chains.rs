//! Streams that are processed on the way: `--chain`.

use std::fs;
use std::path::Path;

use crate::harness::{Device, folder, run, text};

/// The frequency of a tone in cycles per sample: the mean turn from one IQ sample to the next.
fn frequency(samples: &[(f64, f64)]) -> f64 {
    let turns = samples.windows(2).map(|pair| {
        let [(i, q), (next_i, next_q)] = [pair[0], pair[1]];
        (i * next_i + q * next_q, i * next_q - q * next_i)
    });
    let (real, imaginary) = turns.fold((0.0, 0.0), |sum, turn| (sum.0 + turn.0, sum.1 + turn.1));
    imaginary.atan2(real) / std::f64::consts::TAU
}

fn sc16(path: &Path) -> Vec<(f64, f64)> {
    let bytes = fs::read(path).unwrap();
    let part = |bytes: &[u8]| f64::from(i16::from_le_bytes([bytes[0], bytes[1]]));
    bytes.chunks_exact(4).map(|sample| (part(sample), part(&sample[2..]))).collect()
}

#[test]
fn device_sends_the_processed_source_at_its_new_rate() {
    let folder = folder("chain-emulate");
    let chain = ["--chain", "mix:-3M,lowpass:200k,decimate:8"];
    let device =
        Device::start(&[&["--source", "tone:3.05M", "--rate", "10M"][..], &chain].concat());
    let path = folder.join("tone.sc16");
    let record = ["record", &device.address, text(&path), "--nsamps", "100000"];
    let ran = run(&record).expect(0);
    assert!(ran.text().contains("sc16, 1 channel, 1.25 MS/s"), "{ran:?}");
    let samples = sc16(&path);
    assert_eq!(samples.len(), 100_000);
    // Behind the filter's start.
    let hz = frequency(&samples[1_000..]) * 1.25e6;
    assert!((hz - 50e3).abs() < 10.0, "{hz} Hz");
    let rate = ["rate", &device.address, "--duration", "500ms", "--chain", "decimate:5", "--json"];
    let measured =
        &run(&rate).expect(0).text().parse::<serde_json::Value>().unwrap()["end"]["receive"];
    let [taken, made] =
        ["samples_delivered", "samples_behind_chain"].map(|key| measured[key].as_u64().unwrap());
    assert!(made > 0 && made.abs_diff(taken / 5) <= 1, "{made} of {taken}");
}

#[test]
fn recording_of_a_processed_stream_is_proven_with_every_gap() {
    let folder = folder("chain-record");
    let fault = ["--fault", "data:loss=0.01,seed=5"];
    let source = ["--source", "tone:1.25M", "--rate", "10M"];
    let device = Device::start(&[&source[..], &fault].concat());
    for (delivery, is_whole) in [("complete", true), ("best-effort", false)] {
        let path = folder.join(delivery);
        let record = ["record", &device.address, text(&path), "--nsamps", "2000000"];
        let chain = ["--chain", "mix:-1.2M,lowpass:200k,decimate:8", "--delivery", delivery];
        run(&[&record[..], &chain].concat()).expect(if is_whole { 0 } else { 3 });
        run(&["verify", text(&path)]).expect(0);
        let meta = fs::read_to_string(path.with_extension("sigmf-meta")).unwrap();
        let meta: serde_json::Value = meta.parse().unwrap();
        assert_eq!(meta["global"]["core:sample_rate"], 1.25e6);
        assert_eq!(meta["global"]["core:datatype"], "cf32_le");
        let bytes = fs::read(path.with_extension("sigmf-data")).unwrap();
        let part = |bytes: &[u8]| f64::from(f32::from_le_bytes(bytes.try_into().unwrap()));
        let samples: Vec<_> =
            bytes.chunks_exact(8).map(|it| (part(&it[..4]), part(&it[4..]))).collect();
        let missing = 250_000 - samples.len();
        assert_eq!(missing == 0, is_whole, "{missing} missing");
        let annotations = meta["annotations"].as_array().map_or(0, Vec::len);
        assert_eq!(annotations == 0, is_whole, "{meta}");
        if is_whole {
            let hz = frequency(&samples[1_000..]) * 1.25e6;
            assert!((hz - 50e3).abs() < 10.0, "{hz} Hz");
        }
    }
    let path = folder.join("no");
    let record = ["record", &device.address, text(&path), "--chain", "gain:2"];
    for more in [&["--append"][..], &["--reconnect"], &["--channels", "0,1"]] {
        run(&[&record[..], more].concat()).expect_error(1, &["--chain", more[0]]);
    }
}

#[test]
fn chains_that_do_not_suit_the_stream_are_errors_that_name_the_step() {
    let source = ["emulate", "--listen", "127.0.0.1:0", "--source"];
    let refused = |more: &[&str], words: &[&str]| {
        run(&[&source[..], more].concat()).expect_error(1, words);
    };
    refused(&["scene", "--chain", "squelch:1"], &["squelch:1", "mix:HZ, lowpass:HZ"]);
    refused(&["scene", "--rate", "1M", "--chain", "mix:600k"], &["mix:600k", "within 500000 Hz"]);
    refused(&["null", "--format", "r16", "--chain", "gain:2"], &["--chain", "1 of r16"]);
    let rate = ["rate", "127.0.0.1", "--way", "transmit", "--chain", "gain:2"];
    run(&rate).expect_error(1, &["--chain", "--way transmit"]);
}
