use super::*;
use samplewire_testing::skip;

/// `None` where the kernel refuses bpf(2); the test is then skipped.
fn allowed<T>(result: io::Result<T>) -> Option<T> {
    match result {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
            skip(format_args!("bpf(2) is refused: {error}"));
            None
        }
        result => Some(result.unwrap()),
    }
}

#[test]
fn map_keeps_what_is_set_up_to_its_bound() {
    let Some(map) = allowed(Map::new(MapKind::Hash, 4, 8, 2)) else { return };
    let mut value = [0; 8];
    assert!(!map.get(&[1; 4], &mut value).unwrap());
    map.set(&[1; 4], &[7; 8]).unwrap();
    map.set(&[2; 4], &[8; 8]).unwrap();
    assert_eq!(map.set(&[3; 4], &[9; 8]).unwrap_err().raw_os_error(), Some(libc::E2BIG));
    assert!(map.get(&[1; 4], &mut value).unwrap());
    assert_eq!(value, [7; 8]);
    map.remove(&[1; 4]).unwrap();
    map.remove(&[1; 4]).unwrap();
    assert_eq!(map.key_after(None).unwrap(), Some(vec![2; 4]));
    assert_eq!(map.key_after(Some(&[2; 4])).unwrap(), None);
}

#[test]
fn kernel_names_what_it_refuses_in_a_program() {
    let mut passes = Assembler::new();
    passes.set(Register::R0, 2).exit();
    let passes = passes.finish();
    if allowed(Program::load(ProgramKind::Xdp, "passes", &passes)).is_none() {
        return;
    }
    let mut endless = Assembler::new();
    endless.set(Register::R0, 2);
    let error = Program::load(ProgramKind::Xdp, "endless", &endless.finish()).unwrap_err();
    assert!(error.to_string().contains("last insn"), "{error}");
}

#[test]
fn jumps_lead_to_their_labels() {
    let mut assembler = Assembler::new();
    assembler
        .jump_if(Register::R1, Test::Equal, 7, "end")
        .jump("end")
        .set(Register::R0, 1)
        .label("end")
        .exit();
    let insns = format!("{:?}", assembler.finish());
    let offsets: Vec<_> = insns.split("offset: ").skip(1).map(|it| &it[..1]).collect();
    assert_eq!(offsets, ["2", "1", "0", "0"]);
}

#[test]
#[should_panic(expected = "nowhere")]
fn jump_without_its_label_is_no_program() {
    let mut assembler = Assembler::new();
    assembler.jump("nowhere");
    assembler.finish();
}
