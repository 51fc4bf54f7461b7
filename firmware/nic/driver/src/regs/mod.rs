//! The registers, written from the maps in `rtl/regs`.

#[rustfmt::skip]
pub mod nic;
#[rustfmt::skip]
pub mod sender;

/// A register of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// Its name in the map.
    pub name: &'static str,
    /// Its byte offset.
    pub offset: u16,
    /// How it may be accessed.
    pub access: Access,
}

/// How a register may be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read and written.
    ReadWrite,
    /// Read.
    ReadOnly,
    /// Written.
    WriteOnly,
    /// Written: each bit acts once.
    Pulse,
    /// Reading and writing are operations on a queue or its lock.
    Queue,
}

impl Register {
    const fn new(name: &'static str, offset: u16, access: Access) -> Self {
        Self { name, offset, access }
    }

    /// Whether a read is allowed and changes nothing.
    pub const fn is_readable(&self) -> bool {
        matches!(self.access, Access::ReadWrite | Access::ReadOnly)
    }

    /// Whether a write is allowed and moves no buffer.
    pub const fn is_writable(&self) -> bool {
        matches!(self.access, Access::ReadWrite | Access::WriteOnly | Access::Pulse)
    }
}
