//! Any bytes are a list of TLVs or refused; a list is written again as it was read.

use samplewire_proto::wire::{
    QueuePairTerms, RECORD_LEN, SlotRecord, SlotRegion, TlvKind, TlvWriter, Tlvs,
};

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
        read_rdma(&tlvs);
    }
    read_record(bytes);
    write_and_read(&mut Input::new(bytes));
}

/// The terms of a stream over RDMA are refused, or written again as they were read.
fn read_rdma(tlvs: &Tlvs<'_>) {
    let mut buffer = [0; 64];
    if let Ok(Some(terms)) = QueuePairTerms::find(tlvs) {
        let written = terms.push(TlvWriter::new(&mut buffer)).finish();
        assert_eq!(written.find(TlvKind::QUEUE_PAIR), tlvs.find(TlvKind::QUEUE_PAIR));
    }
    if let Ok(Some(region)) = SlotRegion::find(tlvs) {
        let written = region.push(TlvWriter::new(&mut buffer)).finish();
        assert_eq!(written.find(TlvKind::SLOTS), tlvs.find(TlvKind::SLOTS));
        for seq in [0, 1, u32::MAX].map(samplewire_proto::Seq) {
            let end = region.address + u64::from(region.slots) * u64::from(region.slot_bytes);
            assert!(region.address_of(seq) + u64::from(region.slot_bytes) <= end);
        }
    }
}

/// A record is refused, or written again as it was read.
fn read_record(bytes: &[u8]) {
    let Some(record) = bytes.first_chunk::<RECORD_LEN>() else { return };
    let [a, b, c, d] = [record[20], record[21], record[22], record[23]];
    if let Ok(read) = SlotRecord::parse(record, u32::from_be_bytes([a, b, c, d])) {
        assert_eq!(&read.to_bytes(), record);
    }
}

/// Writes the TLVs that the input spells, pads them, and reads them.
fn write_and_read(input: &mut Input<'_>) {
    let mut buffer = [0; LEN_MAX];
    let padding = usize::from(input.byte() % 8);
    let mut writer = TlvWriter::new(&mut buffer);
    let mut written = [(0, &[][..]); COUNT_MAX];
    let mut count = 0;
    while !input.is_empty() && count < COUNT_MAX {
        let kind = 1 + u16::from(input.byte() % 11);
        let len = usize::from(input.byte() % 32);
        let value = input.slice(len);
        writer = writer.push(kind, value);
        written[count] = (kind, value);
        count += 1;
    }
    let len_bytes = writer.finish().len_bytes();
    let tlvs = Tlvs::parse(&buffer[..len_bytes + padding]).expect("what is written can be read");
    assert!(tlvs.iter().eq(written[..count].iter().copied()));
    for kind in 1..12 {
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
