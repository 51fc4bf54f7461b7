"""Registers and counters: the bus, what each register does, and snapshots of one cycle."""

import logging
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.handle import HierarchyObject
from cocotb.triggers import ReadOnly, RisingEdge, Timer
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from registers import CONFIG_WIDTHS, config_reset, pack, regs, unpack

ROOT = Path(__file__).resolve().parents[4]
EVENTS = len(regs.COUNTERS) - regs.VALUES


def status_widths() -> dict[str, int]:
    """Fields of status_t."""
    widths = {}
    for register in regs.REGISTERS.values():
        if register.access == "ro":
            widths.update({f.name: f.bits for f in register.fields if not f.is_constant})
    return widths


CORNERS = ("rate_minimum", "rate_start", "rate_first_cut", "rate_line")
# Where the registers of the other core begin.
OTHER = 1 << 11
STATES = {"idle": 0, "opening": 1, "flowing": 2, "closing": 3, "ended": 4}


class TB:
    """The module with an AXI4-Lite master, and a count of every event by hand."""

    def __init__(self, dut: HierarchyObject, rng: random.Random) -> None:
        self.dut = dut
        self.rng = rng
        self.density = 0.0
        self.time_ns = 1 << 40
        # By the time of a cycle: what came before it.
        self.counted: dict[int, tuple[list[int], int]] = {}
        self.commands: list[int] = []
        self.refused = 0
        cocotb.start_soon(Clock(dut.clk_i, 3, "ns").start())
        logging.getLogger(f"cocotb.{dut._name}.s_axil").setLevel(logging.WARNING)
        bus = AxiLiteBus.from_prefix(dut, "s_axil")
        self.axi = AxiLiteMaster(bus, dut.clk_i, dut.rst_i)
        self.dut.status_i.value = 0
        self.dut.other_event_i.value = 0
        self.dut.sync_index_i.value = 0
        self.dut.sync_time_i.value = 0
        self.dut.tpl_addr_i.value = 0
        self.totals = [0] * EVENTS
        self.sum = 0

    async def reset(self) -> None:
        """The one reset of this bench."""
        self.dut.rst_i.value = 1
        for _ in range(4):
            await RisingEdge(self.dut.clk_i)
        self.dut.rst_i.value = 0
        await RisingEdge(self.dut.clk_i)

    async def drive(self) -> None:
        """Events and sums in every cycle, counted by their definition, a cycle late."""
        while True:
            bits = 0
            add = 0
            if self.density:
                full = (1 << EVENTS) - 1
                bits = full if self.density >= 1 else self.rng.getrandbits(EVENTS)
                if self.density < 0.5:
                    bits &= self.rng.getrandbits(EVENTS) & self.rng.getrandbits(EVENTS)
                add = 0xFFFF_FFFF if self.density >= 1 else self.rng.getrandbits(32)
            self.time_ns += self.rng.randint(1, 5)
            self.dut.event_i.value = bits
            self.dut.samples_lost_i.value = add
            self.dut.time_ns_i.value = self.time_ns
            await RisingEdge(self.dut.clk_i)
            self.counted[self.time_ns] = (self.totals, self.sum)
            if not int(self.dut.rst_i.value):  # no event counts in reset
                self.totals = [t + (bits >> n & 1) for n, t in enumerate(self.totals)]
                self.sum += add

    async def watch_commands(self) -> None:
        """Every cycle's pulses that are not zero, and the number of refusals."""
        while True:
            await RisingEdge(self.dut.clk_i)
            await ReadOnly()
            self.refused += int(self.dut.ev_refused_o.value)
            value = self.dut.cmd_o.value.to_unsigned()
            if value:
                self.commands.append(value)

    async def write(self, name: str, value: int, base: int = 0) -> AxiResp:
        offset = base + regs.REGISTERS[name].offset
        response = await self.axi.write(offset, value.to_bytes(4, "little"))
        return response.resp

    async def read(self, offset: int) -> tuple[int, AxiResp]:
        response = await self.axi.read(offset, 4)
        return int.from_bytes(response.data, "little"), response.resp

    async def snapshot(self, base: int = 0) -> list[int]:
        """All entries of a snapshot asked for here."""
        assert await self.write("command", 1, base) == AxiResp.OKAY
        entries = []
        for n in range(len(regs.COUNTERS)):
            low, first = await self.read(base + regs.COUNTERS_OFFSET + 8 * n)
            high, second = await self.read(base + regs.COUNTERS_OFFSET + 8 * n + 4)
            assert first == second == AxiResp.OKAY
            entries.append(high << 32 | low)
        return entries

    async def begin_counting(self) -> None:
        """Takes over what tests before this one counted: no reset clears it."""
        entries = await self.snapshot()
        self.totals = entries[regs.VALUES :]
        self.sum = entries[regs.VALUES - 1]

    def payload_step(self) -> int:
        """Whole beats are whole samples too, both being powers of two."""
        return max(int(self.dut.W.value) // 8, 4 * int(self.dut.Channels.value))

    def set_state(self, name: str) -> None:
        """The stream's state as csr sees it."""
        self.dut.status_i.value = pack(
            dict.fromkeys(status_widths(), 0) | {"state": STATES[name]}, status_widths()
        )

    def config(self) -> dict[str, int]:
        return unpack(self.dut.cfg_o.value.to_unsigned(), CONFIG_WIDTHS)


def bench(dut: HierarchyObject) -> TB:
    rng = random.Random(cocotb.RANDOM_SEED)
    tb = TB(dut, rng)
    cocotb.start_soon(tb.drive())
    cocotb.start_soon(tb.watch_commands())
    return tb


def pauses(rng: random.Random) -> Iterator[bool]:
    """Holds a channel back at random."""
    while True:
        yield rng.random() < 0.5


def are_rates_consistent(config: dict[str, int]) -> bool:
    """What samplewire_proto::rate::DcqcnParams::check demands, and periods that dcqcn keeps."""
    low, high = config["rate_minimum"], config["rate_line"]
    return (
        config["rate_mode"] <= 2
        and 1 <= config["gain_shift"] <= 16
        and all(config[name] >= 256 for name in ("alpha_period_ns", "rise_period_ns"))
        and config["rise_bytes"] >= 1 << 16
        and config["recovery_stages"] >= 1
        and low >= 1
        and all(low <= config[name] <= high for name in ("rate_start", "rate_first_cut"))
    )


def merged(register: regs.Register, config: dict[str, int], value: int) -> dict[str, int]:
    """The configuration after a write of a register whose fields are whole."""
    fields = {f.name: value >> f.shift & (1 << f.bits) - 1 for f in register.fields}
    return config | fields


def consistent(register: regs.Register, config: dict[str, int], rng: random.Random) -> int:
    """A random value for a parameter of congestion control that the others allow."""
    for _ in range(100):
        value = rng.getrandbits(rng.randint(1, 32))
        if are_rates_consistent(merged(register, config, value)):
            return value
    return sum(config[f.name] << f.shift for f in register.fields)


# The first test: what it is about happens once.
@cocotb.test()
async def nothing_is_counted_or_written_before_the_first_reset(dut: HierarchyObject) -> None:
    clock = cocotb.start_soon(Clock(dut.clk_i, 3, "ns").start())
    word = regs.REGISTERS["scratch"].offset
    ones = (1 << EVENTS) - 1
    for name, value in {
        "rst_i": 0, "event_i": ones, "other_event_i": ones, "samples_lost_i": 0xFFFF_FFFF,
        "s_axil_awaddr": word, "s_axil_awvalid": 1, "s_axil_wdata": 0xFFFF_FFFF,
        "s_axil_wstrb": 15, "s_axil_wvalid": 1, "s_axil_bready": 1,
    }.items():  # fmt: skip
        getattr(dut, name).value = value
    await Timer(1, "ns")
    # Verilator may have begun with an edge of the clock in which rst_i was 1.
    dut.u_csr.was_reset_q.value = dut.u_other.was_reset_q.value = 0
    for _ in range(40):
        await RisingEdge(dut.clk_i)
    clock.cancel()
    tb = bench(dut)
    await tb.reset()
    for base in (0, OTHER):
        assert not any((await tb.snapshot(base))[regs.VALUES - 1 :])
        assert await tb.read(base + word) == (0, AxiResp.OKAY)


@cocotb.test()
async def configuration_before_any_write_is_the_reset_values(dut: HierarchyObject) -> None:
    tb = bench(dut)
    await tb.reset()
    assert len(dut.event_i) == EVENTS
    is_wide = int(dut.W.value) == 512
    expected = config_reset(is_wide=is_wide)
    slot, step = int(dut.SlotBytes.value), tb.payload_step()
    expected["payload_bytes"] = min(expected["payload_bytes"], slot) // step * step
    assert tb.config() == expected
    for name, register in regs.REGISTERS.items():
        if register.access == "rw":
            value, resp = await tb.read(register.offset)
            if name == "payload":
                assert (value, resp) == (expected["payload_bytes"], AxiResp.OKAY)
                continue
            word = sum(
                ((f.reset_wide if is_wide else f.reset) >> f.part & (1 << f.bits) - 1) << f.shift
                for f in register.fields
            )
            assert (value, resp) == (word, AxiResp.OKAY)


@cocotb.test()
async def every_field_written_arrives_whatever_the_order_and_back_pressure(
    dut: HierarchyObject,
) -> None:
    tb = bench(dut)
    await tb.reset()
    write = tb.axi.write_if
    read = tb.axi.read_if
    for channel in (write.aw_channel, write.w_channel, write.b_channel,
                    read.ar_channel, read.r_channel):  # fmt: skip
        channel.set_pause_generator(pauses(tb.rng))
    expected = tb.config()
    names = [n for n, r in regs.REGISTERS.items() if r.access in ("rw", "wo")]
    for _ in range(4):
        tb.rng.shuffle(names)
        written = {}
        for name in names:
            register = regs.REGISTERS[name]
            value = tb.rng.getrandbits(32)
            if name == "payload":
                step = tb.payload_step()
                value = step * tb.rng.randint(2, int(dut.SlotBytes.value) // step)
            if register.offset >= regs.REGISTERS["rate_control"].offset:
                value = consistent(register, expected, tb.rng)
            assert await tb.write(name, value) == AxiResp.OKAY
            written[name] = value
            for f in register.fields:
                if f.name in expected:
                    mask = ((1 << f.bits) - 1) << f.part
                    bits = value >> f.shift << f.part & mask
                    expected[f.name] = expected[f.name] & ~mask | bits
            assert tb.config() == expected
        for name in names:
            value, resp = await tb.read(regs.REGISTERS[name].offset)
            if regs.REGISTERS[name].access == "wo":
                assert (value, resp) == (0, AxiResp.SLVERR), f"{name} is never readable"
            else:
                fields = sum(f.bits for f in regs.REGISTERS[name].fields)
                mask = (1 << fields) - 1 if name == "control" else 0xFFFF_FFFF
                assert (value, resp) == (written[name] & mask, AxiResp.OKAY)


@cocotb.test()
async def unknown_addresses_and_forbidden_accesses_answer_slverr_and_do_nothing(
    dut: HierarchyObject,
) -> None:
    tb = bench(dut)
    await tb.reset()
    before = tb.config()
    access = {r.offset: r.access for r in regs.REGISTERS.values()}
    counters = range(regs.COUNTERS_OFFSET, regs.COUNTERS_OFFSET + 8 * regs.COUNTERS_WORDS)
    template = range(regs.TEMPLATE_OFFSET, regs.TEMPLATE_OFFSET + 8 * regs.TEMPLATE_WORDS)
    for offset in range(0, 0x800, 4):
        if access.get(offset) not in ("ro", "rw") and offset not in counters:
            assert await tb.read(offset) == (0, AxiResp.SLVERR), hex(offset)
        if access.get(offset) in (None, "ro") and offset not in template:
            response = await tb.axi.write(offset, b"\xff\xff\xff\xff")
            assert response.resp == AxiResp.SLVERR, hex(offset)
        else:
            # Less than a whole word.
            response = await tb.axi.write(offset, b"\xff\xff")
            assert response.resp == AxiResp.SLVERR, hex(offset)
    assert tb.config() == before
    assert tb.commands == []


@cocotb.test()
async def payload_that_no_slot_holds_whole_is_refused(dut: HierarchyObject) -> None:
    tb = bench(dut)
    await tb.reset()
    beat, sample = int(dut.W.value) // 8, 4 * int(dut.Channels.value)
    slot, step = int(dut.SlotBytes.value), tb.payload_step()
    payload = regs.REGISTERS["payload"].offset
    good = [max(2 * beat, step), slot // step * step, 2 * step]
    bad = [0, 1, beat, 2 * beat - 1, 2 * beat + 1, slot - 1, slot + 1, slot + step, 2 * slot,
           65536 - step, 65536 + 2 * step, 0xFFFF_FFFF]  # fmt: skip
    bad += [step + step // 2] if step > 2 else []
    for value in good + bad:
        is_good = 2 * beat <= value <= slot and value % beat == 0 and value % sample == 0
        kept = tb.config()["payload_bytes"]
        before = tb.refused
        resp = await tb.write("payload", value)
        assert resp == (AxiResp.OKAY if is_good else AxiResp.SLVERR), value
        kept = value if is_good else kept
        assert tb.config()["payload_bytes"] == kept
        # The control processor reads it from the memory.
        assert await tb.read(payload) == (kept, AxiResp.OKAY)
        assert tb.refused - before == (not is_good)


@cocotb.test()
async def payload_and_source_stand_while_a_stream_is_open(dut: HierarchyObject) -> None:
    tb = bench(dut)
    await tb.reset()
    step = tb.payload_step()
    control = regs.REGISTERS["control"].offset
    await tb.write("payload", 2 * step)
    await tb.write("control", 3 << 3 | 1)
    for state in STATES:
        tb.set_state(state)
        is_open = state in ("opening", "flowing", "closing")
        want = AxiResp.SLVERR if is_open else AxiResp.OKAY
        before = tb.config()
        assert await tb.write("payload", 3 * step) == want, state
        for source in (0, 1, 2):
            assert await tb.write("control", source << 3) == want, state
        if is_open:
            assert tb.config() == before
            assert await tb.read(control) == (3 << 3 | 1, AxiResp.OKAY)
            # All else of the register may change.
            assert await tb.write("control", 3 << 3 | 2) == AxiResp.OKAY
            assert (tb.config()["enable"], tb.config()["loopback"]) == (0, 1)
            assert await tb.write("scratch", 5) == AxiResp.OKAY
        else:
            assert (tb.config()["payload_bytes"], tb.config()["source"]) == (3 * step, 2)
        tb.set_state("idle")
        await tb.write("payload", 2 * step)
        await tb.write("control", 3 << 3 | 1)
    assert tb.refused == 3 * 4


@cocotb.test()
async def parameters_of_congestion_control_never_contradict_each_other(
    dut: HierarchyObject,
) -> None:
    tb = bench(dut)
    await tb.reset()
    names = [
        name for name, r in regs.REGISTERS.items()
        if r.access == "rw" and r.offset >= regs.REGISTERS["rate_control"].offset
    ]  # fmt: skip
    assert len(names) == 11
    expected, refused = tb.config(), tb.refused
    rates = [expected[name] for name in ("rate_minimum", "rate_start", "rate_first_cut")]
    edges = [0, 1, 16, 17, 31, 255, 256, 0xFFFF, 0x10000, 0xFFFF_FFFF, *rates]
    taken = 0
    for n in range(800):
        name = tb.rng.choice(names)
        register = regs.REGISTERS[name]
        value = tb.rng.choice([*edges, tb.rng.getrandbits(tb.rng.randint(1, 32))])
        if n % 2:  # near another one
            value = tb.config()[tb.rng.choice(CORNERS)] + tb.rng.randint(-1, 1) & 0xFFFF_FFFF
        wanted = merged(register, expected, value)
        is_good = are_rates_consistent(wanted)
        response = await tb.write(name, value)
        assert response == (AxiResp.OKAY if is_good else AxiResp.SLVERR), (name, value, expected)
        expected = wanted if is_good else expected
        assert tb.config() == expected, name
        taken += is_good
    assert tb.refused - refused == 800 - taken
    assert 100 < taken < 700
    # Not while a stream is open, even the same again.
    word = {name: (await tb.read(regs.REGISTERS[name].offset))[0] for name in names}
    for state in STATES:
        tb.set_state(state)
        is_open = state in ("opening", "flowing", "closing")
        for name in names:
            want = AxiResp.SLVERR if is_open else AxiResp.OKAY
            assert await tb.write(name, word[name]) == want, (state, name)
        assert await tb.write("event_index", 3) == AxiResp.OKAY


@cocotb.test()
async def address_before_data_and_data_before_address_are_both_taken(dut: HierarchyObject) -> None:
    tb = bench(dut)
    await tb.reset()
    for held in (tb.axi.write_if.aw_channel, tb.axi.write_if.w_channel):
        held.pause = True
        operation = tb.axi.init_write(regs.REGISTERS["scratch"].offset, b"\x01\x02\x03\x04")
        for _ in range(20):
            await RisingEdge(dut.clk_i)
        assert not operation.is_set()
        held.pause = False
        await operation.wait()
        assert operation.data.resp == AxiResp.OKAY
        assert await tb.read(regs.REGISTERS["scratch"].offset) == (0x0403_0201, AxiResp.OKAY)


@cocotb.test()
async def commands_are_pulses_of_one_cycle(dut: HierarchyObject) -> None:
    tb = bench(dut)
    await tb.reset()
    widths = {f.name: f.bits for f in regs.REGISTERS["command"].fields}
    for f in regs.REGISTERS["command"].fields:
        tb.commands.clear()
        await tb.write("command", 1 << f.shift)
        for _ in range(3):
            await RisingEdge(dut.clk_i)
        assert tb.commands == [pack({n: n == f.name for n in widths}, widths)]


@cocotb.test()
async def status_and_parameters_read_as_they_are(dut: HierarchyObject) -> None:
    tb = bench(dut)
    await tb.reset()
    widths = status_widths()
    assert sum(widths.values()) == len(dut.status_i)
    status = {name: tb.rng.getrandbits(bits) for name, bits in widths.items()}
    dut.status_i.value = pack(status, widths)
    expected = status | {
        "id": regs.ID_VALUE, "minor": 5, "major": 1, "width": int(dut.W.value),
        "slot_bytes": int(dut.SlotBytes.value), "slots": int(dut.Slots.value),
        "nack_depth": int(dut.NackDepth.value), "channels": int(dut.Channels.value),
        "counters": len(regs.COUNTERS), "core": 1,
    }  # fmt: skip
    for register in regs.REGISTERS.values():
        if register.access == "ro":
            value, resp = await tb.read(register.offset)
            assert resp == AxiResp.OKAY
            for f in register.fields:
                assert value >> f.shift & ((1 << f.bits) - 1) == expected[f.name], f.name


@cocotb.test()
async def template_words_read_as_written(dut: HierarchyObject) -> None:
    tb = bench(dut)
    await tb.reset()
    words = [tb.rng.getrandbits(64) for _ in range(regs.TEMPLATE_WORDS)]
    for n, word in enumerate(words):
        await tb.axi.write(regs.TEMPLATE_OFFSET + 8 * n, word.to_bytes(8, "little"))
    for n, word in enumerate(words):
        dut.tpl_addr_i.value = n
        await RisingEdge(dut.clk_i)
        await ReadOnly()
        await RisingEdge(dut.clk_i)
        assert dut.tpl_data_o.value.to_unsigned() == word


@cocotb.test()
async def snapshot_is_of_one_cycle_at_every_density_of_events(dut: HierarchyObject) -> None:
    tb = bench(dut)
    await tb.reset()
    await tb.begin_counting()
    dut.sync_index_i.value = 0x0123_4567_89AB_CDEF
    dut.sync_time_i.value = 0xFEDC_BA98_7654_3210
    for density in (0.1, 0.6, 1.0, 0.1, 0.0, 1.0):
        tb.density = density
        for _ in range(2):
            for _ in range(tb.rng.randint(1, 400)):
                await RisingEdge(dut.clk_i)
            entries = dict(zip(regs.COUNTERS, await tb.snapshot(), strict=True))
            assert entries["time"] in tb.counted, "the time is that of a cycle"
            totals, lost = tb.counted[entries["time"]]
            assert entries["sync_index"] == 0x0123_4567_89AB_CDEF
            assert entries["sync_time"] == 0xFEDC_BA98_7654_3210
            assert entries["samples_lost"] == lost
            assert [entries[name] for name in regs.COUNTERS[regs.VALUES :]] == totals


@cocotb.test()
async def counts_survive_reset_and_control_does_not(dut: HierarchyObject) -> None:
    tb = bench(dut)
    await tb.reset()
    await tb.begin_counting()
    tb.density = 1.0
    await tb.write("control", 0x1F)
    await tb.write("port", 1234)
    for _ in range(100):
        await RisingEdge(dut.clk_i)
    await tb.reset()
    for _ in range(10):
        await RisingEdge(dut.clk_i)
    entries = await tb.snapshot()
    totals, _ = tb.counted[entries[2]]
    assert entries[regs.VALUES :] == totals
    assert await tb.read(regs.REGISTERS["control"].offset) == (0, AxiResp.OKAY)
    assert await tb.read(regs.REGISTERS["port"].offset) == (1234, AxiResp.OKAY)
    assert tb.config()["enable"] == 0


@cocotb.test()
async def cores_behind_one_decoder_have_registers_and_counts_of_their_own(
    dut: HierarchyObject,
) -> None:
    tb = bench(dut)
    await tb.reset()
    before, other_before = await tb.snapshot(), await tb.snapshot(OTHER)
    for base, value in ((0, 0x1111_1111), (OTHER, 0x2222_2222)):
        assert await tb.write("scratch", value, base) == AxiResp.OKAY
    await tb.write("port", 5000)
    await tb.write("port", 6000, OTHER)
    assert tb.config()["port"] == 5000
    for base, scratch, port in ((0, 0x1111_1111, 5000), (OTHER, 0x2222_2222, 6000)):
        assert await tb.read(base + regs.REGISTERS["scratch"].offset) == (scratch, AxiResp.OKAY)
        assert await tb.read(base + regs.REGISTERS["port"].offset) == (port, AxiResp.OKAY)
    dut.other_event_i.value = (1 << EVENTS) - 1
    for _ in range(77):
        await RisingEdge(dut.clk_i)
    dut.other_event_i.value = 0
    for _ in range(4):
        await RisingEdge(dut.clk_i)
    assert (await tb.snapshot())[regs.VALUES :] == before[regs.VALUES :]
    counted = (await tb.snapshot(OTHER))[regs.VALUES :]
    assert counted == [n + 77 for n in other_before[regs.VALUES :]]


@pytest.mark.parametrize(
    "w", [64, pytest.param(512, marks=pytest.mark.full)], ids=lambda w: f"W{w}"
)
def test_csr(w: int) -> None:
    from runner import run

    # Samples of two beats at 64 bits, and a slot that is smaller than the payload after reset.
    run("csr_tb", sources=[Path(__file__).parent.relative_to(ROOT) / "csr_tb.sv", "axil_decode",
                           "rate_check", "csr", "counters"], test_module="test_csr",
        parameters={"W": w, "SlotBytes": 1024, "Channels": 4},
        testcase=os.environ.get("SAMPLEWIRE_TESTCASE"))  # fmt: skip
