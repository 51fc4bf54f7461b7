//! A stream over RDMA whose both ends C has opened, between two network namespaces that a veth pair joins.

use std::ffi::{CStr, CString};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use samplewire_c::{
    SW_TEXT_BYTES, sw_block, sw_block_release, sw_carriage, sw_device_free, sw_device_get_address,
    sw_device_new, sw_device_options, sw_device_options_init, sw_last_error, sw_probe_rdma,
    sw_rdma_probe, sw_receiver, sw_receiver_free, sw_receiver_get_info, sw_receiver_next,
    sw_receiver_open, sw_receiver_options, sw_receiver_options_init, sw_result, sw_stream_info,
};
use samplewire_testing::in_namespace;

/// A namespace `far` behind `near0`.
const INTERFACES: &str = "mount -t tmpfs tmpfs /run && ip netns add far && \
     ip link add near0 mtu 4200 type veth peer name far0 mtu 4200 netns far && \
     ip addr add 10.9.0.1/24 dev near0 && ip -n far addr add 10.9.0.2/24 dev far0 && \
     ip link set near0 up && ip -n far link set far0 up && ip link set lo up";

const SAMPLES: u64 = 200_000;

#[test]
fn stream_goes_over_rdma_if_both_ends_choose_it() {
    if let Some(carriage) = std::env::var_os(DEVICE) {
        return serve(if carriage == "rdma" { sw_carriage::Rdma } else { sw_carriage::Data });
    }
    if !in_namespace(TEST, INTERFACES) {
        return;
    }
    for (device, receiver, expected) in [
        (sw_carriage::Rdma, sw_carriage::Rdma, sw_carriage::Rdma),
        (sw_carriage::Rdma, sw_carriage::Data, sw_carriage::Data),
        (sw_carriage::Data, sw_carriage::Rdma, sw_carriage::Data),
    ] {
        let is_offered = device as u32 == sw_carriage::Rdma as u32;
        let far = Far::start(if is_offered { "rdma" } else { "data" });
        let (carriage, rdma) = probe(&far.address);
        assert_eq!(carriage, device as u32);
        assert_eq!(rdma.path_mtu_bytes, 4_096);
        assert_eq!(rdma.device_path_mtu_bytes, if is_offered { 4_096 } else { 0 });
        assert_eq!(rdma.packets_a_write, u32::from(is_offered));
        let (carriage, samples) = receive(&far.address, receiver);
        assert_eq!((carriage, samples), (expected as u32, SAMPLES));
        far.stop();
    }
}

/// A device in the far namespace. It is a process of its own, since /sys shows the interfaces of one
/// namespace.
struct Far {
    process: Child,
    address: CString,
}

impl Far {
    fn start(carriage: &str) -> Self {
        let mut process = Command::new("ip")
            .args(["netns", "exec", "far"])
            .arg(std::env::current_exe().expect("it runs"))
            .args(["--exact", TEST, "--nocapture"])
            .env(DEVICE, carriage)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("iproute2 is there");
        let lines = BufReader::new(process.stdout.as_mut().expect("it is a pipe")).lines();
        let mut addresses = lines.map(|line| line.expect("it prints an address"));
        // The harness may print on the same line first.
        let address = addresses.find_map(|line| line.split_once(AT).map(|(_, at)| at.to_owned()));
        Self { process, address: CString::new(address.expect("it listens")).expect("no zero byte") }
    }

    fn stop(mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().expect("it ends").success());
    }
}

/// Runs a device that counts, on a wire that loses 1 % of what it sends, until standard input ends.
fn serve(carriage: sw_carriage) {
    let mut options = std::mem::MaybeUninit::<sw_device_options>::uninit();
    let mut device = std::ptr::null_mut();
    let mut address = [0; SW_TEXT_BYTES];
    // SAFETY: each pointer is of a variable of this function, with the stated size; the first call sets
    // the options, and the last but one writes a text that ends with a zero byte.
    let address = unsafe {
        check(sw_device_options_init(options.as_mut_ptr(), size_of::<sw_device_options>()));
        let asked = &mut *options.as_mut_ptr();
        asked.address = c"10.9.0.2:0".as_ptr();
        asked.faults = c"data:loss=0.01,seed=1".as_ptr();
        asked.samples = SAMPLES;
        asked.has_clock = 0;
        asked.carriage = carriage as u32;
        check(sw_device_new(asked, &raw mut device));
        check(sw_device_get_address(device, address.as_mut_ptr(), address.len()));
        CStr::from_ptr(address.as_ptr())
    };
    println!("{AT}{}", address.to_str().expect("an address is text"));
    std::io::stdin().read_to_end(&mut Vec::new()).expect("the pipe is closed");
    // SAFETY: the handle of a device.
    check(unsafe { sw_device_free(device) });
}

/// The carriage that would result, and what the device describes of RDMA.
fn probe(address: &CStr) -> (u32, sw_rdma_probe) {
    // SAFETY: zero is a value of each field.
    let (mut info, mut rdma): (sw_stream_info, sw_rdma_probe) = unsafe { std::mem::zeroed() };
    (info.struct_size, rdma.struct_size) = (size_of_val(&info), size_of_val(&rdma));
    // SAFETY: a text that ends with a zero byte, and variables of this function with their sizes.
    let result =
        unsafe { sw_probe_rdma(address.as_ptr(), 0, PATIENCE_NS, &raw mut info, &raw mut rdma) };
    check(result);
    (info.carriage, rdma)
}

/// Receives a stream until its end; returns its carriage, and how many samples came, of which none is missing.
fn receive(address: &CStr, carriage: sw_carriage) -> (u32, u64) {
    let mut options = std::mem::MaybeUninit::<sw_receiver_options>::uninit();
    let mut receiver: *mut sw_receiver = std::ptr::null_mut();
    // SAFETY: zero is a value of each field.
    let (mut info, mut block): (sw_stream_info, sw_block) = unsafe { std::mem::zeroed() };
    (info.struct_size, block.struct_size) = (size_of_val(&info), size_of_val(&block));
    let mut next = 0;
    // SAFETY: each pointer is of a variable of this function, with the stated size; the first call sets the
    // options, and samples are read before their block is released.
    unsafe {
        let init = sw_receiver_options_init(options.as_mut_ptr(), size_of::<sw_receiver_options>());
        check(init);
        (*options.as_mut_ptr()).carriage = carriage as u32;
        check(sw_receiver_open(address.as_ptr(), options.as_ptr(), &raw mut receiver));
        check(sw_receiver_get_info(receiver, &raw mut info));
        loop {
            match sw_receiver_next(receiver, PATIENCE_NS, &raw mut block) {
                sw_result::End => break,
                result => check(result),
            }
            assert_eq!((block.gaps_len, block.index), (0, next));
            let words =
                std::slice::from_raw_parts(block.samples.cast::<u32>(), block.count as usize);
            assert!(words.iter().zip(next..).all(|(word, index)| u64::from(*word) == index));
            next += block.count;
            check(sw_block_release(&raw mut block));
        }
        check(sw_receiver_free(receiver));
    }
    (info.carriage, next)
}

#[track_caller]
fn check(result: sw_result) {
    // SAFETY: the library's text ends with a zero byte, and no call fails while it is read.
    let words = unsafe { CStr::from_ptr(sw_last_error()) };
    assert_eq!(result, sw_result::Ok, "{}", words.to_string_lossy());
}

const TEST: &str = "stream_goes_over_rdma_if_both_ends_choose_it";

/// Has the carriage of the device that this process is to be.
const DEVICE: &str = "SAMPLEWIRE_TEST_CARRIAGE";

/// Before the device's address.
const AT: &str = "listens at ";

const PATIENCE_NS: u64 = 60_000_000_000;
