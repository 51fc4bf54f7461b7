//! Options of receivers and transmitters.

use std::ffi::c_char;
use std::time::Duration;

use samplewire::{
    Carriage, Control, Delivery, RealTime, ReceiveOptions, SendOptions, Underflow, Waits,
};
use samplewire_io::{Bypass, UdpOptions};
use samplewire_proto::OutOfRange;

use crate::arguments::{one_of, optional, put, switch, text};
use crate::result::{Failure, guard, sw_result};
use crate::sized::{init, sized};

/// How complete the delivery is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum sw_delivery {
    /// Every packet that the sender still holds is repaired.
    Complete = 0,
    /// A packet is given up when it has been missing for `deadline_ns`.
    Deadline = 1,
    /// Nothing is repaired.
    BestEffort = 2,
}

/// What a device that plays does with samples missing at their time.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum sw_underflow {
    /// It plays zeros, continues by the clock, and drops late samples.
    Zeros = 0,
    /// It ends the stream.
    Stop = 1,
}

/// How ECN marks of congestion limit the rate of a stream that is sent.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum sw_control {
    /// Marks are counted and change nothing.
    None = 0,
    /// Departures keep to `control_rate`; marks change nothing.
    Fixed = 1,
    /// Marks cut the rate, and it rises again without them.
    Dcqcn = 2,
}

/// How the I/O thread and the program wait.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum sw_waits {
    /// Both sleep until there is work.
    Asleep = 0,
    /// The I/O thread polls without a pause, and takes a whole CPU.
    Spinning = 1,
    /// The program's thread spins too, while it waits.
    BothSpinning = 2,
    /// There is no I/O thread: the program's calls send, receive and repair.
    Inline = 3,
}

/// How packets pass the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum sw_link {
    /// By a UDP socket.
    Udp = 0,
    /// Past it, by AF_XDP, where the driver needs no copy; else by a UDP socket.
    Auto = 1,
    /// By AF_XDP, in the driver's own mode if it has one, else in the generic one. What keeps it from that
    /// is in the granted options, and packets go by a UDP socket.
    Xdp = 2,
    /// By AF_XDP in the generic mode, which every interface has.
    XdpGeneric = 3,
}

/// How packets of samples travel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum sw_carriage {
    /// As DATA of the stream protocol.
    Data = 0,
    /// Over RDMA: written into slots of the receiver by RoCEv2.
    Rdma = 1,
}

/// Options of a receiver. `sw_receiver_options_init` sets all of them to their defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_receiver_options {
    /// `sizeof(sw_receiver_options)`; `sw_receiver_options_init` sets it.
    pub struct_size: usize,
    /// A `sw_delivery`; default complete.
    pub delivery: u32,
    /// Packets in flight or waiting for a repair, 1 to 2^24; default 1024.
    pub window: u32,
    /// With `SW_DELIVERY_DEADLINE`: how long a packet may be missing.
    pub deadline_ns: u64,
    /// The device's stream; default -1: the first one that sends.
    pub stream: i32,
    /// The largest IP packet to request, 576 to 9000; default 9000, or the MTU of the first hop.
    pub mtu_bytes: u32,
    /// The index of the first sample; default 0: the current one.
    pub start_index: u64,
    /// Identifies this program: the same owner takes a stream over at once. Default 0: a random
    /// one.
    pub owner: u64,
    /// How long to try to open, 1 ms to 1 h; default 3 s.
    pub timeout_ns: u64,
    /// The socket's receive buffer in bytes; default 0: the size that the window needs.
    pub receive_buffer_bytes: u64,
    /// The CPU that the I/O thread is pinned to; default -1: any CPU.
    pub cpu: i32,
    /// Its priority under SCHED_FIFO, 1 to 99; default 0: an ordinary thread.
    pub priority: u32,
    /// 1 locks the memory of the process, so that it is not swapped out; default 0.
    pub lock_memory: u32,
    /// 1 requests huge pages; default 0.
    pub huge_pages: u32,
    /// How late timers of the I/O thread may end, up to 1 s; default 0: the system's value.
    pub timer_slack_ns: u64,
    /// A `sw_waits`; default asleep.
    pub waits: u32,
    /// Maximum number of borrowed blocks, 1 to 65536; default 1024. The window limits their memory.
    pub blocks_max: u32,
    /// How long an idle I/O thread sleeps, up to 10 ms; default 0: the next packet wakes it.
    pub coalesce_ns: u64,
    /// A `sw_link`; default UDP.
    pub link: u32,
    /// A `sw_carriage`; default DATA. Over RDMA the window is a power of two and the delivery complete, and
    /// the host's interface has a station beside the kernel, which needs CAP_NET_RAW. A device that cannot
    /// sends DATA instead: `carriage` of the stream's `sw_stream_info` says which it is.
    pub carriage: u32,
    /// The interface that all packets come and leave by, such as `eth1`, for a host with several in one
    /// network. Default NULL: the host's routes decide.
    pub interface: *const c_char,
    /// With `SW_CARRIAGE_RDMA`: the RDMA network card that writes the packets into memory of this process,
    /// such as `mlx5_0`. It needs libibverbs, and no CAP_NET_RAW. Default NULL: software receives them.
    pub verbs: *const c_char,
}

sized!(
    sw_receiver_options {
        delivery: u32,
        window: u32,
        deadline_ns: u64,
        stream: i32,
        mtu_bytes: u32,
        start_index: u64,
        owner: u64,
        timeout_ns: u64,
        receive_buffer_bytes: u64,
        cpu: i32,
        priority: u32,
        lock_memory: u32,
        huge_pages: u32,
        timer_slack_ns: u64,
        waits: u32,
        blocks_max: u32,
        coalesce_ns: u64,
        link: u32,
        carriage: u32,
        interface: *const c_char,
        verbs: *const c_char,
    },
    sw_receiver_options {
        struct_size: size_of::<sw_receiver_options>(),
        delivery: sw_delivery::Complete as u32,
        window: WINDOW,
        deadline_ns: 0,
        stream: -1,
        mtu_bytes: MTU_BYTES,
        start_index: 0,
        owner: 0,
        timeout_ns: TIMEOUT_NS,
        receive_buffer_bytes: 0,
        cpu: -1,
        priority: 0,
        lock_memory: 0,
        huge_pages: 0,
        timer_slack_ns: 0,
        waits: sw_waits::Asleep as u32,
        blocks_max: BLOCKS,
        coalesce_ns: 0,
        link: sw_link::Udp as u32,
        carriage: sw_carriage::Data as u32,
        interface: std::ptr::null(),
        verbs: std::ptr::null(),
    }
);

/// Options of a transmitter. `sw_transmitter_options_init` sets all of them to their defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_transmitter_options {
    /// `sizeof(sw_transmitter_options)`; `sw_transmitter_options_init` sets it.
    pub struct_size: usize,
    /// What the device does with a lost packet: a `sw_delivery`; default complete.
    pub delivery: u32,
    /// Packets kept for repair, 1 to 2^24; default 1024.
    pub window: u32,
    /// With `SW_DELIVERY_DEADLINE`: how long a packet may be missing.
    pub deadline_ns: u64,
    /// The device's stream; default -1: the first one that plays samples.
    pub stream: i32,
    /// The largest IP packet to send, 576 to 9000; default 9000, or the MTU of the first hop.
    pub mtu_bytes: u32,
    /// The index of the first sample; default 0: the one that the device plays at the opening.
    pub start_index: u64,
    /// Identifies this program: the same owner takes a stream over at once. Default 0: a random
    /// one.
    pub owner: u64,
    /// How long to try to open, 1 ms to 1 h; default 3 s.
    pub timeout_ns: u64,
    /// Paces departures to this many bits per second of wire time, 10^4 to 10^13; default 0: no
    /// pacing.
    pub link_bps: u64,
    /// The socket's send buffer in bytes; default 0: 8 MiB.
    pub send_buffer_bytes: u64,
    /// What the device does with samples missing at their time: a `sw_underflow`; default zeros.
    pub underflow: u32,
    /// A `sw_waits`; default asleep.
    pub waits: u32,
    /// The CPU that the I/O thread is pinned to; default -1: any CPU.
    pub cpu: i32,
    /// Its priority under SCHED_FIFO, 1 to 99; default 0: an ordinary thread.
    pub priority: u32,
    /// 1 locks the memory of the process, so that it is not swapped out; default 0.
    pub lock_memory: u32,
    /// 1 requests huge pages; default 0.
    pub huge_pages: u32,
    /// How late timers of the I/O thread may end, up to 1 s; default 0: the system's value.
    pub timer_slack_ns: u64,
    /// How long an idle I/O thread sleeps, up to 10 ms; default 0: the next packet wakes it.
    pub coalesce_ns: u64,
    /// Bits per second of wire time: the rate of `SW_CONTROL_FIXED`, 10^5 to 10^12, or the one that
    /// `SW_CONTROL_DCQCN` starts at, 10^7 to 10^12, if the sample rate is unknown. Default 0: none;
    /// DCQCN starts at the interface's speed.
    pub control_rate: u64,
    /// A `sw_control`; default DCQCN.
    pub control: u32,
    /// A `sw_link`; default UDP.
    pub link: u32,
    /// The interface that all packets come and leave by, such as `eth1`, for a host with several in one
    /// network. Default NULL: the host's routes decide.
    pub interface: *const c_char,
}

sized!(
    sw_transmitter_options {
        delivery: u32,
        window: u32,
        deadline_ns: u64,
        stream: i32,
        mtu_bytes: u32,
        start_index: u64,
        owner: u64,
        timeout_ns: u64,
        link_bps: u64,
        send_buffer_bytes: u64,
        underflow: u32,
        waits: u32,
        cpu: i32,
        priority: u32,
        lock_memory: u32,
        huge_pages: u32,
        timer_slack_ns: u64,
        coalesce_ns: u64,
        control_rate: u64,
        control: u32,
        link: u32,
        interface: *const c_char,
    },
    sw_transmitter_options {
        struct_size: size_of::<sw_transmitter_options>(),
        delivery: sw_delivery::Complete as u32,
        window: WINDOW,
        deadline_ns: 0,
        stream: -1,
        mtu_bytes: MTU_BYTES,
        start_index: 0,
        owner: 0,
        timeout_ns: TIMEOUT_NS,
        link_bps: 0,
        send_buffer_bytes: 0,
        underflow: sw_underflow::Zeros as u32,
        waits: sw_waits::Asleep as u32,
        cpu: -1,
        priority: 0,
        lock_memory: 0,
        huge_pages: 0,
        timer_slack_ns: 0,
        coalesce_ns: 0,
        control_rate: 0,
        control: sw_control::Dcqcn as u32,
        link: sw_link::Udp as u32,
        interface: std::ptr::null(),
    }
);

/// Sets `options` to the defaults; `struct_size` is `sizeof *options`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_receiver_options_init(
    options: *mut sw_receiver_options,
    struct_size: usize,
) -> sw_result {
    // SAFETY: `options` is NULL or has `struct_size` bytes (the caller's contract).
    guard(|| unsafe { init(options, struct_size) }.map(|()| sw_result::Ok))
}

/// Sets `options` to the defaults; `struct_size` is `sizeof *options`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_transmitter_options_init(
    options: *mut sw_transmitter_options,
    struct_size: usize,
) -> sw_result {
    // SAFETY: `options` is NULL or has `struct_size` bytes (the caller's contract).
    guard(|| unsafe { init(options, struct_size) }.map(|()| sw_result::Ok))
}

/// Writes the control of a name, `none`, `fixed` or `dcqcn`, to `control` (a `sw_control`), if it fits
/// `control_rate`, which is as in `sw_transmitter_options`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_control_parse(
    name: *const c_char,
    control_rate: u64,
    control: *mut u32,
) -> sw_result {
    guard(|| {
        // SAFETY: `name` is NULL or ends with a zero byte (caller's contract, see `# Safety`).
        let name = unsafe { text("name", name)? };
        let number = match control_named(name, control_rate)? {
            Control::None => sw_control::None,
            Control::Fixed { .. } => sw_control::Fixed,
            Control::Dcqcn { .. } => sw_control::Dcqcn,
        };
        // SAFETY: `control` is NULL or may be written (caller's contract, see `# Safety`).
        unsafe { put("control", control, number as u32)? };
        Ok(sw_result::Ok)
    })
}

/// Sets the fields that both options have under the same names.
macro_rules! common {
    ($asked:expr, $options:expr) => {{
        let real_time = real_time(
            ($asked.cpu, $asked.priority, $asked.waits),
            ($asked.lock_memory, $asked.huge_pages),
            ($asked.timer_slack_ns, $asked.coalesce_ns),
        )?;
        let mut options = $options
            .delivery(delivery($asked.delivery, $asked.deadline_ns)?)
            .window($asked.window)
            .mtu($asked.mtu_bytes as usize)
            .start_index($asked.start_index)
            .timeout(Duration::from_nanos($asked.timeout_ns))
            .real_time(real_time);
        if let Some(stream) = stream($asked.stream)? {
            options = options.stream(stream);
        }
        if $asked.owner != 0 {
            options = options.owner($asked.owner);
        }
        options
    }};
}

impl sw_receiver_options {
    /// Converts to the library's options, which check the ranges.
    ///
    /// # Safety
    /// `interface` and `verbs` are NULL or end with a zero byte.
    pub(crate) unsafe fn to_options(self) -> Result<ReceiveOptions, Failure> {
        let carriage = carriage(self.carriage)?;
        // SAFETY: `verbs` is NULL or ends with a zero byte (the contract of this function).
        let verbs = unsafe { optional("verbs", self.verbs)? };
        // SAFETY: `interface` is NULL or ends with a zero byte (the contract of this function).
        let mut udp = unsafe { udp(self.link, self.interface)? };
        if self.receive_buffer_bytes > 0 {
            udp = udp.receive_buffer_bytes(size_of_buffer(self.receive_buffer_bytes));
        }
        let options = common!(self, ReceiveOptions::new()).udp(udp).carriage(carriage);
        Ok(match verbs {
            Some(device) => options.verbs(device),
            None => options,
        })
    }

    /// Maximum number of borrowed blocks.
    pub(crate) fn blocks_max(&self) -> Result<u32, Failure> {
        if (1..=BLOCKS_MAX).contains(&self.blocks_max) {
            Ok(self.blocks_max)
        } else {
            let range = format_args!("1 to {BLOCKS_MAX}");
            let text = OutOfRange("blocks_max", self.blocks_max, range).to_string();
            Err(Failure::new(sw_result::OptionRange, text))
        }
    }
}

impl sw_transmitter_options {
    /// Converts to the library's options, which check the ranges.
    ///
    /// # Safety
    /// `interface` is NULL or ends with a zero byte.
    pub(crate) unsafe fn to_options(self) -> Result<SendOptions, Failure> {
        let underflows = [(0, Underflow::Zeros), (1, Underflow::Stop)];
        let underflow = one_of("underflow", self.underflow, &underflows, "see sw_underflow")?;
        // SAFETY: `interface` is NULL or ends with a zero byte (the contract of this function).
        let mut udp = unsafe { udp(self.link, self.interface)? };
        if self.send_buffer_bytes > 0 {
            udp = udp.send_buffer_bytes(size_of_buffer(self.send_buffer_bytes));
        }
        let options = common!(self, SendOptions::new());
        let control = control(self.control, self.control_rate)?;
        Ok(options.link_bps(self.link_bps).control(control).underflow(underflow).udp(udp))
    }
}

fn delivery(number: u32, deadline_ns: u64) -> Result<Delivery, Failure> {
    let all = [
        (0, Delivery::Complete),
        (1, Delivery::Deadline(Duration::from_nanos(deadline_ns))),
        (2, Delivery::BestEffort),
    ];
    one_of("delivery", number, &all, "see sw_delivery")
}

/// Options of a socket.
///
/// # Safety
/// `interface` is NULL or ends with a zero byte.
unsafe fn udp(link: u32, interface: *const c_char) -> Result<UdpOptions, Failure> {
    let udp = UdpOptions::new().bypass(bypass(link)?);
    // SAFETY: `interface` is NULL or ends with a zero byte (the contract of this function).
    let interface = unsafe { optional("interface", interface)? };
    Ok(match interface {
        Some(name) => udp.interface(name),
        None => udp,
    })
}

fn bypass(link: u32) -> Result<Bypass, Failure> {
    let all =
        [(0, Bypass::Never), (1, Bypass::ZeroCopy), (2, Bypass::Always), (3, Bypass::Generic)];
    one_of("link", link, &all, "see sw_link")
}

/// The control of a number and a rate, which is 0 for none.
pub(crate) fn control(number: u32, control_rate: u64) -> Result<Control, Failure> {
    let all = [(0, "none"), (1, "fixed"), (2, "dcqcn")];
    control_named(one_of("control", number, &all, "see sw_control")?, control_rate)
}

fn control_named(name: &str, control_rate: u64) -> Result<Control, Failure> {
    let rate = (control_rate != 0).then_some(control_rate);
    Control::named(name, rate).map_err(|error| Failure::argument(error.to_string()))
}

/// The carriage of a number.
pub(crate) fn carriage(number: u32) -> Result<Carriage, Failure> {
    let all = [(0, Carriage::Data), (1, Carriage::Rdma)];
    one_of("carriage", number, &all, "see sw_carriage")
}

fn stream(number: i32) -> Result<Option<u16>, Failure> {
    match number {
        -1 => Ok(None),
        _ => u16::try_from(number).map(Some).map_err(|_| {
            Failure::argument(OutOfRange("stream", number, "0 to 65535, or -1").to_string())
        }),
    }
}

fn real_time(
    (cpu, priority, waits): (i32, u32, u32),
    (lock_memory, huge_pages): (u32, u32),
    (timer_slack_ns, coalesce_ns): (u64, u64),
) -> Result<RealTime, Failure> {
    let all =
        [(0, Waits::Asleep), (1, Waits::Spinning), (2, Waits::BothSpinning), (3, Waits::Inline)];
    let mut options = RealTime::new()
        .waits(one_of("waits", waits, &all, "see sw_waits")?)
        .lock_memory(switch("lock_memory", lock_memory)?)
        .huge_pages(switch("huge_pages", huge_pages)?);
    match cpu {
        -1 => {}
        0.. => options = options.cpu(cpu as usize),
        _ => return Err(Failure::argument(format!("cpu {cpu} is none, and not -1"))),
    }
    if priority > 0 {
        options = options.priority(priority);
    }
    if timer_slack_ns > 0 {
        options = options.timer_slack(Duration::from_nanos(timer_slack_ns));
    }
    if coalesce_ns > 0 {
        options = options.coalesce(Duration::from_nanos(coalesce_ns));
    }
    Ok(options)
}

fn size_of_buffer(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

const WINDOW: u32 = 1_024;
const MTU_BYTES: u32 = 9_000;
const TIMEOUT_NS: u64 = 3_000_000_000;

/// Default number of borrowed blocks.
const BLOCKS: u32 = 1_024;
const BLOCKS_MAX: u32 = 65_536;
