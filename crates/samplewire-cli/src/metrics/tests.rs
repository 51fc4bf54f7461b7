//! The page against the format's rules, the tables of metrics, and `docs/statistics.md`.

use std::collections::{BTreeMap, BTreeSet};

use samplewire::device::PlayCounts;
use samplewire::format::Format;
use samplewire::receiver::ReceiverSnapshot;
use samplewire::source::StreamInfo;
use samplewire::transmitter::TransmitterSnapshot;
use samplewire_record::account::Account;

use super::counters;
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
        receiver.port.corrupted = 6;
        View {
            peer: Some(device),
            packet_samples: 352,
            receiver: Some(receiver),
            player: Some(PlayCounts::default()),
            recording: Some(Account::new(0, None)),
            host: Some(samplewire_io::HostDropCounts::default()),
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
    assert!(page.contains("} 18446744073709551615\n"), "all digits are printed");
    let damaged = &families["samplewire_port_corrupted_total"].1;
    assert_eq!(damaged.iter().map(|it| it.value).collect::<Vec<_>>(), [6.0]);
    let lost = |prefix: &str| -> Vec<_> {
        let samples = &families[&format!("samplewire_{prefix}_lost_samples_total")].1;
        samples.iter().map(|it| (it.label("hop"), it.value)).collect()
    };
    let hops = ["device", "wire", "nic", "kernel", "socket", "application", "disk"];
    let of = |samples: [f64; 7]| hops.into_iter().zip(samples).collect::<Vec<_>>();
    assert_eq!(lost("receiver"), of([1.0, 9.0, 0.0, 0.0, 5.0, 0.0, 0.0]));
    assert_eq!(lost("recording"), of([0.0; 7]));
    let causes = &families["samplewire_receiver_gap_samples_total"].1;
    let causes: Vec<_> = causes.iter().map(|it| (it.label("cause"), it.value)).collect();
    let expected =
        ["source_overflow", "deadline", "gone_at_sender", "never_asked", "receiver_behind"];
    assert_eq!(causes, expected.into_iter().zip([1.0, 2.0, 3.0, 4.0, 5.0]).collect::<Vec<_>>());
    drop(entries);
    let empty = registry.page();
    assert_eq!(empty.lines().count(), 3, "{empty}");
}

/// The names of a table's metrics, and their types.
fn names<T>(table: &tables::Table<T>) -> BTreeMap<String, &'static str> {
    table.metrics.iter().map(|metric| (metric.name.to_owned(), metric.kind.as_str())).collect()
}

#[test]
fn page_has_each_metric_of_the_tables_and_the_manual_lists_the_others() {
    let (registry, _entries) = registry();
    let families = families(&registry.page());
    let tables = [
        names(&counters::RECEIVER),
        names(&counters::RECEIVER_PORT),
        names(&counters::PORT),
        names(&counters::SENDER),
        names(&counters::SENDER_PORT),
        names(&counters::LISTENER),
        names(&counters::PLAYER),
        names(&counters::HOST),
    ];
    let mut others: BTreeSet<&str> = families.keys().map(String::as_str).collect();
    for (name, kind) in tables.iter().flatten() {
        let family = families.get(name).unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(family.0, *kind, "{name}");
        assert!(others.remove(&**name), "{name} twice");
    }
    let manual = include_str!("../../../../docs/statistics.md");
    let (_, section) = manual.split_once("\n## Metrics").expect("a section of the manual");
    let section = section.split("\n## ").next().unwrap();
    for name in others {
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

#[test]
fn count_that_a_link_does_not_have_is_left_out() {
    let registry = Registry::of("switch");
    let port = |name: &str, link_dropped| PortFigures {
        name: name.into(),
        link_dropped,
        ..PortFigures::default()
    };
    let exported = Exported::new(vec![port("tap", Some(3)), port("dgram", None)]);
    registry.add_switch(exported.clone());
    let name = "samplewire_switch_port_link_dropped_total";
    let page = registry.page();
    let (kind, samples) = &families(&page)[name];
    assert_eq!((kind.as_str(), samples.len()), ("counter", 1), "{page}");
    assert_eq!((samples[0].label("port"), samples[0].value), ("tap", 3.0));
    assert_eq!(families(&page)["samplewire_switch_port_frames_in_total"].1.len(), 2);
    exported.set(vec![port("dgram", None)]);
    assert!(!registry.page().contains(name));
}
