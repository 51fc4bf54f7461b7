"""The Tcl scripts, run against the commands of `vivado.py`, and with names that are wrong."""

import shutil
from fractions import Fraction
from pathlib import Path

import generate
import pytest
import sources
from crossings import netlist
from design import ROOT, elaborate
from tcl import TclError
from vivado import Vivado
from xdc import cells

XILINX = ROOT / "rtl/vendor/xilinx"
PART = "xczu48dr-ffvg1517-2-e"
URAM_BLOCKS = 80  # of both parts
# Script, its arguments, and the clock of the MAC's transmit side.
BOARDS = [
    ("bd/rfsoc4x2.tcl", (), Fraction("322265625")),
    ("bd/zcu111.tcl", (), Fraction("390625000")),
    ("bd/zcu111.tcl", ("25",), Fraction("390625000")),
    ("bd/zcu111.tcl", ("10",), Fraction("156250000")),
]


def run(script: str, *words: str, tree: Path = XILINX) -> Vivado:
    """A session after a script."""
    vivado = Vivado()
    vivado.source(tree / script, "out", *words)
    return vivado


def changed(folder: Path, script: str, was: str, becomes: str) -> Path:
    """A copy of the scripts with one change, beside links to all else."""
    tree = folder / "rtl/vendor/xilinx"
    tree.mkdir(parents=True)
    for path in (ROOT / "rtl").iterdir():
        if path.name != "vendor":
            (folder / "rtl" / path.name).symlink_to(path)
    for name in ("wrappers", "xdc"):
        (tree / name).symlink_to(XILINX / name)
    for name in ("ip", "bd"):
        shutil.copytree(XILINX / name, tree / name)
    text = (tree / script).read_text()
    assert was in text
    (tree / script).write_text(text.replace(was, becomes, 1))
    return tree


def test_each_wrapper_is_packaged_with_all_it_contains() -> None:
    packages = run("ip/package.tcl", PART).packages
    assert sorted(packages) == sorted(generate.VARIANTS)
    for name, package in packages.items():
        stems = [Path(p).stem for p in package.files]
        assert stems[: len(sources.PACKAGES)] == list(sources.PACKAGES)
        assert stems[-1] == name
        inside = netlist(elaborate(name, {}, (XILINX / f"wrappers/{name}.v",))).modules.values()
        assert set(inside) <= set(stems)
        assert package.steps[-1] == "save_core"
        assert package.properties["name"] == name


def test_each_crossing_cell_of_a_package_has_its_constraints() -> None:
    for name, package in run("ip/package.tcl", PART).packages.items():
        present = [c for c in cells() if c in [Path(p).stem for p in package.files]]
        assert bool(present) == name.startswith("samplewire_board")
        assert sorted(Path(p).stem for p in package.scopes) == present
        assert [Path(p).stem for p in package.scopes][:1] in ([], ["sync_bits"])
        for path, properties in package.scopes.items():
            assert properties["SCOPED_TO_REF"] == Path(path).stem
            assert properties["USED_IN"] == "implementation"


@pytest.mark.parametrize(("script", "words", "clock_hz"), BOARDS)
def test_board_is_complete(script: str, words: tuple[str, ...], clock_hz: Fraction) -> None:
    vivado = run(script, *words)
    assert vivado.is_validated
    values = vivado.board.values
    time = values["time_base"]
    assert Fraction(int(time["Num"]), int(time["Den"])) == 10**9 / clock_hz

    width = int(vivado.board.cells["sender"].split(":")[2].split("_")[-1])
    sender = values["sender"]
    ring = generate.ring(width, int(sender["Slots"]), int(sender["SlotBytes"]))
    assert sender["RingStyle"] == "ultra"
    assert ring.blocks <= URAM_BLOCKS
    assert int(sender["RdLatency"]) == ring.latency


@pytest.mark.parametrize(("script", "words", "clock_hz"), BOARDS)
def test_rate_of_a_converter_is_that_of_its_clock(
    script: str, words: tuple[str, ...], clock_hz: Fraction
) -> None:
    values = run(script, *words).board.values
    converter = values["converter"]
    (tile,) = (t for t in "02" if converter.get(f"ADC{t}_Enable") == "1")
    rate = Fraction(converter[f"ADC{tile}_Sampling_Rate"]) * 1000
    rate /= int(converter[f"ADC_Decimation_Mode{tile}0"])
    assert rate / int(converter[f"ADC_Data_Width{tile}0"]) == Fraction(
        converter[f"ADC{tile}_Fabric_Freq"]
    )
    assert values["sender"]["AdcSamples"] == converter[f"ADC_Data_Width{tile}0"]
    assert clock_hz


@pytest.mark.parametrize(
    ("script", "was", "becomes", "finding"),
    [
        ("bd/cells.tcl", "sender/time_ns_i", "sender/time_i", "no pin time_i"),
        (
            "bd/cells.tcl",
            "sender/s_axis_adc_1",
            "sender/s_axis_adc_q",
            "no interface s_axis_adc_q",
        ),
        ("bd/cells.tcl", "_axis sender/s_axis_adc_1", "_axis sender/s_axis_adc_0", "already"),
        ("bd/cells.tcl", "join_pins zero/dout sender/sync_i", "", "sender/sync_i is open"),
        ("bd/cells.tcl", "time_base/rst_i", "", "time_base/rst_i is open"),
        ("bd/cells.tcl", "samplewire_ns_clock", "samplewire_clock", "0 cores are called"),
        ("bd/cells.tcl", "update_ip_catalog", "update_ip_catalogue", "update_ip_catalogue"),
        ("bd/cells.tcl", "connect_bd_net {*}", "connect_bd_nets {*}", "connect_bd_nets"),
        ("bd/cells.tcl", "0xA0010000", "0xA0000000", "overlaps"),
        (
            "bd/cells.tcl",
            "rst_adc/peripheral_reset s",
            "rst_core/peripheral_reset s",
            "not of the",
        ),
        (
            "bd/cells.tcl",
            "peripheral_reset sender/rst_i",
            "peripheral_aresetn sender/rst_i",
            "fit",
        ),
        ("bd/rfsoc4x2.tcl", "CONFIG.RdLatency", "CONFIG.ReadLatency", "no parameter"),
        ("bd/rfsoc4x2.tcl", "CONFIG.AdcSamples 8", "CONFIG.AdcSamples 16", "does not fit"),
        ("bd/rfsoc4x2.tcl", "samplewire_board_512", "samplewire_board_64", "does not fit"),
        ("bd/rfsoc4x2.tcl", "mac/rx_clk sender", "mac/rxclk sender", "no pin rxclk"),
        ("bd/rfsoc4x2.tcl", "mac/gt_rxusrclk2 mac", "ps/pl_clk0 mac", "not of the clock"),
        (
            "bd/rfsoc4x2.tcl",
            "sender/m_axis_tx mac/axis_tx",
            "sender/m_axis_tx mac/axis_rx",
            "master",
        ),
        ("bd/zcu111.tcl", "_tx_reset_0 sender/mac_tx", "_rx_reset_0 sender/mac_tx", "not of the"),
        ("bd/zcu111.tcl", "LINE_RATE $line", "LINERATE $line", "no parameter"),
        ("bd/zcu111.tcl", "zcu111 xczu28dr", "zcu111 xczu82dr", "no part"),
    ],
)
def test_wrong_name_in_a_board_is_an_error(
    tmp_path: Path, script: str, was: str, becomes: str, finding: str
) -> None:
    tree = changed(tmp_path, script, was, becomes)
    board = script if "cells" not in script else "bd/rfsoc4x2.tcl"
    with pytest.raises(TclError, match=finding):
        run(board, tree=tree)


@pytest.mark.parametrize(
    ("script", "was", "becomes", "finding"),
    [
        ("ip/package.tcl", "restrict $core Slots", "restrict $core Slot", "no parameter Slot"),
        ("ip/package.tcl", "get_bus_interfaces s_axil", "get_bus_interfaces s_axi", "no interface"),
        ("ip/package.tcl", "SCOPED_TO_REF", "SCOPED_TO_CELL", "no property"),
        ("ip/package.tcl", "ipx::save_core", "ipx::save", "ipx::save"),
        ("ip/package.tcl", "-norecurse $sources", "-recurse $sources", "unknown option"),
        ("ip/files.tcl", "rtl/lib/bits_pkg.sv", "rtl/lib/bitspkg.sv", "no file"),
    ],
)
def test_wrong_name_in_a_package_is_an_error(
    tmp_path: Path, script: str, was: str, becomes: str, finding: str
) -> None:
    tree = changed(tmp_path, script, was, becomes)
    with pytest.raises(TclError, match=finding):
        run("ip/package.tcl", PART, tree=tree)


def test_line_of_another_rate_is_refused() -> None:
    with pytest.raises(TclError, match="10 or 25"):
        run("bd/zcu111.tcl", "40")
