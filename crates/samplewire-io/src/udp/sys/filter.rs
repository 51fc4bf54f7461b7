//! Classic BPF programs that know a favoured packet, for the kernel to run on arrival.
//!
//! Two places take one without privileges. On a connected socket (SO_ATTACH_FILTER) it drops
//! what is not favoured before it takes room in the buffer. In a group of sockets of one port
//! (SO_ATTACH_REUSEPORT_CBPF) it says which of them gets the packet.

use std::io;

use super::Socket;
use crate::favoured::Favoured;
use crate::sockopt::{self, code};

impl Socket {
    /// Drops what is not favoured before it takes room. What it drops counts as dropped by the
    /// socket.
    pub(in crate::udp) fn attach_filter(&self, favoured: &Favoured<'_>) -> io::Result<()> {
        let program = program(favoured, UDP_HEADER_BYTES, u32::MAX);
        sockopt::attach(&self.socket, libc::SO_ATTACH_FILTER, &program)
    }

    pub(in crate::udp) fn detach_filter(&self) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_DETACH_FILTER, 0)
    }

    /// Gives favoured packets to the second socket of this port's group, others to the first.
    pub(in crate::udp) fn attach_steering(&self, favoured: &Favoured<'_>) -> io::Result<()> {
        sockopt::attach(&self.socket, libc::SO_ATTACH_REUSEPORT_CBPF, &program(favoured, 0, 1))
    }

    /// Lets sockets of the same user that ask for it too bind to this one's port.
    pub(in crate::udp) fn share_port(&self, on: bool) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_REUSEPORT, on.into())
    }
}

/// Answers `accept` for a favoured packet and 0 for any other; one too short for a word is not
/// favoured. `payload_at` is where the UDP payload stands in what the kernel shows.
///
/// A word of many values is found by halves, so that a packet costs some twenty steps whether there
/// are ten values or a thousand.
fn program(favoured: &Favoured<'_>, payload_at: u32, accept: u32) -> Vec<libc::sock_filter> {
    assert!(favoured.alternatives.len() <= Favoured::ALTERNATIVES_MAX, "too many alternatives");
    let words = favoured.alternatives.iter().copied().flatten();
    let values: usize = words.map(|word| word.values.len()).sum();
    assert!(values <= Favoured::VALUES_MAX, "{values} values are too many");
    let mut program = Vec::new();
    // A load past the packet's end ends the program with 0, so short packets must not reach the
    // words of an alternative that they are too short for before another had its turn.
    for words in favoured.alternatives {
        assert!((1..=Favoured::WORDS_MAX).contains(&words.len()), "an alternative has 1..=4 words");
        let start = program.len();
        let end_bytes = words.iter().map(|word| u32::from(word.offset_bytes) + 4).max();
        let end_bytes = payload_at + end_bytes.expect("there is a word");
        program.push(code(libc::BPF_LD | libc::BPF_W | libc::BPF_LEN, 0, (0, 0)));
        program.push(code(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, end_bytes, (1, 0)));
        program.push(jump(MISSED));
        for word in *words {
            let at = payload_at + u32::from(word.offset_bytes);
            program.push(code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at, (0, 0)));
            let mut values = word.values.to_vec();
            values.sort_unstable();
            let word_start = program.len();
            search(&values, &mut program);
            land(&mut program, word_start, FOUND);
        }
        program.push(code(libc::BPF_RET | libc::BPF_K, accept, (0, 0)));
        land(&mut program, start, MISSED);
    }
    program.push(code(libc::BPF_RET | libc::BPF_K, 0, (0, 0)));
    program
}

/// Jumps to [`FOUND`] when what was loaded is one of `values`, in rising order, and else to
/// [`MISSED`].
fn search(values: &[u32], program: &mut Vec<libc::sock_filter>) {
    if values.len() <= IN_ROW_MAX {
        for (position, &value) in values.iter().enumerate() {
            let skip = (values.len() - position) as u8;
            program.push(code(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, (skip, 0)));
        }
        program.extend([jump(MISSED), jump(FOUND)]);
        return;
    }
    let (low, high) = values.split_at(values.len() / 2);
    program.push(code(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, high[0], (0, 1)));
    let to_high = program.len();
    program.push(jump(0));
    search(low, program);
    program[to_high].k = (program.len() - to_high - 1) as u32;
    search(high, program);
}

/// Lets the jumps from `start` on that lead to `target` lead to the program's end as it stands.
fn land(program: &mut [libc::sock_filter], start: usize, target: u32) {
    let end = program.len();
    for (position, step) in program.iter_mut().enumerate().skip(start) {
        if u32::from(step.code) == libc::BPF_JMP | libc::BPF_JA && step.k == target {
            step.k = (end - position - 1) as u32;
        }
    }
}

fn jump(steps: u32) -> libc::sock_filter {
    code(libc::BPF_JMP | libc::BPF_JA, steps, (0, 0))
}

/// Where a jump leads until [`land`] says it; no program is as long.
const FOUND: u32 = u32::MAX;
const MISSED: u32 = u32::MAX - 1;

/// The most values that are compared one after another.
const IN_ROW_MAX: usize = 16;

/// A socket's filter sees the UDP header before the payload.
const UDP_HEADER_BYTES: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::favoured::Word;

    /// What the kernel's interpreter answers.
    fn run(program: &[libc::sock_filter], packet: &[u8]) -> u32 {
        let (mut at, mut a) = (0, 0);
        loop {
            let step = program[at];
            at += 1;
            match u32::from(step.code) {
                c if c == libc::BPF_LD | libc::BPF_W | libc::BPF_LEN => a = packet.len() as u32,
                c if c == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS => {
                    match packet.get(step.k as usize..).and_then(|rest| rest.first_chunk()) {
                        Some(bytes) => a = u32::from_be_bytes(*bytes),
                        None => return 0,
                    }
                }
                c if c == libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K => {
                    at += usize::from(if a >= step.k { step.jt } else { step.jf });
                }
                c if c == libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K => {
                    at += usize::from(if a == step.k { step.jt } else { step.jf });
                }
                c if c == libc::BPF_JMP | libc::BPF_JA => at += step.k as usize,
                c if c == libc::BPF_RET | libc::BPF_K => return step.k,
                c => panic!("code {c:#x}"),
            }
        }
    }

    #[test]
    fn packet_with_every_word_of_one_alternative_is_favoured() {
        let word = |offset_bytes, values| Word { offset_bytes, values };
        let alternatives: [&[Word<'_>]; 2] =
            [&[word(8, &[0x0102_0304]), word(0, &[7])], &[word(2, &[0xA0B0_C0D0])]];
        let favoured = Favoured { alternatives: &alternatives };
        let program = program(&favoured, 3, 9);
        let both = [0xFF, 0xFF, 0xFF, 0, 0, 0, 7, 0, 0, 0, 0, 1, 2, 3, 4];
        assert_eq!(run(&program, &both), 9);
        let second = [0xFF, 0xFF, 0xFF, 0, 0, 0xA0, 0xB0, 0xC0, 0xD0];
        assert_eq!(run(&program, &second), 9, "too short for the first alternative");
        assert_eq!(run(&program, &second[..8]), 0);
        assert_eq!(run(&program, &[]), 0);
        for at in [3, 6, 11, 14] {
            let mut other = both;
            other[at] ^= 1;
            assert_eq!(run(&program, &other), 0, "byte {at}");
        }
    }
    #[test]
    fn one_of_a_thousand_values_is_found_in_few_steps_and_no_other() {
        for count in [1, 2, 16, 17, 100, 1_025] {
            // Not in order, and none is the neighbour of another.
            let values: Vec<u32> =
                (0..count).map(|number: u32| number.wrapping_mul(0x9E37_79B2)).collect();
            let first = [Word { offset_bytes: 0, values: &values }];
            let second =
                [Word { offset_bytes: 0, values: &[1] }, Word { offset_bytes: 4, values: &values }];
            let alternatives: [&[Word<'_>]; 2] = [&first, &second];
            let program = program(&Favoured { alternatives: &alternatives }, 0, 9);
            assert!(program.len() <= BPF_MAXINSNS, "{} steps for {count} values", program.len());
            for value in &values {
                assert_eq!(run(&program, &value.to_be_bytes()), 9);
                let [a, b, c, d] = value.to_be_bytes();
                assert_eq!(run(&program, &[0, 0, 0, 1, a, b, c, d]), 9);
                assert_eq!(run(&program, &[0, 0, 0, 3, a, b, c, d]), 0);
                assert_eq!(run(&program, &(value ^ 1).to_be_bytes()), 0);
            }
        }
    }

    /// The longest program that the kernel takes (`linux/bpf_common.h`).
    const BPF_MAXINSNS: usize = 4_096;
}
