"""The wrappers against the RTL: ports, widths, interfaces, and rings that fit the parts."""

import re
import subprocess
import sys
from pathlib import Path

import generate
import pytest
from design import ROOT, complaints, elaborate

FOLDER = ROOT / "rtl/vendor/xilinx/wrappers"
# XCZU48DR and XCZU28DR.
URAM_BLOCKS = 80
NAMES = sorted(generate.VARIANTS)
RINGS = [n for n in NAMES if "W" in generate.VARIANTS[n].fixed]
# Values that no default has.
OTHERS = {
    "Slots": 32,
    "SlotBytes": 2048,
    "RdLatency": 5,
    "AdcSamples": 8,
    "NackDepth": 64,
    "Num": 7,
}


def build(path: Path, top: str, values: dict[str, int]) -> list[str]:
    """What slang finds wrong in a wrapper with these parameters."""
    return complaints(elaborate(top, values, (path,)), path)


def test_wrappers_are_what_the_generator_writes() -> None:
    done = subprocess.run([sys.executable, FOLDER / "generate.py", "--check"], check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("name", NAMES)
def test_wrapper_elaborates_and_carries_every_bit(name: str) -> None:
    path, variant = FOLDER / f"{name}.v", generate.VARIANTS[name]
    inner = elaborate(variant.top, variant.fixed)
    known = {p.name for p in generate.free_parameters(inner, variant)}
    values = {n: v for n, v in OTHERS.items() if n in known}
    assert build(path, name, values) == []
    wrapped = elaborate(name, values, (path,))
    inner = elaborate(variant.top, variant.fixed | values)
    for is_input in (True, False):
        bits = [
            sum(p.bits for p in d.ports if p.is_input == is_input and variant.has(p))
            for d in (wrapped, inner)
        ]
        assert bits[0] == bits[1]


def test_wrappers_leave_out_the_nic_and_nothing_else() -> None:
    for name, variant in generate.VARIANTS.items():
        ports = elaborate(variant.top, variant.fixed).ports
        gone = {p.name for p in ports if not variant.has(p)}
        assert bool(gone) == ("Nic" in variant.fixed), name
        assert all(re.search(r"_nic_|_other_|^nic_", port) for port in gone), gone


@pytest.mark.parametrize(
    ("was", "becomes", "finding"),
    [
        (".time_ns_i(time_ns_i)", ".time_i(time_ns_i)", "time_i"),
        (".RdLatency(RdLatency)", ".Latency(RdLatency)", "Latency"),
        (".sync_i(sync_i)", ".sync_i(sync)", "sync"),
    ],
)
def test_wrong_name_is_found(tmp_path: Path, was: str, becomes: str, finding: str) -> None:
    text = (FOLDER / "samplewire_board_64.v").read_text()
    assert text.count(was) == 1
    path = tmp_path / "samplewire_board_64.v"
    path.write_text(text.replace(was, becomes))
    assert any(finding in e for e in build(path, "samplewire_board_64", {}))


@pytest.mark.parametrize("name", NAMES)
def test_each_interface_has_a_clock_and_each_clock_a_reset(name: str) -> None:
    text = (FOLDER / f"{name}.v").read_text()
    buses = set(re.findall(r"interface:axi\w+:1\.0 (\w+) ", text))
    owned = [
        b for found in re.findall(r"ASSOCIATED_BUSIF ([\w:]+)", text) for b in found.split(":")
    ]
    assert sorted(owned) == sorted(buses)
    clocks = re.findall(r"input +wire (\w*clk_i)\b", text)
    resets = re.findall(r"ASSOCIATED_RESET (\w+)", text)
    assert [c.replace("clk", "rst") for c in clocks] == resets
    assert re.findall(r"input +wire (\w*rst_i)\b", text) == resets


def test_wrapper_of_a_board_has_a_stream_for_i_and_one_for_q() -> None:
    text = (FOLDER / "samplewire_board_512.v").read_text()
    assert set(re.findall(r"axis:1\.0 (s_axis_adc\w*) ", text)) == {"s_axis_adc_0", "s_axis_adc_1"}


@pytest.mark.parametrize("name", RINGS)
def test_default_ring_fits_the_parts_with_the_latency_of_its_cascade(name: str) -> None:
    variant = generate.VARIANTS[name]
    inner = elaborate(variant.top, variant.fixed)
    stated = {p.name: p.value for p in generate.free_parameters(inner, variant)}
    width = int(variant.fixed["W"])
    ring = generate.ring(width, int(stated["Slots"]), int(stated["SlotBytes"]))
    assert stated["RingStyle"] == "ultra"
    assert ring.blocks <= URAM_BLOCKS
    assert stated["RdLatency"] == ring.latency


def test_ring_of_twice_the_slots_would_not_fit() -> None:
    assert generate.ring(512, 256, 8192) == generate.Ring(64, 1, 4)
    assert generate.ring(512, 512, 8192).blocks == 128
    assert generate.ring(64, 256, 8192) == generate.Ring(64, 4, 7)
