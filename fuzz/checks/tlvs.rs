//! Any bytes are a list of TLVs or refused; a list is written again as it was read.

use samplewire_proto::wire::{TlvKind, TlvWriter, Tlvs};

use crate::input::Input;

/// Reads `bytes` as TLVs, and then a list that is written from them.
///
/// # Panics
/// When the parser or the writer is wrong.
pub(crate) fn check(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(LEN_MAX)];
    if let Ok(tlvs) = Tlvs::parse(bytes) {
        let list = &bytes[..tlvs.len_bytes()];
        assert_eq!(rewritten(&tlvs, &mut [0xEE; LEN_MAX]), list);
        assert_eq!(Tlvs::parse(list), Ok(tlvs), "what follows the list is not read");
        assert_eq!(tlvs.is_empty(), list.is_empty());
    }
    write_and_read(&mut Input::new(bytes));
}

/// Writes the TLVs that the input spells, pads them, and reads them.
fn write_and_read(input: &mut Input<'_>) {
    let mut buffer = [0; LEN_MAX];
    let padding = usize::from(input.byte() % 8);
    let mut writer = TlvWriter::new(&mut buffer);
    let mut written = [(0, &[][..]); COUNT_MAX];
    let mut count = 0;
    while !input.is_empty() && count < COUNT_MAX {
        let kind = 1 + u16::from(input.byte() % 9);
        let len = usize::from(input.byte() % 32);
        let value = input.slice(len);
        writer = writer.push(kind, value);
        written[count] = (kind, value);
        count += 1;
    }
    let len_bytes = writer.finish().len_bytes();
    let tlvs = Tlvs::parse(&buffer[..len_bytes + padding]).expect("what is written can be read");
    assert!(tlvs.iter().eq(written[..count].iter().copied()));
    for kind in 1..10 {
        let first = written[..count].iter().find(|tlv| tlv.0 == kind).map(|tlv| tlv.1);
        assert_eq!(tlvs.find(kind), first);
    }
    assert_eq!(tlvs.find(TlvKind::END), None);
}

fn rewritten<'b>(tlvs: &Tlvs<'_>, out: &'b mut [u8; LEN_MAX]) -> &'b [u8] {
    let mut writer = TlvWriter::new(out);
    for (kind, value) in *tlvs {
        writer = writer.push(kind, value);
    }
    let len_bytes = writer.finish().len_bytes();
    &out[..len_bytes]
}

const LEN_MAX: usize = 1_024;
const COUNT_MAX: usize = 24;
