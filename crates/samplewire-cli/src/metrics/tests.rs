//! The page against the format's rules, the tables of metrics, and `docs/statistics.md`.

use std::collections::{BTreeMap, BTreeSet};

use samplewire::device::PlayCounts;
use samplewire::format::Format;
use samplewire::receiver::ReceiverSnapshot;
use samplewire::source::StreamInfo;
use samplewire::transmitter::TransmitterSnapshot;
use samplewire_proto::Latencies;
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
            let end = sample.name.strip_prefix(&present).unwrap_or_else(|| panic!("{line}"));
            let is_histogram = families[&present].0 == "histogram";
            let ends = if is_histogram { &["_bucket", "_sum", "_count"][..] } else { &[""] };
            assert!(ends.contains(&end), "{line}");
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
        assert!(["counter", "gauge", "histogram"].contains(&kind.as_str()), "{name}");
        let is_good = |letter: char| letter.is_ascii_lowercase() || letter == '_';
        assert!(name.starts_with("samplewire_") && name.chars().all(is_good), "{name}");
        let labels: BTreeSet<_> =
            samples.iter().map(|sample| format!("{}{:?}", sample.name, sample.labels)).collect();
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

#[test]
fn buckets_of_a_histogram_include_those_below_and_the_last_is_the_count() {
    let registry = Registry::of("test");
    let add = |stream, counts: &[(usize, u64)], sum_ns| {
        let mut receiver = ReceiverSnapshot::default();
        let count = |at| counts.iter().find(|it| it.0 == at).map_or(0, |it| it.1);
        receiver.stream.repair_latency = Latencies::new(std::array::from_fn(count));
        receiver.stream.repair_latency_ns = sum_ns;
        let info = StreamInfo::new(Format::Sc16, 1, 1e6).unwrap();
        let device = "127.0.0.1:9100".parse().unwrap();
        let about = About { device, stream, direction: Direction::Receive, info };
        registry.add(about, move || View { receiver: Some(receiver), ..View::default() })
    };
    let _entries = [add(0, &[(0, 3), (2, 4), (47, 5)], 343_600_000_123), add(1, &[], 0)];
    let page = registry.page();
    let (kind, samples) = &families(&page)["samplewire_receiver_repair_latency_seconds"];
    assert_eq!(kind, "histogram");
    let of = |stream: &'static str, end: &'static str| {
        let samples = samples.iter().filter(move |it| it.label("stream") == stream);
        samples.filter(move |it| it.name.ends_with(end))
    };
    let buckets: Vec<_> = of("0", "_bucket").map(|it| (it.label("le"), it.value)).collect();
    assert_eq!(buckets.len(), 49);
    let first = [("0.000005792", 3.0), ("0.000008192", 3.0), ("0.000011585", 7.0)];
    assert_eq!(buckets[..3], first);
    assert_eq!(buckets[46..], [("48.592007999", 7.0), ("68.719476736", 12.0), ("+Inf", 12.0)]);
    let bounds = buckets.iter().map(|(le, _)| le.parse::<f64>().unwrap());
    assert!(bounds.is_sorted_by(|one, other| one < other), "{buckets:?}");
    let value = |stream, end| of(stream, end).map(|it| it.value).collect::<Vec<_>>();
    assert_eq!((value("0", "_sum"), value("0", "_count")), (vec![343.600_000_123], vec![12.0]));
    assert_eq!((value("1", "_sum"), value("1", "_count")), (vec![0.0], vec![0.0]));
    assert!(of("1", "_bucket").all(|it| it.value == 0.0));
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
    let latency = BTreeMap::from([(counters::REPAIR_LATENCY.name.to_owned(), "histogram")]);
    let tables = tables.iter().chain([&latency]);
    let mut others: BTreeSet<&str> = families.keys().map(String::as_str).collect();
    for (name, kind) in tables.flatten() {
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
    drop(Exporter { registry, stop: None, thread: Some(thread), local: None });
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
