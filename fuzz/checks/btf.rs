//! Any bytes as a table of types are read within their length, and each search ends.

use samplewire_io::btf::Btf;

use crate::input::Input;

/// Reads the bytes after the first as a table, or as the types and names of one with a right header.
///
/// # Panics
/// When a search leaves the table.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let choice = input.byte();
    let rest = input.rest();
    let table = if choice.is_multiple_of(2) { rest.to_vec() } else { with_header(rest, choice) };
    let Ok(btf) = Btf::parse(&table) else { return };
    for structure in NAMES {
        for member in NAMES {
            for path in [&[member][..], &[member, "b"]] {
                let offset = btf.offset(structure, path);
                assert!(offset.is_none_or(|offset| offset <= u32::MAX / 8));
            }
        }
        let values = btf.values(structure).unwrap_or_default();
        assert!(8 * values.len() <= table.len());
        assert!(values.iter().all(|(name, _)| !name.contains('\0')));
    }
}

/// The names lie before the types, where both are drawn.
fn with_header(rest: &[u8], choice: u8) -> Vec<u8> {
    let names = NAMES.join("\0");
    let strings = format!("\0{names}\0");
    let types_bytes = rest.len() - usize::from(choice / 2).min(rest.len());
    let mut table = Vec::new();
    table.extend(0xeb9f_u16.to_ne_bytes());
    table.extend([1, 0]);
    let words = [24, 0, types_bytes, rest.len(), strings.len()];
    table.extend(words.iter().flat_map(|&word| (word as u32).to_ne_bytes()));
    table.extend(rest);
    table.extend(strings.as_bytes());
    table
}

const NAMES: [&str; 4] = ["a", "b", "cd", ""];
