//! The page against the format's rules, and against `docs/statistics.md`.

use std::collections::{BTreeMap, BTreeSet};

use samplewire::device::PlayCounts;
use samplewire::format::Format;
use samplewire::receiver::ReceiverSnapshot;
use samplewire::source::StreamInfo;
use samplewire::transmitter::TransmitterSnapshot;
use samplewire_proto::receiver::ReceiverStats;
use samplewire_proto::sender::SenderStats;
use samplewire_proto::session::ListenStats;
use samplewire_record::account::Account;

use super::*;

/// A process with a stream of every kind.
fn registry() -> (Registry, Vec<Entry>) {
    let registry = Registry::of("test");
    let mut info = StreamInfo::new(Format::Sc16, 2, 61.44e6).unwrap();
    info.name = "a \"name\" with \\ and\na line".into();
    let device = "[::1]:9100".parse().unwrap();
    let about = |direction| About { device, stream: 3, direction, info: info.clone() };
    let received = registry.add(about(Direction::Receive), move || {
        let mut receiver = ReceiverSnapshot { rtt_ns: 1_234_567_890, ..Default::default() };
        receiver.stream.gap_samples = [1, 2, 3, 4, 5];
        receiver.stream.received = u64::MAX;
        View {
            peer: Some(device),
            packet_samples: 352,
            receiver: Some(receiver),
            player: Some(PlayCounts::default()),
            recording: Some(Account::new(0, None)),
            ..View::default()
        }
    });
    let sent = registry.add(about(Direction::Transmit), || View {
        sender: Some(TransmitterSnapshot::default()),
        is_listening: true,
        ..View::default()
    });
    (registry, vec![received, sent])
}

/// The families by name: type and samples.
fn families(page: &str) -> BTreeMap<String, (String, Vec<text::Sample>)> {
    let mut families: BTreeMap<String, (String, Vec<text::Sample>)> = BTreeMap::new();
    let mut present = String::new();
    assert!(page.ends_with('\n') && !page.contains('\r'));
    for line in page.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').unwrap();
            assert!(!words.is_empty() && !words.contains('\\'), "{line}");
            // A family must be contiguous.
            assert!(families.insert(name.into(), Default::default()).is_none(), "{name} twice");
            present = name.to_owned();
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            let family = families.get_mut(&present).unwrap();
            assert!(name == present && family.0.is_empty(), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            family.0 = kind.to_owned();
        } else {
            let [sample] = &text::parse(line).unwrap()[..] else { panic!("{line}") };
            assert_eq!(sample.name, present, "{line}");
            families.get_mut(&present).unwrap().1.push(sample.clone());
        }
    }
    families
}

#[test]
fn page_keeps_the_rules_of_the_format() {
    let (registry, entries) = registry();
    let page = registry.page();
    let families = families(&page);
    for (name, (kind, samples)) in &families {
        assert!(["counter", "gauge"].contains(&kind.as_str()), "{name}");
        let is_good = |letter: char| letter.is_ascii_lowercase() || letter == '_';
        assert!(name.starts_with("samplewire_") && name.chars().all(is_good), "{name}");
        let labels: BTreeSet<_> =
            samples.iter().map(|sample| format!("{:?}", sample.labels)).collect();
        assert_eq!(labels.len(), samples.len(), "{name}: two samples of the same labels");
        assert!(!samples.is_empty(), "{name}");
    }
    let info = &families["samplewire_stream_info"].1;
    // Escaped as it prints, and in the page once more.
    assert_eq!(info[0].label("name"), r#"a "name" with \\ and\na line"#);
    assert_eq!((info[0].label("device"), info[0].label("stream")), ("[::1]:9100", "3"));
    assert_eq!((info[0].label("peer"), info[1].label("peer")), ("[::1]:9100", ""));
    let rtt = "samplewire_receiver_port_rtt_seconds{device=\"[::1]:9100\",stream=\"3\",\
               direction=\"receive\"} 1.234567890\n";
    assert!(page.contains(rtt), "{page}");
    assert!(page.contains("} 18446744073709551615\n"), "all digits are written");
    let lost = |prefix: &str| -> Vec<_> {
        let samples = &families[&format!("samplewire_{prefix}_lost_samples_total")].1;
        samples.iter().map(|it| (it.label("hop"), it.value)).collect()
    };
    let hops = ["device", "wire", "socket", "application", "disk"];
    let of = |samples: [f64; 5]| hops.into_iter().zip(samples).collect::<Vec<_>>();
    assert_eq!(lost("receiver"), of([1.0, 9.0, 5.0, 0.0, 0.0]));
    assert_eq!(lost("recording"), of([0.0; 5]));
    let causes = &families["samplewire_receiver_gap_samples_total"].1;
    let causes: Vec<_> = causes.iter().map(|it| (it.label("cause"), it.value)).collect();
    let expected =
        ["source_overflow", "deadline", "gone_at_sender", "never_asked", "receiver_behind"];
    assert_eq!(causes, expected.into_iter().zip([1.0, 2.0, 3.0, 4.0, 5.0]).collect::<Vec<_>>());
    drop(entries);
    let empty = registry.page();
    assert_eq!(empty.lines().count(), 3, "{empty}");
}

/// The rows of the table under a heading of the manual: first cell, unit and the rest.
fn documented(manual: &str, heading: &str) -> Vec<(String, String, String)> {
    let text = manual.split_once(&format!("\n{heading}")).expect(heading).1;
    let rows = text.lines().skip_while(|line| !line.starts_with("| counter |"));
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').splitn(3, " | ").map(str::trim).collect();
        (cells[0].trim_matches('`').to_owned(), cells[1].to_owned(), cells[2].to_owned())
    };
    rows.map(row).collect()
}

/// The fields of a struct, by its Debug text.
fn fields(debug: &str) -> Vec<String> {
    let is_field = |line: &&str| line.starts_with("    ") && !line.starts_with("     ");
    let name = |line: &str| line.trim().split_once(": ").map(|(name, _)| name.to_owned());
    debug.lines().filter(is_field).filter_map(name).collect()
}

#[test]
fn manual_and_code_and_page_have_the_same_names() {
    let manual = include_str!("../../../../docs/statistics.md");
    let (registry, _entries) = registry();
    let families = families(&registry.page());
    let mut unchecked: BTreeSet<String> = families.keys().cloned().collect();
    // Not exported: parts of a snapshot that have tables of their own, and counts that are known
    // only at the end.
    let apart = ["stream", "stalls", "listen", "overflow_samples"];
    let tables = [
        ("### `ReceiverStats`", "receiver_", format!("{:#?}", ReceiverStats::default())),
        ("### `ReceiverSnapshot`", "receiver_port_", format!("{:#?}", ReceiverSnapshot::default())),
        ("### `SenderStats`", "sender_", format!("{:#?}", SenderStats::default())),
        (
            "### `TransmitterSnapshot`",
            "sender_port_",
            format!("{:#?}", TransmitterSnapshot::default()),
        ),
        ("## Player", "player_", format!("{:#?}", PlayCounts::default())),
        ("## Listener", "listener_", format!("{:#?}", ListenStats::default())),
    ];
    for (heading, prefix, debug) in tables {
        let rows = documented(manual, heading);
        let names: BTreeSet<&str> =
            rows.iter().map(|(name, ..)| name.split('`').next().unwrap()).collect();
        for field in fields(&debug) {
            assert!(names.contains(&*field), "{heading}: {field} of the code");
        }
        for (name, unit, meaning) in &rows {
            let name = name.split('`').next().unwrap();
            if prefix.ends_with("port_") && apart.contains(&name) {
                continue;
            }
            let (kind, name) = match (unit.as_str(), meaning.contains("not a count")) {
                ("ns", true) => ("gauge", format!("{}_seconds", name.trim_end_matches("_ns"))),
                (_, true) => ("gauge", name.to_owned()),
                (_, false) => ("counter", format!("{name}_total")),
            };
            let name = format!("samplewire_{prefix}{name}");
            let family = families.get(&name).unwrap_or_else(|| panic!("{heading}: no {name}"));
            assert_eq!(family.0, kind, "{name}");
            unchecked.remove(&name);
        }
    }
    // The rest is listed by its whole name.
    let (_, section) = manual.split_once("\n## Metrics").expect("a section of the manual");
    let section = section.split("\n## ").next().unwrap();
    for name in unchecked {
        assert!(section.contains(&format!("| `{name}` |")), "the manual does not list {name}");
    }
}

#[test]
fn entry_may_be_replaced_and_goes_when_it_is_dropped() {
    let (registry, entries) = registry();
    entries[1].set(|| View { packet_samples: 77, ..View::default() });
    let page = registry.page();
    assert!(page.contains("direction=\"transmit\"} 77\n"), "{page}");
    assert!(!page.contains("samplewire_sender_"), "{page}");
    drop(entries);
    assert!(!registry.page().contains("samplewire_stream_info"));
}

#[test]
fn thread_that_panicked_takes_nothing_with_it() {
    let thread = std::thread::spawn(|| panic!("as it should"));
    let registry = Registry::of("test");
    drop(Exporter { registry, stop: None, thread: Some(thread), _local: None });
}
