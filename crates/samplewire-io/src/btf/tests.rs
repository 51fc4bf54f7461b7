use super::*;

/// A table that is made type by type.
#[derive(Default)]
struct Table {
    types: Vec<u8>,
    strings: Vec<u8>,
}

impl Table {
    fn new() -> Self {
        Self { types: Vec::new(), strings: vec![0] }
    }

    fn name(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let offset = self.strings.len() as u32;
        self.strings.extend(text.bytes().chain([0]));
        offset
    }

    /// Adds a type with words after its head.
    fn add(
        &mut self,
        name: &str,
        kind: u8,
        count: u32,
        size_or_type: u32,
        rest: &[u32],
    ) -> &mut Self {
        let head = [self.name(name), u32::from(kind) << 24 | count, size_or_type];
        self.types.extend(head.iter().chain(rest).flat_map(|word| word.to_ne_bytes()));
        self
    }

    /// Adds a structure of members: name, type, place.
    fn structure(&mut self, name: &str, members: &[(&str, u32, u32)]) -> &mut Self {
        let words: Vec<u32> = members
            .iter()
            .flat_map(|&(name, kind, place)| [self.name(name), kind, place])
            .collect();
        self.add(name, STRUCT, members.len() as u32, 64, &words)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(MAGIC.to_ne_bytes());
        bytes.extend([VERSION, 0]);
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        bytes.extend([24, 0, types, types, strings].iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend(&self.types);
        bytes.extend(&self.strings);
        bytes
    }
}

/// `struct outer { int first; struct { int second; alias third; }; }`, where `alias` names
/// `struct inner { int deep; }`, and an enumeration.
fn sample() -> Vec<u8> {
    let mut table = Table::new();
    table.add("int", INT, 0, 4, &[32]); // 1
    table.structure("inner", &[("pad", 1, 0), ("deep", 1, 32)]); // 2
    table.add("alias", TYPEDEF, 0, 2, &[]); // 3
    table.add("", CONST, 0, 3, &[]); // 4
    table.structure("", &[("second", 1, 0), ("third", 4, 64)]); // 5
    table.structure("outer", &[("first", 1, 0), ("", 5, 128)]); // 6
    let (one, two) = (table.name("ONE"), table.name("TWO"));
    table.add("numbers", ENUM, 2, 4, &[one, 1, two, 2]); // 7
    table.bytes()
}

#[test]
fn members_are_found_through_names_and_unnamed_structures() {
    let bytes = sample();
    let btf = Btf::parse(&bytes).unwrap();
    let of = |path: &[&str]| btf.offset("outer", path);
    assert_eq!(of(&["first"]), Some(0));
    assert_eq!(of(&["second"]), Some(16));
    assert_eq!(of(&["third", "deep"]), Some(16 + 8 + 4));
    assert_eq!(of(&["third", "deep", "deeper"]), None);
    assert_eq!(of(&["fourth"]), None);
    assert_eq!(btf.offset("nothing", &["first"]), None);
    assert_eq!(btf.values("numbers"), Some(vec![("ONE", 1), ("TWO", 2)]));
    assert_eq!(btf.values("outer"), None);
}

#[test]
fn bit_fields_have_no_offset_and_their_neighbours_have() {
    let mut table = Table::new();
    table.add("int", INT, 0, 4, &[32]);
    let names = [table.name("bits"), table.name("whole")];
    let members = [names[0], 1, 3 << 24 | 5, names[1], 1, 32];
    table.add("flags", STRUCT | 0x80, 2, 8, &members);
    let bytes = table.bytes();
    let btf = Btf::parse(&bytes).unwrap();
    assert_eq!(btf.offset("flags", &["bits"]), None);
    assert_eq!(btf.offset("flags", &["whole"]), Some(4));
}

#[test]
fn table_that_is_cut_is_refused_or_read_within_its_bytes() {
    let bytes = sample();
    for len in 0..bytes.len() {
        assert!(Btf::parse(&bytes[..len]).is_err(), "{len}");
    }
    // Each word of the header and of the types, at its bounds.
    for at in (0..bytes.len() - 4).step_by(4) {
        for value in [0, 1, 0x7fff_ffff, u32::MAX] {
            let mut changed = bytes.clone();
            changed[at..at + 4].copy_from_slice(&value.to_ne_bytes());
            if let Ok(btf) = Btf::parse(&changed) {
                let _any = (btf.offset("outer", &["third", "deep"]), btf.values("numbers"));
            }
        }
    }
    let mut unknown = Table::new();
    unknown.add("x", 20, 0, 0, &[]);
    assert_eq!(Btf::parse(&unknown.bytes()).unwrap_err(), BtfError::Type(1, 20));
    let mut long = Table::new();
    long.add("x", STRUCT, 2, 0, &[0; 3]);
    assert_eq!(Btf::parse(&long.bytes()).unwrap_err(), BtfError::Type(1, STRUCT));
}

#[test]
fn types_that_contain_themselves_end_a_search() {
    let mut table = Table::new();
    let members = vec![("", 1, 0); 200];
    table.structure("loop", &members);
    table.add("named", TYPEDEF, 0, 2, &[]);
    table.structure("holder", &[("member", 2, 0)]);
    let bytes = table.bytes();
    let btf = Btf::parse(&bytes).unwrap();
    assert_eq!(btf.offset("loop", &["nowhere"]), None);
    assert_eq!(btf.offset("holder", &["member"]), None, "a name of itself is no type");
}

#[test]
fn own_kernel_has_the_structures_of_a_packet() {
    let path = "/sys/kernel/btf/vmlinux";
    let Ok(bytes) = std::fs::read(path) else {
        return samplewire_testing::skip(format_args!("no {path}"));
    };
    let btf = Btf::parse(&bytes).unwrap();
    for (structure, path) in [
        ("sk_buff", &["dev"][..]),
        ("sk_buff", &["network_header"]),
        ("sk_buff", &["head"]),
        ("net_device", &["nd_net", "net"]),
        ("net", &["ns", "inum"]),
        ("skb_shared_info", &["gso_segs"]),
    ] {
        assert!(btf.offset(structure, path).is_some(), "{structure} {path:?}");
    }
    assert_eq!(btf.offset("sk_buff", &["next"]), Some(0));
    let reasons = btf.values("skb_drop_reason").unwrap_or_default();
    assert!(reasons.iter().any(|it| it.0 == "SKB_DROP_REASON_NETFILTER_DROP"), "{reasons:?}");
}
