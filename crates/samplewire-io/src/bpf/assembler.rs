//! Instructions of a BPF program, with jumps to names (RFC 9669).

/// An instruction as the kernel reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Insn {
    code: u8,
    /// Destination in the low half on every host that Linux runs on in little-endian order.
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// A register: 0 holds results, 1 to 5 arguments of calls, 6 to 9 survive calls, 10 is the end of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Register(u8);

impl Register {
    pub(crate) const R0: Self = Self(0);
    pub(crate) const R1: Self = Self(1);
    pub(crate) const R2: Self = Self(2);
    pub(crate) const R3: Self = Self(3);
    pub(crate) const R4: Self = Self(4);
    pub(crate) const R5: Self = Self(5);
    pub(crate) const R6: Self = Self(6);
    pub(crate) const R7: Self = Self(7);
    pub(crate) const R8: Self = Self(8);
    pub(crate) const STACK: Self = Self(10);
}

/// How many bytes a load or a store moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Size {
    Word = 0x00,
    Half = 0x08,
    Byte = 0x10,
    Double = 0x18,
}

/// What a jump compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Test {
    Equal = 0x10,
    Greater = 0x20,
    AnyBit = 0x40,
    NotEqual = 0x50,
}

/// Builds a program from its start to its end.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    insns: Vec<Insn>,
    /// Jumps whose target has not been named, by the place of the jump.
    open: Vec<(usize, &'static str)>,
}

impl Assembler {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// `to = from`.
    pub(crate) fn copy(&mut self, to: Register, from: Register) -> &mut Self {
        self.push(ALU64 | MOV | FROM_REGISTER, to, from, 0, 0)
    }

    /// `to = value`, with its sign extended.
    pub(crate) fn set(&mut self, to: Register, value: i32) -> &mut Self {
        self.push(ALU64 | MOV, to, Register::R0, 0, value)
    }

    /// `to += value`.
    pub(crate) fn add(&mut self, to: Register, value: i32) -> &mut Self {
        self.push(ALU64, to, Register::R0, 0, value)
    }

    /// `to += from`.
    pub(crate) fn add_register(&mut self, to: Register, from: Register) -> &mut Self {
        self.push(ALU64 | FROM_REGISTER, to, from, 0, 0)
    }

    /// The low 16 bits of `register`, from network order to the host's, with zeros above.
    pub(crate) fn swap_network_half(&mut self, register: Register) -> &mut Self {
        self.push(ALU | SWAP | TO_BIG_ENDIAN, register, Register::R0, 0, 16)
    }

    /// `to = memory[from + offset]`, with zeros above.
    pub(crate) fn load(
        &mut self,
        size: Size,
        to: Register,
        from: Register,
        offset: i16,
    ) -> &mut Self {
        self.push(LOAD | MEMORY | size as u8, to, from, offset, 0)
    }

    /// `memory[to + offset] = from`.
    pub(crate) fn store(
        &mut self,
        size: Size,
        to: Register,
        offset: i16,
        from: Register,
    ) -> &mut Self {
        self.push(STORE | MEMORY | size as u8, to, from, offset, 0)
    }

    /// Adds `from` to 64 bits of memory at `to + offset`, whatever other CPUs do there.
    pub(crate) fn add_atomically(
        &mut self,
        to: Register,
        offset: i16,
        from: Register,
    ) -> &mut Self {
        self.push(STORE | ATOMIC | Size::Double as u8, to, from, offset, 0)
    }

    /// `to` = the map behind a descriptor.
    pub(crate) fn map(&mut self, to: Register, map: &super::Map) -> &mut Self {
        use std::os::fd::AsRawFd;
        self.push(Size::Double as u8, to, Register(PSEUDO_MAP), 0, map.as_raw_fd());
        self.push(0, Register::R0, Register::R0, 0, 0)
    }

    /// Calls a function of the kernel, by its number in `linux/bpf.h`.
    pub(crate) fn call(&mut self, function: i32) -> &mut Self {
        self.push(JUMP | CALL, Register::R0, Register::R0, 0, function)
    }

    /// Returns `R0`.
    pub(crate) fn exit(&mut self) -> &mut Self {
        self.push(JUMP | EXIT, Register::R0, Register::R0, 0, 0)
    }

    /// Jumps to `target`, which comes later, where `register` compares so with `value`.
    pub(crate) fn jump_if(
        &mut self,
        register: Register,
        test: Test,
        value: i32,
        target: &'static str,
    ) -> &mut Self {
        self.open.push((self.insns.len(), target));
        self.push(JUMP | test as u8, register, Register::R0, 0, value)
    }

    /// Jumps to `target` where `register` compares so with `other`, both as 64 bits without a sign.
    pub(crate) fn jump_if_register(
        &mut self,
        register: Register,
        test: Test,
        other: Register,
        target: &'static str,
    ) -> &mut Self {
        self.open.push((self.insns.len(), target));
        self.push(JUMP | test as u8 | FROM_REGISTER, register, other, 0, 0)
    }

    /// Jumps to `target`.
    pub(crate) fn jump(&mut self, target: &'static str) -> &mut Self {
        self.open.push((self.insns.len(), target));
        self.push(JUMP, Register::R0, Register::R0, 0, 0)
    }

    /// Names the next instruction: jumps to `name` so far lead here.
    pub(crate) fn label(&mut self, name: &'static str) -> &mut Self {
        let here = self.insns.len();
        let insns = &mut self.insns;
        self.open.retain(|&(jump, target)| {
            if target == name {
                insns[jump].offset = i16::try_from(here - jump - 1).expect("a program is short");
            }
            target != name
        });
        self
    }

    /// The program.
    ///
    /// # Panics
    /// When a jump leads nowhere.
    pub(crate) fn finish(self) -> Vec<Insn> {
        assert!(self.open.is_empty(), "jumps lead to no label: {:?}", self.open);
        self.insns
    }

    fn push(
        &mut self,
        code: u8,
        to: Register,
        from: Register,
        offset: i16,
        immediate: i32,
    ) -> &mut Self {
        let registers =
            if cfg!(target_endian = "little") { to.0 | from.0 << 4 } else { to.0 << 4 | from.0 };
        self.insns.push(Insn { code, registers, offset, immediate });
        self
    }
}

// Classes, modes and operations of codes (RFC 9669, sections 3 to 5).
const LOAD: u8 = 0x01;
const STORE: u8 = 0x03;
const ALU: u8 = 0x04;
const JUMP: u8 = 0x05;
const ALU64: u8 = 0x07;
const MEMORY: u8 = 0x60;
const ATOMIC: u8 = 0xC0;
const FROM_REGISTER: u8 = 0x08;
const MOV: u8 = 0xB0;
const SWAP: u8 = 0xD0;
const TO_BIG_ENDIAN: u8 = 0x08;
const CALL: u8 = 0x80;
const EXIT: u8 = 0x90;

/// BPF_PSEUDO_MAP_FD of `linux/bpf.h`.
const PSEUDO_MAP: u8 = 1;
