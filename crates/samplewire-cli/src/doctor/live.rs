//! Answers of this host that are no files, as text of lines `NAME VALUE`.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use std::{fs, path::Path};

use samplewire_io::ethtool::{self, Fields};
use samplewire_io::frame_types::frame_types;
use samplewire_io::{netlink, timekeeping};

/// The answer for a path that is none of a file; `None` for files.
pub(super) fn answer(path: &str) -> Option<io::Result<String>> {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    Some(match parts[..] {
        ["ethtool", interface, query] => card(interface, query),
        ["netlink", interface, query] => index(interface).and_then(|it| kernel(it, query)),
        ["frames", interface] => index(interface).and_then(frames),
        ["netfilter", "chains"] => netlink::netfilter::chains().map(chain_lines),
        ["clock", "state"] => timekeeping::clock_state().map(clock_lines),
        ["disk", "here"] => disk(),
        ["device", peer] => device(peer),
        _ => return None,
    })
}

fn card(interface: &str, query: &str) -> io::Result<String> {
    let fields = match query {
        "rings" => ethtool::rings(interface),
        "coalescing" => ethtool::coalescing(interface),
        "pause" => ethtool::pause(interface),
        "channels" => ethtool::channels(interface),
        "time_stamps" => ethtool::time_stamps(interface),
        "flow_hash" => ethtool::flow_hash(interface).map(hash_words),
        "features" => ethtool::features(interface),
        "statistics" => ethtool::statistics(interface),
        _ => Err(io::ErrorKind::NotFound.into()),
    }?;
    let words = |value: u64| match query {
        "features" => match (value & ethtool::FEATURE_ON, value & ethtool::FEATURE_FIXED) {
            (0, 0) => "off".to_owned(),
            (0, _) => "off fixed".to_owned(),
            (_, 0) => "on".to_owned(),
            (_, _) => "on fixed".to_owned(),
        },
        "pause" => if value == 0 { "off" } else { "on" }.to_owned(),
        _ => value.to_string(),
    };
    Ok(fields
        .iter()
        .fold(String::new(), |text, (name, value)| text + &format!("{name} {}\n", words(*value))))
}

/// Without the ports (RXH_L4_B_0_1 and RXH_L4_B_2_3), `ethtool -N` names the rest `sd`.
fn hash_words(fields: Fields) -> Fields {
    fields
        .into_iter()
        .map(
            |(name, value)| {
                if name == "udp4" { ("ports".into(), value >> 6 & 3) } else { (name, value) }
            },
        )
        .collect()
}

fn index(interface: &str) -> io::Result<u32> {
    let text = fs::read_to_string(format!("/sys/class/net/{interface}/ifindex"))?;
    text.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into())
}

fn kernel(index: u32, query: &str) -> io::Result<String> {
    let mut text = String::new();
    match query {
        "xdp" => {
            let _ = writeln!(text, "mode {}", netlink::link::xdp_mode(index)?);
        }
        "disciplines" => {
            for kind in netlink::route::disciplines(index)? {
                let _ = writeln!(text, "{kind}");
            }
        }
        "device" => {
            let device = netlink::netdev::net_device(index)?;
            let (queues, pages) = (device.queues, device.pages);
            let counts = [
                ("xdp_features", device.xdp_features),
                ("receive_queues", device.receive_queues),
                ("queue_packets", queues.map(|it| it.packets)),
                ("queue_allocation_failures", queues.map(|it| it.allocation_failures)),
                ("queue_hardware_drops", queues.map(|it| it.hardware_drops)),
                ("pages_fast", pages.map(|it| it.fast)),
                ("pages_slow", pages.map(|it| it.slow)),
            ];
            for (name, count) in counts {
                if let Some(count) = count {
                    let _ = writeln!(text, "{name} {count}");
                }
            }
        }
        _ => return Err(io::ErrorKind::NotFound.into()),
    }
    Ok(text)
}

fn frames(index: u32) -> io::Result<String> {
    let types = frame_types(index, FRAMES_TIME)?;
    Ok(types
        .iter()
        .fold(String::new(), |text, (kind, count)| text + &format!("{kind:04x} {count}\n")))
}

fn chain_lines(chains: Vec<netlink::netfilter::Chain>) -> String {
    let mut text = String::new();
    for chain in chains {
        let policy = if chain.drops { "drop" } else { "accept" };
        let _ = writeln!(text, "{} {policy} {}", chain.hook, chain.name.replace(' ', "_"));
    }
    text
}

fn clock_lines(state: timekeeping::ClockState) -> String {
    format!(
        "synchronised {}\nerror_us_max {}\nerror_us {}\nfrequency_scaled {}\n",
        u8::from(state.is_synchronised),
        state.error_us_max,
        state.error_us,
        state.frequency_scaled
    )
}

/// The file system of the working folder, and its disk as far as there is one.
fn disk() -> io::Result<String> {
    let space = rustix::fs::statvfs(".")?;
    let device = rustix::fs::stat(".")?.st_dev;
    let kind = rustix::fs::statfs(".")?.f_type;
    let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
    let mut text = format!("free_bytes {free_bytes}\nkind {kind:#x}\n");
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let Ok(mut folder) = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")) else {
        return Ok(text);
    };
    if folder.join("partition").exists() {
        folder.pop();
    }
    let read = |name: &str| fs::read_to_string(folder.join(Path::new(name))).unwrap_or_default();
    let stat = read("stat");
    let column = |at: usize| stat.split_ascii_whitespace().nth(at).unwrap_or_default();
    let rotational = read("queue/rotational");
    // Documentation/block/stat.rst: sectors written, ms that the disk was busy.
    for (name, value) in
        [("rotational", rotational.trim()), ("written_sectors", column(6)), ("busy_ms", column(9))]
    {
        if !value.is_empty() {
            let _ = writeln!(text, "{name} {value}");
        }
    }
    Ok(text)
}

/// Queries a device for its stream.
fn device(peer: &str) -> io::Result<String> {
    let peer: SocketAddr = peer.parse().map_err(|_| io::Error::from(io::ErrorKind::NotFound))?;
    let info = samplewire::probe(peer, PROBE_TIME_MAX)
        .map_err(|_| io::Error::from_raw_os_error(ETIMEDOUT))?;
    Ok(format!(
        "rate_hz {}\nsample_bytes {}\npayload_bytes {}\npath_mtu_bytes {}\nwindow {}\nrtt_us {}\n",
        info.rate_hz(),
        info.frame_bytes(),
        info.payload_bytes,
        info.path_mtu_bytes,
        info.window,
        info.rtt.as_micros()
    ))
}

/// A board that sends has sent some frames by then.
const FRAMES_TIME: Duration = Duration::from_millis(100);

/// A diagnosis takes less than 2 s with it.
const PROBE_TIME_MAX: Duration = Duration::from_millis(700);
const ETIMEDOUT: i32 = 110;
