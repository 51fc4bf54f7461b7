//! `find`: devices of this host, by either family of addresses.

use serde_json::Value;

use crate::harness::{Device, run};

fn port_of(device: &Device) -> &str {
    device.address.rsplit_once(':').expect("an address has a port").1
}

#[test]
fn devices_are_listed_once_with_all_their_addresses() {
    let everywhere = Device::start(&["--listen", "0.0.0.0:0", "--source", "tone:1k"]);
    let port = port_of(&everywhere);
    let local = format!("[::1]:{port}");
    let other = Device::start(&["--listen", &local, "--source", "null", "--rate", "5M"]);
    assert_eq!(port_of(&other), port);
    let ran = run(&["find", "--port", port, "--timeout", "500ms", "--json"]).expect(0);
    let answer: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let devices = answer["devices"].as_array().expect("a list");
    assert_eq!(devices.len(), 2, "{answer}");
    let addresses = |device: &Value| {
        let others = device["other_addresses"].as_array().expect("a list").iter();
        others.chain([&device["address"]]).map(|it| it.as_str().unwrap().to_owned()).collect()
    };
    let all: Vec<Vec<String>> = devices.iter().map(addresses).collect();
    assert!(all[0].contains(&format!("127.0.0.1:{port}")), "{answer}");
    assert_eq!(all[1], [local]);
    assert_ne!(devices[0]["boot_id"], devices[1]["boot_id"]);
    assert_eq!(devices[1]["rate_hz"], 5e6);
    assert_eq!(answer["failures"].as_array().map(Vec::len), Some(0));

    let ran = run(&["find", "--port", port, "--timeout", "500ms"]).expect(0);
    for words in ["Found device 0\n  address = ", "Found device 1\n", "tone", "boot    = "] {
        assert!(ran.text().contains(words), "no `{words}` in:\n{}", ran.text());
    }
}

#[test]
fn no_answer_is_an_error_that_says_what_to_look_at() {
    // A port that was free a moment ago.
    let port = port_of(&Device::start(&["--source", "null", "--rate", "1M"])).to_owned();
    let ran = run(&["find", "--port", &port, "--timeout", "200ms"]);
    ran.expect_error(2, &["no device answered on port", &port, "firewall", "probe ADDR"]);
    let ran = run(&["find", "--port", &port, "--timeout", "200ms", "--json"]).expect(2);
    let answer: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert_eq!(answer["devices"].as_array().map(Vec::len), Some(0));
}

#[test]
fn options_out_of_range_are_named() {
    run(&["find", "--port", "0"]).expect_error(1, &["`0` must be 1 to 65535"]);
    run(&["find", "--port", "70000"]).expect_error(1, &["70000"]);
    run(&["find", "--timeout", "soon"]).expect_error(1, &["soon"]);
}
