//! Sends frames by a scheme when a host orders it, and reports how many came back
//! (`docs/nic-host.md#from-the-board`).

use samplewire_nic_driver::{Buffer, Bus, FRAME_OFFSET, Server};
use samplewire_proto::Nanos;
use samplewire_proto::block::trial::{Order, Probe, Report};
use samplewire_proto::block::{MacAddress, NextFrame, Pace};

/// One end that sends what it is ordered to.
pub struct SendByOrder<B: Bus> {
    server: Server<B>,
    mac: MacAddress,
    run: Option<Run>,
    /// That of the last run, for copies of its order.
    report: Option<(MacAddress, Report)>,
    /// A bit for each frame: whether it has come back.
    is_back: [u32; Order::FRAMES_MAX as usize / 32],
}

/// An order that is being carried out.
struct Run {
    host: MacAddress,
    order: Order,
    pace: Pace,
    sent: u32,
    returned: u32,
    first_at: Nanos,
    back_at: Nanos,
    /// When a frame left or came back.
    moved_at: Nanos,
}

impl<B: Bus> SendByOrder<B> {
    /// An end with the address `mac`.
    pub const fn new(server: Server<B>, mac: MacAddress) -> Self {
        let is_back = [0; Order::FRAMES_MAX as usize / 32];
        Self { server, mac, run: None, report: None, is_back }
    }

    /// Takes a frame that has come and sends what is to be sent. True if there was a frame, or a run is
    /// under way.
    pub fn poll(&mut self, now: Nanos) -> bool {
        let frame = self.server.receive();
        let is_frame = frame.is_some();
        let was_idle = self.run.is_none();
        if let Some(frame) = frame {
            self.take(now, frame);
        }
        // An order takes a while: the first frame leaves at the time of the next call.
        if !was_idle {
            self.send(now);
        }
        is_frame || self.run.is_some()
    }

    fn take(&mut self, now: Nanos, mut buffer: Buffer<B>) {
        // Behind a shorter frame are bytes of an older one.
        if buffer.len() < FRAME_BYTES_MIN {
            return;
        }
        let (probe, order) = buffer.units(FRAME_OFFSET + FRAME_BYTES_MIN, |bytes: &mut [u8]| {
            let head = &bytes[FRAME_OFFSET..];
            (Probe::parse(head), Order::parse(head))
        });
        drop(buffer);
        match (&mut self.run, probe, order) {
            (Some(run), Some(probe), _)
                if probe.run == run.order.run && probe.number < run.sent =>
            {
                let bit = 1 << (probe.number % 32);
                let word = &mut self.is_back[probe.number as usize / 32];
                run.pace.take_return(now);
                run.moved_at = now;
                if *word & bit == 0 {
                    *word |= bit;
                    run.returned += 1;
                    run.back_at = now;
                }
            }
            // Another order waits for the end of this one: the host repeats it.
            (None, _, Some((host, order))) => self.begin(now, host, order),
            _ => {}
        }
    }

    fn begin(&mut self, now: Nanos, host: MacAddress, order: Order) {
        if let Some((to, report)) = self.report
            && to == host
            && report.run == order.run
        {
            self.send_report(host, report);
            return;
        }
        self.is_back.fill(0);
        let pace = Pace::new(order.scheme);
        let (sent, returned) = (0, 0);
        let (first_at, back_at, moved_at) = (now, now, now);
        self.run = Some(Run { host, order, pace, sent, returned, first_at, back_at, moved_at });
    }

    /// Sends the next frame, if one may leave, or the report.
    fn send(&mut self, now: Nanos) {
        let Some(run) = &mut self.run else { return };
        let Order { frames, size, run: id, .. } = run.order;
        if run.sent < frames {
            if run.pace.next(now) != NextFrame::Now {
                return;
            }
            let Some(mut buffer) = self.server.allocate() else { return };
            // What is behind the header is what the buffer had.
            buffer.fill(ETHERNET_BYTES + usize::from(size), |out| {
                Probe { run: id, number: run.sent }.emit(run.host, self.mac, out);
            });
            self.server.transmit(buffer);
            run.pace.spend(now);
            if run.sent == 0 {
                run.first_at = now;
            }
            (run.sent, run.moved_at) = (run.sent + 1, now);
            return;
        }
        if run.returned < frames && now < run.moved_at + SILENCE {
            return;
        }
        let time = run.back_at.since(run.first_at);
        let report = Report { run: id, sent: run.sent, returned: run.returned, time };
        let host = run.host;
        (self.run, self.report) = (None, Some((host, report)));
        self.send_report(host, report);
    }

    /// Without a buffer it is lost: the host repeats its order.
    fn send_report(&self, host: MacAddress, report: Report) {
        let Some(mut buffer) = self.server.allocate() else { return };
        buffer.fill(FRAME_BYTES_MIN, |out| report.emit(host, self.mac, out));
        self.server.transmit(buffer);
    }
}

const ETHERNET_BYTES: usize = 14;
const FRAME_BYTES_MIN: usize = 60;

/// A frame that has not come back when nothing has moved for so long is lost.
const SILENCE: Nanos = Nanos::from_millis(200);

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec;
    use std::vec::Vec;

    use samplewire_nic_driver::model::Model;
    use samplewire_nic_driver::{Choice, Config, Nic};
    use samplewire_proto::block::{Bursts, Scheme};

    use super::*;

    const MAC: MacAddress = [2, 0x53, 0x57, 0x49, 0x52, 0];
    const HOST: MacAddress = [2, 0, 0, 0, 0, 9];

    /// When frames leave of an order, if each comes back in the poll behind it when `comes_back`, and the
    /// report.
    fn departures(
        model: &Model,
        send: &mut SendByOrder<&Model>,
        order: Order,
        comes_back: impl Fn(u32) -> bool,
    ) -> (Vec<u64>, Report) {
        let mut frame = [0; 60];
        order.emit(MAC, HOST, &mut frame);
        assert!(model.arrive(0, &frame));
        let (mut left, mut back) = (vec![], Vec::<Vec<u8>>::new());
        for now in (0..).map(|n| Nanos(n * STEP)) {
            for bytes in core::mem::take(&mut back) {
                assert!(model.arrive(0, &bytes));
            }
            for _ in 0..70 {
                send.poll(now);
            }
            while let Some(frame) = model.leave(0) {
                assert_eq!((&frame[..6], &frame[6..12]), (&HOST[..], &MAC[..]));
                if let Some(report) = Report::parse(&frame) {
                    assert!(model.has_all(), "a buffer is lost");
                    return (left, report);
                }
                let probe = Probe::parse(&frame).expect("a frame of the run");
                assert_eq!((probe.run, probe.number), (order.run, left.len() as u32));
                assert_eq!(frame.len(), 14 + usize::from(order.size));
                left.push(now.0);
                if comes_back(probe.number) {
                    back.push(frame);
                }
            }
        }
        unreachable!("time has no end")
    }

    const STEP: u64 = 1_000;

    fn with_send(f: impl FnOnce(&Model, &mut SendByOrder<&Model>)) {
        let model = Model::new();
        let config = Config { mac: MAC, servers: 1, choice: Choice::Turns, buffers: 64, filter: 3 };
        Nic::new(&model).start(&config).expect("a NIC after its reset");
        f(&model, &mut SendByOrder::new(Server::new(&model, 0), MAC));
    }

    fn order(run: u32, scheme: Scheme, frames: u32) -> Order {
        Order { run, scheme, frames, size: 64 }
    }

    #[test]
    fn each_scheme_spaces_frames_as_on_a_host() {
        with_send(|model, send| {
            let gap = Nanos(10 * STEP);
            let bursts = Bursts { frames: 2, gap };
            for (run, scheme, expected) in [
                (1, Scheme::Delay(gap), [0, 10, 20, 30, 40]),
                (2, Scheme::Bursts(bursts), [0, 0, 10, 10, 20]),
                (3, Scheme::Returns(2), [0, 0, 1, 1, 2]),
            ] {
                let (left, report) = departures(model, send, order(run, scheme, 5), |_| true);
                assert_eq!(left, expected.map(|steps| steps * STEP));
                let time = Nanos(expected[4] * STEP + STEP);
                assert_eq!(report, Report { run, sent: 5, returned: 5, time });
            }
        });
    }

    #[test]
    fn lost_frames_are_counted_and_a_lost_report_comes_again() {
        with_send(|model, send| {
            let lossy = order(4, Scheme::Bursts(Bursts { frames: 9, gap: Nanos(0) }), 9);
            let (left, report) = departures(model, send, lossy, |number| number % 3 > 0);
            assert_eq!((left.len(), report.sent, report.returned), (9, 9, 6));
            let (left, again) = departures(model, send, lossy, |_| true);
            assert_eq!((left.len(), again), (0, report), "the order is a copy");
            let (left, _) = departures(model, send, Order { run: 5, ..lossy }, |_| true);
            assert_eq!(left.len(), 9);
        });
    }

    #[test]
    fn copies_and_frames_of_others_do_not_count() {
        with_send(|model, send| {
            let mut frame = [0; 60];
            order(6, Scheme::Delay(Nanos(STEP)), 3).emit(MAC, HOST, &mut frame);
            assert!(model.arrive(0, &frame));
            send.poll(Nanos(0));
            send.poll(Nanos(0));
            let first = model.leave(0).expect("the first frame");
            let mut other = first.clone();
            other[15] ^= 1;
            let mut beyond = first.clone();
            beyond[22] = 2;
            for bytes in [&first[..], &first, &other, &beyond, &first[..59], &frame] {
                assert!(model.arrive(0, bytes));
                send.poll(Nanos(0));
            }
            let run = send.run.as_ref().expect("it is under way");
            assert_eq!((run.sent, run.returned), (1, 1));
        });
    }

    #[test]
    fn order_out_of_range_is_freed() {
        with_send(|model, send| {
            let mut frame = [0; 60];
            order(7, Scheme::Returns(1), Order::FRAMES_MAX + 1).emit(MAC, HOST, &mut frame);
            assert!(model.arrive(0, &frame));
            send.poll(Nanos(0));
            assert!(send.run.is_none() && model.has_all());
        });
    }
}
