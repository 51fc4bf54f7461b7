//! Draws real streams without a terminal.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use samplewire::source::{CounterSource, ReadSamples};
use samplewire::transmitter::Overflow;
use samplewire::{DeviceOptions, ReceiveOptions};
use samplewire_web::Process;

use super::history::{History, Shown};
use super::keep_silent;
use super::live::{Action, action};
use super::survey::{Survey, Surveyor, facts, sort_by_process};
use super::view::Screen;
use crate::metrics::client::Endpoint;
use crate::metrics::{Registry, text};

/// Two surveys of a device and its receiver, half a second apart.
fn streams() -> Vec<Shown> {
    let mut source = CounterSource::new(1e6, 0).unwrap();
    let local = "127.0.0.1:0";
    // Some 1 MS/s, none of which is lost.
    let options = DeviceOptions::new().link_bps(35_000_000);
    let mut device = options.sends(source.info().clone()).listen(local).unwrap();
    let mut listener = device.listeners.remove(0);
    let registry = Registry::of("demo");
    let _device = registry.add_device(0, &listener);
    let address = listener.local_addr();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = listener.accept(Duration::from_secs(20)).unwrap().unwrap();
            let stop = || is_over.load(std::sync::atomic::Ordering::Relaxed);
            stream.play(&mut source, Overflow::Wait, stop).unwrap();
        });
        let mut receiver = ReceiveOptions::new().open(address).unwrap();
        let _receiver = registry.add_opened([receiver.counters()], None, None);
        let mut history = History::default();
        let mut look = || {
            let until = Instant::now() + Duration::from_millis(500);
            while Instant::now() < until {
                receiver.next_within(Duration::from_millis(20)).expect("the stream goes on");
            }
            let endpoint = Endpoint::Tcp(address);
            let page = text::parse(&registry.page()).unwrap();
            let streams = facts(&endpoint, &page, Instant::now());
            history.take(Survey { processes: 1, streams, ..Survey::default() })
        };
        let first = look();
        assert!(first.iter().all(|shown| shown.rates.is_none()));
        let shown = look();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(receiver.by_ref().all(|block| block.is_ok()));
        shown
    })
}

fn drawn(screen: &Screen, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn streams_are_drawn_at_any_size() {
    let streams = streams();
    assert_eq!(streams.len(), 2);
    for shown in &streams {
        let rates = shown.rates.unwrap();
        assert!(rates.samples > 0.0 && rates.interval >= 0.5, "{rates:?}");
        assert!((rates.bits / rates.samples - 32.0).abs() < 1e-6, "{rates:?}");
        assert!(shown.facts.rtt() > 0.0 && shown.facts.window_share().is_some());
        assert_eq!(shown.rate_history.len(), 1);
    }
    let mut screen = Screen { streams, processes: 1, ..Screen::default() };
    let page = drawn(&screen, (80, 24));
    assert!(page.contains("samplewire top: 2 streams of 1 process "), "{page}");
    for words in [
        "PEER",
        "<- 127.0.0.1:",
        "-> 127.0.0.1:",
        "S/s",
        "samples/s, ",
        "Mb/s",
        "missing samples  none",
    ] {
        assert!(page.contains(words), "no `{words}` in\n{page}");
    }
    assert!(page.contains('█') && page.contains("0 packets/s repaired"), "{page}");
    assert!(page.contains("demo") && page.contains("sc16, 1 channel, 1.00 MS/s"), "{page}");
    assert!(!page.contains("BITS") && drawn(&screen, (100, 24)).contains("BITS"));
    screen.select(1);
    assert_eq!(screen.selected.as_ref(), Some(&screen.streams[1].facts.key));
    screen.select(-10);
    assert_eq!(screen.selected.as_ref(), Some(&screen.streams[0].facts.key));
    screen.errors = vec!["one: gone".into(); 5];
    assert!(drawn(&screen, (80, 24)).contains("one: gone"));
    for size in [(1, 1), (3, 2), (20, 5), (40, 8), (300, 100)] {
        drawn(&screen, size);
    }
    // The selected stream is gone.
    screen.streams.remove(0);
    assert!(drawn(&screen, (80, 24)).contains(": 1 stream of"));
}

#[test]
fn streams_are_in_the_order_of_the_numbers_of_their_processes() {
    let of = |pid: u32, endpoint: Endpoint| {
        let page = format!("samplewire_info{{pid=\"{pid}\"}} 1\nsamplewire_stream_info{{}} 1\n");
        facts(&endpoint, &text::parse(&page).unwrap(), Instant::now())
    };
    let here = |pid| of(pid, Endpoint::Local(format!("/run/{pid}.sock").into()));
    let there = |pid, address: &str| of(pid, Endpoint::Tcp(address.parse().unwrap()));
    let far = [there(3, "10.0.0.2:1"), there(5, "10.0.0.1:1")].concat();
    let mut streams = [far, here(10_000), here(9_999), here(7)].concat();
    sort_by_process(&mut streams);
    let pids: Vec<_> = streams.iter().map(|facts| facts.pid.as_str()).collect();
    assert_eq!(pids, ["7", "9999", "10000", "5", "3"]);
}

#[test]
fn nothing_to_show_is_said_with_what_to_do() {
    let mut screen = Screen::default();
    screen.select(1);
    let page = drawn(&screen, (80, 24));
    assert!(page.contains("no streams of this user: start `samplewire record"), "{page}");
    assert!(page.contains("0 streams of 0 processes"), "{page}");
    screen.is_filtered = true;
    assert!(drawn(&screen, (80, 24)).contains("no streams of these devices"));
    screen.is_asking = true;
    assert!(drawn(&screen, (80, 24)).contains("asking ..."));
}

#[test]
fn page_of_another_may_say_anything() {
    let page = "samplewire_info{pid=\"x\",verb=\"\u{1b}[2J\"} 1\nsamplewire_stream_info{} 1\n\
                samplewire_stream_info{device=\"d\",name=\"\\n\u{7}\"} 1\n\
                samplewire_receiver_port_window{device=\"d\"} -5\n\
                samplewire_sender_port_window{} NaN\nsamplewire_sender_packets_total{} 1e300\n\
                samplewire_stream_packet_samples{} 1e300\nother{device=\"d\"} 1\n";
    let endpoint = Endpoint::Tcp("127.0.0.1:1".parse().unwrap());
    let mut history = History::default();
    for _ in 0..2 {
        let streams = facts(&endpoint, &text::parse(page).unwrap(), Instant::now());
        assert_eq!(streams.len(), 2);
        assert_eq!((streams[0].verb.as_str(), streams[1].name.as_str()), ("?[2J", "??"));
        let streams = history.take(Survey { processes: 1, streams, ..Survey::default() });
        drawn(&Screen { streams, ..Screen::default() }, (80, 24));
    }
}

#[test]
fn devices_are_found_by_their_address_and_by_their_peers() {
    let page = "samplewire_stream_info{device=\"0.0.0.0:9100\",peer=\"10.0.0.5:4000\"} 1\n";
    let local = Endpoint::Local("1.sock".into());
    let other = Endpoint::Tcp("10.0.0.9:9464".parse().unwrap());
    for (endpoint, address, is_wanted) in [
        (&local, "10.0.0.2:9100", true),
        // Every address of another host.
        (&other, "10.0.0.2:9100", false),
        (&other, "10.0.0.5:4000", true),
        (&local, "10.0.0.5:4000", true),
        (&local, "10.0.0.2:9101", false),
    ] {
        let facts = &facts(endpoint, &text::parse(page).unwrap(), Instant::now())[0];
        let wanted = vec![address.parse().unwrap()];
        let surveyor = Surveyor { wanted, from: vec![] };
        assert_eq!(surveyor.wants(facts), is_wanted, "{endpoint}: {address}");
    }
}

#[test]
fn samples_of_a_gap_that_were_not_played_are_lost_once() {
    let gaps =
        "samplewire_stream_info{} 1\nsamplewire_receiver_gap_samples_total{cause=\"deadline\"} 5\n";
    let endpoint = Endpoint::Local("1.sock".into());
    for (player, lost) in [("", 5.0), ("samplewire_player_underrun_samples_total{} 7\n", 7.0)] {
        let page = format!("{gaps}{player}");
        let facts = &facts(&endpoint, &text::parse(&page).unwrap(), Instant::now())[0];
        assert_eq!(facts.lost(), lost, "{page}");
        assert_eq!(facts.causes["deadline"], 5.0);
    }
}

#[test]
fn keys_choose_and_quit() {
    let control = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
    assert_eq!(action(control('c')), Action::Quit);
    assert_eq!(action(KeyCode::Char('q').into()), Action::Quit);
    assert_eq!(action(KeyCode::Char('c').into()), Action::None);
    assert_eq!(action(KeyCode::Down.into()), Action::Select(1));
}

#[test]
fn process_that_misses_a_survey_stays_while_it_has_its_socket() {
    let folder = tempfile::tempdir().unwrap();
    let last = [1, 2, 3].map(|id| Process {
        id,
        socket: folder.path().join(format!("{id}.sock")),
        verb: "record".to_owned(),
        streams: Vec::new(),
    });
    std::fs::write(&last[0].socket, "").unwrap();
    std::fs::write(&last[1].socket, "").unwrap();
    let mut found = BTreeMap::new();
    // The second one answered, without a stream; the third one has no socket.
    keep_silent(&mut found, &last, &[Endpoint::Local(last[1].socket.clone())]);
    assert_eq!(found.keys().collect::<Vec<_>>(), [&1]);
}
