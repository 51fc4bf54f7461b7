//! Options from a file and from device strings, completions and manual pages.

use std::fs;

use serde_json::Value;

use crate::harness::{Device, folder, run, text};

#[test]
fn file_and_device_string_give_options_and_the_line_wins() {
    let device = Device::start(&["--source", "null", "--rate", "4M"]);
    let file = folder("settings").join("settings.toml");
    fs::write(&file, "[record]\nnsamps = 1e9\njson = true\n[probe]\ntimeout = '2s'\n").unwrap();
    let config = text(&file);
    let place = format!("addr={},window=256,nsamps=900k", device.address);
    let recorded = |more: &[&str]| -> Value {
        let arguments = [&["record", "--config", config, &place, "null"], more].concat();
        serde_json::from_slice(&run(&arguments).expect(0).stdout)
            .expect("JSON, as the file requests")
    };
    let document = recorded(&[]);
    assert_eq!(document["start"]["window_packets"], 256);
    assert_eq!(document["end"]["samples_delivered"], 900_000);
    let document = recorded(&["--nsamps", "500k", "--window=128"]);
    assert_eq!(document["start"]["window_packets"], 128);
    // Not more than the device's window.
    assert_eq!(recorded(&["--window=8192"])["start"]["window_packets"], 1_024);
    assert_eq!(document["end"]["samples_delivered"], 500_000);
}

#[test]
fn wrong_settings_are_reported_with_their_place() {
    let file = folder("wrong-settings").join("wrong.toml");
    let config = text(&file);
    for (content, words) in [
        ("[probe]\ncolour = 3\n", ["[probe]", "no option `colour`", "timeout"]),
        ("[prboe]\n", ["`prboe` is no verb", "emulate", "probe"]),
        ("[probe]\ntimeout = 'soon'\n", ["soon", "--timeout", "invalid value"]),
        ("timeout == 3\n", ["wrong.toml", "line 1", "TOML parse error"]),
    ] {
        fs::write(&file, content).unwrap();
        run(&["probe", "127.0.0.1:1", "--config", config]).expect_error(1, &words);
    }
    fs::remove_file(&file).unwrap();
    run(&["probe", "127.0.0.1:1", "--config", config]).expect_error(1, &["wrong.toml", "No such"]);
    run(&["--config", config, "probe", "127.0.0.1:1", "--config=other.toml"])
        .expect_error(1, &[config, "--config other.toml: one file is read"]);
    run(&["probe", "addr=127.0.0.1,color=red"])
        .expect_error(1, &["`addr=127.0.0.1,color=red`", "no option `color`"]);
}

#[test]
fn completions_and_manual_pages_name_every_verb() {
    for shell in ["bash", "zsh", "fish"] {
        let ran = run(&["completions", shell]).expect(0);
        for word in ["record", "emulate", "find", "delivery"] {
            assert!(ran.text().contains(word), "{shell} misses {word}");
        }
    }
    run(&["completions", "tcsh"]).expect_error(1, &["tcsh", "bash"]);
    let folder = folder("man");
    run(&["man", text(&folder)]).expect(0);
    let page = fs::read_to_string(folder.join("samplewire-record.1")).unwrap();
    assert!(page.contains("\\-\\-delivery"), "{page}");
    let pages = fs::read_dir(&folder).unwrap().count();
    assert!(pages > 10, "{pages} pages");
    run(&["man", "/proc/none"]).expect_error(1, &["/proc/none"]);
}
