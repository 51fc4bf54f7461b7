//! The disk of the working folder, for `record`.

use super::super::check::{Answer, Check, NoReading, Reading, Severity};
use super::super::context::Context;
use super::super::fix::Fix;
use crate::figures::{grouped, measured, span};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "disk.space",
        title: "free space in the working folder",
        severity: Severity::Risk,
        read: space,
        reason: "a minute of the stream",
        cost: "the recording ends",
        measured: None,
    },
    Check {
        id: "disk.file_system",
        title: "file system of the working folder",
        severity: Severity::Note,
        read: file_system,
        reason: "one of this host's disks: a network's file system, or one in user space, has pauses \
                 of its own",
        cost: "writes wait for another host or process",
        measured: None,
    },
    Check {
        id: "disk.rotating",
        title: "kind of the disk",
        severity: Severity::Risk,
        read: rotating,
        reason: "a rotating disk moves its heads for about 10 ms, in which written samples wait in \
                 memory: they must fit into the window",
        cost: "the recorder falls behind (disk behind)",
        measured: None,
    },
    Check {
        id: "disk.rate",
        title: "bytes that the disk wrote per second of its busy time since the start",
        severity: Severity::Note,
        read: rate,
        reason: "the stream's rate; small writes of other programs make it look slower than it is, so \
                 a lower value is a hint",
        cost: "the recorder falls behind (disk behind)",
        measured: None,
    },
    Check {
        id: "disk.dirty",
        title: "time until writers must wait for the disk (vm.dirty_ratio)",
        severity: Severity::Risk,
        read: dirty,
        reason: "the memory for unwritten data, at this rate: at least 1 s, the time for which a disk \
                 may be busy with its own work",
        cost: "the recorder stops while the disk writes",
        measured: None,
    },
    Check {
        id: "disk.background",
        title: "time until the kernel begins to write (vm.dirty_background_ratio)",
        severity: Severity::Risk,
        read: background,
        reason: "half of the time until writers must wait, so that the disk has a lead",
        cost: "writers wait although the disk was idle",
        measured: None,
    },
];

fn space(context: &Context<'_>) -> Answer {
    let free: f64 = context.field(HERE, "free_bytes")?;
    let least = context.demand.bytes_per_s() * RECORDING_S;
    let fix = Fix::advice("record to another disk, or with --split");
    Ok(Reading::at_least(free, least, bytes).with_fix(fix))
}

fn file_system(context: &Context<'_>) -> Answer {
    let kind = context.word(HERE, "kind")?;
    let remote = REMOTE.iter().find(|it| it.0 == &*kind);
    let value = remote.map_or("local", |it| it.1);
    let fix = Fix::advice("record to a local disk, and copy");
    Ok(Reading::state(remote.is_none(), value, "local").with_fix(fix))
}

fn rotating(context: &Context<'_>) -> Answer {
    let is_rotating = context.field::<u8>(HERE, "rotational").map_err(|_| no_disk())? == 1;
    let needed = context.demand.bytes_per_s() * SEEK_S;
    let fits = needed <= context.demand.window_bytes();
    let value = if is_rotating { "rotating" } else { "solid state" };
    let limit = format!("solid state, or {} in the window", bytes(needed));
    let fix = Fix::advice("record to a solid-state disk, or raise --window");
    Ok(Reading::state(!is_rotating || fits, value, limit).with_fix(fix))
}

fn rate(context: &Context<'_>) -> Answer {
    let counts = ["written_sectors", "busy_ms"].map(|key| context.field::<f64>(HERE, key));
    let [Ok(sectors), Ok(busy)] = counts else { return Err(no_disk()) };
    if busy < BUSY_MS_LEAST {
        let words = format!("the disk was busy for {} ms only", grouped(busy as u64));
        return Err(NoReading::NotApplicable(words));
    }
    let per_s = |count: f64| measured(count, "B/s");
    let fix = Fix::advice(
        "`samplewire record ADDR FILE --duration 1min` shows whether the disk keeps up",
    );
    let rate = sectors * 512.0 / (busy * 1e-3);
    Ok(Reading::at_least(rate, context.demand.bytes_per_s(), per_s).with_fix(fix))
}

fn dirty(context: &Context<'_>) -> Answer {
    let has = limit(context, "dirty")? / context.demand.bytes_per_s();
    let fix = set_limit(context, "dirty", context.demand.bytes_per_s() * DISK_STALL_S, f64::ceil)?;
    Ok(Reading::at_least(has, DISK_STALL_S, span).with_fix(fix))
}

fn background(context: &Context<'_>) -> Answer {
    let rate = context.demand.bytes_per_s();
    let has = limit(context, "dirty_background")? / rate;
    let most = limit(context, "dirty")? / rate / 2.0;
    let fix = set_limit(context, "dirty_background", most * rate, f64::floor)?;
    Ok(Reading::at_most(has, most, span).with_fix(fix))
}

/// Bytes of unwritten data: the number of bytes, or the share of available memory if that is 0.
fn limit(context: &Context<'_>, name: &str) -> Result<f64, NoReading> {
    let bytes: f64 = context.number(&format!("/proc/sys/vm/{name}_bytes"))?;
    if bytes > 0.0 {
        return Ok(bytes);
    }
    let percent: f64 = context.number(&format!("/proc/sys/vm/{name}_ratio"))?;
    let available = context.field::<u64>("/proc/meminfo", "MemAvailable")? as f64 * 1_024.0;
    Ok(available * percent / 100.0)
}

/// Sets the limit in the unit that it has: the kernel clears the one when the other is set.
fn set_limit(
    context: &Context<'_>,
    name: &str,
    bytes: f64,
    round: fn(f64) -> f64,
) -> Result<Fix, NoReading> {
    let path = format!("/proc/sys/vm/{name}_bytes");
    if context.number::<f64>(&path)? > 0.0 {
        return Ok(Fix::sysctl(&path, round(bytes)));
    }
    let available = context.field::<u64>("/proc/meminfo", "MemAvailable")?.max(1) as f64 * 1_024.0;
    let percent = round(bytes / available * 100.0);
    Ok(if percent <= 100.0 {
        Fix::sysctl(&format!("/proc/sys/vm/{name}_ratio"), percent)
    } else {
        Fix::advice("more memory, or a lower rate")
    })
}

fn no_disk() -> NoReading {
    NoReading::NotApplicable("the file system has no disk of its own".into())
}

fn bytes(count: f64) -> String {
    measured(count, "B")
}

const HERE: &str = "/disk/here";
const RECORDING_S: f64 = 60.0;
const SEEK_S: f64 = 0.01;
const DISK_STALL_S: f64 = 1.0;
/// A shorter time says little.
const BUSY_MS_LEAST: f64 = 1_000.0;
/// Magic numbers of linux/magic.h.
const REMOTE: [(&str, &str); 5] = [
    ("0x6969", "NFS"),
    ("0xff534d42", "CIFS"),
    ("0xfe534d42", "SMB2"),
    ("0x65735546", "FUSE"),
    ("0x1021997", "9P"),
];
