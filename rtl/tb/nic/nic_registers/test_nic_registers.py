"""nic_registers behind AFB and AXI4-Lite, with queues: latency, T's tests, bad input."""

import logging
import random
import sys
from pathlib import Path

import cocotb
import pytest
from axis import Bench
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer
from cocotbext.axi import AxiLiteBus, AxiLiteMaster
from nic_generated import CFG, CHECKER, GENERATOR, packed, unpacked
from nic_queues_model import FREE, RECEIVE, TRANSMIT, pop, push

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "regs"))

import nic_regs as regs

ROOT = Path(__file__).resolve().parents[4]
BASE, SIZE = 0x2000_0000, 2048
CONFIG = {
    "enable": 1, "loopback": 1, "servers": 3, "choice": 2, "filter": 4, "mac": 48, "ethertype": 16,
    "udp_port": 16, "address_high": 4, "base": 32, "buffer_bits": 3, "buffers": 15,
    "lock_cycles": 24,
}  # fmt: skip
QUEUES = [*(f"receive_{s}" for s in range(4)), *(f"transmit_{s}" for s in range(4)), "free"]


def level_of(queue: str) -> str:
    """The register with the entries of a queue."""
    name, _, server = queue.partition("_")
    return f"{name}_level_{server}" if server else "free_level"


class Afb:
    """A processor on AFB: a request stands until taken, its response is taken when it may be."""

    def __init__(self, dut, port: int):
        self.dut, self.port = dut, port
        self.request: int | None = None
        self.response: tuple[int, int] | None = None
        self.may_respond = True
        self.latency = 0  # of the last access, from the request's first cycle
        self._since: int | None = None

    def seen(self, now: int):
        if self.request is not None and self._since is None:
            self._since = now
        if self.dut.afb_ready_o.value[self.port] == 1 and self.request is not None:
            self.request = None
        if self.dut.afb_valid_o.value[self.port] == 1 and self.may_respond:
            word = self.dut.afb_o.value.to_unsigned() >> 33 * self.port & (1 << 33) - 1
            self.response = (word >> 32, word & 0xFFFF_FFFF)
            self.latency = now - self._since
            self._since = None

    async def start(self, address: int, data: int | None, mask: int, lock: int):
        """Shows a request, in the cycle that begins."""
        read = int(data is None)
        self.response = None
        self.request = (
            lock << 73 | read << 72 | mask << 68 | address << 32 | (data or 0)
        )  # nic_pkg::afb_request_t

    async def end(self) -> tuple[int, int]:
        """Error and data of the response."""
        waited = 0
        while self.response is None:
            await FallingEdge(self.dut.clk_i)
            waited += 1
            assert waited < 200_000, "no response"
        return self.response

    async def access(self, address, data=None, *, mask=15, lock=0) -> tuple[int, int]:
        await self.start(address, data, mask, lock)
        return await self.end()

    async def read(self, name: str, *, lock=0) -> int:
        error, data = await self.access(regs.REGISTERS[name].offset, lock=lock)
        assert not error, name
        return data

    async def write(self, name: str, data: int, *, lock=0) -> int:
        error, result = await self.access(regs.REGISTERS[name].offset, data, lock=lock)
        assert not error, name
        return result


class TB:
    def __init__(self, dut):
        self.dut = dut
        logging.getLogger(f"cocotb.{dut._name}.s_axil").setLevel(logging.WARNING)
        self.ports = [Afb(dut, n) for n in range(2)]
        self.bench = Bench(dut.clk_i, [self])
        self.ops: list[int | None] = [None, None]  # of the engines
        self.results: list[int | None] = [None, None]

    async def start(self, *, count=64, is_configured=True):
        dut = self.dut
        dut.rst_i.value = 1
        dut.engine_event_i.value = dut.generator_i.value = dut.checker_i.value = 0
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        self.axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, dut.rst_i)
        await self.bench.run(3)
        dut.rst_i.value = 0
        cocotb.start_soon(self.bench.run(10**9))
        await self.wait(132)
        cpu = self.ports[0]
        if not is_configured:
            return cpu
        for name, value in (("base", BASE), ("buffers", count), ("lock_cycles", 1 << 16),
                            ("buffer_size", 4)):  # fmt: skip
            await cpu.write(name, value)
        return cpu

    async def wait(self, cycles: int):
        for _ in range(cycles):
            await FallingEdge(self.dut.clk_i)

    def drive(self):
        dut, ports = self.dut, self.ports
        dut.afb_valid_i.value = sum((p.request is not None) << p.port for p in ports)
        dut.afb_i.value = sum((p.request or 0) << 74 * p.port for p in ports)
        dut.afb_ready_i.value = sum(p.may_respond << p.port for p in ports)
        dut.op_valid_i.value = sum((op is not None) << n for n, op in enumerate(self.ops))
        dut.op_i.value = sum((op or 0) << 37 * n for n, op in enumerate(self.ops))

    def after(self, now: int):
        for port in self.ports:
            port.seen(now)
        for n in range(2):
            if self.dut.op_ready_o.value[n] == 1:
                self.ops[n] = None
            if self.dut.result_valid_o.value[n] == 1:
                self.results[n] = self.dut.result_o.value.to_unsigned()

    async def engine(self, requester: int, op) -> int:
        """An operation of an engine."""
        self.ops[requester], self.results[requester] = op.packed(), None
        while self.results[requester] is None:
            await FallingEdge(self.dut.clk_i)
        return self.results[requester]

    async def counters(self, cpu: Afb) -> dict[str, int]:
        """A snapshot."""
        assert await cpu.access(regs.REGISTERS["command"].offset, 1) == (0, 0)
        found = {}
        for n, name in enumerate(regs.COUNTERS):
            low = await cpu.access(regs.COUNTERS_OFFSET + 8 * n)
            high = await cpu.access(regs.COUNTERS_OFFSET + 8 * n + 4)
            assert not low[0] and not high[0]
            found[name] = high[1] << 32 | low[1]
        return found

    def config(self) -> dict[str, int]:
        """config_o by its fields, the first one highest."""
        value, low, found = self.dut.config_o.value.to_unsigned(), sum(CONFIG.values()), {}
        for name, bits in CONFIG.items():
            low -= bits
            found[name] = value >> low & (1 << bits) - 1
        return found


# The first test: what it is about happens once.
@cocotb.test()
async def nothing_is_counted_or_written_before_the_first_reset(dut):
    word = 15 << 68 | regs.REGISTERS["data_frames"].offset << 32 | 0xFFFF_FFFF
    dut.rst_i.value = 0
    dut.engine_event_i.value = (1 << 10) - 1
    dut.afb_i.value = word << 74 | word
    dut.afb_valid_i.value = dut.afb_ready_i.value = 3
    clock = cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
    await Timer(1, "ns")
    # Verilator may have begun with an edge of the clock in which rst_i was 1.
    dut.u_registers.was_reset_q.value = 0
    await ClockCycles(dut.clk_i, 40)
    clock.cancel()
    tb = TB(dut)
    await tb.start(is_configured=False)
    cpu = tb.ports[0]
    for name, register in regs.REGISTERS.items():
        if register.access == "rw":
            reset = sum((f.reset >> f.part & (1 << f.bits) - 1) << f.shift for f in register.fields)
            assert await cpu.read(name) == reset, name
    counted = await tb.counters(cpu)
    assert not {name: n for name, n in counted.items() if n and name != "time"}


@cocotb.test()
async def registers_take_three_cycles_and_read_back(dut):
    tb = TB(dut)
    await tb.start()
    cpu = tb.ports[1]
    values = {}
    for name, register in regs.REGISTERS.items():
        if register.access != "rw" or name in ("control", "debug_1"):
            continue
        limits = {"servers": 4, "buffers": 128, "mode": 2, "route": 2}
        data = random.getrandbits(sum(f.bits for f in register.fields))
        data = random.randint(1, limits[name]) if name in limits else data
        await cpu.write(name, data)
        assert cpu.latency == 3, name
        values[name] = data
    await cpu.write("control", 5)
    values["control"] = 5
    for name, data in values.items():
        assert await cpu.read(name) == data, name
        assert cpu.latency == 3, name
    config = tb.config()
    assert config["enable"] == 1 and config["loopback"] == int(values["mode"] == 1)
    assert config["mac"] == values["mac_hi"] << 32 | values["mac_lo"]
    assert config["ethertype"] | config["udp_port"] << 16 == values["data_frames"]
    for name in ("servers", "choice", "filter", "address_high", "base", "buffers", "lock_cycles"):
        assert config[name] == values[name], name
    assert config["buffer_bits"] == values["buffer_size"]
    assert await cpu.read("status") == 1 and await cpu.read("depth") == 64
    # Where the buffers are does not change under way, nor do numbers out of their range pass.
    for name, data in (("base", 8), ("buffer_size", 1), ("buffers", 1), ("address_high", 1)):
        assert (await cpu.access(regs.REGISTERS[name].offset, data))[0] == 1
        assert await cpu.read(name) == values[name]
    await cpu.write("control", 0)
    for name, data in (("servers", 0), ("servers", 5), ("buffers", 129), ("mode", 3), ("route", 3)):
        assert (await cpu.access(regs.REGISTERS[name].offset, data))[0] == 1
        assert await cpu.read(name) == values[name]
    first = await cpu.read("counter")
    at = tb.bench.now
    await tb.wait(50)
    assert await cpu.read("counter") - first == tb.bench.now - at


@cocotb.test()
async def generator_and_checker_have_their_settings_and_counters(dut):
    tb = TB(dut)
    cpu = await tb.start()
    cfg = {name: random.getrandbits(bits) for name, bits in CFG.items()}
    for name, value in (
        ("generator", cfg["enable"] | cfg["swap"] << 1), ("bytes_min", cfg["bytes_min"]),
        ("bytes_max", cfg["bytes_max"]), ("bytes_step", cfg["bytes_step"]),
        ("gap_cycles", cfg["gap_cycles"]), ("frames", cfg["frames"]),
        ("to_lo", cfg["to"] & 0xFFFF_FFFF), ("to_hi", cfg["to"] >> 32),
        ("from_lo", cfg["from"] & 0xFFFF_FFFF),
        ("from_hi", cfg["from"] >> 32 | cfg["ether_type"] << 16),
    ):  # fmt: skip
        await cpu.write(name, value)
    assert unpacked(CFG, dut.generator_cfg_o.value.to_unsigned()) == cfg

    def drawn() -> dict[str, int]:
        """Numbers of both parts, by the names of their registers."""
        one = {name: random.getrandbits(bits) for name, bits in GENERATOR.items()}
        two = {name: random.getrandbits(bits) for name, bits in CHECKER.items()}
        dut.generator_i.value, dut.checker_i.value = packed(GENERATOR, one), packed(CHECKER, two)
        shared = {f"generated_{n}": v for n, v in one.items()}
        shared |= {f"checked_{n}": two[n] for n in one}
        return shared | {n: v for n, v in two.items() if n not in one}

    for name in drawn():
        found = drawn()[name]
        if name in regs.REGISTERS:
            assert await cpu.read(name) == found and cpu.latency == 3, name
            continue
        # The high half is of the cycle of the low one.
        assert await cpu.read(f"{name}_lo") == found & 0xFFFF_FFFF, name
        drawn()
        assert await cpu.read(f"{name}_hi") == found >> 32, name
    # The last register of the map lies behind them.
    first, at = await cpu.read("counter"), tb.bench.now
    assert await cpu.read("counter") - first == tb.bench.now - at


@cocotb.test()
async def buffers_do_not_change_while_the_nic_owns_one(dut):
    tb = TB(dut)
    cpu = await tb.start()
    assert await cpu.write("receive_2", BASE + SIZE) == 0
    for name in ("base", "buffer_size", "buffers", "address_high"):
        assert (await cpu.access(regs.REGISTERS[name].offset, 1))[0] == 1
    assert await cpu.read("base") == BASE
    assert await tb.ports[1].read("receive_2") == BASE + SIZE
    # The other port is the next one.
    await cpu.write("base", 2 * BASE)
    assert await cpu.read("base") == 2 * BASE
    assert await cpu.write("free", 2 * BASE) == 0


@cocotb.test()
async def an_operation_counts_for_the_write_right_behind_it(dut):
    tb = TB(dut)
    await tb.start()
    cpu, other = tb.ports[:2]
    free, base = regs.REGISTERS["free"].offset, regs.REGISTERS["base"].offset
    # The other port waits meanwhile, and is the next one.
    for data, result, refused in ((BASE, 0, 1), (None, BASE, 0)):
        await other.read("base")
        await cpu.start(free, data, 15, 0)
        await other.start(base, 2 * BASE, 15, 0)
        assert await cpu.end() == (0, result)
        assert (await other.end())[0] == refused
        assert other.latency == cpu.latency + 3
    assert await cpu.read("base") == 2 * BASE


@cocotb.test()
async def what_is_no_register_answers_err(dut):
    tb = TB(dut)
    cpu = await tb.start()
    known = {r.offset: r.access for r in regs.REGISTERS.values()}
    end = regs.COUNTERS_OFFSET + 8 * len(regs.COUNTERS)
    refused = (await tb.counters(cpu))["refused"]
    wrong = 0
    for offset in (*range(0, 1024, 4), 1024, 1 << 35, 1, 2, 4 * 24 + 3):
        is_entry = regs.COUNTERS_OFFSET <= offset < end
        access = known.get(offset, "ro" if is_entry else "")
        for data in (None, 0xFFFF_FFFF):
            if data is None and access in ("ro", "rw", "queue"):
                continue
            if data is not None and access in ("rw", "pulse", "queue"):
                continue
            error, word = await cpu.access(offset, data)
            assert error and word == 0 and cpu.latency == 3, hex(offset)
            wrong += 1
    # Parts of words, of a queue too: no operation is done.
    await cpu.write("free", BASE)
    for mask in range(15):
        assert (await cpu.access(regs.REGISTERS["free"].offset, mask=mask))[0]
        assert (await cpu.access(regs.REGISTERS["free"].offset, BASE + SIZE, mask=mask))[0]
        wrong += 2
    assert await cpu.read("free_level") == 1
    assert (await tb.counters(cpu))["refused"] - refused == wrong


@cocotb.test()
async def check_queues(dut):
    """CHECK_QUEUES: a processor pushes one pointer to each queue and pops it."""
    tb = TB(dut)
    cpu = await tb.start()
    # With Rings three accesses of memory, each a cycle longer than its latency.
    cycles = 3 + dut.Rings.value.to_unsigned() * 3 * (dut.Latency.value.to_unsigned() + 1)
    assert await cpu.read("free") == 1  # waits for the end of the reset
    for n, queue in enumerate(QUEUES):
        assert await cpu.write(queue, BASE + n * SIZE) == 0
        assert cpu.latency == cycles
        assert [await cpu.read(level_of(q)) for q in QUEUES] == [int(q == queue) for q in QUEUES]
        assert await cpu.read(queue) == BASE + n * SIZE
        assert cpu.latency == cycles
        assert await cpu.read(queue) == 1


@cocotb.test()
async def check_queue_sequence(dut):
    """CHECK_QUEUE_SEQUENCE: a processor fills each queue and finds the order of its pushes."""
    tb = TB(dut)
    cpu = await tb.start(count=128)
    buffers = [BASE + n * SIZE for n in range(128)]
    for queue in QUEUES:
        order = random.sample(buffers, 65)
        for n, pointer in enumerate(order[:64]):
            assert await cpu.write(queue, pointer) == 0
            assert n % 16 or await cpu.read(level_of(queue)) == n + 1
        assert await cpu.write(queue, order[64]) == 2
        assert await cpu.read("push_result") == 2
        for pointer in order[:64]:
            assert await cpu.read(queue) == pointer
        assert await cpu.read(queue) == 1


@cocotb.test()
async def debug_queue_and_debug_queue_sequence(dut):
    """DEBUG_QUEUE and DEBUG_QUEUE_SEQUENCE: the test module in the NIC does the same."""
    tb = TB(dut)
    cpu = await tb.start()
    for test, checked in ((1, 9 * 2), (2, 9 * 130)):
        await cpu.write("debug_1", test)
        while (word := await cpu.read("debug_2")) >> 31:
            pass
        assert word >> 16 == checked and word & 0xFFFF == 0
    # It finds a queue that is not what it should be.
    await cpu.write("transmit_2", BASE)
    await cpu.write("debug_1", 2)
    while (word := await cpu.read("debug_2")) >> 31:
        pass
    assert word & 0xFFFF > 0


@cocotb.test()
async def a_failed_push_is_seen_in_register_27_of_its_port(dut):
    tb = TB(dut)
    cpu = await tb.start()
    other, axil = tb.ports[1], tb.axil.write_dword
    free = regs.REGISTERS["free"].offset
    result = regs.REGISTERS["push_result"].offset
    assert await cpu.write("free", BASE) == 0
    assert await other.write("free", BASE) == 4
    assert await other.read("push_result") == 4 and await cpu.read("push_result") == 0
    # AXI4-Lite: the write is done, and its result is in the register alone.
    await axil(free, BASE + 4)
    assert await tb.axil.read_dword(result) == 4
    await axil(free, BASE + SIZE)
    assert await tb.axil.read_dword(result) == 0
    assert await tb.axil.read_dword(free) == BASE
    assert await other.read("lock") == 1
    await axil(free, BASE + 2 * SIZE)
    assert await tb.axil.read_dword(result) == 3
    assert await tb.axil.read_dword(free) == 3
    assert await other.write("lock", 1) == 0
    assert (await tb.axil.read(4 * 200, 4)).resp == 2  # SLVERR: reserved
    counted = await tb.counters(cpu)
    assert (counted["bad_push"], counted["locked_op"]) == (2, 2)


@cocotb.test()
async def ports_that_ask_for_the_lock_in_one_cycle_do_not_both_get_it(dut):
    tb = TB(dut)
    await tb.start()
    cpus = tb.ports
    for _ in range(20):
        for cpu in cpus:
            await cpu.start(regs.REGISTERS["lock"].offset, None, 15, 0)
        granted = [(await cpu.end())[1] for cpu in cpus]
        assert sorted(granted) == [0, 1]
        holder, loser = cpus[granted.index(1)], cpus[granted.index(0)]
        await loser.write("lock", 1)  # no effect
        assert await loser.read("free") == 3
        assert await holder.read("free") in (1, BASE)
        assert await holder.write("lock", 1) == 0
        assert await loser.read("free") in (1, BASE)


@cocotb.test()
async def a_dead_holder_is_revoked_and_counted(dut):
    tb = TB(dut)
    cpu = await tb.start()
    before = (await tb.counters(cpu))["revoked"]
    await cpu.write("lock_cycles", 300)
    await cpu.write("free", BASE)
    assert await cpu.read("lock") == 1
    begun = tb.bench.now
    assert await tb.engine(0, pop(FREE)) == BASE
    assert 290 <= tb.bench.now - begun <= 310
    assert (await tb.counters(cpu))["revoked"] == before + 1
    # After a restart the port gives up what it may still hold.
    assert await cpu.read("lock") == 1
    assert await cpu.write("lock", 1) == 0
    assert await tb.ports[1].read("lock") == 1


@cocotb.test()
async def a_traversal_takes_fourteen_cycles(dut):
    """3 pops and 3 pushes of one buffer; each begins in the cycle in which the last one is done."""
    tb = TB(dut)
    cpu = await tb.start()
    await cpu.write("free", BASE)
    tb.bench.parts = []  # this test drives
    await tb.wait(3)

    async def engine(requester, op):
        dut.op_valid_i.value = 1 << requester
        dut.op_i.value = op.packed() << 37 * requester
        for cycles in range(1, 9):
            await FallingEdge(dut.clk_i)
            dut.op_valid_i.value = 0
            if dut.result_valid_o.value[requester] == 1:
                return cycles, dut.result_o.value.to_unsigned()
        raise AssertionError("no result")

    async def register(name, data=None):
        word = 15 << 68 | regs.REGISTERS[name].offset << 32
        dut.afb_i.value = word | (1 << 72 if data is None else data)
        dut.afb_valid_i.value = 1
        dut.afb_ready_i.value = 1
        for cycles in range(1, 9):
            await FallingEdge(dut.clk_i)
            dut.afb_valid_i.value = 0
            if dut.afb_valid_o.value[0] == 1:
                return cycles, dut.afb_o.value.to_unsigned() & (1 << 33) - 1
        raise AssertionError("no response")

    for server in range(4):
        steps = [
            await engine(0, pop(FREE)),
            await engine(0, push(RECEIVE, BASE, server)),
            await register(f"receive_{server}"),
            await register(f"transmit_{server}", BASE),
            await engine(1, pop(TRANSMIT, server)),
            await engine(1, push(FREE, BASE)),
        ]
        assert [result for _, result in steps] == [BASE, 0, BASE, 0, BASE, 0]
        assert [cycles for cycles, _ in steps] == [2, 2, 3, 3, 2, 2]
        assert sum(cycles for cycles, _ in steps) == 14


@cocotb.test()
async def the_bus_lock_excludes_other_ports_and_ends(dut):
    tb = TB(dut)
    cpu = await tb.start()
    other = tb.ports[1]
    await cpu.write("lock_cycles", 200)
    await cpu.read("filter", lock=1)
    await other.start(regs.REGISTERS["filter"].offset, None, 15, 0)
    for _ in range(5):
        await cpu.write("filter", random.getrandbits(4), lock=1)
        assert other.response is None
    await cpu.write("filter", 9)
    assert await other.end() == (0, 9)
    # A port that dies with the bus locked.
    await cpu.read("filter", lock=1)
    assert await other.read("filter") == 9
    assert 195 <= other.latency <= 210


@cocotb.test()
async def a_port_that_takes_no_response_holds_back_itself_alone(dut):
    tb = TB(dut)
    cpu = await tb.start()
    other = tb.ports[1]
    other.may_respond = False
    await other.start(regs.REGISTERS["filter"].offset, None, 15, 0)
    for _ in range(20):
        await cpu.write("filter", 5)
        assert cpu.latency <= 6
    assert other.response is None
    other.may_respond = True
    assert (await other.end())[0] == 0


@cocotb.test()
async def interrupts_follow_receive_queues(dut):
    tb = TB(dut)
    cpu = await tb.start()
    for n in range(4):
        await cpu.write("free", BASE + n * SIZE)
    for server in range(4):
        pointer = await tb.engine(0, pop(FREE))
        await tb.engine(0, push(RECEIVE, pointer, server))
        await tb.wait(2)
        assert dut.irq_o.value == 0
    await cpu.write("control", 4)
    await tb.wait(2)
    assert dut.irq_o.value == 15
    for server in range(4):
        assert await cpu.read(f"receive_{server}") == BASE + server * SIZE
        await tb.wait(2)
        assert dut.irq_o.value == 15 & ~((2 << server) - 1)


@cocotb.test()
async def events_count_in_their_entries(dut):
    tb = TB(dut)
    cpu = await tb.start()
    before = await tb.counters(cpu)
    sent, received = [await cpu.read(f"packets_{d}") for d in ("transmitted", "received")]
    expected = [0] * 10
    for _ in range(200):
        events = random.getrandbits(10)
        dut.engine_event_i.value = events
        expected = [n + (events >> i & 1) for i, n in enumerate(expected)]
        await FallingEdge(dut.clk_i)
    dut.engine_event_i.value = 0
    await tb.wait(4)
    after = await tb.counters(cpu)
    names = regs.COUNTERS[4:14]
    assert [after[n] - before[n] for n in names] == expected
    assert await cpu.read("packets_received") - received == expected[0]
    assert await cpu.read("packets_transmitted") - sent == expected[names.index("sent")]


@cocotb.test()
async def random_accesses_of_all_ports(dut):
    tb = TB(dut)
    await tb.start()
    count = int(cocotb.plusargs["accesses"])

    async def afb(port: Afb, names: list[str]):
        values = {name: await port.read(name) for name in names}
        for _ in range(count):
            name = random.choice(names)
            if random.random() < 0.5:
                bits = sum(f.bits for f in regs.REGISTERS[name].fields)
                values[name] = random.getrandbits(bits)
                await port.write(name, values[name], lock=int(random.random() < 0.1))
            else:
                assert await port.read(name) == values[name]
            await tb.wait(random.choice([0, 0, 1, 7]))
        await port.read(names[0])

    async def axil():
        for _ in range(count // 2):
            value = random.getrandbits(24)
            await tb.axil.write_dword(regs.REGISTERS["mac_lo"].offset, value)
            assert await tb.axil.read_dword(regs.REGISTERS["mac_lo"].offset) == value

    tasks = [
        cocotb.start_soon(afb(tb.ports[0], ["filter", "choice", "data_frames"])),
        cocotb.start_soon(afb(tb.ports[1], ["mac_hi", "base", "address_high"])),
        cocotb.start_soon(axil()),
    ]
    for task in tasks:
        await task


@pytest.mark.parametrize(
    "accesses", [150, pytest.param(20_000, marks=pytest.mark.full)], ids=lambda n: f"{n}"
)
def test_nic_registers(accesses):
    run_tests([f"+accesses={accesses}"])


def test_rings(request):
    names = [
        "check_queues",
        "a_failed_push_is_seen_in_register_27_of_its_port",
        "ports_that_ask_for_the_lock_in_one_cycle_do_not_both_get_it",
        "the_bus_lock_excludes_other_ports_and_ends",
        "random_accesses_of_all_ports",
    ]
    if request.config.getoption("--full"):
        names += ["check_queue_sequence", "debug_queue_and_debug_queue_sequence"]
    run_tests(["+accesses=150"], {"Rings": 1}, names)


def run_tests(plusargs, parameters=None, testcase=None):
    from runner import run

    bench = Path(__file__).parent.relative_to(ROOT) / "nic_registers_tb.sv"
    run(
        "nic_registers_tb",
        sources=[bench, "nic_registers", "nic_afb", "nic_axil", "axil_decode", "nic_queues",
                 "nic_rings", "nic_dram", "nic_queue_test", "counters"],
        test_module="test_nic_registers",
        parameters=parameters,
        plusargs=plusargs,
        testcase=testcase,
    )  # fmt: skip
