//! Planted losses of a second each, between a device and a receiver in network namespaces of their own:
//! each is reported at its hop.
//!
//! The device's overflow and the full socket have their tests in `crates/samplewire/tests/hops.rs`, the
//! slow program and the slow file in `exit_status.rs`.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use samplewire_testing::{PATIENCE, in_namespace, skip, wait_until};
use serde_json::Value;

use crate::harness::{Running, folder, run, text, until_metric};
use crate::metered::Metered;

/// The receiver's namespace, with the interface `sw-b`; the device has `sw-a`.
struct Receiver {
    /// It holds the namespace open.
    holder: Child,
    enter: [String; 2],
}

/// What a receiver may do, by options of `setpriv`.
type Rights = &'static [&'static str];
const ALL: Rights = &[];
const NONE: Rights = &["setpriv", "--bounding-set=-all", "--inh-caps=-all"];
/// It sees the other end of its veth pair, but counts no drops of the kernel.
const NET_ADMIN: Rights = &["setpriv", "--bounding-set=-all,+net_admin", "--inh-caps=-all"];

/// A stream that runs.
struct Stream {
    receiver: Running,
    device: Metered,
}

impl Stream {
    /// Waits until the device has sent so many more packets.
    fn wait(&self, packets: f64) {
        let sent = || self.device.numbers().get(SENT).copied().unwrap_or(0.0);
        let before = sent();
        wait_until("packets of the device", PATIENCE, || sent() > before + packets);
    }
}

/// What a run has lost.
struct Lost {
    end: Value,
    missing: u64,
    /// Of a recording.
    gaps: Value,
}

impl Receiver {
    /// Moves `sw-b` into a namespace of its own.
    fn new() -> Self {
        let holder = Command::new("unshare")
            .args(["--net", "sh", "-c", "echo; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it has run before");
        let enter = ["nsenter".to_owned(), format!("--net=/proc/{}/ns/net", holder.id())];
        let mut receiver = Self { holder, enter };
        let out = receiver.holder.stdout.as_mut().expect("it is piped");
        std::io::Read::read_exact(out, &mut [0]).expect("it is in its namespace");
        let namespace = receiver.holder.id().to_string();
        shell(&[], &format!("ip link set sw-b netns {namespace}"));
        receiver.shell("ip addr add 10.9.0.2/24 dev sw-b; ip link set sw-b up; ip link set lo up");
        receiver
    }

    /// Runs a shell script in the namespace.
    fn shell(&self, script: &str) -> String {
        shell(&self.enter, script)
    }

    /// The same; the error is what it printed.
    fn try_shell(&self, script: &str) -> Result<String, String> {
        try_shell(&self.enter, script)
    }

    /// Starts a device and `rate` there, and waits until the stream runs.
    fn rate(&self, rights: Rights) -> Stream {
        self.start(rights, "rate", &[])
    }

    /// The same of a verb with further arguments.
    fn start(&self, rights: Rights, verb: &str, more: &[&str]) -> Stream {
        let (device, address) = Metered::device(&folder("lost-at"), &DEVICE);
        let mut by: Vec<&str> = self.enter.iter().map(String::as_str).collect();
        by.extend(rights);
        let list = ["--duration", "1min", "--mtu", "1500", "--delivery", "best-effort", "--json"];
        let arguments = [&[verb, &address], more, &list[..], &WINDOW].concat();
        let stream = Stream { receiver: Running::start_by(&by, &arguments), device };
        stream.wait(300.0);
        stream
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.holder.kill().expect("it is our child");
        self.holder.wait().expect("it is our child");
    }
}

impl Lost {
    /// Ends a stream after the fault.
    fn of(stream: Stream) -> Self {
        // The gap is found when samples come again: a full ring is emptied within 200 ms.
        stream.wait(1_000.0);
        stream.receiver.signal(libc::SIGINT);
        let ran = stream.receiver.finish().expect(130);
        let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
        let end = document["end"].get("receive").unwrap_or(&document["end"]).clone();
        let missing = end["samples_missing"].as_u64().unwrap();
        let hops = end["lost_at"].as_object().unwrap().values().map(|it| it.as_u64().unwrap());
        assert_eq!(hops.sum::<u64>(), missing, "{end}");
        Self { end, missing, gaps: document["gaps"].clone() }
    }

    fn at(&self, hop: &str) -> u64 {
        self.end["lost_at"][hop].as_u64().unwrap()
    }

    fn bound(&self, hop: &str) -> &str {
        self.end["lost_at_bounds"][hop].as_str().unwrap()
    }

    /// Checks that all but 1 % was lost at one hop.
    #[track_caller]
    fn expect_at(&self, hop: &str) {
        // A second at 1 MS/s, as far as the machine kept to it.
        assert!(self.missing > 300_000, "{}", self.end);
        assert!(self.at(hop) >= self.missing - self.missing / 100, "{hop}: {}", self.end);
    }

    /// Packets that the kernel has counted for a reason.
    fn dropped(&self, reason: &str) -> u64 {
        self.end["host_hints"]["kernel_dropped"][reason].as_u64().unwrap_or(0)
    }
}

fn shell(enter: &[String], script: &str) -> String {
    try_shell(enter, script).unwrap_or_else(|words| panic!("{script}: {words}"))
}

fn try_shell(enter: &[String], script: &str) -> Result<String, String> {
    let all: Vec<&str> = enter.iter().map(String::as_str).chain(["sh", "-ec", script]).collect();
    let ran = Command::new(all[0]).args(&all[1..]).output().expect("it runs");
    let [out, error] = [ran.stdout, ran.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    if ran.status.success() { Ok(out) } else { Err(out + &error) }
}

/// A device whose source does not wait.
const DEVICE: [&str; 8] =
    ["--listen", "10.9.0.1:0", "--source", "null", "--rate", "1M", WINDOW[0], WINDOW[1]];

/// Packets of more than a second: the device waits for no credit while feedback is delayed.
const WINDOW: [&str; 2] = ["--window", "8192"];

/// Packets that the device has sent, over all sessions.
const SENT: &str = "samplewire_sender_packets_total";

/// Lets the fault work for a second. Nothing else can be awaited: the stream goes on beside it.
fn for_a_second() {
    std::thread::sleep(Duration::from_secs(1));
}

/// Whether the kernel's drops are counted in this run; skips where they cannot be.
fn is_counted(lost: &Lost) -> bool {
    let why = &lost.end["host_hints"]["kernel_uncounted"];
    if let Some(why) = why.as_str() {
        skip(format_args!("drops of the kernel are not counted: {why}"));
    }
    why.is_null()
}

/// Two ends of a veth pair; the device's is up. What the tests run must be installed.
const PAIR: &str = "for it in tc nsenter setpriv ethtool python3; do \
                    command -v $it >/dev/null || exit 1; done; \
                    ip link add sw-a type veth peer name sw-b && ip link set lo up && \
                    ip addr add 10.9.0.1/24 dev sw-a && ip link set sw-a up";

/// Drops DATA packets, which are longer than others, by a filter of classic BPF that needs no compiler.
fn filter(interface: &str, direction: &str) -> String {
    format!(
        "tc qdisc add dev {interface} clsact && tc filter add dev {interface} {direction} bpf da \
         bytecode '4,128 0 0 0,37 0 1 1000,6 0 0 2,6 0 0 4294967295'"
    )
}

/// Packets that the filters of an interface dropped.
fn filtered(words: &str) -> u64 {
    let (_, clsact) = words.split_once("qdisc clsact").expect("it has filters");
    let (_, rest) = clsact.split_once("(dropped ").expect("a count");
    rest.split(',').next().and_then(|count| count.parse().ok()).expect("a number")
}

/// A rule of nftables at the hook `input` that drops what is longer than 1,000 bytes, by netlink: no
/// program is needed.
const FIREWALL: &str = r#"
import socket, struct, sys

def attribute(kind, value):
    data = struct.pack("=HH", 4 + len(value), kind) + value
    return data + bytes(-len(data) % 4)

def number(kind, value):
    return attribute(kind, struct.pack(">I", value))

def nested(kind, *values):
    return attribute(kind | 0x8000, b"".join(values))

def expression(name, *values):
    return nested(1, attribute(1, name), nested(2, *values))

def message(kind, flags, body, resource=0, family=2):
    body = struct.pack(">BBH", family, 0, resource) + body
    return struct.pack("=IHHII", 16 + len(body), kind, 1 | flags, 1, 0) + body

NFTABLES, CREATE, ACK = 10, 0x400, 4
name = attribute(1, b"samplewire\0")
chain = name + attribute(3, b"long\0") + nested(4, number(1, 1), number(2, 0))
chain += number(5, 1) + attribute(7, b"filter\0")
# The length, in network order, is compared as text.
rule = name + attribute(2, b"long\0") + nested(
    4,
    expression(b"meta\0", number(1, 1), number(2, 0)),
    expression(b"byteorder\0", *(number(kind, it) for kind, it in enumerate([1, 1, 1, 4, 4], 1))),
    expression(b"cmp\0", number(1, 1), number(2, 4), nested(3, number(1, 1000))),
    expression(b"immediate\0", number(1, 0), nested(2, nested(2, number(1, 0)))),
)
add = message(NFTABLES << 8, CREATE, name) + message(NFTABLES << 8 | 3, CREATE, chain)
add += message(NFTABLES << 8 | 6, CREATE | 0x800 | ACK, rule)
remove = message(NFTABLES << 8 | 2, ACK, name)
batch = message(0x10, 0, b"", NFTABLES, 0)
batch += add if sys.argv[1] == "add" else remove
batch += message(0x11, 0, b"", NFTABLES, 0)
link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
link.bind((0, 0))
link.settimeout(10)
link.send(batch)
reply = link.recv(65536)
sys.exit(-struct.unpack_from("=i", reply, 16)[0])
"#;

#[test]
fn packets_that_a_firewall_drops_are_the_kernels_where_they_are_counted() {
    let test = "lost_at::packets_that_a_firewall_drops_are_the_kernels_where_they_are_counted";
    if !in_namespace(test, PAIR) {
        return;
    }
    let receiver = Receiver::new();
    let firewall = |what: &str| receiver.try_shell(&format!("python3 -c '{FIREWALL}' {what}"));
    let metrics = "10.9.0.2:9555";
    let streams = [receiver.start(ALL, "rate", &["--metrics", metrics]), receiver.rate(NONE)];
    if let Err(words) = firewall("add") {
        return skip(format_args!("no rule of nftables can be made here: {words}"));
    }
    for_a_second();
    firewall("remove").unwrap();
    let exported =
        until_metric(&format!("{metrics}/metrics"), "samplewire_host_kernel_dropped_total", |_| {
            true
        });
    let [counted, blind] = streams.map(Lost::of);
    blind.expect_at("wire");
    for hop in ["nic", "kernel"] {
        assert_eq!((blind.bound("wire"), blind.bound(hop)), ("at most", "at least"));
    }
    let why = blind.end["host_hints"]["kernel_uncounted"].as_str().unwrap();
    assert!(why.contains("CAP_BPF"), "{why}");
    if is_counted(&counted) {
        counted.expect_at("kernel");
        assert!(counted.dropped("NETFILTER_DROP") >= counted.missing / 352, "{}", counted.end);
        assert_eq!((counted.bound("wire"), counted.bound("kernel")), ("exact", "exact"));
        assert!(exported * 352.0 >= 300_000.0, "{exported}");
    }
}

#[test]
fn filter_drops_in_the_kernel_at_the_receiver_and_on_the_wire_at_the_device() {
    let test = "lost_at::filter_drops_in_the_kernel_at_the_receiver_and_on_the_wire_at_the_device";
    if !in_namespace(test, PAIR) {
        return;
    }
    let receiver = Receiver::new();
    let show = "tc -s qdisc show";
    let file = folder("lost-at-gaps").join("file");
    let stream = receiver.start(ALL, "record", &[text(&file)]);
    receiver.shell(&filter("sw-b", "ingress"));
    for_a_second();
    let near = filtered(&receiver.shell(&format!("tc filter del dev sw-b ingress; {show}")));
    let at_receiver = Lost::of(stream);

    let stream = receiver.rate(ALL);
    shell(&[], &filter("sw-a", "egress"));
    for_a_second();
    let far = filtered(&shell(&[], &format!("tc filter del dev sw-a egress; {show}")));
    let at_device = Lost::of(stream);
    at_device.expect_at("wire");
    assert_eq!(at_device.at("kernel"), 0, "{}", at_device.end);
    // The filter counts buffers, each of one packet or more.
    assert!(far > 0 && at_device.missing >= far * 352, "{far}: {}", at_device.end);
    if is_counted(&at_receiver) {
        at_receiver.expect_at("kernel");
        let packets = at_receiver.dropped("TC_INGRESS");
        assert!(near > 0 && packets >= near, "{near}: {}", at_receiver.end);
        assert_eq!(at_receiver.at("kernel"), packets * 352);
        // In the gaps of the document, and in those of the metadata.
        let sum = |gaps: &Value, key: &str| -> u64 {
            gaps.as_array().unwrap().iter().filter_map(|gap| gap[key].as_u64()).sum()
        };
        assert_eq!(sum(&at_receiver.gaps, "kernel_dropped"), packets * 352);
        let metadata = std::fs::read_to_string(file.with_extension("sigmf-meta")).unwrap();
        let metadata: Value = serde_json::from_str(&metadata).unwrap();
        assert_eq!(sum(&metadata["annotations"], "samplewire:kernel_dropped"), packets * 352);
        run(&["verify", text(&file)]).expect(0);
    }
}

/// The ring of 256 frames is emptied only every 200 ms.
const SLOW_RING: &str = "mount -t sysfs sysfs /sys && cd /sys/class/net/sw-b && \
                         echo 200000000 > gro_flush_timeout && echo 1000000 > napi_defer_hard_irqs";
const FAST_RING: &str = "mount -t sysfs sysfs /sys && cd /sys/class/net/sw-b && \
                         echo 0 > napi_defer_hard_irqs && echo 0 > gro_flush_timeout";

#[test]
fn ring_that_overflows_is_the_cards_for_each_flow_that_uses_it() {
    let test = "lost_at::ring_that_overflows_is_the_cards_for_each_flow_that_uses_it";
    if !in_namespace(test, PAIR) {
        return;
    }
    let receiver = Receiver::new();
    // Without segmentation offload, each packet goes through the ring.
    shell(&[], "ethtool -K sw-a tso off tx-udp-segmentation off");
    receiver.shell("ethtool -K sw-b gro on");
    let settings = |script: &str| receiver.shell(&format!("unshare --mount sh -ec '{script}'"));
    let full = || {
        let text = std::fs::read_to_string("/sys/class/net/sw-a/statistics/tx_dropped").unwrap();
        text.trim().parse::<u64>().unwrap()
    };
    let fault = || {
        settings(SLOW_RING);
        for_a_second();
        settings(FAST_RING);
    };
    let before = full();
    let stream = receiver.rate(ALL);
    fault();
    let alone = Lost::of(stream);
    let dropped = full() - before;
    assert_eq!(alone.end["host_hints"]["nic_dropped"], dropped);
    if is_counted(&alone) {
        alone.expect_at("nic");
        assert_eq!((alone.bound("nic"), alone.bound("wire")), ("about", "about"));
    }

    let before = full();
    let streams = [ALL, NET_ADMIN].map(|rights| receiver.rate(rights));
    fault();
    let [counted, blind] = streams.map(Lost::of);
    let dropped = full() - before;
    for lost in [&counted, &blind] {
        assert_eq!(lost.end["host_hints"]["nic_dropped"], dropped);
    }
    assert_eq!((blind.at("nic"), blind.bound("nic")), (0, "at least"));
    blind.expect_at("wire");
    assert_eq!(blind.bound("wire"), "at most");
    if is_counted(&counted) {
        counted.expect_at("nic");
    }
}
