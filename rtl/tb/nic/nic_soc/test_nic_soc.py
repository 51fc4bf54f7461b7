"""nic_soc: programs on the core, at models of the NIC's registers, packet memory and the sender.

Each program is for all cores, and ends with a write to `exit`: 0, or the number of the check that
failed.
"""

import random
import re
from collections import deque

import cocotb
import pytest
from assembler import assemble
from axis import Bench
from cocotb.clock import Clock
from network import crc32c
from runner import run, tree
from soc_models import PacketMemory, Registers, Sender

# Of the memory map: what programs have in s0 to s3.
PROLOGUE = """
    li s0, 0x10000000     # the NIC's registers
    li s1, 0x20000000     # packet memory
    li s2, 0x30000000     # the sender's registers
    li s3, 0xf0000000     # the core's own
    lw s4, 0(s3)
    andi s4, s4, 255      # its number
"""
CORE, CYCLES, CYCLES_HIGH, SLEEP, WAKE, WAKE_ON, CONSOLE, EXIT = range(0, 32, 4)
LEDS, ERRORS, TIME, TIME_HIGH, CRC, CRC_ADD = range(32, 56, 4)
RECEIVE, TRANSMIT = 0x20, 0x40  # of server 0


class Program:
    """The text of a program; `check` compares a register, and each failure has a number."""

    def __init__(self):
        self.lines, self.checks = [PROLOGUE], 0

    def __call__(self, *lines: str):
        self.lines += lines

    def check(self, register: str, value: int):
        """Ends the program if a register has another value."""
        self.checks += 1
        self(f"li a0, {self.checks}", f"li a1, {value}", f"bne {register}, a1, fail")

    def done(self) -> list[int]:
        end = ["li a0, 0", "fail:", f"sw a0, {EXIT}(s3)", "stop:", "j stop"]
        return assemble("\n".join([*self.lines, *end]))


class TB:
    def __init__(self, dut):
        self.dut = dut
        self.cores = dut.Cores.value.to_unsigned()
        self.registers, self.memory, self.sender = Registers(dut), PacketMemory(dut), Sender(dut)
        self.bench = Bench(dut.clk_i, [self.registers, self.memory, self.sender, self])
        self.console = [b""] * self.cores
        self.input: list[list[int]] = [[] for _ in range(self.cores)]
        self.codes: dict[int, int] = {}
        self.console_odds = 1.0
        self.time, self.time_step = random.getrandbits(40), 10
        self.irq = 0
        self.slept = [0] * self.cores

    def drive(self):
        dut = self.dut
        self.console_ready = [random.random() < self.console_odds for _ in range(self.cores)]
        dut.console_ready_i.value = sum(ready << n for n, ready in enumerate(self.console_ready))
        dut.console_valid_i.value = sum(bool(bytes_) << n for n, bytes_ in enumerate(self.input))
        dut.console_i.value = sum((b[0] if b else 0) << 8 * n for n, b in enumerate(self.input))
        dut.irq_i.value = self.irq
        dut.time_ns_i.value = self.time
        self.time += self.time_step

    def after(self, now: int):
        dut = self.dut
        shown = dut.console_valid_o.value.to_unsigned()
        for n in range(self.cores):
            if shown >> n & 1 and self.console_ready[n]:
                self.console[n] += bytes([dut.console_o.value.to_unsigned() >> 8 * n & 0xFF])
            if dut.console_ready_o.value.to_unsigned() >> n & 1 and self.input[n]:
                self.input[n].pop(0)
            if dut.exit_valid_o.value.to_unsigned() >> n & 1:
                assert n not in self.codes, "a program ends twice"
                self.codes[n] = dut.exit_code_o.value.to_unsigned() >> 32 * n & 0xFFFFFFFF
            self.slept[n] += dut.asleep_o.value.to_unsigned() >> n & 1

    async def start(self, program: list[int]):
        dut = self.dut
        dut.rst_i.value, dut.run_i.value, dut.load_i.value = 1, 0, 0
        dut.m_axil_bresp.value = dut.m_axil_rresp.value = dut.m_axil_rdata.value = 0
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        await self.bench.run(3)
        dut.rst_i.value = 0
        await self.load(program)

    async def load(self, program: list[int]):
        """While the cores are in reset; then they run."""
        dut = self.dut
        for n, word in enumerate(program):
            dut.load_i.value, dut.load_word_i.value, dut.load_data_i.value = 1, n, word
            await self.bench.cycle()
        dut.load_i.value = 0
        await self.bench.cycle()
        dut.run_i.value = 1

    async def end(self, limit: int = 20_000):
        """Until all programs have ended without a fault, and what they wrote is there."""
        await self.bench.until(lambda: len(self.codes) == self.cores, limit)
        assert set(self.codes.values()) == {0}, f"checks that failed: {self.codes}"
        await self.bench.until(self.is_idle, 1000)
        self.codes.clear()

    def is_idle(self) -> bool:
        buses = (self.registers, self.memory)
        return self.sender.is_idle() and all(b.is_idle(n) for b in buses for n in range(self.cores))

    def pause(self):
        """All around is slow, at random."""
        self.registers.odds, self.memory.odds, self.sender.odds = 0.5, 0.4, 0.3
        self.registers.latency, self.memory.latency = random.randrange(1, 9), random.randrange(1, 9)
        self.console_odds = 0.3


def accesses(program: Program, bytes_: dict[int, int], base: str, at: int, count: int):
    """Random loads and stores of bytes, halves and words from `at` on, with their model."""
    program(f"li t2, {at}", f"add t2, t2, {base}")
    for n in range(0, 64, 4):
        value = random.getrandbits(32)
        bytes_ |= {at + n + i: value >> 8 * i & 0xFF for i in range(4)}
        program(f"li t0, {value}", f"sw t0, {n}(t2)")
    for _ in range(count):
        size = random.choice((1, 2, 4))
        offset = random.randrange(64 // size) * size
        if random.random() < 0.5:
            value = random.getrandbits(32)
            bytes_ |= {at + offset + i: value >> 8 * i & 0xFF for i in range(size)}
            program(f"li t0, {value}", f"s{' bh w'[size]} t0, {offset}(t2)")
            continue
        value = sum(bytes_[at + offset + i] << 8 * i for i in range(size))
        is_signed = size == 4 or random.random() < 0.5
        if is_signed and value >> 8 * size - 1:
            value -= 1 << 8 * size
        program(f"l{' bh w'[size]}{'' if is_signed else 'u'} t1, {offset}(t2)")
        program.check("t1", value)


@cocotb.test()
async def boots_and_has_its_own_registers(dut):
    """Core's number, time, cycles, console both ways, leds, program memory, the M extension."""
    tb = TB(dut)
    program = Program()
    program(f"lw t0, {CORE}(s3)", "srli t0, t0, 8")
    program.check("t0", tb.cores)
    accesses(program, {}, "zero", 0x1F000, 40)
    program("li t0, 123457", "li t1, 7919", "mul t2, t0, t1")
    program.check("t2", 123457 * 7919)
    # What it says: its number, then a byte that came and what waited behind it.
    program("addi t0, s4, 48", f"sw t0, {CONSOLE}(s3)", f"lw t0, {CONSOLE}(s3)")
    program.check("t0", 0x8000_0041 - (1 << 32))
    program("andi t0, t0, 127", f"sw t0, {CONSOLE}(s3)", f"lw t0, {CONSOLE}(s3)", "srli t0, t0, 31")
    program.check("t0", 0)
    program("li t0, 0x1a5", f"sw t0, {LEDS}(s3)", f"lw t1, {LEDS}(s3)")
    program.check("t1", 0xA5)
    for word in (SLEEP, WAKE, WAKE_ON, EXIT, CRC_ADD, 56, 60):  # what has no value reads 0
        program(f"lw t0, {word}(s3)")
        program.check("t0", 0)
    # 64 bits of cycles and of time, into packet memory.
    program("slli t2, s4, 6", "add t2, t2, s1")
    for n, register in enumerate((CYCLES, CYCLES_HIGH, TIME, TIME_HIGH, CYCLES, CYCLES_HIGH)):
        program(f"lw t0, {register}(s3)", f"sw t0, {4 * n}(t2)")
    # Nothing is at other addresses; the errors are counted.
    program(f"lw t0, {ERRORS}(s3)")
    program.check("t0", 0)
    program("li t0, 0x40000000", "lw t1, 0(t0)", "sw t1, 0(t0)")
    program.check("t1", 0)
    program(
        "li t0, 0x20020000", "lw t1, 0(t0)", "li t0, 0x10000400", "sw t1, 0(t0)", "lw t1, 0(s0)"
    )
    program(f"lw t0, {ERRORS}(s3)")
    program.check("t0", 4)
    program("li t0, 0x40000000", "li t2, 300", "more:", "lw t1, 0(t0)", "addi t2, t2, -1")
    program("bne t2, zero, more", f"lw t0, {ERRORS}(s3)")
    program.check("t0", 304 % 256)
    tb.input = [[0x41] for _ in range(tb.cores)]
    # The high halves are not 0.
    tb.time = 5 << 32 | 0xFFFF_0000
    tb.console_odds = 0.2
    await tb.start(program.done())
    begun, time = tb.bench.now, tb.time
    await tb.end()
    for n in range(tb.cores):
        assert tb.console[n] == bytes([48 + n, 0x41])
        first, then, last = (tb.memory.at(64 * n + 8 * i, 8) for i in range(3))
        assert 0 < first < last <= tb.bench.now
        assert time < then < tb.time
        assert last - first < tb.bench.now - begun
    assert dut.leds_o.value.to_unsigned() == sum(0xA5 << 8 * n for n in range(tb.cores))


@cocotb.test()
async def crc_of_words_halves_and_bytes_is_a_crc32c(dut):
    """At any place of a byte or half in its word; each core has its own."""
    tb = TB(dut)
    program = Program()
    program("li t0, 0xffffffff", f"sw t0, {CRC}(s3)", f"lw t1, {CRC}(s3)")
    program.check("t1", -1)
    text = b""
    stores = [("sw", 4), ("sh", 2), ("sb", 1)]
    for store, size in stores + random.choices(stores, k=60):
        # Of a half or a byte the other bits of the register that is stored do not count.
        value = random.getrandbits(32)
        offset = CRC_ADD + size * random.randrange(4 // size)
        program(f"li t0, {value}", f"{store} t0, {offset}(s3)")
        text += value.to_bytes(4, "little")[:size]
    program(f"lw t1, {CRC}(s3)")
    program.check("t1", crc32c(text) ^ 0xFFFFFFFF)
    # A core that differs goes its own way.
    program(f"sw s4, {CRC}(s3)", f"sb zero, {CRC_ADD}(s3)", f"lw t1, {CRC}(s3)")
    program("slli t2, s4, 6", "add t2, t2, s1", "sw t1, 0(t2)")
    await tb.start(program.done())
    await tb.end()
    for n in range(tb.cores):
        expected = n
        for _ in range(8):
            expected = expected >> 1 ^ (0x82F63B78 if expected & 1 else 0)
        assert tb.memory.at(64 * n, 4) == expected


@cocotb.test()
async def registers_of_the_nic_are_accessed_once_and_in_order(dut):
    tb = TB(dut)
    program = Program()
    expected: list[tuple[bool, int]] = []
    values: dict[int, int] = {}
    program("slli t3, s4, 7", "add t3, t3, s0")
    for _ in range(80):
        offset = 4 * random.randrange(8)
        if offset in values and random.random() < 0.5:
            program(f"lw t1, {offset}(t3)")
            program.check("t1", values[offset])
            expected.append((True, offset))
        else:
            values[offset] = random.getrandbits(32)
            program(f"li t0, {values[offset]}", f"sw t0, {offset}(t3)")
            expected.append((False, offset))
    for slow in (False, True):
        if slow:
            tb.pause()
        tb.registers.log.clear()
        if not slow:
            await tb.start(program.done())
        else:
            dut.run_i.value = 0
            await tb.bench.run(50)
            dut.run_i.value = 1
        await tb.end()
        for n in range(tb.cores):
            log = [(read, at - 128 * n) for core, read, at, _ in tb.registers.log if core == n]
            assert log == expected


@cocotb.test()
async def packet_memory_has_bytes_halves_and_words(dut):
    tb = TB(dut)
    program, bytes_ = Program(), {}
    program("slli t3, s4, 10", "add s1, s1, t3")
    accesses(program, bytes_, "s1", 0x100, 100)
    tb.pause()
    await tb.start(program.done())
    await tb.end()
    for n in range(tb.cores):
        assert all(tb.memory.at(at + 1024 * n) == value for at, value in bytes_.items())


@cocotb.test()
async def what_is_written_is_there_before_the_buffer_is_pushed(dut):
    """Stores are posted; memory is slow, and the registers are fast."""
    tb = TB(dut)
    program = Program()
    program("slli t3, s4, 10", "add s1, s1, t3", "slli t3, s4, 3", "add t3, t3, s0")
    for n in range(20):
        program(f"li t0, {n + 1}", "sw t0, 0(s1)", "sh t0, 6(s1)", f"sw t0, {TRANSMIT}(t3)")
        if n % 3 == 0:
            program("sw t0, 0(s2)")
    program("sw s4, 8(s1)", "lw t0, 8(s1)", "bne t0, s4, fail")
    seen = [0] * tb.cores

    def push(core: int, offset: int):
        assert offset == TRANSMIT + 8 * core
        seen[core] += 1
        assert tb.memory.is_idle(core)
        assert tb.memory.at(1024 * core, 4) == tb.memory.at(1024 * core + 6, 2) == seen[core]

    tb.registers.queues = {TRANSMIT + 8 * n: deque() for n in range(tb.cores)}
    tb.registers.on_push = push
    tb.registers.latency, tb.memory.latency, tb.memory.odds = 1, 15, 0.7
    await tb.start(program.done())
    await tb.end()
    assert seen == [20] * tb.cores


@cocotb.test()
async def the_sender_has_registers_for_core_0(dut):
    tb = TB(dut)
    program, values = Program(), {}
    program("bne s4, zero, others")
    for _ in range(40):
        offset = 4 * random.randrange(6)
        if offset in values and random.random() < 0.5:
            program(f"lw t1, {offset}(s2)")
            program.check("t1", values[offset])
        else:
            values[offset] = random.getrandbits(32)
            program(f"li t0, {values[offset]}", f"sw t0, {offset}(s2)")
    program("li t0, 0x5a", "sb t0, 1(s2)", "sw t0, 24(s2)", "lw t1, 24(s2)", f"lw t0, {ERRORS}(s3)")
    program.check("t0", 2)
    program("j end", "others:", "sw t0, 0(s2)", "lw t1, 0(s2)")
    program.check("t1", 0)
    program(f"lw t0, {ERRORS}(s3)")
    program.check("t0", 2)
    program("end:")
    tb.sender.bad = {24}
    tb.pause()
    await tb.start(program.done())
    await tb.end()
    values[0] = values.get(0, 0) & 0xFFFF_00FF | 0x5A00
    assert tb.sender.words == values


@cocotb.test()
async def sleeps_until_an_interrupt_or_a_time(dut):
    tb = TB(dut)
    program = Program()
    program("li s5, 1")
    # Until its server's interrupt; what follows happens behind it.
    program(f"sw s5, {SLEEP}(s3)", f"lw t0, {CYCLES}(s3)", "sw t0, 0(s0)")
    # At once, the interrupt is there; a 0 does nothing.
    program(f"sw s5, {SLEEP}(s3)", f"sw zero, {SLEEP}(s3)", "lw t0, 4(s0)")
    # Then until a time.
    program(f"lw t0, {TIME}(s3)", "li t1, 4000", "add t0, t0, t1", f"sw t0, {WAKE}(s3)",
            f"sw s5, {WAKE_ON}(s3)", f"sw s5, {SLEEP}(s3)", f"lw t1, {TIME}(s3)")  # fmt: skip
    program("sub t1, t1, t0", "sw t1, 8(s0)")
    # A new time counts from its write on, though the one before has come. The second time the
    # loop is in the cache, and nothing is between the writes.
    program("li s6, 2", "twice:", f"lw t0, {TIME}(s3)", "addi t0, t0, 1000")
    program(f"sw t0, {WAKE}(s3)", f"sw s5, {SLEEP}(s3)", f"lw t1, {TIME}(s3)", "sub t1, t1, t0")
    program("sltu t1, t1, t0")  # not before it
    program.check("t1", 1)
    program("addi s6, s6, -1", "bne s6, zero, twice", f"sw zero, {WAKE_ON}(s3)")
    await tb.start(program.done())
    await tb.bench.run(500)
    assert dut.asleep_o.value.to_unsigned() == (1 << tb.cores) - 1
    assert not tb.registers.log and not tb.codes
    # Each core has its own.
    first: list[int] = []
    for n in range(tb.cores):
        await tb.bench.run(100)
        assert [core for core, _, offset, _ in tb.registers.log if offset == 0] == list(range(n))
        tb.irq |= 1 << n
        await tb.bench.until(lambda n=n: (n, 4) in [(r[0], r[2]) for r in tb.registers.log], 200)
        assert tb.slept[n] >= 450
        first.append(tb.slept[n])
        tb.irq &= ~(1 << n)
    await tb.end()
    # 10 ns a cycle: 400 cycles, and twice 100, less those of the instructions around them.
    second = [slept - before for slept, before in zip(tb.slept, first, strict=True)]
    assert all(430 < slept <= 600 for slept in second), second
    late = [data for _, _, offset, data in tb.registers.log if offset == 8]
    assert len(late) == tb.cores and all(0 <= ns <= 100 for ns in late), late


@cocotb.test()
async def a_restart_clears_leds_and_timer(dut):
    """A program begins without the wake of the one before, and with all LEDs off."""
    tb = TB(dut)
    program = Program()
    program("li t0, 0xff", f"sw t0, {LEDS}(s3)", f"lw t1, {TIME}(s3)", f"sw t1, {WAKE}(s3)")
    program(f"sw t0, {WAKE_ON}(s3)")
    await tb.start(program.done())
    await tb.end()
    assert dut.leds_o.value.to_unsigned() == (1 << 8 * tb.cores) - 1
    dut.run_i.value = 0
    await tb.bench.run(20)
    assert dut.leds_o.value.to_unsigned() == 0
    program = Program()
    program("li s5, 1", f"sw s5, {SLEEP}(s3)", f"lw t0, {CYCLES}(s3)")
    await tb.load(program.done())
    await tb.bench.run(500)
    assert dut.asleep_o.value.to_unsigned() == (1 << tb.cores) - 1
    tb.irq = (1 << tb.cores) - 1
    await tb.end()


@cocotb.test()
async def takes_interrupts(dut):
    """The NIC's is external interrupt 0, `wake` the timer's."""
    tb = TB(dut)
    program = Program()
    program("li t0, handler", "csrrw zero, 0x305, t0")  # mtvec
    program("li t0, -1", "csrrw zero, 0xbc0, t0")  # all external ones; there is 0 alone
    # mie: external, timer, and software, of which there is none.
    program("li t0, 0x888", "csrrw zero, 0x304, t0", "li s6, 0")
    program("csrrs t0, 0x300, zero", "ori t0, t0, 8", "csrrw zero, 0x300, t0")  # mstatus
    program("wait_1:", "beq s6, zero, wait_1")
    program.check("s6", (11 | 1 << 31) - (1 << 32))
    program("li s6, 0", f"lw t0, {TIME}(s3)", "addi t0, t0, 500", f"sw t0, {WAKE}(s3)", "li t0, 1",
            f"sw t0, {WAKE_ON}(s3)", "wait_2:", "beq s6, zero, wait_2")  # fmt: skip
    program.check("s6", (7 | 1 << 31) - (1 << 32))
    program("j end", "handler:", "csrrs s6, 0x342, zero")  # mcause
    program("slli t1, s4, 2", "add t1, t1, s0", "sw s6, 0(t1)")
    # Its cause ends: the model takes the interrupt back.
    program(f"sw zero, {WAKE_ON}(s3)", "clears:", "csrrs t1, 0x344, zero", "li t2, 0x880",
            "and t1, t1, t2", "bne t1, zero, clears", "mret", "end:")  # fmt: skip
    await tb.start(program.done())
    await tb.bench.run(300)
    assert not tb.registers.log
    tb.irq = (1 << tb.cores) - 1
    await tb.bench.until(lambda: len(tb.registers.log) == tb.cores, 1000)
    tb.irq = 0
    await tb.end()


@cocotb.test()
async def a_reset_in_an_access_leaves_nothing_behind(dut):
    """Of the cores alone: no request is withdrawn, no old answer is taken. Then of all."""
    tb = TB(dut)
    program = Program()
    program("slli t3, s4, 10", "add s1, s1, t3", "li s5, 6", "li t4, 0")
    program("bne s4, zero, again", "add t4, s2, zero", "again:")
    for n in range(6):
        value = random.getrandbits(32)
        program(f"li t0, {value}", f"sw t0, {8 * n}(s1)", f"lw t1, {8 * n}(s1)")
        program.check("t1", value)
        program("slli t3, s4, 6", "add t3, t3, s0", f"sw t0, {4 * n}(t3)", f"lw t1, {4 * n}(t3)")
        program.check("t1", value)
        program(f"beq t4, zero, skip_{n}", f"sw t0, {4 * n}(s2)", f"lw t1, {4 * n}(s2)")
        program.check("t1", value)
        program(f"skip_{n}:")
    program("addi s5, s5, -1", "bne s5, zero, again")
    words = program.done()
    await tb.start(words)
    await tb.end()
    for n in range(40):
        tb.pause()
        await tb.bench.run(random.randrange(1, 200))
        tb.codes.clear()
        if n % 4 == 3:
            dut.rst_i.value = 1
            for part in (tb.registers, tb.memory, tb.sender):
                part.reset()
            await tb.bench.run(1)
            for part in (tb.registers, tb.memory, tb.sender):
                part.reset()
            await tb.bench.run(random.randrange(1, 4))
            dut.rst_i.value = 0
        else:
            dut.run_i.value = 0
            # Some come back before the answer to what they asked.
            await tb.bench.run(random.choice((1, 2, 3, 5, 100)))
            dut.run_i.value = 1
    await tb.end(100_000)


@cocotb.test()
async def a_forward_takes_at_most_21_cycles(dut):
    """Pop from the receive queue, push to the transmit queue, as often as there is something."""
    tb = TB(dut)
    program, frames = Program(), 50
    program("slli t3, s4, 3", "add s0, s0, t3", f"li s5, {frames}", "loop:")
    program(
        f"lw t0, {RECEIVE}(s0)", "andi t1, t0, 1", "bne t1, zero, loop", f"sw t0, {TRANSMIT}(s0)"
    )
    program("addi s5, s5, -1", "bne s5, zero, loop")
    tb.registers.queues = {TRANSMIT + 8 * n: deque() for n in range(tb.cores)}
    for n in range(tb.cores):
        tb.registers.queues[RECEIVE + 8 * n] = deque(2048 * (i % 32) for i in range(frames))
    times: list[int] = []
    tb.registers.on_push = lambda core, offset: times.append(tb.bench.now) if core == 0 else None
    await tb.start(program.done())
    await tb.end()
    for n in range(tb.cores):
        assert list(tb.registers.queues[TRANSMIT + 8 * n]) == [
            2048 * (i % 32) for i in range(frames)
        ]
    cycles = (times[-1] - times[0]) / (frames - 1)
    dut._log.info("a forward takes %.2f cycles", cycles)
    assert cycles <= 21


@cocotb.test()
async def a_checksum_takes_two_cycles_an_instruction(dut):
    """Sum of words in program memory, as an IP stack does it; the loop is in the cache."""
    tb = TB(dut)
    program, words = Program(), 100
    program(
        f"lw s5, {CYCLES}(s3)", "li t0, 0x1000", f"li t1, {0x1000 + 4 * words}", "li t2, 0", "sum:"
    )
    # With carries: 6 instructions a word.
    program("lw t3, 0(t0)", "addi t0, t0, 4", "add t2, t2, t3", "sltu t4, t2, t3", "add t2, t2, t4")
    program("bne t0, t1, sum", f"lw s6, {CYCLES}(s3)", "sub s6, s6, s5", "sw s6, 0(s0)")
    await tb.start(program.done())
    await tb.end()
    cycles = [data / (6 * words) for *_, data in tb.registers.log]
    dut._log.info("an instruction takes %.2f cycles", cycles[0])
    assert len(cycles) == tb.cores and max(cycles) <= 2


@cocotb.test()
async def a_line_of_the_cache_is_fetched_a_word_a_cycle(dut):
    """Instructions that have not run before: 8 a line."""
    tb = TB(dut)
    program, lines = Program(), 20
    program(f"lw s5, {CYCLES}(s3)", *["addi t0, t0, 1"] * (8 * lines), f"lw s6, {CYCLES}(s3)")
    program("sub s6, s6, s5", "sw s6, 0(s0)")
    await tb.start(program.done())
    await tb.end()
    cycles = [data / lines for *_, data in tb.registers.log]
    dut._log.info("a line takes %.1f cycles", cycles[0])
    assert len(cycles) == tb.cores and max(cycles) <= 22


def ports(text: str) -> dict[str, tuple[str, str]]:
    """Of each port of the module VexRiscv: direction and range."""
    head = re.search(r"module VexRiscv \((.*?)\);", text, re.S)[1]
    pattern = r"(input|output)\s+(?:wire|reg)?\s*(?:logic)?\s*(\[\s*\d+:0\])?\s*(\w+)"
    return {name: (way, bits.replace(" ", "")) for way, bits, name in re.findall(pattern, head)}


CPU = tree.cpu()
needs_cpu = pytest.mark.skipif(not CPU, reason="pythondata-cpu-vexriscv is not installed")


@needs_cpu
def test_package_reads_no_error_of_a_bus():
    """Each is an input and no more: what nic_soc_core gives it changes nothing."""
    assert re.findall(r".*BusWishbone_ERR.*", CPU[0].read_text()) == [
        "  input               iBusWishbone_ERR,", "  input               dBusWishbone_ERR,",
    ]  # fmt: skip


@needs_cpu
def test_ports_are_those_of_the_package():
    given, checked = ports(CPU[0].read_text()), ports((tree.ROOT / tree.CPU_PORTS).read_text())
    assert len(given) == 28 and given == checked


@needs_cpu
@pytest.mark.parametrize(
    "cores", [pytest.param(1, marks=pytest.mark.full), 2, pytest.param(4, marks=pytest.mark.full)]
)
def test_nic_soc(cores):
    run(
        "nic_soc",
        sources=["crc_step64", "nic_soc_memory", "nic_soc_bus", "nic_soc_core", "nic_soc",
                 "rtl/tb/nic/nic_soc/vexriscv.vlt", *CPU],
        parameters={"Cores": cores},
        test_module="test_nic_soc",
    )  # fmt: skip
