//! Start code, the trap handler, and copies that suit the processor.
//!
//! It has no data cache, shifts one bit a cycle, and traps on an address that is not aligned. So
//! `memcpy` copies words if both addresses allow it, else halves, else bytes, and never shifts.

use core::arch::global_asm;

global_asm!(include_str!("start.s"));
global_asm!(include_str!("copy.s"));
