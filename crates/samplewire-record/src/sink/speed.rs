//! Measures the speed of sinks. On an idle machine:
//! `cargo test --release -p samplewire speed -- --ignored --nocapture --test-threads 1`.

use std::time::Instant;

use samplewire::StreamInfo;
use samplewire_proto::wire::Format;
use tempfile::TempDir;

use super::*;

#[test]
#[ignore = "measures: needs --release, an idle machine and 2 GB in the folder for temporary files"]
fn files_take_5_gigabits_a_second() {
    let folder = TempDir::new().unwrap();
    let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
    let piece = vec![7; 8_000];
    for (name, sha512) in [("warm.raw", false), ("a.raw", false), ("b", false), ("c", true)] {
        let path = folder.path().join(name);
        let mut sink = open(&path, &info, &SinkOptions::new().sha512(sha512)).unwrap();
        let started = Instant::now();
        for index in 0..250_000 {
            sink.write(index * 2_000, &piece).unwrap();
        }
        let writing = 2.0 / started.elapsed().as_secs_f64();
        let summary = sink.finish().unwrap();
        let whole = 2.0 / started.elapsed().as_secs_f64();
        println!("{name} sha512={sha512}: {writing:.2} GB/s, with the end {whole:.2} GB/s");
        summary.files.iter().for_each(|file| std::fs::remove_file(file).unwrap());
        assert!(name == "warm.raw" || writing > 5.0 / 8.0, "{name}: {writing} GB/s");
    }
}
