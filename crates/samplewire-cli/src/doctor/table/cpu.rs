//! CPUs: whether there are enough, and what keeps them from the stream.

use super::super::check::{Answer, Check, NoReading, Reading, Severity};
use super::super::context::{Context, cpu_list, parse};
use super::super::demand::SOFTIRQ_STALL;
use super::super::fix::{Fix, Place};
use super::super::reader::ReadError;
use crate::figures::{grouped, span};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "cpu.count",
        title: "CPUs that the process may use",
        severity: Severity::Severe,
        read: count,
        reason: "packets of this size one by one, at the measured cost of a packet (docs/performance.md)",
        cost: "the I/O thread falls behind, and the socket drops packets",
        measured: Some(
            "arrival 662 ns, receiver 1,170 ns, program 83 ns for a packet of 1,408 bytes (AMD EPYC, veth)",
        ),
    },
    Check {
        id: "cpu.smt",
        title: "cores of these CPUs",
        severity: Severity::Note,
        read: smt,
        reason: "two CPUs of one core share its units, so the stream's cores must be whole ones",
        cost: "less than a core for the I/O thread while the other CPU works",
        measured: None,
    },
    Check {
        id: "cpu.governor",
        title: "lowest frequency of the CPUs",
        severity: Severity::Risk,
        read: governor,
        reason: "at the lowest frequency that the governor may choose, the CPUs must still carry the \
                 stream; `performance` chooses the highest",
        cost: "the first packets after a pause find a slow CPU",
        measured: None,
    },
    Check {
        id: "cpu.cstates",
        title: "time to leave the deepest idle state",
        severity: Severity::Risk,
        read: cstates,
        reason: "a CPU must wake before the receive ring is full: the ring's frames at this rate, or \
                 1 ms",
        cost: "the card drops frames while the CPU wakes",
        measured: None,
    },
    Check {
        id: "cpu.load",
        title: "threads that want a CPU",
        severity: Severity::Risk,
        read: load,
        reason: "the CPUs that the stream does not take, unless the process has isolated ones \
                 (isolcpus)",
        cost: "the I/O thread waits for a CPU, for 3 ms and more each time",
        measured: Some("a busy loop on each core: 4.51 Gb/s instead of 8.73 Gb/s (AMD EPYC, veth)"),
    },
    Check {
        id: "cpu.steal",
        title: "CPU time that the hypervisor gave to others",
        severity: Severity::Risk,
        read: steal,
        reason: "the part of the process's CPUs that the stream does not take",
        cost: "the host pauses without a sign in its own schedule",
        measured: None,
    },
    Check {
        id: "cpu.quota",
        title: "CPU time that the control group may use",
        severity: Severity::Severe,
        read: quota,
        reason: "the cores that the stream takes",
        cost: "the kernel stops all threads until the next period, up to 100 ms",
        measured: None,
    },
    Check {
        id: "cpu.throttled",
        title: "periods in which the control group was stopped",
        severity: Severity::Risk,
        read: throttled,
        reason: "any count is a pause that has happened",
        cost: "all threads paused up to the end of the period",
        measured: None,
    },
    Check {
        id: "cpu.irq_node",
        title: "CPUs of the card's interrupts",
        severity: Severity::Note,
        read: irq_node,
        reason: "interrupts belong on CPUs of the card's NUMA node",
        cost: "each packet's data crosses between the sockets of the board",
        measured: None,
    },
    Check {
        id: "cpu.irq_beside",
        title: "CPUs without the card's interrupts",
        severity: Severity::Risk,
        read: irq_beside,
        reason: "if the stream takes more than one core, the I/O thread needs a CPU that the card does \
                 not interrupt",
        cost: "the kernel's network work and the I/O thread take turns on one CPU",
        measured: None,
    },
];

fn count(context: &Context<'_>) -> Answer {
    let own = context.own_cpus()?.len() as f64;
    let fix = Fix::advice(
        "larger packets (see path.mtu), a larger set of CPUs (taskset, cpuset), or a lower rate",
    );
    Ok(Reading::at_least(own, context.demand.cores(), cpus).with_fix(fix))
}

fn smt(context: &Context<'_>) -> Answer {
    let mut cores: Vec<usize> = Vec::new();
    for cpu in context.own_cpus()? {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let siblings = cpu_list(&path, &context.text(&path)?)?;
        cores.push(siblings.first().copied().unwrap_or(cpu));
    }
    cores.sort_unstable();
    cores.dedup();
    let fix = Fix::advice(
        "let the process use CPUs of more cores (taskset), or turn SMT off: /sys/devices/system/cpu/smt",
    );
    let words = |cores: f64| format!("{cores:.2} cores");
    Ok(Reading::at_least(cores.len() as f64, context.demand.cores(), words).with_fix(fix))
}

fn governor(context: &Context<'_>) -> Answer {
    let own = context.own_cpus()?;
    let (mut capacity, mut fix, mut names) = (0.0, Fix::default(), Vec::new());
    let least = context.demand.cores().min(own.len() as f64);
    for cpu in own {
        let path = |name: &str| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{name}");
        let Some(name) = context.optional(&path("scaling_governor"))? else {
            return Err(NoReading::NotApplicable("the system does not scale frequencies".into()));
        };
        let (least, most): (f64, f64) = (
            context.number(&path("scaling_min_freq"))?,
            context.number(&path("cpuinfo_max_freq"))?,
        );
        if name.trim() == "performance" {
            capacity += 1.0;
        } else {
            capacity += (least / most.max(1.0)).clamp(0.0, 1.0);
            fix = fix.and(Place::File(path("scaling_governor")), "performance");
        }
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let words = |cores: f64| format!("{cores:.2} cores at full frequency");
    let mut reading = Reading::at_least(capacity, least, words);
    let names: Vec<_> = names.iter().map(|name| name.trim()).collect();
    reading.value = format!("{}, {}", names.join(", "), reading.value);
    Ok(if fix.settings.is_empty() { reading } else { reading.with_fix(fix) })
}

fn cstates(context: &Context<'_>) -> Answer {
    let ring = context.answer_path("rings").and_then(|path| context.field::<f64>(&path, "rx"));
    let most =
        ring.map_or(SOFTIRQ_STALL.as_secs_f64(), |ring| ring / context.demand.packets_per_s());
    let (mut deepest, mut fix) = (0.0_f64, Fix::default());
    for cpu in context.own_cpus()? {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
        let states = match context.reader.names(&folder) {
            Ok(states) => states,
            Err(error) if error.why.is_absence() => {
                return Err(NoReading::NotApplicable("the system has no idle states".into()));
            }
            Err(error) => return Err(error.into()),
        };
        for state in states.iter().filter(|name| is_state(name)) {
            let path = |name: &str| format!("{folder}/{state}/{name}");
            let latency = context.number::<f64>(&path("latency"))? * 1e-6;
            if context.number::<u8>(&path("disable"))? == 0 {
                deepest = deepest.max(latency);
                if latency > most {
                    fix = fix.and(Place::File(path("disable")), "1");
                }
            }
        }
    }
    Ok(Reading::at_most(deepest, most, span).with_fix(fix))
}

fn is_state(name: &str) -> bool {
    name.strip_prefix("state").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

fn load(context: &Context<'_>) -> Answer {
    let isolated = "/sys/devices/system/cpu/isolated";
    let isolated = match context.optional(isolated)? {
        Some(text) => cpu_list(isolated, &text)?,
        None => Vec::new(),
    };
    let own = context.own_cpus()?;
    let path = "/proc/loadavg";
    let text = context.text(path)?;
    let running = text.split_ascii_whitespace().nth(3).and_then(|word| word.split('/').next());
    // Without this process.
    let running = parse::<f64>(path, running.unwrap_or_default())? - 1.0;
    let free = (own.len() as f64 - context.demand.cores().ceil()).max(0.0);
    let words = |threads: f64| format!("{threads} threads");
    let fix = Fix::advice(
        "end other work, or isolate CPUs: kernel parameter isolcpus=N, then --cpu N; or --priority",
    );
    if own.iter().any(|cpu| isolated.contains(cpu)) {
        return Ok(Reading::state(true, words(running), "any: CPUs are isolated"));
    }
    Ok(Reading::at_most(running.max(0.0), free, words).with_fix(fix))
}

fn steal(context: &Context<'_>) -> Answer {
    let path = "/proc/stat";
    let text = context.text(path)?;
    let line = text.lines().next().filter(|line| line.starts_with("cpu "));
    let line = line.ok_or_else(|| ReadError::form(path, "no cpu"))?;
    let mut times = Vec::new();
    // user nice system idle iowait irq softirq steal: guest times are parts of the first two.
    for word in line.split_ascii_whitespace().skip(1).take(8) {
        times.push(parse::<u64>(path, word)? as f64);
    }
    let [.., stolen] = times[..] else { return Err(ReadError::form(path, line).into()) };
    let total: f64 = times.iter().sum();
    let share = if total > 0.0 { stolen / total } else { 0.0 };
    let most = (1.0 - context.demand.cores() / context.own_cpus()?.len().max(1) as f64).max(0.0);
    let words = |share: f64| format!("{:.2} %", share * 100.0);
    let fix = Fix::advice("a machine with CPUs of its own, or fewer machines on this host");
    Ok(Reading::at_most(share, most, words).with_fix(fix))
}

fn quota(context: &Context<'_>) -> Answer {
    let path = format!("{}/cpu.max", context.control_group()?);
    let Some(text) = context.optional(&path)? else {
        return Err(NoReading::NotApplicable("the control group has no CPU limit".into()));
    };
    let mut words = text.split_ascii_whitespace();
    let (quota, period) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let has = match quota {
        "max" => f64::INFINITY,
        quota => parse::<f64>(&path, quota)? / parse::<f64>(&path, period)?.max(1.0),
    };
    let show = |cores: f64| {
        if cores.is_finite() { format!("{cores:.2} cores") } else { "unlimited".to_owned() }
    };
    let fix = Fix::advice("raise the limit: CPUQuota= of the unit, `--cpus` of the container");
    Ok(Reading::at_least(has, context.demand.cores(), show).with_fix(fix))
}

fn throttled(context: &Context<'_>) -> Answer {
    let path = format!("{}/cpu.stat", context.control_group()?);
    if context.optional(&path)?.is_none_or(|text| !text.contains("nr_throttled")) {
        return Err(NoReading::NotApplicable("the control group has no CPU limit".into()));
    }
    let fix = Fix::advice("raise the limit: CPUQuota= of the unit, `--cpus` of the container");
    Ok(Reading::none(context.field(&path, "nr_throttled")?, "periods").with_fix(fix))
}

fn irq_node(context: &Context<'_>) -> Answer {
    let node = context.card_node()?;
    let near = context.node_cpus(node)?;
    let (mut far, mut fix) = (0, Fix::default());
    let list = near.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    for (path, cpus) in irqs(context)? {
        if cpus.iter().any(|cpu| !near.contains(cpu)) {
            far += 1;
            fix = fix.and(Place::File(path), list.as_str());
        }
    }
    let words = format!("interrupts on CPUs of other nodes than {node}");
    Ok(Reading::none(far, &words).with_fix(fix))
}

fn irq_beside(context: &Context<'_>) -> Answer {
    let irqs = irqs(context)?;
    let own = context.own_cpus()?;
    let is_free = |cpu: &&usize| !irqs.iter().any(|(_, cpus)| cpus.contains(cpu));
    let free = own.iter().filter(is_free).count() as f64;
    let least = if context.demand.cores() > 1.0 { 1.0 } else { 0.0 };
    let first = own.first().copied().unwrap_or(0).to_string();
    let fix = irqs
        .into_iter()
        .fold(Fix::default(), |fix, (path, _)| fix.and(Place::File(path), first.as_str()));
    Ok(Reading::at_least(free, least, cpus).with_fix(fix))
}

/// The files that set the CPUs of the card's interrupts, and those CPUs.
fn irqs(context: &Context<'_>) -> Result<Vec<(String, Vec<usize>)>, NoReading> {
    let numbers = match context.reader.names(&context.card_path("device/msi_irqs")?) {
        Ok(numbers) => numbers,
        Err(error) if error.why.is_absence() => {
            return Err(NoReading::NotApplicable("the card has no interrupts of its own".into()));
        }
        Err(error) => return Err(error.into()),
    };
    let mut irqs = Vec::new();
    for number in numbers.iter().filter(|it| it.bytes().all(|byte| byte.is_ascii_digit())) {
        let path = format!("/proc/irq/{number}/smp_affinity_list");
        let cpus = cpu_list(&path, &context.text(&path)?)?;
        irqs.push((path, cpus));
    }
    Ok(irqs)
}

fn cpus(count: f64) -> String {
    if count.fract() == 0.0 {
        format!("{} CPUs", grouped(count as u64))
    } else {
        format!("{count:.2} CPUs")
    }
}
