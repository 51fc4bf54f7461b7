"""rfdc_adapter: the samples a converter gives, at the indexes at which it gave them.

The model is the converter: sample n since its reset has a value that follows from n. A reader of
the boundary "Samples" puts the beats together to runs; each run is checked against the converter's
samples at its indexes, and the runs against what the gate asked for.
"""

import random
from dataclasses import dataclass, field

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge
from runner import run

OP_GATE, OP_CLOSE, OP_SET, OP_LATCH, OP_CANCEL = (
    "gate_open_i",
    "gate_close_i",
    "sync_set_i",
    "sync_latch_i",
    "sync_cancel_i",
)
OPS = (OP_GATE, OP_CLOSE, OP_SET, OP_LATCH, OP_CANCEL)


def converter_word(n, channel, is_q):
    """The 16 bits of one half of sample `n`."""
    return (n * 40503 + channel * 9973 + is_q * 31337 + 1) & 0xFFFF


@dataclass
class Run:
    """Beats that follow each other without start or overflow."""

    index: int
    start: bool
    overflow: bool
    last: bool = False
    samples: int = 0
    data: bytearray = field(default_factory=bytearray)

    @property
    def end(self):
        return self.index + self.samples


class TB:
    """The converter and its clock on one side, a reader of samples on the other."""

    def __init__(self, dut, adc_ns, core_ns):
        self.dut = dut
        self.channels, self.per = int(dut.C.value), int(dut.S.value)
        self.merged, self.packed = int(dut.Merged.value), int(dut.Packed.value)
        self.width = int(dut.W.value) // 8
        if adc_ns is None:  # a converter that the core keeps up with
            beats = -(-self.per * self.channels * (3 if self.packed else 4) // self.width)
            adc_ns = max(10, core_ns * beats + core_ns)
        self.size = self.channels * (3 if self.packed else 4)
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.n = 0  # the converter's next sample
        self.adc_idle = 0.0
        self.ready = 1.0
        self.runs, self.latched = [], []
        self.words = {}
        inputs = "adc_rst_i rst_i s_axis_tvalid s_axis_tdata sync_i s_ready".split()
        for name in (*inputs, *OPS):
            getattr(dut, name).value = 0
        cocotb.start_soon(Clock(dut.adc_clk_i, adc_ns, "ns").start())
        cocotb.start_soon(Clock(dut.clk_i, core_ns, "ns").start())

    async def start(self):
        dut = self.dut
        dut.adc_rst_i.value = dut.rst_i.value = 1
        for _ in range(6):
            await RisingEdge(dut.clk_i)
            await RisingEdge(dut.adc_clk_i)
        dut.adc_rst_i.value = 0
        await RisingEdge(dut.adc_clk_i)
        self.tasks = [cocotb.start_soon(self.convert()), cocotb.start_soon(self.take())]
        await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0
        for _ in range(6):
            await RisingEdge(dut.clk_i)

    async def stop(self):
        for task in self.tasks:
            task.cancel()
        self.dut.s_axis_tvalid.value = 0
        self.dut.s_ready.value = 0
        self.n = 0
        self.runs.clear()

    def word(self, n):
        """tdata of all streams for samples n to n + S."""
        if n not in self.words:
            value = at = 0
            halves = [(0, 1)] if self.merged else [(0,), (1,)]
            for channel in range(self.channels):
                for streams in halves:
                    for s in range(self.per):
                        for is_q in streams:
                            value |= converter_word(n + s, channel, is_q) << at
                            at += 16
            self.words[n] = value
        return self.words[n]

    def sample(self, n):
        """Bytes of all channels at sample `n`, docs/protocol.md#2.10."""
        out = b""
        for channel in range(self.channels):
            i, q = (converter_word(n, channel, half) for half in (0, 1))
            if self.packed:
                out += ((q >> 4) << 12 | (i >> 4)).to_bytes(3, "little")
            else:
                out += i.to_bytes(2, "little") + q.to_bytes(2, "little")
        return out

    async def convert(self):
        dut, streams = self.dut, self.channels * (1 if self.merged else 2)
        while True:
            idle = self.rng.random() < self.adc_idle
            # An idle cycle may show some of the streams: that is no word.
            some = self.rng.randrange((1 << streams) - 1)
            dut.s_axis_tvalid.value = some if idle else (1 << streams) - 1
            dut.s_axis_tdata.value = self.word(self.n)
            await RisingEdge(dut.adc_clk_i)
            if dut.adc_rst_i.value == 1:
                self.n = 0
            elif not idle:
                self.n += self.per

    async def take(self):
        dut, held = self.dut, None
        names = ("data", "index", "count", "start", "overflow", "last", "whole")
        while True:
            dut.s_ready.value = int(self.rng.random() < self.ready)
            await FallingEdge(dut.clk_i)
            if dut.rst_i.value == 1:
                held = None
                self.runs.clear()
                await RisingEdge(dut.clk_i)
                continue
            if int(dut.latch_valid_o.value):
                self.latched.append(int(dut.latch_index_o.value))
            if int(dut.s_valid.value):
                beat = tuple(int(getattr(dut, f"s_{n}").value) for n in names)
                assert held in (None, beat), "a beat that was offered stays"
                held = beat
                if int(dut.s_ready.value):
                    self.collect(*beat)
                    held = None
            else:
                assert held is None, "a beat that was offered stays"
            await RisingEdge(dut.clk_i)

    def collect(self, data, index, count, start, overflow, last, whole):
        fresh = not self.runs or self.runs[-1].last or start or overflow
        if fresh:
            if self.runs and not self.runs[-1].last:
                here = self.runs[-1]
                assert here.samples * self.size == len(here.data), "a run broke within a beat"
            self.runs.append(Run(index, bool(start), bool(overflow)))
        here = self.runs[-1]
        assert not here.last
        assert index == here.end
        here.data += data.to_bytes(self.width, "little")
        here.samples += count
        filled = here.samples * self.size
        assert whole == (filled == len(here.data))
        assert whole or last or filled > len(here.data) - self.size
        if last:
            here.last = True
            self.finish(here)

    def finish(self, here):
        filled = here.samples * self.size
        assert not any(here.data[filled:]), "what lies beyond the samples is zero"
        del here.data[filled:]

    def check_runs(self, offset=0):
        """Every run holds the converter's samples; its own index is `offset` above theirs."""
        for here in self.runs:
            if not here.last:  # the reader stopped, perhaps within a sample
                here.samples = min(here.samples, len(here.data) // self.size)
                del here.data[here.samples * self.size :]
            want = b"".join(self.sample(here.index - offset + k) for k in range(here.samples))
            assert bytes(here.data) == want

    async def command(self, op, index=0, count=0):
        """One pulse; what stands beside it afterwards is of no more use."""
        dut = self.dut
        getattr(dut, op).value = 1
        dut.cmd_index_i.value, dut.cmd_count_i.value = index, count
        await RisingEdge(dut.clk_i)
        getattr(dut, op).value = 0
        dut.cmd_index_i.value = dut.cmd_count_i.value = self.rng.getrandbits(64)

    async def cycles(self, count):
        for _ in range(count):
            await RisingEdge(self.dut.clk_i)

    async def converted(self, count):
        """Waits until the converter has given so many more."""
        end = self.n + count * self.per
        await self.until(lambda: self.n >= end, 100 * count)

    def armed(self):
        return int(self.dut.gate_armed_o.value), int(self.dut.sync_armed_o.value)

    async def pulse_sync(self):
        """An edge in step with the converter; the index of the word beside which it rises."""
        await RisingEdge(self.dut.adc_clk_i)
        self.dut.sync_i.value = 1
        await ReadOnly()
        beside = self.n
        for _ in range(8):
            await RisingEdge(self.dut.adc_clk_i)
        self.dut.sync_i.value = 0
        for _ in range(8):
            await RisingEdge(self.dut.adc_clk_i)
        await RisingEdge(self.dut.clk_i)
        return beside

    async def until(self, condition, cycles=5000):
        for _ in range(cycles):
            if condition():
                return
            await RisingEdge(self.dut.clk_i)
        raise AssertionError("it does not happen")

    def has_ended(self):
        return bool(self.runs) and self.runs[-1].last

    def rounded(self, count):
        return -(-count // self.per) * self.per if self.packed else count


@cocotb.test()
async def gate_passes_what_it_was_asked_for(dut):
    tb = TB(dut, None, 2)
    await tb.start()
    per = tb.per
    for count in [1, per - 1, per, per + 1, 3 * per, 5 * per + 1, 16 * per - 1, 40]:
        tb.adc_idle, tb.ready = tb.rng.choice([0, 0.5]), tb.rng.choice([1, 0.9])
        tb.runs.clear()
        at = tb.n + tb.rng.randrange(20, 40) * per + tb.rng.randrange(per)
        await tb.command(OP_GATE, at, count)
        await tb.until(tb.has_ended)
        tb.check_runs()
        assert len(tb.runs) == 1
        here = tb.runs[0]
        assert (here.start, here.overflow) == (True, False)
        assert here.index == -(-at // per) * per
        assert here.samples == tb.rounded(count)
    await tb.stop()


@cocotb.test()
async def gate_in_the_past_opens_at_once_and_close_ends_it(dut):
    tb = TB(dut, None, 2)
    await tb.start()
    await tb.until(lambda: tb.n > 10 * tb.per)
    await tb.command(OP_GATE, 0, 0)
    await tb.until(lambda: tb.runs and tb.runs[-1].samples > 20 * tb.per)
    await tb.command(OP_CLOSE)
    await tb.until(tb.has_ended)
    tb.check_runs()
    assert len(tb.runs) == 1
    assert tb.runs[0].samples % tb.per == 0
    assert tb.runs[0].index > 0
    # Closed, it opens again; a close without a gate is of no effect.
    await tb.command(OP_CLOSE)
    await tb.command(OP_GATE, 0, 3)
    await tb.until(lambda: len(tb.runs) == 2 and tb.runs[1].last)
    assert tb.runs[1].start
    tb.check_runs()
    await tb.stop()


@cocotb.test()
async def overflow_loses_all_channels_together_and_the_index_stays_true(dut):
    tb = TB(dut, 4, 10)
    await tb.start()
    for count in [400 * tb.per, 400 * tb.per + 1, 700 * tb.per]:
        tb.runs.clear()
        tb.ready = tb.rng.choice([0.2, 0.6])
        at = -(-(tb.n + 50 * tb.per) // tb.per) * tb.per
        await tb.command(OP_GATE, at, count)
        end = at + tb.rounded(count)
        # A run that is broken may end with s_last too: the next one carries s_overflow.
        await tb.until(lambda end=end: tb.has_ended() and tb.runs[-1].end == end, 40000)
        for _ in range(200):
            await RisingEdge(dut.clk_i)
        tb.check_runs()
        first, expected = tb.runs[0], tb.runs[0].index
        assert first.start
        assert first.index == at
        gaps = 0
        for here in tb.runs:
            assert here.index >= expected
            assert here is first or (here.overflow and not here.start)
            gaps += here.index > expected
            expected = here.end
        # The end is named also where the last words were lost.
        assert tb.runs[-1].last
        assert expected == end
        assert gaps > 0
    await tb.stop()


@cocotb.test()
async def sync_sets_and_latches_the_index(dut):
    tb = TB(dut, None, 3)
    await tb.start()
    await tb.command(OP_GATE, 0, 0)
    await tb.command(OP_LATCH)
    await tb.until(lambda: tb.n > 30 * tb.per)
    rise = tb.n
    dut.sync_i.value = 1
    await tb.until(lambda: tb.n > rise + 10 * tb.per)
    dut.sync_i.value = 0
    # The word given 3 to 4 cycles behind the rise stands where the index is taken.
    assert len(tb.latched) == 1
    assert -3 * tb.per <= tb.latched[0] - rise <= 4 * tb.per
    await tb.command(OP_SET, 1 << 40)
    await tb.until(lambda: tb.n > rise + 30 * tb.per)
    at = tb.n
    dut.sync_i.value = 1
    await tb.until(lambda: len(tb.runs) == 2 and tb.runs[1].samples > 9 * tb.per)
    before, after = tb.runs
    assert (after.start, after.overflow, after.index) == (True, False, 1 << 40)
    tb.runs = [before]
    tb.check_runs()
    tb.runs = [after]
    offset = (1 << 40) - before.end
    tb.check_runs(offset)
    assert -3 * tb.per <= before.end - at <= 4 * tb.per
    dut.sync_i.value = 0
    await tb.stop()


@cocotb.test()
async def open_open_close_leaves_no_gate_open(dut):
    tb = TB(dut, None, 2)
    await tb.start()
    for pause in (0, 3, 60):
        tb.runs.clear()
        await tb.command(OP_GATE, 0, 0)
        await tb.cycles(pause)
        await tb.command(OP_GATE, 0, 0)
        await tb.cycles(pause)
        await tb.command(OP_CLOSE)
        await tb.converted(80)
        assert tb.armed() == (0, 0)
        assert all(here.last for here in tb.runs)
        ended = len(tb.runs)
        await tb.converted(80)
        assert len(tb.runs) == ended <= 1
        tb.check_runs()
    await tb.stop()


@cocotb.test()
async def armed_gate_is_shown_and_can_be_cancelled_and_replaced(dut):
    tb = TB(dut, None, 2)
    await tb.start()
    for pause in (0, 1, 2, 5, 60):
        tb.runs.clear()
        at = tb.n + 400 * tb.per
        assert tb.armed() == (0, 0)
        await tb.command(OP_GATE, at, 5)
        for _ in range(pause):
            await RisingEdge(dut.clk_i)
            await ReadOnly()
            assert tb.armed() == (1, 0), "armed from the cycle after the command on"
        await RisingEdge(dut.clk_i)
        await tb.command(OP_CLOSE)
        await tb.converted(60)
        assert tb.armed() == (0, 0)
        # Another in its place: the last index and count are those that act.
        await tb.command(OP_GATE, tb.n + 1000 * tb.per, 5)
        await tb.cycles(pause)
        at = tb.n + 200 * tb.per
        await tb.command(OP_GATE, at, 3)
        await tb.until(tb.has_ended)
        assert [(r.index, r.samples) for r in tb.runs] == [(at, tb.rounded(3))]
        await tb.converted(20)
        assert tb.armed() == (0, 0)
        await tb.converted(900)
        assert len(tb.runs) == 1
    tb.check_runs()
    await tb.stop()


@cocotb.test()
async def gate_that_waits_behind_an_open_one_reads_as_armed(dut):
    tb = TB(dut, None, 2)
    await tb.start()
    await tb.command(OP_GATE, 0, 0)
    await tb.converted(40)
    assert tb.armed() == (0, 0)
    await tb.command(OP_GATE, 0, 7)
    await tb.converted(40)
    assert tb.armed() == (1, 0)
    assert len(tb.runs) == 1
    # A close and an open at once: the gate that is open ends, the other opens.
    dut.gate_close_i.value = 1
    await tb.command(OP_GATE, 0, 9)
    dut.gate_close_i.value = 0
    await tb.until(lambda: len(tb.runs) == 2 and tb.runs[1].last)
    assert tb.runs[0].last
    assert tb.runs[1].samples == tb.rounded(9)
    tb.check_runs()
    await tb.stop()


@cocotb.test()
async def armed_sync_holds_no_gate_back_and_can_be_cancelled(dut):
    tb = TB(dut, None, 2)
    await tb.start()
    await tb.command(OP_GATE, 0, 0)
    await tb.converted(30)
    for op in (OP_LATCH, OP_SET):
        await tb.command(op, 1 << 40)
        await RisingEdge(dut.clk_i)
        await ReadOnly()
        assert tb.armed() == (0, 1)
        await tb.converted(20)
        assert tb.armed() == (0, 1)
    await tb.command(OP_CLOSE)
    await tb.until(tb.has_ended)
    assert tb.armed() == (0, 1)
    await tb.command(OP_CANCEL)
    await tb.converted(20)
    assert tb.armed() == (0, 0)
    await tb.pulse_sync()
    assert tb.latched == []
    await tb.command(OP_GATE, 0, 4)
    await tb.until(lambda: len(tb.runs) == 2 and tb.runs[1].last)
    tb.check_runs()  # the index was not set
    await tb.stop()


@cocotb.test()
async def set_and_latch_name_the_same_word_and_both_are_reported(dut):
    tb = TB(dut, None, 3)
    await tb.start()
    await tb.converted(20)
    later = 2 * tb.per  # the edge acts on the second word behind that beside which it rises
    await tb.command(OP_LATCH)
    await tb.converted(20)
    beside = await tb.pulse_sync()
    await tb.converted(20)
    assert tb.latched == [beside + later]
    # The last of the two counts.
    await tb.command(OP_LATCH)
    await tb.command(OP_SET, 1 << 40)
    await tb.converted(20)
    first = await tb.pulse_sync()
    falls = 0
    while tb.armed()[1]:
        falls += 1
        assert falls < 100
        await RisingEdge(dut.clk_i)
    assert tb.latched[1:] == [1 << 40], "reported when it reads as armed no more"
    await tb.command(OP_SET, 5)
    await tb.command(OP_LATCH)
    await tb.converted(20)
    second = await tb.pulse_sync()
    await tb.converted(20)
    assert tb.latched[2:] == [(1 << 40) + second - first]
    await tb.stop()


@cocotb.test()
async def commands_survive_a_clock_that_stands_and_resets(dut):
    """What is armed stays armed in a reset of the core, and not in one of the converter."""
    tb = TB(dut, None, 2)
    await tb.start()
    at = tb.n + 300 * tb.per
    await tb.command(OP_GATE, at, 5)
    await tb.converted(20)
    dut.rst_i.value = 1
    await tb.cycles(20)
    dut.rst_i.value = 0
    await tb.converted(20)
    assert tb.armed() == (1, 0)
    for cycles in (1, 5, 20):
        await tb.command(OP_GATE, tb.n + 300 * tb.per, 5)
        await tb.command(OP_LATCH)
        await tb.cycles(tb.rng.randrange(12))
        await RisingEdge(dut.adc_clk_i)
        dut.adc_rst_i.value = 1
        for _ in range(cycles):
            await RisingEdge(dut.adc_clk_i)
        dut.adc_rst_i.value = 0
        await tb.cycles(40 * tb.per)
        # Taken before the reset or behind it: both read as they are.
        gate, sync = tb.armed()
        assert gate == int(dut.i_commands.gate_o.value)
        assert sync == int(dut.i_commands.sync_armed_q.value)
        await tb.command(OP_CLOSE)
        await tb.command(OP_CANCEL)
        await tb.cycles(40 * tb.per)
        assert tb.armed() == (0, 0)
    await tb.stop()


@cocotb.test()
async def reset_in_the_midst_leaves_nothing(dut):
    tb = TB(dut, 7, 5)
    for _ in range(6):
        await tb.start()
        await tb.command(OP_GATE, 0, 0)
        tb.ready = tb.rng.choice([0, 0.5])
        for _ in range(tb.rng.randrange(100)):
            await RisingEdge(dut.clk_i)
        await tb.stop()
    await tb.start()
    tb.ready = 1
    at = tb.n + 100 * tb.per
    await tb.command(OP_GATE, at, 5)
    await tb.until(tb.has_ended)
    assert [(r.index, r.samples) for r in tb.runs] == [(-(-at // tb.per) * tb.per, tb.rounded(5))]
    tb.check_runs()
    await tb.stop()


@cocotb.test()
async def a_reset_of_one_side_leaves_no_old_samples(dut):
    tb = TB(dut, 7, 5)
    await tb.start()
    sides = ((dut.adc_rst_i, dut.adc_clk_i), (dut.rst_i, dut.clk_i))

    def passed(count):
        return lambda: sum(here.samples for here in tb.runs) > count * tb.per

    for cycles in (1, 2, 3, 4, 6, 20):
        for reset, clock in sides:
            tb.runs.clear()
            tb.ready = tb.rng.choice([0.3, 0.9])
            await tb.command(OP_GATE, 0, 0)
            await tb.until(passed(40))
            for _ in range(tb.rng.randrange(60)):
                await RisingEdge(clock)
            reset.value = 1
            for _ in range(cycles):
                await RisingEdge(clock)
            reset.value = 0
            before = sum(here.samples for here in tb.runs)
            tb.ready = 1
            if clock is dut.clk_i:
                # The gate of a converter that was not reset stays open.
                await tb.until(passed(40))
                await tb.command(OP_CLOSE)
                await tb.until(tb.has_ended)
            else:
                for _ in range(80):
                    await RisingEdge(dut.clk_i)
                # What left the FIFO until the reset had crossed, and what made less than a beat.
                assert sum(here.samples for here in tb.runs) - before <= 9 * tb.per
            indexes = [here.index for here in tb.runs]
            assert indexes == sorted(indexes)
            at = tb.n + 100 * tb.per
            # The run before may begin with a start, and end, as the gate's does.
            count = len(tb.runs)
            await tb.command(OP_GATE, at, 5)
            await tb.until(
                lambda count=count: len(tb.runs) > count and tb.has_ended() and tb.runs[-1].start
            )
            assert tb.runs[-1].index == -(-at // tb.per) * tb.per
            assert tb.runs[-1].samples == tb.rounded(5)
            tb.check_runs()
    await tb.stop()


def case(name, width, channels, per, merged=1, packed=0, is_full=True):
    parameters = {"W": width, "C": channels, "S": per, "Merged": merged, "Packed": packed}
    marks = [pytest.mark.full] if is_full else []
    return pytest.param({**parameters, "FifoDepth": 16}, id=name, marks=marks)


CASES = [
    case("split", 64, 2, 4, is_full=False),
    case("join", 512, 2, 4),
    case("even", 512, 4, 4),
    case("wide-sample", 64, 4, 2),
    case("separate", 64, 2, 4, merged=0),
    case("join-separate", 512, 1, 8, merged=0),
    case("packed", 64, 1, 8, packed=1),
    case("packed-odd", 64, 3, 8, packed=1),
    case("packed-512", 512, 8, 8, packed=1),
]


@pytest.mark.parametrize("parameters", CASES)
def test_rfdc_adapter(parameters):
    run(
        "rfdc_adapter",
        sources=[
            "sync_bits",
            "reset_side",
            "reset_ctrl",
            "async_fifo",
            "word_cdc",
            "source_commands",
            "sample_gearbox",
            "rfdc_adapter",
        ],
        test_module="test_rfdc_adapter",
        parameters=parameters,
    )
