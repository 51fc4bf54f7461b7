#!/usr/bin/env python3
"""Write lib/crc/crc_step64.sv, or check it with --check. Python 3.11 alone.

Each bit of the register behind 64 bits sums about 32 of them. Terms that several bits sum are made
once, six at a time as a LUT takes them: greedily, what saves most first, among terms drawn at
random. The seed is the best of a minute's; a LUT of six inputs takes five of the additions.
"""

import random
import sys
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "lib" / "crc" / "crc_step64.sv"
POLY = 0x82F63B78
BITS = 64
INPUTS = 6
DEPTH = 2  # of shared terms
DRAWS = 150
SEED = 21

HEAD = """\
// Written by rtl/syn/crc_step.py; not edited by hand.
//
// One step of the CRC-32C register over 64 bits, bit 0 first on the wire; the register before is
// added to bits 31:0. Combinational: XORs with shared terms, which technology mappers do not find;
// a third of the LUTs of 32 separate sums.
`default_nettype none

module crc_step64 (
    input  wire logic [63:0] data_i,
    output      logic [31:0] crc_o
);

"""


def rows() -> list[int]:
    """The bits of the input, as a mask, that each bit of the register sums."""
    found = [0] * 32
    register = 1
    for bit in reversed(range(BITS)):
        register = (register >> 1) ^ (POLY if register & 1 else 0)
        for i in range(32):
            found[i] |= (register >> i & 1) << bit
    return found


def ones(mask: int) -> list[int]:
    """Places of its ones."""
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def best_term(users: list[int], depth: list[int], rng: random.Random) -> tuple[list[int], int]:
    """The sum to be made once, and a mask of the bits that take it; empty where none saves."""
    best_gain, best = 0.05, ([], 0)
    terms = [t for t, mask in enumerate(users) if mask.bit_count() >= 2]
    for _ in range(DRAWS):
        chosen = rng.sample(terms, 2)
        common = users[chosen[0]] & users[chosen[1]]
        while common.bit_count() >= 2 and max(depth[t] for t in chosen) < DEPTH:
            gain = common.bit_count() * (len(chosen) - 1) / (INPUTS - 1) - 1
            if gain > best_gain:
                best_gain, best = gain, (list(chosen), common)
            rest = [t for t in terms if t not in chosen]
            if len(chosen) == INPUTS or not rest:
                break
            rng.shuffle(rest)
            chosen.append(max(rest, key=lambda t: (users[t] & common).bit_count()))
            common &= users[chosen[-1]]
    return best


def share(seed: int) -> tuple[list[int], list[list[int]], list[int]]:
    """Rows over bits and shared terms, the terms' own, and the depth of each."""
    rng = random.Random(seed)
    sums, terms, depth = rows(), [], [0] * BITS
    while True:
        users = [sum((row >> t & 1) << i for i, row in enumerate(sums)) for t in range(len(depth))]
        chosen, common = best_term(users, depth, rng)
        if not chosen:
            return sums, terms, depth
        mask = sum(1 << t for t in chosen)
        sums = [
            (row & ~mask) | (1 << len(depth)) if common >> i & 1 else row
            for i, row in enumerate(sums)
        ]
        terms.append(chosen)
        depth.append(1 + max(depth[t] for t in chosen))


def luts(seed: int) -> int:
    """LUTs that the network takes where the mapper keeps it."""
    sums, terms, _ = share(seed)
    counts = [row.bit_count() for row in sums] + [len(term) for term in terms]
    return sum(-(-(n - 1) // (INPUTS - 1)) for n in counts)


def text() -> str:
    """The module."""
    sums, terms, depth = share(SEED)

    def name(t: int) -> str:
        return f"data_i[{t}]" if t < BITS else f"n{t - BITS}"

    lines = []
    for n, term in enumerate(terms):
        lines.append(f"  wire n{n} = " + " ^ ".join(map(name, term)) + ";")
    lines.append("")
    for i, row in enumerate(sums):
        left = sorted(ones(row), key=lambda t: depth[t])
        groups = []
        while len(left) + len(groups) > INPUTS:
            size = min(INPUTS, len(left) + len(groups) - INPUTS + 1)
            groups.append("(" + " ^ ".join(map(name, left[:size])) + ")")
            left = left[size:]
        lines.append(f"  assign crc_o[{i}] = " + "\n      ^ ".join(
            [*groups, " ^ ".join(map(name, left))]) + ";")  # fmt: skip
    return HEAD + "\n".join(lines) + "\n\nendmodule\n\n`default_nettype wire\n"


def main() -> int:
    """Write or check."""
    if sys.argv[1:] == ["--search"]:
        for seed in range(60):
            print(seed, luts(seed), flush=True)
        return 0
    if sys.argv[1:] == ["--check"]:
        if TARGET.read_text() != text():
            print("crc_step64.sv is not what rtl/syn/crc_step.py writes")
            return 1
        return 0
    TARGET.write_text(text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
