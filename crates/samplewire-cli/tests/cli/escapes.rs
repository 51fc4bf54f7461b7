//! Control characters in a device's name do not reach a terminal.

use std::fs;

use crate::harness::{Device, Ran, folder, run, text};

/// Checks that a terminal gets only lines of text, and that the name is there.
fn check(ran: &Ran, verb: &str) {
    for output in [ran.text(), &ran.stderr] {
        let wrong = output.chars().find(|&it| (it.is_control() && it != '\n') || it == '\u{202e}');
        assert_eq!(wrong, None, "{verb}: {}", output.escape_debug());
    }
    assert!(ran.text().contains("u{1b}") && ran.text().contains("evil"), "{verb}: {ran:?}");
}

#[test]
fn escape_sequences_in_the_name_of_a_device_are_printed_escaped() {
    let folder = folder("escapes");
    // The name of a device is that of the file that it plays: clear the screen, set the title, C1,
    // and text from right to left.
    let source = folder.join("\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\u{202e}evil\r\n.sc16");
    fs::write(&source, vec![1; 400_000]).unwrap();
    let arguments = ["--source", text(&source), "--rate", "1M", "--format", "sc16"];
    let device = Device::start(&[&arguments[..], &["--loop", "forever"]].concat());
    let address = &device.address;
    let port = address.rsplit_once(':').expect("an address has a port").1;
    let capture = folder.join("record.pcapng");
    let recorded = folder.join("recorded");
    check(&run(&["probe", address]).expect(0), "probe");
    check(&run(&["probe", address, "--json"]).expect(0), "probe --json");
    check(&run(&["find", "--port", port, "--timeout", "500ms"]).expect(0), "find");
    check(&run(&["find", "--port", port, "--timeout", "500ms", "--json"]).expect(0), "find --json");
    let record = ["record", address, text(&recorded), "--nsamps", "1000"];
    let record = [&record[..], &["--capture", text(&capture)]].concat();
    check(&run(&record).expect(0), "record");
    let record = ["record", address, "null", "--nsamps", "1000", "--json"];
    check(&run(&record).expect(0), "record --json");
    check(&run(&["decode", text(&capture)]).expect(0), "decode");
    let meta = fs::read_to_string(recorded.with_extension("sigmf-meta")).unwrap();
    assert!(!meta.contains(|it: char| it.is_control() && it != '\n'), "{meta:?}");
    run(&["verify", text(&recorded)]).expect(0);
}
