//! Measures an attack: windows without it and with it take turns in one stream.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use samplewire_testing::{memory_bytes, skip};

use crate::cpu::{Thread, process_cpu_ns};
use crate::flood::{ATTACKS, Attack, Attackers, Places, Target};
use crate::forge::can_forge;
use crate::honest::{Device, Honest, Moment};
use crate::replay::Recording;

/// How to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Pairs of windows.
    pub(crate) rounds: usize,
    /// How often an attack is measured before its figures count as missed: other work on this
    /// machine disturbs one that takes less than all of it.
    pub(crate) tries: usize,
    pub(crate) window: Duration,
    pub(crate) payload_bytes: u16,
    /// Of samples.
    pub(crate) pace_bps: u64,
}

/// One window, and the attack in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    pub(crate) seconds: f64,
    pub(crate) goodput_bps: f64,
    /// DATA that came to the receiver.
    pub(crate) data: u64,
    pub(crate) retransmissions: u64,
    /// CPU time of the honest stream's two I/O threads.
    pub(crate) receiver_cpu_ns: u64,
    pub(crate) device_cpu_ns: u64,
    /// CPU time of the I/O thread that is attacked, or of the whole program that is.
    pub(crate) target_cpu_ns: u64,
    /// What the attacker sent, and what that cost it.
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) attacker_cpu_ns: u64,
    /// Its packets that our code was given.
    pub(crate) taken: u64,
    /// Bytes that we sent to the attacker, or to the address that it forged.
    pub(crate) answered_bytes: u64,
}

/// An attack's windows.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) attack: &'static str,
    pub(crate) target: Target,
    pub(crate) quiet: Vec<Window>,
    pub(crate) attacked: Vec<Window>,
    pub(crate) memory_growth_bytes: i64,
    /// What a program of ours said that opened the attacker.
    pub(crate) outcomes: Vec<(String, u64)>,
}

/// All of the attacks, or those whose name has `only` in it, beside one honest stream; at the
/// end every index of it has come.
///
/// # Errors
/// The honest stream lost something, or the machine refused something.
pub(crate) fn run(
    plan: Plan,
    only: &str,
    mut report: impl FnMut(&Row),
) -> Result<Vec<Row>, Box<dyn Error>> {
    let device = Device::start(plan.payload_bytes, plan.pace_bps, 0)?;
    let own_device = Device::start(plan.payload_bytes, OWN_DEVICE_BPS, OWN_DEVICE_BPS)?;
    let recording = Recording::make(device.address)?;
    let honest = Honest::open(device)?;
    // Its start is not measured.
    std::thread::sleep(plan.window);
    let mut rows = Vec::new();
    for attack in ATTACKS.iter().filter(|attack| attack.name.contains(only)) {
        if attack.forges() && !can_forge() {
            skip(format_args!("needs CAP_NET_RAW: {}", attack.name));
            continue;
        }
        let places = Places {
            device: honest.device.address,
            client: honest.client,
            own_device: own_device.address,
            recording: &recording,
        };
        let mut best: Option<Row> = None;
        for _ in 0..plan.tries {
            let row = measure(plan, attack, &places, &honest, &own_device)?;
            if !honest.is_alive() {
                let end = honest.finish();
                return Err(format!("{}: the honest stream broke: {end:?}", attack.name).into());
            }
            report(&row);
            let is_good = row.kept() >= KEPT_LEAST && row.cost() <= COST_MOST;
            if is_good || best.as_ref().is_none_or(|best| row.kept() > best.kept()) {
                best = Some(row);
            }
            if is_good {
                break;
            }
        }
        rows.extend(best);
    }
    let _final_index = honest.finish()?;
    own_device.stop()?;
    Ok(rows)
}

fn measure(
    plan: Plan,
    attack: &Attack,
    places: &Places<'_>,
    honest: &Honest,
    own_device: &Device,
) -> Result<Row, Box<dyn Error>> {
    let attackers = attack.prepare(places)?;
    let (mut quiet, mut attacked) = (Vec::new(), Vec::new());
    let mut memory_before = None;
    for _ in 0..plan.rounds {
        let look = || Look::take(attack.target, honest, own_device, &attackers);
        quiet.push(window(plan, look));
        attackers.go(true);
        // Neither its begin nor what it leaves behind is measured.
        std::thread::sleep(SETTLING);
        // What an attack needs once, such as its own stream, is no growth.
        memory_before.get_or_insert_with(memory_bytes);
        attacked.push(window(plan, look));
        attackers.go(false);
        std::thread::sleep(SETTLING);
        if !honest.is_alive() {
            break;
        }
    }
    let growth = memory_bytes() as i64 - memory_before.unwrap_or_default() as i64;
    let outcomes = Arc::clone(&attackers.outcomes);
    attackers.stop();
    let outcomes = outcomes.lock().expect("no panic");
    let outcomes = outcomes.iter().map(|(text, count)| (text.clone(), *count)).collect();
    Ok(Row {
        attack: attack.name,
        target: attack.target,
        quiet,
        attacked,
        memory_growth_bytes: growth,
        outcomes,
    })
}

/// Everything that is counted, at one moment.
struct Look {
    at: Instant,
    honest: Moment,
    target_cpu_ns: u64,
    spent: (u64, u64),
    attacker_cpu_ns: u64,
    taken: u64,
    answered_bytes: u64,
}

impl Look {
    fn take(target: Target, honest: &Honest, own: &Device, attackers: &Attackers) -> Self {
        let moment = honest.now();
        let device = match target {
            Target::OwnDevice => own,
            _ => &honest.device,
        };
        let io: Option<Thread> = match target {
            Target::Device | Target::OwnDevice => Some(device.io),
            Target::ReceiveStream => Some(honest.io),
            Target::OwnReceiver => None,
        };
        let attacker_cpu_ns = attackers.thread.cpu_ns();
        let others_ns = attacker_cpu_ns + moment.device_cpu_ns + moment.receiver_cpu_ns;
        let stream = &moment.receiver.stream;
        let (taken, answered_bytes) = match target {
            Target::Device | Target::OwnDevice => (
                device.counts.taken.load(Ordering::Relaxed) + forged_taken(&moment, target),
                device.counts.answered_bytes.load(Ordering::Relaxed),
            ),
            Target::ReceiveStream => (
                stream.foreign + moment.receiver.foreign + moment.receiver.corrupted,
                moment.feedback_bytes,
            ),
            Target::OwnReceiver => (0, 0),
        };
        Self {
            at: Instant::now(),
            target_cpu_ns: io
                .map_or_else(|| process_cpu_ns().saturating_sub(others_ns), Thread::cpu_ns),
            spent: attackers.spent(),
            attacker_cpu_ns,
            taken,
            answered_bytes,
            honest: moment,
        }
    }

    fn until(&self, end: &Self) -> Window {
        let seconds = (end.at - self.at).as_secs_f64();
        let taken_bytes = end.honest.taken_bytes - self.honest.taken_bytes;
        let (before, after) = (&self.honest, &end.honest);
        Window {
            seconds,
            goodput_bps: taken_bytes as f64 * 8.0 / seconds,
            data: after.receiver.stream.received - before.receiver.stream.received,
            // The device's counts may still be those of its last session.
            retransmissions: (after.transmitter.stream.retransmissions)
                .saturating_sub(before.transmitter.stream.retransmissions),
            receiver_cpu_ns: after.receiver_cpu_ns - before.receiver_cpu_ns,
            device_cpu_ns: after.device_cpu_ns - before.device_cpu_ns,
            target_cpu_ns: end.target_cpu_ns.saturating_sub(self.target_cpu_ns),
            packets: end.spent.0 - self.spent.0,
            bytes: end.spent.1 - self.spent.1,
            attacker_cpu_ns: end.attacker_cpu_ns - self.attacker_cpu_ns,
            taken: end.taken.saturating_sub(self.taken),
            answered_bytes: end.answered_bytes - self.answered_bytes,
        }
    }
}

/// Packets from the honest receiver's address that were not of its stream.
fn forged_taken(moment: &Moment, target: Target) -> u64 {
    if target == Target::Device { moment.transmitter.stream.foreign } else { 0 }
}

fn window(plan: Plan, look: impl Fn() -> Look) -> Window {
    let before = look();
    // What is measured: a time of the stream and of the attack.
    std::thread::sleep(plan.window);
    before.until(&look())
}

impl Row {
    /// Of the goodput without the attack, how much was left: the median of the pairs.
    pub(crate) fn kept(&self) -> f64 {
        self.median(|quiet, attacked| attacked.goodput_bps / quiet.goodput_bps)
    }

    /// CPU time of the target for a packet that the attacker sent, in nanoseconds.
    pub(crate) fn cpu_ns_per_packet(&self) -> f64 {
        self.median(|quiet, attacked| self.extra_cpu_ns(quiet, attacked) / attacked.packets as f64)
    }

    /// CPU time of the target for a packet that it was given, in nanoseconds; 0 where none was.
    pub(crate) fn cpu_ns_per_taken(&self) -> f64 {
        self.median(|quiet, attacked| {
            let taken = attacked.taken;
            if taken < TAKEN_LEAST {
                return 0.0;
            }
            self.extra_cpu_ns(quiet, attacked) / taken as f64
        })
    }

    /// CPU time of the receiver for a DATA packet of the honest stream, in nanoseconds.
    pub(crate) fn cpu_ns_per_data(&self) -> f64 {
        self.median(|quiet, _| quiet.receiver_cpu_ns as f64 / quiet.data as f64)
    }

    /// A hostile packet's CPU time by an honest DATA packet's.
    pub(crate) fn cost(&self) -> f64 {
        self.median(|quiet, attacked| {
            let data_ns = quiet.receiver_cpu_ns as f64 / quiet.data as f64;
            self.extra_cpu_ns(quiet, attacked) / attacked.packets as f64 / data_ns
        })
    }

    /// Whether the pace was reached without an attack. If not, the machine was busy otherwise, and
    /// the cost of the attack is unknown.
    pub(crate) fn has_heard_the_pace(&self, plan: &Plan) -> bool {
        self.median(|quiet, _| quiet.goodput_bps) >= 0.9 * plan.pace_bps as f64
    }

    /// What the target spent beyond the honest stream's share.
    fn extra_cpu_ns(&self, quiet: &Window, attacked: &Window) -> f64 {
        let share = match self.target {
            // The honest stream is not theirs; their own stream is the attacker's wish.
            Target::OwnDevice | Target::OwnReceiver => attacked.seconds / quiet.seconds,
            _ => attacked.data as f64 / quiet.data as f64,
        };
        (attacked.target_cpu_ns as f64 - quiet.target_cpu_ns as f64 * share).max(0.0)
    }

    pub(crate) fn median(&self, figure: impl Fn(&Window, &Window) -> f64) -> f64 {
        let pairs = self.quiet.iter().zip(&self.attacked);
        // On a machine that is taken otherwise an attacker may not get its turn in a window.
        let attacked = pairs.filter(|(_, attacked)| attacked.packets > 0);
        let mut figures: Vec<_> = attacked.map(|(a, b)| figure(a, b)).collect();
        figures.sort_by(f64::total_cmp);
        figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

/// What must be left of the goodput.
pub(crate) const KEPT_LEAST: f64 = 0.5;

/// The most CPU time that a hostile packet may take, by an honest DATA packet's.
pub(crate) const COST_MOST: f64 = 1.5;

/// For an attack to begin, and for what it left to be gone.
const SETTLING: Duration = Duration::from_millis(60);

/// Of the attacker's own stream: it must be neither what the honest one loses to, nor what a REPORT
/// seems to cost.
const OWN_DEVICE_BPS: u64 = 10_000_000;

/// Fewer packets than this say nothing of what one costs.
const TAKEN_LEAST: u64 = 100;
