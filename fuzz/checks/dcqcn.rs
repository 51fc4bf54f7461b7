//! A flow under DCQCN keeps its rate between its lowest and the line's, is cut at most once in an
//! interval, and otherwise only rises, whatever is notified and sent, and however late its owner calls.

use samplewire_proto::Nanos;
use samplewire_proto::rate::{Dcqcn, DcqcnParams, Notified, Rules, WireRate};

use crate::input::Input;

/// Runs the operations that `bytes` spell.
///
/// # Panics
/// When the flow breaks a promise.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let params = params(&mut input);
    let now = Nanos(u64::from(input.word()));
    let flow = match Dcqcn::new(params, now) {
        Ok(flow) => flow,
        Err(error) => return assert_eq!(params.check(), Err(error)),
    };
    let mut world = World { params, flow, now, has_cut: false };
    while !input.is_empty() {
        world.step(&mut input);
        world.check_ranges();
    }
}

/// A preset, with some parameters drawn: most of them in range.
fn params(input: &mut Input<'_>) -> DcqcnParams {
    let line_bps = input.choose(&[1_000_000, 1_000_000_000, 10_000_000_000, 400_000_000_000]);
    let preset = [DcqcnParams::samplewire, DcqcnParams::paper, DcqcnParams::hpcc];
    let mut params = input.choose(&preset)(line_bps);
    let drawn = input.half();
    let is_drawn = |bit: u32| drawn >> bit & 1 == 1;
    if is_drawn(0) {
        params.gain_shift = input.byte() % 18;
    }
    if is_drawn(1) {
        params.alpha_period = Nanos(input.near(100).into());
    }
    if is_drawn(2) {
        params.rise_period = Nanos(input.near(100).into());
    }
    if is_drawn(3) {
        params.rise_bytes = input.near((1 << 16) + 100);
    }
    if is_drawn(4) {
        params.recovery_stages = input.byte() % 34;
    }
    if is_drawn(5) {
        params.cut_interval = Nanos(input.near(100).into());
    }
    let mut rate = |bit, preset: WireRate| {
        if is_drawn(bit) { WireRate::from_raw(input.near(preset.raw())) } else { preset }
    };
    params.additive = rate(6, params.additive);
    params.hyper = rate(7, params.hyper);
    params.minimum = rate(8, params.minimum);
    params.start = rate(9, params.start);
    params.first_cut = rate(10, params.first_cut);
    params
}

struct World {
    params: DcqcnParams,
    flow: Dcqcn,
    now: Nanos,
    has_cut: bool,
}

impl World {
    fn step(&mut self, input: &mut Input<'_>) {
        match input.byte() % 8 {
            0 | 1 => self.wait(Nanos(input.near(200).into())),
            2 => self.wait(Nanos(u64::from(input.byte()) * self.params.rise_period.0 / 16)),
            3 => self.wait(self.flow.due().max(self.now).since(self.now)),
            4 => self.notify(Nanos(input.choose(&[0, 1_000, 1 << 32, 1 << 40]))),
            5 => self.wait(Nanos(self.params.rise_period.0 * 40)),
            _ => self.depart(input.half()),
        }
    }

    /// Time passes, in one call or in one at each expiry: the flow is the same.
    fn wait(&mut self, span: Nanos) {
        let shortest = self.params.alpha_period.min(self.params.rise_period);
        self.now = self.now + span.min(Nanos(shortest.0 * EXPIRIES_MAX));
        let before = self.flow.rate();
        let rests = self.flow.is_at_line() && self.params.rules == Rules::Paper;
        let (mut late, mut calls) = (self.flow.clone(), 0);
        late.handle_time(self.now);
        let late_rate = late.rate();
        while late.due() <= self.now {
            late.handle_time(self.now);
            calls += 1;
            assert!(calls <= 2 * EXPIRIES_MAX / u64::from(Dcqcn::STEPS_MAX), "it catches up");
        }
        while self.flow.due() <= self.now {
            let (rate, rise_due, stages) =
                (self.flow.rate(), self.flow.rise_due(), self.flow.stages());
            self.flow.handle_time(self.flow.due());
            assert!(self.flow.rate() >= rate, "time alone cuts nothing");
            let has_expired = self.flow.rise_due() != rise_due;
            let timer_count = (stages.0 + u8::from(has_expired)).min(STAGES_MAX);
            assert_eq!(self.flow.stages(), (timer_count, stages.1), "each expiry is counted");
        }
        assert!(!rests || calls == 0, "nothing is left over at the line's rate");
        assert_eq!(late, self.flow);
        assert!((before..=self.flow.rate()).contains(&late_rate), "a late call is never too fast");
    }

    fn notify(&mut self, rtt: Nanos) {
        let (before, cut_from) = (self.flow.rate(), self.flow.cut_from());
        match self.flow.handle_notification(self.now, rtt) {
            Notified::Ignored => {
                assert!(self.now < cut_from);
                assert_eq!((self.flow.rate(), self.flow.cut_from()), (before, cut_from));
            }
            Notified::Cut => {
                assert!(self.now >= cut_from, "one cut an interval");
                assert_eq!((self.flow.target(), self.flow.stages()), (before, (0, 0)));
                let half = WireRate::from_raw(before.raw() / 2);
                let least = if self.has_cut { half } else { half.min(self.params.first_cut) };
                assert!((least..=before).contains(&self.flow.rate()), "at most half is cut");
                let interval = self.flow.cut_from().since(self.now);
                let rtt = rtt.min(Nanos(u32::MAX.into()));
                assert_eq!(interval, self.params.cut_interval.max(rtt));
                self.has_cut = true;
            }
        }
    }

    fn depart(&mut self, wire_bytes: u16) {
        let (rate, left, stages) = (self.flow.rate(), self.flow.bytes_left(), self.flow.stages());
        self.flow.handle_departure(self.now, wire_bytes);
        let expires = self.params.rules == Rules::Paper && u32::from(wire_bytes) >= left;
        assert!(self.flow.rate() >= rate, "a departure cuts nothing");
        assert!(expires || self.flow.rate() == rate, "the counter has not expired");
        let byte_count = (stages.1 + u8::from(expires)).min(STAGES_MAX);
        assert_eq!(self.flow.stages(), (stages.0, byte_count), "each expiry is counted");
    }

    fn check_ranges(&self) {
        let Self { params, flow, .. } = self;
        assert!((params.minimum..=params.line).contains(&flow.rate()));
        assert!((flow.rate()..=params.line).contains(&flow.target()));
        assert!(flow.alpha() <= 1 << 16);
        assert!((1..=params.rise_bytes).contains(&flow.bytes_left()));
        assert!(flow.stages().0 <= STAGES_MAX && flow.stages().1 <= STAGES_MAX);
        assert!(flow.due() > self.now, "all that is due is done");
    }
}

/// Of the faster period, in one wait.
const EXPIRIES_MAX: u64 = 2_048;
/// Counts of expiries stop there.
const STAGES_MAX: u8 = 31;
