use std::fs;

use serde_json::Value;

use super::*;

const REGION: SlotRegion =
    SlotRegion { address: 0x7F00_0000_1000, rkey: 0x77, slot_bytes: 128, slots: 8 };

/// `docs/protocol.md#13`: both ways, against bytes of an independent program.
#[test]
fn every_vector_is_read_as_its_fields_or_refused_by_the_wrong_one() {
    let mut kinds = [0; 3];
    for vector in load() {
        let name = &vector["name"];
        let bytes = unhex(&vector["hex"]);
        let wrong = vector["wrong"].as_str();
        let number = |field: &str| wide(&vector["fields"][field]);
        match vector["kind"].as_str().expect("a kind") {
            "queue_pair" => {
                let read = QueuePairTerms::parse(&bytes);
                assert_eq!(read.err().map(|error| error.field.name()), wrong, "{name}");
                if wrong.is_none() {
                    let terms = QueuePairTerms {
                        qpn: number("qpn") as u32,
                        first_psn: number("first_psn") as u32,
                        path_mtu_bytes: number("path_mtu_bytes") as u16,
                    };
                    assert_eq!(read, Ok(terms), "{name}");
                    let mut buf = [0; 64];
                    let tlvs = terms.push(TlvWriter::new(&mut buf)).finish();
                    assert_eq!(tlvs.find(10), Some(&bytes[..]), "{name}");
                    kinds[0] += 1;
                }
            }
            "slots" => {
                let read = SlotRegion::parse(&bytes);
                assert_eq!(read.err().map(|error| error.field.name()), wrong, "{name}");
                if wrong.is_none() {
                    let region = SlotRegion {
                        address: number("address"),
                        rkey: number("rkey") as u32,
                        slot_bytes: number("slot_bytes") as u32,
                        slots: number("slots") as u32,
                    };
                    assert_eq!(read, Ok(region), "{name}");
                    let mut buf = [0; 64];
                    let tlvs = region.push(TlvWriter::new(&mut buf)).finish();
                    assert_eq!(tlvs.find(11), Some(&bytes[..]), "{name}");
                    kinds[1] += 1;
                }
            }
            "record" => {
                let bytes = bytes.as_slice().try_into().expect("64 bytes");
                let read = SlotRecord::parse(bytes, wide(&vector["immediate"]) as u32);
                assert_eq!(read.err().map(|error| error.field.name()), wrong, "{name}");
                if wrong.is_none() {
                    let record = SlotRecord {
                        index: number("index"),
                        lost_before: number("lost_before"),
                        samples: number("samples") as u32,
                        seq: Seq(number("seq") as u32),
                        payload_crc: number("payload_crc") as u32,
                        flags: Flags(number("flags") as u8),
                    };
                    assert_eq!(read, Ok(record), "{name}");
                    assert_eq!(&record.to_bytes(), bytes, "{name}");
                    kinds[2] += 1;
                }
            }
            other => panic!("{name} is of kind {other}"),
        }
    }
    assert!(kinds.iter().all(|&count| count >= 2), "valid vectors of each kind: {kinds:?}");
}

/// `docs/protocol.md#13.3`
#[test]
fn slots_go_round_across_the_wrap_of_seq() {
    let slots = [0xFFFF_FFFE, 0xFFFF_FFFF, 0, 1, 8].map(|seq| REGION.slot_of(Seq(seq)));
    assert_eq!(slots, [6, 7, 0, 1, 0]);
    assert_eq!(REGION.address_of(Seq(u32::MAX)), REGION.address + 7 * 128);
    let last = SlotRegion { slots: 1 << 24, slot_bytes: 65_600, ..REGION };
    assert_eq!(last.address_of(Seq(0xFF_FFFF)), REGION.address + 0xFF_FFFF * 65_600);
}

/// `docs/protocol.md#13.3`
#[test]
fn a_write_that_a_slot_does_not_hold_is_none() {
    assert_eq!([8, 64, 72].map(record_at), [64, 64, 128]);
    assert_eq!(
        [8, 64, 72].map(|payload| REGION.write_bytes(payload)),
        [Some(128), Some(128), None]
    );
    let large = SlotRegion { slot_bytes: 65_600, ..REGION };
    assert_eq!(large.write_bytes(65_528), Some(65_600));
}

#[test]
fn both_tlvs_of_a_receiver_that_opens_fit_the_shortest_open() {
    let mut buf = [0; 46];
    let qp = QueuePairTerms { qpn: 2, first_psn: 0, path_mtu_bytes: 4096 };
    let tlvs = REGION.push(qp.push(TlvWriter::new(&mut buf))).finish();
    assert_eq!(QueuePairTerms::find(&tlvs), Ok(Some(qp)));
    assert_eq!(SlotRegion::find(&tlvs), Ok(Some(REGION)));
    assert_eq!(QueuePairTerms::find(&Tlvs::EMPTY), Ok(None));
    assert_eq!(SlotRegion::find(&Tlvs::EMPTY), Ok(None));
}

#[test]
fn an_error_names_the_number() {
    let error = RdmaError { field: RdmaField::Qpn, value: 1 };
    assert_eq!(error.to_string(), "qpn 1 is not possible");
    assert!(RdmaField::ALL.iter().enumerate().all(|(at, field)| *field as usize == at));
}

fn load() -> Vec<Value> {
    let path = format!("{}/../../vectors/rdma.json", env!("CARGO_MANIFEST_DIR"));
    let json = fs::read_to_string(&path).expect("the vectors lie beside the crates");
    let vectors: Value = serde_json::from_str(&json).expect("the vectors are JSON");
    vectors.as_array().expect("a list of vectors").clone()
}

fn wide(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| {
        let text = value.as_str().expect("a number or its hex digits");
        u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("hex digits")
    })
}

fn unhex(value: &Value) -> Vec<u8> {
    let (pairs, _) = value.as_str().expect("hex digits").as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("a hex digit") as u8;
    pairs.iter().map(|&[high, low]| digit(high) << 4 | digit(low)).collect()
}
