//! Sends frames by a scheme when a host orders it, and reports how many came back
//! (`docs/nic-host.md#from-the-board`).

use samplewire_nic_driver::{Buffer, Bus, FRAME_OFFSET, Server};
use samplewire_proto::block::trial::{Order, Probe, Report};
use samplewire_proto::block::{MacAddress, NextFrame, Pace};
use samplewire_proto::{Nanos, Rng};

/// One end that sends what it is ordered to.
pub struct SendByOrder<B: Bus> {
    server: Server<B>,
    mac: MacAddress,
    rng: Rng,
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
    /// The number of the question, which this end draws.
    question: u32,
    /// Whether the host has sent the question back. No frame of the run leaves before: an order in the name
    /// of another station costs that one a frame of 60 bytes.
    is_agreed: bool,
    pace: Pace,
    sent: u32,
    returned: u32,
    first_at: Nanos,
    back_at: Nanos,
    /// When a frame left or came back.
    moved_at: Nanos,
}

impl<B: Bus> SendByOrder<B> {
    /// An end with the address `mac`. `rng` and the time of an order draw questions.
    pub const fn new(server: Server<B>, mac: MacAddress, rng: Rng) -> Self {
        let is_back = [0; Order::FRAMES_MAX as usize / 32];
        Self { server, mac, rng, run: None, report: None, is_back }
    }

    /// Takes a frame that has come and sends what is to be sent. True if there was a frame, or a run is
    /// under way.
    pub fn poll(&mut self, now: Nanos) -> bool {
        let frame = self.server.receive();
        let is_frame = frame.is_some();
        if let Some(frame) = frame {
            self.take(now, frame);
        }
        self.send(now);
        is_frame || self.run.is_some()
    }

    fn take(&mut self, now: Nanos, mut buffer: Buffer<B>) {
        // Behind a shorter frame are bytes of an older one.
        if buffer.len() < FRAME_BYTES_MIN {
            return;
        }
        let (probe, order) = buffer.units(FRAME_OFFSET + FRAME_BYTES_MIN, |bytes: &mut [u8]| {
            let head = &bytes[FRAME_OFFSET..];
            let comes_from = |host: MacAddress| head[..6] == self.mac && head[6..12] == host;
            let is_of_host = self.run.as_ref().is_some_and(|run| comes_from(run.host));
            (Probe::parse(head).filter(|_| is_of_host), Order::parse(head))
        });
        drop(buffer);
        if let (Some(run), Some(probe)) = (&mut self.run, probe)
            && probe.run == run.order.run
        {
            if !run.is_agreed {
                run.is_agreed = probe.number == run.question;
                return;
            }
            let bit = 1 << (probe.number % 32);
            // The question has any number.
            let word = self.is_back.get_mut(probe.number as usize / 32);
            if let Some(word) = word.filter(|word| probe.number < run.sent && **word & bit == 0) {
                *word |= bit;
                run.pace.take_return(now);
                run.returned += 1;
                (run.moved_at, run.back_at) = (now, now);
            }
        }
        // The host repeats its order until it has a report; another order of it ends the run.
        let takes = |(host, order): &(MacAddress, Order)| {
            self.run.as_ref().is_none_or(|run| run.host == *host && run.order.run != order.run)
        };
        if let Some((host, order)) = order.filter(takes) {
            self.begin(now, host, order);
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
        let (question, is_agreed) = ((self.rng.draw() ^ now.0) as u32, false);
        self.run = Some(Run {
            host,
            order,
            question,
            is_agreed,
            pace,
            sent,
            returned,
            first_at,
            back_at,
            moved_at,
        });
        let Some(mut buffer) = self.server.allocate() else { return };
        buffer.fill(FRAME_BYTES_MIN, |out| {
            out.fill(0);
            Probe { run: order.run, number: question }.emit(host, self.mac, out);
        });
        self.server.transmit(buffer);
    }

    /// Sends the next frame, if one may leave, or the report.
    fn send(&mut self, now: Nanos) {
        let Some(run) = &mut self.run else { return };
        let Order { frames, size, run: id, .. } = run.order;
        if !run.is_agreed {
            if now >= run.moved_at + SILENCE {
                self.run = None;
            }
            return;
        }
        if run.sent < frames {
            if run.pace.next(now) != NextFrame::Now {
                return;
            }
            let Some(mut buffer) = self.server.allocate() else { return };
            // The rest of the frame is what the buffer had: to write it would take longer than the frame.
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
        let (mut left, mut back, mut agreed_at) = (vec![], Vec::<Vec<u8>>::new(), None);
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
                if agreed_at.is_none() {
                    assert_eq!(frame.len(), 60, "the question");
                    agreed_at = Some(now.0 + STEP);
                    back.push(returned(&frame));
                    continue;
                }
                assert_eq!((probe.run, probe.number), (order.run, left.len() as u32));
                assert_eq!(frame.len(), 14 + usize::from(order.size));
                left.push(now.0 - agreed_at.unwrap());
                if comes_back(probe.number) {
                    back.push(returned(&frame));
                }
            }
        }
        unreachable!("time has no end")
    }

    const STEP: u64 = 1_000;

    /// A frame as the host sends it back.
    fn returned(frame: &[u8]) -> Vec<u8> {
        [&frame[6..12], &frame[..6], &frame[12..]].concat()
    }

    fn with_send(f: impl FnOnce(&Model, &mut SendByOrder<&Model>)) {
        let model = Model::new();
        let config = Config { mac: MAC, servers: 1, choice: Choice::Turns, buffers: 64, filter: 3 };
        Nic::new(&model).start(&config).expect("a NIC after its reset");
        f(&model, &mut SendByOrder::new(Server::new(&model, 0), MAC, Rng::new(7)));
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
            let question = returned(&model.leave(0).expect("the question"));
            let changed = |at: usize, mask: u8| {
                let mut frame = question.clone();
                frame[at] ^= mask;
                frame
            };
            // Of another run, another number, another host, and to another board.
            for strange in [changed(15, 1), changed(22, 1), changed(11, 1), changed(5, 1)] {
                assert!(model.arrive(0, &strange));
                send.poll(Nanos(0));
            }
            assert!(model.leave(0).is_none(), "no frame of the run before an answer");
            assert!(model.arrive(0, &question));
            send.poll(Nanos(0));
            let first = returned(&model.leave(0).expect("the first frame"));
            let mut other = first.clone();
            other[15] ^= 1;
            let mut beyond = first.clone();
            beyond[22] = 2;
            for bytes in [&first[..], &first, &other, &beyond, &first[..59], &frame, &question] {
                assert!(model.arrive(0, bytes));
                send.poll(Nanos(0));
            }
            let run = send.run.as_ref().expect("it is under way");
            assert_eq!((run.sent, run.returned), (1, 1));
        });
    }

    #[test]
    fn order_in_the_name_of_a_station_that_sends_nothing_back_costs_it_one_frame() {
        with_send(|model, send| {
            let mut frame = [0; 60];
            order(8, Scheme::Delay(Nanos(0)), 9).emit(MAC, HOST, &mut frame);
            assert!(model.arrive(0, &frame));
            let before = SILENCE.0 / STEP;
            for step in 0..before {
                send.poll(Nanos(step * STEP));
            }
            assert_eq!(model.leave(0).map(|frame| frame.len()), Some(60));
            assert!(model.leave(0).is_none() && send.run.is_some());
            assert!(!send.poll(SILENCE), "another order is taken now");
            assert!(model.leave(0).is_none() && model.has_all());
        });
    }

    #[test]
    fn copies_add_no_frame_to_a_burst_and_do_not_hold_a_run_up() {
        with_send(|model, send| {
            let mut give = |now: u64, frame: &[u8]| {
                assert!(model.arrive(0, frame));
                (0..4).for_each(|_| {
                    send.poll(Nanos(now));
                });
                Vec::from_iter(core::iter::from_fn(|| model.leave(0)))
            };
            let mut frame = [0; 60];
            order(9, Scheme::Returns(2), 3).emit(MAC, HOST, &mut frame);
            let question = returned(&give(0, &frame)[0]);
            let burst = give(0, &question);
            assert_eq!(burst.len(), 2);
            let first = returned(&burst[0]);
            assert_eq!(give(0, &first).len(), 1, "one for one");
            for now in [0, SILENCE.0 / 2, SILENCE.0 - 1] {
                assert_eq!(give(now, &first).len(), 0, "a copy");
            }
            let report = give(SILENCE.0, &first);
            let report = Report::parse(&report[0]).expect("a report");
            assert_eq!((report.sent, report.returned), (3, 1));
        });
    }

    #[test]
    fn another_order_of_the_host_replaces_its_run_and_one_of_others_does_not() {
        with_send(|model, send| {
            let mut give = |run, host| {
                let mut frame = [0; 60];
                order(run, Scheme::Delay(Nanos(STEP)), 3).emit(MAC, host, &mut frame);
                assert!(model.arrive(0, &frame));
                send.poll(Nanos(0));
                let question = model.leave(0).and_then(|frame| Probe::parse(&frame));
                (question.map(|probe| probe.run), send.run.as_ref().unwrap().order.run)
            };
            assert_eq!(give(1, HOST), (Some(1), 1));
            assert_eq!(give(1, HOST), (None, 1));
            assert_eq!(give(2, [2, 0, 0, 0, 0, 8]), (None, 1));
            assert_eq!(give(3, HOST), (Some(3), 3));
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
