"""The scoped constraints: a file for each cell, each crossing of the RTL, no name but the RTL's."""

from pathlib import Path

import pytest
from crossings import netlist
from design import elaborate
from tcl import TclError
from xdc import FOLDER, cells, problems, strays

CELLS = cells()


def text_of(cell: str) -> str:
    """The constraints of a cell."""
    return (FOLDER / f"{cell}.xdc").read_text()


def test_each_cell_has_its_file_and_each_file_its_cell() -> None:
    assert sorted(p.stem for p in FOLDER.glob("*.xdc")) == CELLS
    assert {"async_fifo", "event_cdc", "frame_cdc", "sync_bits"} <= set(CELLS)


@pytest.mark.parametrize("cell", CELLS)
def test_each_crossing_is_constrained_by_name(cell: str) -> None:
    assert problems(cell, text_of(cell)) == []


@pytest.mark.parametrize("cell", CELLS)
def test_each_constraint_is_needed(cell: str) -> None:
    text = text_of(cell)
    starts = [n for n in range(len(text)) if text.startswith(("set_max", "set_bus"), n)]
    assert starts
    for start in starts:
        end = start + text[start:].replace("\\\n", "  ").index("\n")
        assert problems(cell, text[:start] + text[end:])


@pytest.mark.parametrize(
    ("was", "becomes", "finding"),
    [
        ("{wr_gray_q_reg[*]}", "{wr_grey_q_reg[*]}", "no register wr_grey_q"),
        ("{wr_gray_q_reg[*]}", "{*gray_q_reg[*]}", "not the whole name"),
        ("{wr_gray_q_reg[*]}", "{wr_gray_q_reg}", "1 dimensions"),
        ("{wr_gray_q_reg[*]}", "{wr_gray_q_reg[5]}", "5 elements"),
        ("[get_cells {i_sync_to_rd/meta_q_reg[*]}]", "[get_cells -hier *meta*]", "unknown option"),
        ("i_sync_to_rd/", "i_sync_to_read/", "no register i_sync_to_read/meta_q"),
        ("wr_clk_i", "clk_i", "no input clk_i"),
        ("wr_clk_i", "wr_rst_i", "clocks nothing"),
        ("set_max_delay -datapath_only", "set_false_path", "set_false_path"),
        (" -datapath_only", "", "-datapath_only belongs"),
    ],
)
def test_wrong_name_is_an_error(was: str, becomes: str, finding: str) -> None:
    text = text_of("async_fifo")
    assert was in text
    with pytest.raises(TclError, match=finding.replace("*", r"\*")):
        problems("async_fifo", text.replace(was, becomes, 1))


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("min($wr_ns, $rd_ns)", "max($wr_ns, $rd_ns)"),
        ("min($wr_ns, $rd_ns)", "$wr_ns"),
        ("i_sync_to_rd/meta_q", "i_sync_to_rd/stable_q"),
        ("wr_gray_q_reg", "wr_bin_q_reg"),
        ("-from $wr_clock", "-from $rd_clock"),
    ],
)
def test_wrong_limit_or_end_is_found(was: str, becomes: str) -> None:
    text = text_of("async_fifo")
    assert was in text
    assert problems("async_fifo", text.replace(was, becomes, 1))


IRQ = "u_nic/u_registers/irq_o"


@pytest.mark.parametrize(
    ("top", "values", "apart"),
    [
        ("samplewire_board", {"W": 64}, set()),
        ("samplewire_board", {"W": 512, "AdcMerged": 0}, set()),
        ("mac_fifo", {"TxStoreForward": 1}, set()),
        ("nic_board", {"CpuClock": 1}, {IRQ}),
        ("samplewire_nic_board", {"W": 64, "CpuClock": 1}, {IRQ}),
    ],
)
def test_clocks_are_crossed_in_the_cells_alone(
    top: str, values: dict[str, int], apart: set[str]
) -> None:
    """`apart` has vectors whose bits cross in `sync_bits`, each for itself."""
    nets = netlist(elaborate(top, values))
    assert nets.crossings()
    found = strays(nets)
    assert {crossing.source.path for crossing in found} == apart
    assert all("/u_irq/" in crossing.target.path for crossing in found)


def test_crossing_outside_the_cells_is_found(tmp_path: Path) -> None:
    path = tmp_path / "stray.sv"
    path.write_text("""\
module stray (input logic a_clk_i, input logic b_clk_i, input logic d_i, output logic q_o);
  logic a_q, seen;
  always_ff @(posedge a_clk_i) a_q <= d_i;
  assign seen = !a_q;
  always_ff @(posedge b_clk_i) if (seen) q_o <= d_i;
endmodule
""")
    (crossing,) = strays(netlist(elaborate("stray", {}, (path,))))
    assert (crossing.source.path, crossing.target.path) == ("a_q", "q_o")
