//! The speed of the interface towards a peer, as the kernel shows it in sysfs.

use std::ffi::OsStr;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use super::sys::Socket;

/// The speed that is set, or the last answer: many streams of one peer are opened at once.
#[derive(Debug, Default)]
pub(super) struct Speed {
    set_bps: Option<u64>,
    /// The one that was named; `None`: that of the route.
    interface: Option<String>,
    last: Option<Answer>,
}

#[derive(Debug)]
struct Answer {
    peer: IpAddr,
    line_bps: Option<u64>,
    at: Instant,
}

impl Speed {
    /// A speed that is set replaces the one that the system reports.
    pub(super) const fn new(set_bps: Option<u64>, interface: Option<String>) -> Self {
        Self { set_bps, interface, last: None }
    }

    /// Bits a second of the interface that packets to `peer` leave by; `None` if that is unknown, or
    /// the interface is virtual.
    pub(super) fn towards(&mut self, peer: SocketAddr) -> Option<u64> {
        if self.set_bps.is_some() {
            return self.set_bps;
        }
        let now = Instant::now();
        if let Some(last) = &self.last
            && last.peer == peer.ip()
            && now - last.at < KEPT
        {
            return last.line_bps;
        }
        // A host without sysfs, or a route that is gone: the speed is unknown.
        let root = Path::new(SYSFS);
        let line_bps = match &self.interface {
            Some(name) => interface_bps(root, OsStr::new(name)),
            None => route_bps(root, peer).ok().flatten(),
        };
        self.last = Some(Answer { peer: peer.ip(), line_bps, at: now });
        line_bps
    }
}

/// What the sysfs at `root` says of the interface that packets to `peer` leave by.
fn route_bps(root: &Path, peer: SocketAddr) -> io::Result<Option<u64>> {
    let socket = Socket::open(peer)?;
    socket.connect(peer)?;
    let local = socket.local_addr()?.ip();
    if local == peer.ip() {
        // Packets of a host to itself do not reach the interface that has the address.
        return Ok(None);
    }
    let name = socket.interface_name(local)?;
    Ok(name.and_then(|name| interface_bps(root, OsStr::from_bytes(name.to_bytes()))))
}

/// The speed of the interface of that name under `root`.
fn interface_bps(root: &Path, name: &OsStr) -> Option<u64> {
    let path = root.join("class/net").join(name);
    // Loopback, veth, VLANs and bridges have no speed of their own.
    let device = fs::canonicalize(&path).ok()?;
    let virtual_devices: PathBuf = fs::canonicalize(root).ok()?.join("devices/virtual");
    if device.starts_with(virtual_devices) {
        return None;
    }
    // An interface that is down has no speed, and -1 means unknown.
    let text = fs::read_to_string(path.join("speed")).ok()?;
    let speed_mbps: i64 = text.trim().parse().ok()?;
    u64::try_from(speed_mbps).ok().filter(|&mbps| mbps > 0).map(|mbps| mbps * 1_000_000)
}

const SYSFS: &str = "/sys";
/// How long an answer is kept.
const KEPT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    /// A sysfs of an interface, and what it says of the speed.
    fn bps_of(case: &str, device: &str, speed: Option<&str>) -> Option<u64> {
        let root = std::env::temp_dir().join(format!("speed-{}-{case}", std::process::id()));
        let device = root.join("devices").join(device).join("net/if0");
        let class = root.join("class/net");
        for directory in [&device, &class] {
            fs::create_dir_all(directory).expect("a directory");
        }
        symlink(&device, class.join("if0")).expect("a link");
        if let Some(speed) = speed {
            fs::write(device.join("speed"), speed).expect("a file");
        }
        let bps = interface_bps(&root, OsStr::new("if0"));
        fs::remove_dir_all(&root).expect("it is ours");
        bps
    }

    #[test]
    fn speed_is_that_of_hardware_whose_link_is_up() {
        assert_eq!(bps_of("up", "pci0/0", Some("10000\n")), Some(10_000_000_000));
        assert_eq!(bps_of("unknown", "pci0/0", Some("-1\n")), None);
        assert_eq!(bps_of("zero", "pci0/0", Some("0\n")), None);
        assert_eq!(bps_of("words", "pci0/0", Some("fast\n")), None);
        assert_eq!(bps_of("down", "pci0/0", None), None);
        assert_eq!(bps_of("veth", "virtual", Some("10000\n")), None);
    }

    /// The kernel's own interfaces: routes lead to them, and their speeds are its texts.
    #[test]
    fn speed_is_of_the_interface_that_the_route_takes() {
        let test = "udp::speed::tests::speed_is_of_the_interface_that_the_route_takes";
        if samplewire_testing::in_namespace(test, INTERFACES) {
            check_interfaces_of_the_namespace();
        }
    }

    fn check_interfaces_of_the_namespace() {
        let tap: SocketAddr = "10.9.1.2:9".parse().expect("an address");
        let veth: SocketAddr = "10.9.2.2:9".parse().expect("an address");
        for name in ["sw-tap", "sw-veth"] {
            let path = Path::new(SYSFS).join("class/net").join(name).join("speed");
            let text = fs::read_to_string(path).expect("the kernel states a speed");
            assert!(text.trim().parse::<i64>().is_ok_and(|mbps| mbps > 0), "{name}: {text}");
        }
        // Virtual ones have none of their own, whatever the kernel says.
        assert_eq!(route_bps(Path::new(SYSFS), tap).expect("a route"), None);
        assert_eq!(route_bps(Path::new(SYSFS), veth).expect("a route"), None);
        assert_eq!(route_bps(Path::new(SYSFS), "10.9.1.1:9".parse().unwrap()).unwrap(), None);

        // The same interfaces as hardware would be in sysfs.
        let root = std::env::temp_dir().join(format!("speed-{}-kernel", std::process::id()));
        let class = root.join("class/net");
        fs::create_dir_all(&class).expect("a directory");
        for name in ["sw-tap", "sw-veth"] {
            let device = root.join("devices/pci0/net").join(name);
            fs::create_dir_all(&device).expect("a directory");
            symlink(&device, class.join(name)).expect("a link");
            let speed = Path::new(SYSFS).join("class/net").join(name).join("speed");
            symlink(speed, device.join("speed")).expect("a link");
        }
        let line_bps = |peer| route_bps(&root, peer).expect("a route");
        assert_eq!(line_bps(tap), Some(40_000_000_000), "as ethtool set it");
        assert!(line_bps(veth).is_some_and(|bps| bps != 40_000_000_000), "the other interface");
        let down = Command::new("ip").args(["link", "set", "sw-veth", "down"]).status();
        assert!(down.expect("ip is here").success());
        assert_eq!(interface_bps(&root, OsStr::new("sw-veth")), None, "it is down");
        fs::remove_dir_all(&root).expect("it is ours");
    }

    /// Makes the interfaces.
    const INTERFACES: &str = r#"
        ip link set lo up &&
        ip tuntap add dev sw-tap mode tap && ip addr add 10.9.1.1/24 dev sw-tap &&
        ip link set sw-tap up && ethtool -s sw-tap speed 40000 &&
        ip link add sw-veth type veth peer name sw-peer && ip addr add 10.9.2.1/24 dev sw-veth &&
        ip link set sw-veth up && ip link set sw-peer up"#;

    #[test]
    fn loopback_has_no_speed() {
        let mut speed = Speed::default();
        for peer in ["127.0.0.1:9", "127.0.0.1:10"] {
            assert_eq!(speed.towards(peer.parse().unwrap()), None);
        }
        let mut speed = Speed::new(Some(7), None);
        assert_eq!(speed.towards("127.0.0.1:9".parse().unwrap()), Some(7), "but one that is set");
    }
}
