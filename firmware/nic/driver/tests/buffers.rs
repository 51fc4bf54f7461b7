//! The driver against the model of the NIC: where buffers are.
#![cfg(feature = "model")]
#![allow(missing_docs, reason = "tests")]

use samplewire_nic_driver::model::Model;
use samplewire_nic_driver::regs::{Access, Register, nic, sender};
use samplewire_nic_driver::{
    Bus, Choice, Config, Nic, Server, Setup, SetupError, Source, StartError, configure,
    is_accessible,
};

const CONFIG: Config = Config {
    mac: [2, 0x53, 0x57, 0, 0, 1],
    servers: 1,
    choice: Choice::Turns,
    buffers: 64,
    filter: 3,
};

fn started(model: &Model) -> Server<&Model> {
    Nic::new(model).start(&CONFIG).expect("a NIC after its reset");
    Server::new(model, 0)
}

#[test]
fn start_gives_the_nic_every_buffer_and_enables_it() {
    let model = Model::new();
    started(&model);
    assert!(model.has_all());
    assert!(Nic::new(&model).is_started());
    assert_eq!(Nic::new(&model).free_level(), 64);
    assert_eq!((&model).read(nic::MAC_LO), 0x0057_5302);
    assert_eq!((&model).read(nic::MAC_HI), 0x0100);
}

#[test]
fn start_refuses_what_is_out_of_range() {
    let model = Model::new();
    let nic = Nic::new(&model);
    for config in [
        Config { buffers: 65, ..CONFIG },
        Config { buffers: 0, ..CONFIG },
        Config { servers: 5, ..CONFIG },
        Config { servers: 0, ..CONFIG },
    ] {
        assert_eq!(nic.start(&config), Err(StartError::Range));
    }
    assert!(!nic.is_started());
}

#[test]
fn restart_of_the_processor_loses_no_buffer() {
    let model = Model::new();
    let server = started(&model);
    assert!(model.arrive(0, &[1; 60]));
    assert!(model.arrive(0, &[2; 60]));
    // The program ends while it has a buffer.
    std::mem::forget(server.receive());
    assert!(!model.has_all());
    started(&model);
    assert!(model.has_all());
    assert_eq!(server.receive().expect("it waits").frame(|frame| frame.to_vec()), [2; 60]);
}

#[test]
fn start_with_other_buffers_needs_a_reset() {
    let model = Model::new();
    started(&model);
    let other = Config { buffers: 32, ..CONFIG };
    assert_eq!(Nic::new(&model).start(&other), Err(StartError::Refused));
}

#[test]
fn received_frame_is_read_and_sent_back() {
    let model = Model::new();
    let server = started(&model);
    assert!(server.receive().is_none());
    let frame: Vec<u8> = (0..61).collect();
    assert!(model.arrive(0, &frame));
    let mut buffer = server.receive().expect("a frame");
    assert!(!model.has_all(), "the program has one");
    assert_eq!((buffer.len(), buffer.received_at()), (61, 0x1234_5678));
    buffer.frame(|bytes| {
        assert_eq!(bytes, frame);
        bytes[60] = 99;
    });
    server.transmit(buffer);
    assert!(model.has_all());
    let sent = model.leave(0).expect("it was sent");
    assert_eq!((&sent[..60], sent[60]), (&frame[..60], 99));
    assert!(model.has_all());
}

#[test]
fn dropped_buffer_is_free_again() {
    let model = Model::new();
    let server = started(&model);
    assert!(model.arrive(0, &[0; 60]));
    drop(server.receive().expect("a frame"));
    assert!(model.has_all());
    assert!(model.leave(0).is_none());
}

#[test]
fn buffers_run_out_and_come_back() {
    let model = Model::new();
    let server = started(&model);
    let all: Vec<_> = std::iter::from_fn(|| server.allocate()).collect();
    assert_eq!(all.len(), 64);
    assert!(!model.arrive(0, &[0; 60]));
    for mut buffer in all {
        buffer.fill(14, |frame| frame.fill(7));
        server.transmit(buffer);
    }
    assert_eq!(model.leave(0), Some(vec![7; 14]));
    assert!(model.has_all());
}

#[test]
fn lock_of_another_port_delays_a_free_and_refuses_an_allocation() {
    let model = Model::new();
    let server = started(&model);
    let buffer = server.allocate().expect("64 are free");
    model.lock(1);
    assert!(server.allocate().is_none());
    model.lock(3);
    drop(buffer);
    assert!(model.has_all());
}

#[test]
fn servers_have_queues_of_their_own() {
    let model = Model::new();
    started(&model);
    let server = Server::new(&model, 3);
    assert!(model.arrive(3, &[3; 60]));
    assert!(Server::new(&model, 2).receive().is_none());
    server.transmit(server.receive().expect("its frame"));
    assert!(model.leave(0).is_none());
    assert_eq!(model.leave(3), Some(vec![3; 60]));
}

#[test]
fn person_has_no_access_that_moves_a_buffer() {
    let of = |offset: u32| -> &Register {
        nic::REGISTERS.iter().find(|r| u32::from(r.offset) == offset).expect("in the map")
    };
    for r in &nic::REGISTERS {
        let moves = r.access == Access::Queue;
        assert_eq!(is_accessible(r, false), !moves && r.access != Access::Pulse, "{r:?}");
        assert!(!(moves && is_accessible(r, true)), "{r:?}");
    }
    assert!(is_accessible(of(nic::FILTER), true));
    assert!(is_accessible(of(nic::COMMAND), true));
    assert!(!is_accessible(of(nic::BASE), true));
    assert!(!is_accessible(of(nic::STATUS), true));
}

const SETUP: Setup<'static> = Setup {
    mac: [2, 0x53, 0x57, 0, 0, 1],
    ip: [10, 64, 0, 2],
    port: 9100,
    channels: 1,
    payload_bytes: 1408,
    rate_hz: 0,
    source: Source::Words,
    source_rate_q: 0,
    line_gbps: 10,
    pace_bytes_per_ns_q: 0,
    idle_ms: 100,
    dead_ms: 15000,
    tolerance_16ns: 3125,
    boot_id: 0x1_0000_0002,
    secret: [1, 2],
    gate_samples: 0,
    name: "samplewire board",
};

#[test]
fn sender_is_configured_and_enabled_last() {
    let model = Model::with_sender();
    assert_eq!(configure(&model, &SETUP), Ok(()));
    let writes = model.sender_writes();
    assert!(writes.contains(&(sender::MAC_LO, 0x5700_0001)));
    assert!(writes.contains(&(sender::MAC_HI, 0x0253)));
    assert!(writes.contains(&(sender::IP, 0x0A40_0002)));
    assert!(writes.contains(&(sender::BOOT_HI, 1)));
    // A name of 16 bytes is 20 with its type and length: three words.
    assert!(writes.contains(&(sender::TEMPLATE_WORDS, 12)));
    assert!(writes.contains(&(sender::TEMPLATE_WINDOW + 8 * 9 + 4, 0x0002_0010)));
    assert!(writes.contains(&(sender::TEMPLATE_WINDOW + 8 * 9, u32::from_be_bytes(*b"samp"))));
    assert_eq!(writes.last(), Some(&(sender::CONTROL, 1 | 3 << 3)));
}

#[test]
fn sender_that_is_enabled_stays_as_it_is() {
    let model = Model::with_sender();
    assert_eq!(configure(&model, &SETUP), Ok(()));
    let writes = model.sender_writes().len();
    assert_eq!(configure(&model, &SETUP), Err(SetupError::Enabled));
    assert_eq!(model.sender_writes().len(), writes);
}

#[test]
fn sender_that_is_absent_or_too_narrow_is_left_alone() {
    let model = Model::new();
    assert_eq!(configure(&model, &SETUP), Err(SetupError::NoSender));
    let model = Model::with_sender();
    for payload_bytes in [1404, 16384] {
        let setup = Setup { payload_bytes, ..SETUP };
        assert_eq!(configure(&model, &setup), Err(SetupError::Payload));
    }
    assert!(model.sender_writes().is_empty());
}

#[test]
fn sent_frame_comes_back_in_its_buffer() {
    let model = Model::new();
    let server = started(&model);
    assert!(model.arrive(0, &[7; 100]));
    let mut buffer = server.receive().expect("a frame");
    assert!(!buffer.is_returned());
    let address = buffer.address();
    buffer.frame(|frame| frame[0] = 8);
    server.send_and_return(buffer, 90);
    let mut sent = [7; 90];
    sent[0] = 8;
    assert_eq!(model.leave(0).expect("it was sent"), sent);
    let mut buffer = server.receive().expect("it comes back");
    assert!(buffer.is_returned());
    assert_eq!((buffer.address(), buffer.len()), (address, 90));
    // Sent otherwise it is freed.
    buffer.set_len(60);
    server.transmit(buffer);
    assert_eq!(model.leave(0).expect("it was sent").len(), 60);
    assert!(server.receive().is_none() && model.has_all());
}

#[test]
fn buffers_beyond_those_of_a_queue_are_kept_also_by_a_restart() {
    let model = Model::with_buffers(256);
    let nic = Nic::new(&model);
    let config = Config { buffers: 200, ..CONFIG };
    let start = || {
        let mut kept = Vec::new();
        nic.start_keeping(&config, 48, |buffer| kept.push(buffer)).expect("as before");
        let addresses: Vec<u32> = kept.iter().map(|buffer| buffer.address()).collect();
        assert!(model.has_all_but(&addresses));
        kept
    };
    let mut kept = start();
    assert_eq!((kept.len(), nic.free_level()), (152, 48));
    // The program ends with a frame to receive, one on its way and one that it has.
    assert!(model.arrive(0, &[1; 60]) && model.arrive(0, &[2; 60]));
    let server = Server::new(&model, 0);
    std::mem::forget(server.receive());
    server.send_and_return(kept.pop().expect("152"), 60);
    kept.into_iter().for_each(std::mem::forget);
    let kept = start();
    assert_eq!((kept.len(), nic.free_level()), (152, 46));
    assert_eq!(server.receive().expect("it waits").frame(|frame| frame.to_vec()), [2; 60]);
    model.leave(0).expect("it leaves");
    assert!(server.receive().expect("and comes back").is_returned());
    assert_eq!(nic.free_level(), 48);
    kept.into_iter().for_each(std::mem::forget);
}

#[test]
fn nic_built_for_fewer_buffers_refuses_more() {
    let model = Model::with_buffers(128);
    let nic = Nic::new(&model);
    let config = Config { buffers: 129, ..CONFIG };
    assert_eq!(nic.start_keeping(&config, 48, drop), Err(StartError::Refused));
    assert_eq!(nic.start_keeping(&CONFIG, 0, drop), Err(StartError::Range));
    assert_eq!(nic.start_keeping(&CONFIG, 65, drop), Err(StartError::Range));
}

/// The bit that enables it falls before anything else of a restart: frames that come meanwhile are dropped,
/// and no buffer moves under the program's hands.
#[test]
fn start_disables_the_nic_before_it_touches_a_buffer() {
    let model = Model::new();
    started(&model);
    let before = model.nic_writes().len();
    started(&model);
    let writes = model.nic_writes()[before..].to_vec();
    let at = |register| writes.iter().position(|(offset, _)| *offset == register);
    assert_eq!(writes[at(nic::CONTROL).expect("it is written")], (nic::CONTROL, 0));
    assert!(at(nic::CONTROL) < at(nic::BASE) && at(nic::CONTROL) < at(nic::FREE));
    assert_eq!(writes.last(), Some(&(nic::CONTROL, 7)));
}
