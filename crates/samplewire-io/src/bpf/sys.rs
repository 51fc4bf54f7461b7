//! bpf(2) through `libc`. Its arguments are one union, `union bpf_attr` of `linux/bpf.h`, whose
//! members are written out here as far as they are used; the kernel takes bytes beyond them as zero.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::Insn;

pub(super) fn load(kind: u32, flags: u32, name: &str, insns: &[Insn]) -> io::Result<OwnedFd> {
    let mut log = vec![0_u8; LOG_BYTES];
    let mut attr = LoadAttr {
        kind,
        insn_count: insns.len() as u32,
        insns: insns.as_ptr() as u64,
        license: LICENSE.as_ptr() as u64,
        log_level: 0,
        log_bytes: 0,
        log: 0,
        kernel_version: 0,
        flags,
        name: [0; 16],
    };
    let len = name.len().min(attr.name.len() - 1);
    attr.name[..len].copy_from_slice(&name.as_bytes()[..len]);
    match create(BPF_PROG_LOAD, &attr) {
        // The kernel explains a refusal where it has room for the words.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EACCES | libc::EINVAL)) => {
            (attr.log_level, attr.log_bytes, attr.log) =
                (1, log.len() as u32, log.as_mut_ptr() as u64);
            create(BPF_PROG_LOAD, &attr).map_err(|error| explained(&error, &log))
        }
        result => result,
    }
}

/// The error with the last words of the verifier.
fn explained(error: &io::Error, log: &[u8]) -> io::Error {
    let len = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    let text = String::from_utf8_lossy(&log[..len]);
    let mut lines = text.lines().rev().filter(|line| !line.starts_with("processed"));
    io::Error::new(error.kind(), format!("{error}: {}", lines.next().unwrap_or("no reason")))
}

pub(super) fn create_map(
    kind: u32,
    [key_bytes, value_bytes]: [usize; 2],
    entries_max: u32,
) -> io::Result<OwnedFd> {
    let (key_bytes, value_bytes) = (key_bytes as u32, value_bytes as u32);
    create(BPF_MAP_CREATE, &[kind, key_bytes, value_bytes, entries_max, 0])
}

pub(super) fn lookup(map: BorrowedFd<'_>, key: &[u8], value: &mut [u8]) -> io::Result<()> {
    let attr = ElementAttr::of(map, key.as_ptr(), value.as_mut_ptr());
    // SAFETY: the pointers cover a key and a value of the map's lengths, as `Map` checks; the kernel
    // writes the value alone.
    unsafe { call(BPF_MAP_LOOKUP_ELEM, &attr) }.map(drop)
}

pub(super) fn update(map: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> io::Result<()> {
    let attr = ElementAttr::of(map, key.as_ptr(), value.as_ptr().cast_mut());
    // SAFETY: the pointers cover a key and a value of the map's lengths, as `Map` checks; the kernel
    // writes neither.
    unsafe { call(BPF_MAP_UPDATE_ELEM, &attr) }.map(drop)
}

pub(super) fn remove(map: BorrowedFd<'_>, key: &[u8]) -> io::Result<()> {
    let attr = ElementAttr::of(map, key.as_ptr(), std::ptr::null_mut());
    // SAFETY: the pointer covers a key of the map's length, as `Map` checks.
    unsafe { call(BPF_MAP_DELETE_ELEM, &attr) }.map(drop)
}

#[cfg(test)]
pub(super) fn next_key(map: BorrowedFd<'_>, key: Option<&[u8]>, next: &mut [u8]) -> io::Result<()> {
    let key = key.map_or(std::ptr::null(), <[u8]>::as_ptr);
    let attr = ElementAttr::of(map, key, next.as_mut_ptr());
    // SAFETY: the pointers cover keys of the map's length, or the first is null; the kernel writes the
    // second alone.
    unsafe { call(BPF_MAP_GET_NEXT_KEY, &attr) }.map(drop)
}

pub(super) fn create_link(
    program: BorrowedFd<'_>,
    target: u32,
    place: u32,
    flags: u32,
) -> io::Result<OwnedFd> {
    create(BPF_LINK_CREATE, &[program.as_raw_fd() as u32, target, place, flags])
}

pub(super) fn open_raw_tracepoint(program: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    let attr = TracepointAttr {
        name: name.as_ptr() as u64,
        program: program.as_raw_fd() as u32,
        zeros: 0,
    };
    create(BPF_RAW_TRACEPOINT_OPEN, &attr)
}

/// Makes a call that returns a descriptor. The pointers of `attr` are the caller's local values.
fn create<T>(command: libc::c_long, attr: &T) -> io::Result<OwnedFd> {
    // SAFETY: the pointers of `attr`, if it has any, cover values that outlive the call, with the lengths
    // beside them.
    let fd = unsafe { call(command, attr) }?;
    // SAFETY: the kernel has given this descriptor to no one else, and closes it on exec.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// # Safety
/// The pointers in `attr` are valid for what the command does with them.
unsafe fn call<T>(command: libc::c_long, attr: &T) -> io::Result<i32> {
    // SAFETY: the pointer covers `attr`, whose length is given; the rest is the caller's contract.
    let answer = unsafe { libc::syscall(libc::SYS_bpf, command, &raw const *attr, size_of::<T>()) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer as i32) }
}

#[repr(C)]
struct LoadAttr {
    kind: u32,
    insn_count: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
}

#[repr(C)]
struct TracepointAttr {
    name: u64,
    program: u32,
    zeros: u32,
}

#[repr(C)]
struct ElementAttr {
    map: u32,
    zeros: u32,
    key: u64,
    /// Or the next key.
    value: u64,
    flags: u64,
}

impl ElementAttr {
    fn of(map: BorrowedFd<'_>, key: *const u8, value: *mut u8) -> Self {
        Self {
            map: map.as_raw_fd() as u32,
            zeros: 0,
            key: key as u64,
            value: value as u64,
            flags: 0,
        }
    }
}

/// `enum bpf_cmd`.
const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_MAP_LOOKUP_ELEM: libc::c_long = 1;
const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_MAP_DELETE_ELEM: libc::c_long = 3;
#[cfg(test)]
const BPF_MAP_GET_NEXT_KEY: libc::c_long = 4;
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_RAW_TRACEPOINT_OPEN: libc::c_long = 17;
const BPF_LINK_CREATE: libc::c_long = 28;

/// Some functions of the kernel are open only to programs under a licence that it lists; this one
/// covers both of ours.
const LICENSE: &CStr = c"Dual MIT/GPL";

/// The verifier's words; it refuses less than it needs only beyond this.
const LOG_BYTES: usize = 64 << 10;
