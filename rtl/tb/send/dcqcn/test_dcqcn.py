"""dcqcn against the histories of vectors/dcqcn.json, which an independent program wrote."""

import json
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, with_timeout
from runner import run

HERE = Path(__file__).parent
HISTORIES = json.loads((HERE.parents[3] / "vectors" / "dcqcn.json").read_text())
STEP_NS = 500_000
RTT_MAX = (1 << 32) - 1
# So many expiries one call of the software handles; dcqcn goes on. A row behind a longer silence is
# of an earlier instant, if it is of time alone, and else shows only whether there was a cut.
STEPS_MAX = 256
PARAMS = {
    "gain_shift": "gain_shift_i",
    "alpha_period": "alpha_period_i",
    "rise_period": "rise_period_i",
    "cut_interval": "cut_interval_i",
    "rise_bytes": "rise_bytes_i",
    "recovery_stages": "recovery_stages_i",
    "additive": "additive_i",
    "hyper": "hyper_i",
    "minimum": "minimum_i",
    "start": "start_i",
    "first_cut": "first_cut_i",
    "line": "line_i",
}
STATE = ("rate_o", "target_o", "alpha_o", "timer_count_o", "byte_count_o", "bytes_left_o")


async def rest(dut, now: int, **event: int):
    """Goes to `now`, has the event there if there is one, and waits until nothing is due."""
    dut.now_i.value = now
    await FallingEdge(dut.clk_i)
    if not int(dut.at_rest_o.value):
        await RisingEdge(dut.at_rest_o)
    if not event:
        return
    await FallingEdge(dut.clk_i)
    for name, value in event.items():
        getattr(dut, name).value = value
    await RisingEdge(dut.at_rest_o)
    await FallingEdge(dut.clk_i)
    dut.note_valid_i.value = 0
    dut.dep_valid_i.value = 0
    await FallingEdge(dut.clk_i)


async def replay(dut, history: dict) -> int:
    """One history, from a reset on; the number of states that are compared."""
    params = history["params"]
    assert params.keys() == PARAMS.keys()
    for name, value in params.items():
        getattr(dut, PARAMS[name]).value = value
    dut.now_i.value = int(history["begin"])
    dut.note_valid_i.value = 0
    dut.dep_valid_i.value = 0
    dut.rst_i.value = 1
    await FallingEdge(dut.clk_i)
    await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0
    period = params["alpha_period"]
    last, compared = int(history["begin"]), 0
    is_behind = False
    for row, (at, kind, value, cut, *wanted) in enumerate(history["events"]):
        now = int(at)
        if 2 * (now - last) // period > STEPS_MAX:
            # The software has handled a part of what is due.
            assert params["rise_period"] == period and (last - int(history["begin"])) % period == 0
            is_behind |= kind != "time"
            if kind == "time":
                now = last + STEPS_MAX // 2 * period
        if kind == "notification":
            await rest(dut, now, note_rtt_ns_i=min(value, RTT_MAX), note_valid_i=1)
            assert bool(dut.is_cut_o.value) == cut, f"{history['name']}, event {row}"
        elif kind == "departure":
            await rest(dut, now, dep_bytes_i=value, dep_valid_i=1)
        else:
            await rest(dut, now)
        last = now
        if is_behind:
            continue
        state = [int(getattr(dut, name).value) for name in STATE]
        assert state == wanted, f"{history['name']}, event {row}: {state}, not {wanted}"
        compared += 1
    dut._log.info("%s: %d of %d states", history["name"], compared, len(history["events"]))
    return compared


@cocotb.test()
async def histories_of_the_vectors_are_kept_bit_by_bit(dut):
    cocotb.start_soon(Clock(dut.clk_i, 4, "ns").start())
    compared = 0
    for history in HISTORIES:
        compared += await with_timeout(replay(dut, history), 1, "sec")
    # All but two of an interval longer than what one call of the software handles.
    assert compared == sum(len(history["events"]) for history in HISTORIES) - 2


def test_dcqcn():
    run(
        "dcqcn_history",
        sources=[HERE / "dcqcn_history.sv", "dcqcn"],
        test_module="test_dcqcn",
        parameters={"StepNs": STEP_NS},
    )
