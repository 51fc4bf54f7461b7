//! Types of the running kernel in BTF (`Documentation/bpf/btf.rst` of Linux): where a member of a
//! structure lies, and the names of an enumeration.
//!
//! Lengths are checked here alone, and no walk is longer than its bound: the bytes may be any.

use std::ops::Range;

/// A table of types. It borrows the bytes.
#[derive(Clone, Debug)]
pub struct Btf<'a> {
    bytes: &'a [u8],
    strings: &'a [u8],
    /// Where each type begins. The type 0 is `void` and has no place.
    places: Vec<u32>,
}

/// Why bytes are no table of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BtfError {
    /// The header is incomplete, or of another byte order or version.
    #[error("no BTF of this byte order and version")]
    Header,
    /// A section ends behind the bytes.
    #[error("a section of BTF ends behind its bytes")]
    Section,
    /// A type has an unknown kind, or ends behind its section.
    #[error("type {0} of BTF has kind {1}, or is cut off")]
    Type(usize, u8),
}

/// A type, without its members.
#[derive(Clone, Copy, Debug)]
struct Type {
    name: u32,
    kind: u8,
    /// How many members or values follow.
    count: u16,
    /// Whether members have the length of a bit field beside their place.
    has_bit_fields: bool,
    /// The length in bytes, or the type that it refers to.
    size_or_type: u32,
    /// Where its members begin.
    members: usize,
}

impl<'a> Btf<'a> {
    /// Finds the types in `bytes`.
    ///
    /// # Errors
    /// See [`BtfError`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, BtfError> {
        let half = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        if half(0) != Some(MAGIC) || bytes.get(2) != Some(&VERSION) {
            return Err(BtfError::Header);
        }
        let field = |at| word(bytes, at).ok_or(BtfError::Header);
        let header_bytes = field(4)? as usize;
        let section = |offset: u32, len: u32| -> Result<Range<usize>, BtfError> {
            let begin = header_bytes.checked_add(offset as usize).ok_or(BtfError::Section)?;
            let end = begin.checked_add(len as usize).ok_or(BtfError::Section)?;
            bytes.get(begin..end).map(|_| begin..end).ok_or(BtfError::Section)
        };
        let types = section(field(8)?, field(12)?)?;
        let strings = &bytes[section(field(16)?, field(20)?)?];
        let mut btf = Self { bytes: &bytes[..types.end], strings, places: Vec::new() };
        let mut at = types.start;
        while at < types.end {
            let place = u32::try_from(at).map_err(|_| BtfError::Section)?;
            let number = btf.places.len() + 1;
            let found = btf.read(at).ok_or(BtfError::Type(number, 0))?;
            let len = found.members_bytes().ok_or(BtfError::Type(number, found.kind))?;
            at = found.members + len;
            if at > types.end {
                return Err(BtfError::Type(number, found.kind));
            }
            btf.places.push(place);
        }
        Ok(btf)
    }

    /// Where a member lies in a structure, in bytes from its begin. Each name of `path` is a member of
    /// the one before; unnamed structures between them are looked through. `None` without such a
    /// member, and for a bit field.
    pub fn offset(&self, structure: &str, path: &[&str]) -> Option<u32> {
        let mut types = self.types();
        let mut inner = types.find(|it| it.is_composed() && self.has_name(it, structure))?;
        let mut bits = 0_u32;
        for (depth, name) in path.iter().enumerate() {
            if depth > 0 && !inner.is_composed() {
                return None;
            }
            let mut budget = MEMBERS_MAX;
            let (at, member) = self.member(&inner, name, DEPTH_MAX, &mut budget)?;
            bits = bits.checked_add(at)?;
            inner = self.resolved(member)?;
        }
        bits.is_multiple_of(8).then_some(bits / 8)
    }

    /// Names and numbers of an enumeration of 32 bits.
    pub fn values(&self, enumeration: &str) -> Option<Vec<(&'a str, u32)>> {
        let found = self.types().find(|it| it.kind == ENUM && self.has_name(it, enumeration))?;
        let value = |at: usize| {
            let at = found.members + 8 * at;
            Some((self.text(word(self.bytes, at)?)?, word(self.bytes, at + 4)?))
        };
        (0..usize::from(found.count)).map(value).collect()
    }

    fn types(&self) -> impl Iterator<Item = Type> {
        self.places.iter().filter_map(|&place| self.read(place as usize))
    }

    /// The type behind names and qualifiers of it; pointers are types of their own.
    fn resolved(&self, mut number: u32) -> Option<Type> {
        for _ in 0..DEPTH_MAX {
            let place = *self.places.get((number as usize).checked_sub(1)?)?;
            let found = self.read(place as usize)?;
            if !matches!(found.kind, TYPEDEF | VOLATILE | CONST | RESTRICT | TYPE_TAG) {
                return Some(found);
            }
            number = found.size_or_type;
        }
        None
    }

    /// The place of a member in bits, and its type.
    fn member(
        &self,
        of: &Type,
        name: &str,
        depth: usize,
        budget: &mut usize,
    ) -> Option<(u32, u32)> {
        for at in 0..usize::from(of.count) {
            *budget = budget.checked_sub(1)?;
            let at = of.members + MEMBER_BYTES * at;
            let [own, kind, place] = [0, 4, 8].map(|it| word(self.bytes, at + it));
            let (own, kind, place) = (own?, kind?, place?);
            let bits = if of.has_bit_fields { place & 0x00ff_ffff } else { place };
            let is_bit_field = of.has_bit_fields && place >> 24 != 0;
            if own != 0 {
                if self.text(own) == Some(name) {
                    return (!is_bit_field).then_some((bits, kind));
                }
                continue;
            }
            let inner = self.resolved(kind).filter(Type::is_composed);
            let (Some(inner), Some(depth)) = (inner, depth.checked_sub(1)) else { continue };
            if let Some((deeper, kind)) = self.member(&inner, name, depth, budget) {
                return Some((bits.checked_add(deeper)?, kind));
            }
        }
        None
    }

    fn has_name(&self, of: &Type, name: &str) -> bool {
        self.text(of.name) == Some(name)
    }

    /// The text at an offset of the strings, up to its zero.
    fn text(&self, offset: u32) -> Option<&'a str> {
        let rest = self.strings.get(offset as usize..)?;
        let len = rest.iter().take(NAME_BYTES_MAX).position(|&byte| byte == 0)?;
        std::str::from_utf8(&rest[..len]).ok()
    }

    fn read(&self, at: usize) -> Option<Type> {
        let [name, info, size_or_type] = [0, 4, 8].map(|it| word(self.bytes, at + it));
        let info = info?;
        Some(Type {
            name: name?,
            kind: (info >> 24 & 0x1f) as u8,
            count: info as u16,
            has_bit_fields: info >> 31 == 1,
            size_or_type: size_or_type?,
            members: at + 12,
        })
    }
}

impl Type {
    const fn is_composed(&self) -> bool {
        matches!(self.kind, STRUCT | UNION)
    }

    /// Bytes after its head; `None` for an unknown kind.
    const fn members_bytes(&self) -> Option<usize> {
        let count = self.count as usize;
        Some(match self.kind {
            INT | VAR | DECL_TAG => 4,
            ARRAY => 12,
            STRUCT | UNION | DATASEC | ENUM64 => MEMBER_BYTES * count,
            ENUM | FUNC_PROTO => 8 * count,
            PTR | FWD | TYPEDEF | VOLATILE | CONST | RESTRICT | FUNC | FLOAT | TYPE_TAG => 0,
            _ => return None,
        })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

const MAGIC: u16 = 0xeb9f;
const VERSION: u8 = 1;

// Kinds of types.
const INT: u8 = 1;
const PTR: u8 = 2;
const ARRAY: u8 = 3;
const STRUCT: u8 = 4;
const UNION: u8 = 5;
const ENUM: u8 = 6;
const FWD: u8 = 7;
const TYPEDEF: u8 = 8;
const VOLATILE: u8 = 9;
const CONST: u8 = 10;
const RESTRICT: u8 = 11;
const FUNC: u8 = 12;
const FUNC_PROTO: u8 = 13;
const VAR: u8 = 14;
const DATASEC: u8 = 15;
const FLOAT: u8 = 16;
const DECL_TAG: u8 = 17;
const TYPE_TAG: u8 = 18;
const ENUM64: u8 = 19;

/// A name, a type and a place.
const MEMBER_BYTES: usize = 12;
/// Unnamed structures within each other, and names and qualifiers of a type.
const DEPTH_MAX: usize = 16;
/// Members in a search; the largest structures of the kernel have some hundreds.
const MEMBERS_MAX: usize = 16_384;
/// The kernel's own bound, `KSYM_NAME_LEN`.
const NAME_BYTES_MAX: usize = 512;

#[cfg(test)]
mod tests;
