//! JSON: it parses, and its numbers add up.

use serde_json::Value;

use crate::harness::{Device, run};

fn sum(list: &Value, key: &str) -> u64 {
    list.as_array().unwrap().iter().map(|item| item[key].as_u64().unwrap()).sum()
}

fn lossy_device() -> Device {
    let faults = "data:loss=0.02,corrupt=0.005,dup=0.01,seed=9";
    Device::start(&["--source", "null", "--rate", "4M", "--fault", faults])
}

#[test]
fn document_adds_up() {
    let device = lossy_device();
    let arguments = ["record", &device.address, "null", "--json", "--nsamps", "5M"];
    let ran = run(&[&arguments[..], &["--delivery", "best-effort"]].concat()).expect(3);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let end = &document["end"];
    let of = |key: &str| end[key].as_u64().unwrap();
    assert_eq!(of("samples_delivered") + of("samples_missing"), 5_000_000);
    assert_eq!(of("end_index") - of("first_index"), 5_000_000);
    assert_eq!(of("bytes"), of("samples_delivered") * 4);
    let intervals = &document["intervals"];
    assert!(intervals.as_array().unwrap().len() >= 2);
    assert_eq!(sum(intervals, "samples_delivered"), of("samples_delivered"));
    assert_eq!(sum(intervals, "samples_missing"), of("samples_missing"));
    assert_eq!(sum(&document["gaps"], "samples"), of("samples_missing"));
    assert_eq!(document["gaps"].as_array().unwrap().len() as u64, of("gaps"));
    let causes: u64 =
        end["gap_samples"].as_object().unwrap().values().map(|it| it.as_u64().unwrap()).sum();
    assert_eq!(causes, of("samples_missing"));
    assert_eq!(end["gap_samples"]["never_asked"], of("samples_missing"));
    for key in ["packets_received", "packets_duplicate", "packets_corrupted", "memory_bytes"] {
        assert!(of(key) > 0, "{key} in {end}");
    }
    for key in ["packets_repaired", "packets_late", "credit_stalls"] {
        assert!(end[key].is_u64(), "{key} in {end}");
    }
    assert!(end["goodput_bps"].as_f64().unwrap() > 1e6);
    assert_eq!((&end["result"], &end["exit_status"]), (&"missing".into(), &3.into()));
    let start = &document["start"];
    assert_eq!(start["device"]["format"], "sc16");
    assert_eq!(
        (&start["delivery"], &start["window_packets"]),
        (&"best-effort".into(), &1024.into())
    );
    assert_eq!(document.get("error"), None);
}

#[test]
fn stream_has_an_object_on_each_line() {
    let device = lossy_device();
    let arguments = ["record", &device.address, "null", "--json-stream", "--nsamps", "5M"];
    let ran = run(&[&arguments[..], &["--delivery", "best-effort"]].concat()).expect(3);
    let events: Vec<Value> =
        ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |name: &str| -> Vec<&Value> {
        events.iter().filter(|event| event["event"] == name).map(|event| &event["data"]).collect()
    };
    assert_eq!(events[0]["event"], "start");
    assert_eq!(events.last().unwrap()["event"], "end");
    let end = of("end")[0];
    let missing: u64 = of("gap").iter().map(|gap| gap["samples"].as_u64().unwrap()).sum();
    assert_eq!(missing, end["samples_missing"].as_u64().unwrap());
    let delivered: u64 =
        of("interval").iter().map(|it| it["samples_delivered"].as_u64().unwrap()).sum();
    assert_eq!(delivered, end["samples_delivered"].as_u64().unwrap());
}

#[test]
fn error_is_in_the_document_too() {
    let ran = run(&["record", "127.0.0.1:1", "null", "--json", "--timeout", "200ms"]).expect(2);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert!(document["error"].as_str().unwrap().contains("127.0.0.1:1"), "{document}");
    assert_eq!((&document["start"], &document["end"]), (&Value::Null, &Value::Null));
}

#[test]
fn json_goes_to_standard_error_beside_samples() {
    let device = Device::start(&["--source", "counter", "--rate", "max"]);
    let ran = run(&["record", &device.address, "-", "--nsamps", "1000", "--json"]).expect(0);
    assert_eq!(samplewire::source::counter_mismatch(0, &ran.stdout), None);
    assert_eq!(ran.stdout.len(), 4_000);
    let document: Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(document["end"]["samples_delivered"], 1_000);
}
