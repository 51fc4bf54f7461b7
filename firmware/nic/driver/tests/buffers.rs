//! The driver against the model of the NIC: where buffers are.
#![cfg(feature = "model")]
#![allow(missing_docs, reason = "tests")]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use samplewire_nic_driver::model::Model;
use samplewire_nic_driver::regs::{Access, Register, nic, sender};
use samplewire_nic_driver::{
    Buffer, Bus, Choice, Config, Nic, Pointer, Server, Setup, SetupError, Source, StartError, Unit,
    configure, is_accessible,
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
fn address_of_the_nic_is_that_of_its_registers() {
    let model = Model::new();
    (&model).write(nic::MAC_LO, 0x4957_5302);
    (&model).write(nic::MAC_HI, 0x0752);
    assert_eq!(Nic::new(&model).mac(), [2, 0x53, 0x57, 0x49, 0x52, 7]);
    started(&model);
    assert_eq!(Nic::new(&model).mac(), CONFIG.mac);
}

#[test]
fn start_writes_how_the_server_of_a_frame_is_chosen() {
    for (choice, number) in [(Choice::Turns, 0), (Choice::Hash, 1), (Choice::Control, 2)] {
        let model = Model::new();
        let config = Config { choice, servers: 4, ..CONFIG };
        Nic::new(&model).start(&config).expect("a NIC after its reset");
        assert_eq!((&model).read(nic::CHOICE), number);
        assert_eq!((&model).read(nic::SERVERS), 4);
        assert_eq!((&model).read(nic::FILTER), CONFIG.filter);
    }
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
    assert!(writes.contains(&(sender::TAI_NUMBER, 0)));
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

/// The model's bus, with something that happens ahead of accesses, which are counted from 1. It may end
/// the program by [`resume_unwind`]: a program that has ended does nothing more.
#[derive(Clone, Copy)]
struct Watched<'a> {
    model: &'a Model,
    accesses: &'a Cell<u32>,
    ahead: &'a dyn Fn(u32),
}

impl Watched<'_> {
    fn is_running(self) -> bool {
        if std::thread::panicking() {
            return false;
        }
        self.accesses.set(self.accesses.get() + 1);
        assert!(self.accesses.get() < 5_000, "a start without end");
        (self.ahead)(self.accesses.get());
        true
    }
}

impl Bus for Watched<'_> {
    fn read(self, offset: u32) -> u32 {
        if self.is_running() { self.model.read(offset) } else { 1 }
    }

    fn write(self, offset: u32, value: u32) {
        if self.is_running() {
            self.model.write(offset, value);
        }
    }

    fn read_sender(self, offset: u32) -> u32 {
        self.model.read_sender(offset)
    }

    fn write_sender(self, offset: u32, value: u32) {
        self.model.write_sender(offset, value);
    }

    fn memory<T: Unit, R>(
        self,
        at: &mut Pointer,
        bytes: usize,
        f: impl FnOnce(&mut [T]) -> R,
    ) -> R {
        self.is_running();
        self.model.memory(at, bytes, f)
    }
}

/// All buffers to the NIC, and more than it takes.
const STARTS: [(Config, u32); 2] = [(CONFIG, 64), (Config { buffers: 200, ..CONFIG }, 48)];

/// Starts the NIC. Returns what the program keeps.
fn start_keeping<B: Bus>(bus: B, (config, free): &(Config, u32)) -> Vec<Buffer<B>> {
    let mut kept = Vec::new();
    Nic::new(bus).start_keeping(config, *free, |buffer| kept.push(buffer)).expect("it starts");
    kept
}

/// Starts the NIC as `start` has it while `ahead` happens. Each buffer is with the NIC or kept then, and
/// the NIC has enough. Returns the number of accesses.
fn starts_with_all(model: &Model, start: &(Config, u32), ahead: &dyn Fn(u32)) -> u32 {
    let accesses = Cell::new(0);
    let kept = start_keeping(Watched { model, accesses: &accesses, ahead }, start);
    let addresses: Vec<u32> = kept.iter().map(Buffer::address).collect();
    assert!(model.has_all_but(&addresses), "one is missing or in two places");
    assert!(kept.len() as u32 <= start.0.buffers - start.1, "{} kept", kept.len());
    assert!(Nic::new(model).free_level() > 0);
    kept.into_iter().for_each(std::mem::forget);
    accesses.get()
}

/// A NIC that was started, with two frames to receive, three to be sent, and a program that ended with one.
fn busy(start: &(Config, u32)) -> Model {
    let model = Model::with_buffers(256);
    let kept = start_keeping(&model, start);
    let server = Server::new(&model, 0);
    for n in 0..6 {
        assert!(model.arrive(0, &[n; 60]));
    }
    for _ in 0..3 {
        server.transmit(server.receive().expect("it came"));
    }
    std::mem::forget(server.receive());
    kept.into_iter().for_each(std::mem::forget);
    model
}

#[test]
fn lock_of_another_port_delays_a_start_and_loses_no_buffer() {
    for start in &STARTS {
        for make in [|_: &(Config, u32)| Model::with_buffers(256), busy] {
            let accesses = starts_with_all(&make(start), start, &|_| {});
            for at in 1..=accesses {
                let model = make(start);
                starts_with_all(&model, start, &|n| {
                    if n == at {
                        model.lock(5);
                    }
                });
            }
        }
    }
}

/// A frame of which the transmit engine has begun leaves though the NIC is disabled.
#[test]
fn frames_that_leave_during_a_restart_free_their_buffers_once() {
    for start in &STARTS {
        let accesses = starts_with_all(&busy(start), start, &|_| {});
        for at in 1..=accesses {
            let model = busy(start);
            starts_with_all(&model, start, &|n| {
                // The engine waits for room.
                if n >= at && Nic::new(&model).free_level() < 64 {
                    model.leave(0);
                }
            });
        }
    }
}

/// Starts, moves frames in each way that the driver has, starts again and moves them again.
fn run(bus: Watched<'_>, start: &(Config, u32)) {
    for _ in 0..2 {
        let mut kept = start_keeping(bus, start);
        let server = Server::new(bus, 0);
        let held = server.allocate().expect("one is free");
        for n in 0..3 {
            assert!(bus.model.arrive(0, &[n; 60]));
        }
        server.transmit(server.receive().expect("it came"));
        drop(server.receive());
        let mut other = server.allocate().expect("one is free");
        other.fill(60, |frame| frame.fill(7));
        server.send_and_return(kept.pop().unwrap_or(other), 60);
        while bus.model.leave(0).is_some() {}
        drop(held);
        // Returned, or received and never fetched.
        kept.extend(server.receive());
        kept.into_iter().for_each(std::mem::forget);
    }
}

#[test]
fn program_that_ends_at_any_access_loses_no_buffer() {
    for start in &STARTS {
        for end in 1.. {
            let model = Model::with_buffers(256);
            let accesses = Cell::new(0);
            let ahead = |n| {
                if n == end {
                    resume_unwind(Box::new("the program ends"));
                }
            };
            let bus = Watched { model: &model, accesses: &accesses, ahead: &ahead };
            let ended = catch_unwind(AssertUnwindSafe(|| run(bus, start)));
            starts_with_all(&model, start, &|_| {});
            let server = Server::new(&model, 0);
            // Frames that return are received once they have left.
            while model.leave(0).is_some() {}
            while server.receive().is_some() {}
            if start.0.buffers == start.1 {
                assert_eq!(Nic::new(&model).free_level(), 64, "ended at {end}");
            }
            match ended {
                Ok(()) => {
                    assert!(end > 300, "{end} accesses");
                    break;
                }
                Err(cause) => assert!(cause.is::<&str>() && accesses.get() == end),
            }
        }
    }
}
