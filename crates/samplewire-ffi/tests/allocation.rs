//! Receiving through the C interface allocates nothing once the stream flows.

use std::ptr::null_mut;

use samplewire_c::{
    SW_TEXT_BYTES, sw_aligned_block, sw_aligned_free, sw_aligned_next, sw_aligned_open, sw_block,
    sw_block_release, sw_device_free, sw_device_get_address, sw_device_new, sw_device_options,
    sw_device_options_init, sw_receiver_free, sw_receiver_next, sw_receiver_open, sw_receiver_read,
    sw_result,
};
use samplewire_testing::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn blocks_and_copies_allocate_nothing_in_the_program_s_thread() {
    let (mut device, mut receiver) = (null_mut(), null_mut());
    let mut address = [0; SW_TEXT_BYTES];
    let mut buffer = [0_u8; 4_096];
    // SAFETY: a block of zeros is one; its size follows.
    let mut block: sw_block = unsafe { std::mem::zeroed() };
    block.struct_size = size_of::<sw_block>();
    // SAFETY: every pointer is of a variable of this function, NULL where the defaults are wanted.
    unsafe {
        assert_eq!(sw_device_new(std::ptr::null(), &raw mut device), sw_result::Ok);
        let result = sw_device_get_address(device, address.as_mut_ptr(), address.len());
        assert_eq!(result, sw_result::Ok);
        let opened = sw_receiver_open(address.as_ptr(), std::ptr::null(), &raw mut receiver);
        assert_eq!(opened, sw_result::Ok);
        let mut receive = |count: usize| {
            for _ in 0..count {
                assert_eq!(sw_receiver_next(receiver, PATIENCE_NS, &raw mut block), sw_result::Ok);
                assert_eq!(sw_block_release(&raw mut block), sw_result::Ok);
                let (to, len) = (buffer.as_mut_ptr().cast(), buffer.len());
                let read = sw_receiver_read(receiver, to, len, 3, PATIENCE_NS, &raw mut block);
                assert_eq!(read, sw_result::Ok);
            }
        };
        receive(3);
        let before = CountingAllocator::calls_of_thread();
        receive(20);
        // The first wait of a thread makes what wakes it, and on a busy machine it may come late.
        assert!(CountingAllocator::calls_of_thread() - before <= 1);
        assert_eq!(sw_receiver_free(receiver), sw_result::Ok);
        assert_eq!(sw_device_free(device), sw_result::Ok);
    }
    assert!(CountingAllocator::calls_of_thread() > 0, "the allocator counts");
}

#[test]
fn aligned_blocks_allocate_nothing_in_the_program_s_thread() {
    let (mut device, mut aligned) = (null_mut(), null_mut());
    let mut address = [0; SW_TEXT_BYTES];
    // SAFETY: structs of zeros; their sizes follow, or are set by the library.
    let (mut options, mut block): (sw_device_options, sw_aligned_block) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    block.struct_size = size_of::<sw_aligned_block>();
    let streams = [0, 1];
    // SAFETY: every pointer is of a variable of this function, NULL where the defaults are wanted.
    unsafe {
        let set = sw_device_options_init(&raw mut options, size_of::<sw_device_options>());
        assert_eq!(set, sw_result::Ok);
        options.streams = 2;
        assert_eq!(sw_device_new(&raw const options, &raw mut device), sw_result::Ok);
        let result = sw_device_get_address(device, address.as_mut_ptr(), address.len());
        assert_eq!(result, sw_result::Ok);
        let (numbers, len) = (streams.as_ptr(), streams.len());
        let defaults = std::ptr::null();
        let opened = sw_aligned_open(address.as_ptr(), numbers, len, defaults, &raw mut aligned);
        assert_eq!(opened, sw_result::Ok);
        let mut receive = |count: usize| {
            for _ in 0..count {
                let next = sw_aligned_next(aligned, PATIENCE_NS, &raw mut block);
                assert_eq!(next, sw_result::Ok);
                assert!(block.count > 0 && block.streams_len == 2);
            }
        };
        receive(3);
        let before = CountingAllocator::calls_of_thread();
        receive(20);
        assert!(CountingAllocator::calls_of_thread() - before <= 1);
        assert_eq!(sw_aligned_free(aligned), sw_result::Ok);
        assert_eq!(sw_device_free(device), sw_result::Ok);
    }
}

const PATIENCE_NS: u64 = 10_000_000_000;
