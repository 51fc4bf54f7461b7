"""The table of the modules' areas, area.md, and the sums of the sources of its rows, area.sums."""

from pathlib import Path

TABLE = Path(__file__).resolve().parent / "area.md"
# By which it is known whether a row is still that of the sources.
SUMS = TABLE.with_suffix(".sums")
COLUMNS = ["LUT", "of these LUT RAM", "SRL", "FF", "BRAM", "URAM", "DSP", "levels"]
HEAD = """\
# Area

Written by `make synth`: yosys for xcup (UltraScale+), each module flat with the parameters it has
alone, not placed. W is the width of its beats, its parameter W or N. LUT counts logic, LUT RAM and
SRLs; BRAM is of 36 Kbit. Levels are LUTs on the longest path between registers, memories and ports;
MUXF and carry chains count nothing behind their LUTs (`rtl/syn/netlist.py` has the rules). Sums
modulo 2 are built as trees of six, what a LUT takes (`rtl/syn/xor_tree.v`). `samplewire_sender` is
without the ring, a black box to it, as large as its slots; sources, `rfdc_adapter` and `mac_fifo`
stand beside the sender and have rows of their own. What grows by more than 5 % and 50 LUT fails
`synth.py --check` until this table is written again.

"""
ECP5_HEAD = "ECP5 (um5g-85k, 64 bits, 64 slots of 2 KiB), placed for timing and routed by nextpnr: "


def read_table() -> tuple[dict[tuple[str, int], list[str]], str]:
    """Rows of the table, and the ECP5's line."""
    rows: dict[tuple[str, int], list[str]] = {}
    ecp5 = ""
    if TABLE.exists():
        for line in TABLE.read_text().splitlines():
            cells = [c.strip() for c in line.strip("|").split("|")]
            if line.startswith("| `"):
                rows[cells[0].strip("`"), int(cells[1] or 0)] = cells[2:]
            elif line.startswith(ECP5_HEAD):
                ecp5 = line.removeprefix(ECP5_HEAD)
    return rows, ecp5


def write_table(rows: dict[tuple[str, int], list[str]], ecp5: str, top: str) -> None:
    """Write area.md; the rows of `top` come first."""
    lines = [f"| module | W | {' | '.join(COLUMNS)} |", "|---|" + "--:|" * (len(COLUMNS) + 1)]
    for (name, width), cells in sorted(rows.items(), key=lambda r: (r[0][0] != top, r[0])):
        lines.append(f"| `{name}` | {width or ''} | {' | '.join(cells)} |")
    tail = f"\n{ECP5_HEAD}{ecp5}\n" if ecp5 else ""
    TABLE.write_text(HEAD + "\n".join(lines) + "\n" + tail)


def read_sums() -> dict[tuple[str, int], str]:
    """The sums of area.sums."""
    sums = {}
    for line in SUMS.read_text().splitlines() if SUMS.exists() else []:
        name, width, value = line.rsplit(maxsplit=2)
        sums[name, int(width)] = value
    return sums


def write_sums(sums: dict[tuple[str, int], str]) -> None:
    """Write area.sums: module, width and sum."""
    lines = [f"{name} {width} {value}\n" for (name, width), value in sorted(sums.items())]
    SUMS.write_text("".join(lines))
