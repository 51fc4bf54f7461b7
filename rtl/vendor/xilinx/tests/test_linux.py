"""The example for Linux against a memory that knows the registers' access."""

import dataclasses
import re
import signal
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import samplewire_regs as regs
import sender
from design import ROOT

SETUP = sender.Setup(
    mac=0x02A1B2C3D4E5,
    ip=0x0A000002,
    boot_id=0x1122334455667788,
    secret=0x00112233445566778899AABBCCDDEEFF,
    line_gbps=25,
    rate_hz=2_457_600_000,
    gate_samples=1 << 40,
)

TAI_S = 1_800_000_000
RATES = ("rate_minimum", "rate_start", "rate_first_cut", "rate_line")


class Board:
    """Registers of a build with 512 bits and 256 slots; refuses what csr.sv refuses."""

    def __init__(self, **constants: int) -> None:
        given = {"id": regs.ID_VALUE, "version": 1 << 16 | 5, "slots": 256}
        given |= {"geometry": 8192 << 16 | 512} | constants
        resets = {n: regs.REGISTERS[n].fields[0].reset_wide for n in RATES}
        self.words = {regs.REGISTERS[n].offset: v for n, v in (resets | given).items()}
        has_time = given["version"] & 0xFFFF >= 5
        self.access = {
            r.offset: r.access
            for n, r in regs.REGISTERS.items()
            if has_time or not n.startswith("tai_")
        }
        self.writes: list[tuple[int, int]] = []
        self.handlers: list[tuple[object, ...]] = []  # of signals, of the program

    def read(self, offset: int) -> int:
        if offset >= regs.COUNTERS_OFFSET:
            assert offset < regs.COUNTERS_OFFSET + 8 * len(regs.COUNTERS)
            return offset
        assert self.access[offset] in ("ro", "rw")
        return self.words.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        assert 0 <= value <= 0xFFFFFFFF
        if offset < regs.COUNTERS_OFFSET:
            assert self.access.get(offset, "ro") != "ro"
        else:
            assert 0 <= offset - regs.TEMPLATE_OFFSET < 8 * regs.TEMPLATE_WORDS
        self.words[offset] = value
        low, *rates, line = (self.word(name) for name in RATES)
        assert all(low <= rate <= line < 1 << 24 for rate in rates), (low, rates, line)
        self.writes.append((offset, value))

    def word(self, name: str) -> int:
        return self.words[regs.REGISTERS[name].offset]


def clock(ahead_s: int) -> Callable[[int], int]:
    """The system's clock, 12 ms after a full second, with TAI ahead of UTC."""
    now_ns = TAI_S * 10**9 + 12_345_678
    return lambda which: now_ns - (which == sender.time.CLOCK_REALTIME) * ahead_s * 10**9


def run_main(monkeypatch: pytest.MonkeyPatch, board: Board, *options: str) -> None:
    """The command line on this board."""
    given = ["/dev/uio0", "--ip", "10.0.0.2", "--mac", "02:00:00:00:00:01", "--line-gbps", "25"]
    monkeypatch.setattr(sys, "argv", ["sender.py", *given, *options])
    monkeypatch.setattr(sender, "Mapped", lambda *_, **__: board)
    monkeypatch.setattr(sender.signal, "signal", lambda *given: board.handlers.append(given))
    sender.main()


def accept(board: Board) -> bytes:
    """The template as bytes of the wire."""
    at = [regs.TEMPLATE_OFFSET + 8 * n for n in range(board.word("template_words"))]
    return b"".join(struct.pack(">II", board.words[a + 4], board.words[a]) for a in at)


def test_board_is_configured_and_enabled_last() -> None:
    board = Board()
    sender.Sender(board).bring_up(SETUP)
    assert (board.word("mac_lo"), board.word("mac_hi")) == (0xB2C3D4E5, 0x02A1)
    assert (board.word("ip"), board.word("port")) == (0x0A000002, 9100)
    assert (board.word("boot_lo"), board.word("boot_hi")) == (0x55667788, 0x11223344)
    secret = [board.word(f"secret_{n}") for n in range(4)]
    assert secret == [0xCCDDEEFF, 0x8899AABB, 0x44556677, 0x00112233]
    assert board.word("payload") == 8192
    assert board.word("silence") == 100 << 16 | 15000
    assert (board.word("source_count_lo"), board.word("source_count_hi")) == (0, 1 << 8)
    names = {r.offset: n for n, r in regs.REGISTERS.items()}
    assert [names[o] for o, _ in board.writes[-2:]] == ["command", "control"]
    assert board.writes[-2][1] == 1 << 2  # gate_open
    assert board.writes[-1][1] == 1 | sender.SOURCE_CONVERTER << 3
    assert [names.get(o) for o, _ in board.writes].count("control") == 1


@pytest.mark.parametrize(("line_gbps", "is_fast"), [(10, False), (25, True), (400, True)])
def test_congestion_control_has_the_preset_of_the_line(line_gbps: int, is_fast: bool) -> None:
    board = Board()
    sender.Sender(board).bring_up(dataclasses.replace(SETUP, line_gbps=line_gbps))
    rates = [board.word(name) for name in ("rate_start", "rate_first_cut", "rate_line")]
    assert rates == [line_gbps * 10**9 // 8 * 2**16 // 10**9] * 3
    preset = [board.word(name) for name in ("rise_bytes", "rate_additive", "rate_hyper")]
    assert preset == ([2_000_000, 82, 1638] if is_fast else [1_000_000, 41, 819])


@pytest.mark.parametrize("line_gbps", [0, 2048])
def test_line_that_no_register_holds_is_refused_before_any_write(line_gbps: int) -> None:
    board = Board()
    with pytest.raises(ValueError, match=f" {line_gbps} Gb/s"):
        sender.Sender(board).bring_up(dataclasses.replace(SETUP, line_gbps=line_gbps))
    assert board.writes == []


def test_template_is_the_body_of_accept() -> None:
    board = Board()
    sender.Sender(board).bring_up(SETUP)
    body = accept(board)
    at = {  # docs/protocol.md#2.15
        (8, "I"): 0, (14, "H"): 1, (16, "Q"): SETUP.boot_id, (24, "Q"): SETUP.rate_hz,
        (32, "I"): 1, (36, "H"): 2, (38, "H"): 1, (40, "I"): 2048, (44, "H"): 8192,
        (46, "B"): 22, (48, "I"): 256, (52, "I"): 3125, (56, "H"): 15000, (58, "H"): 100,
        (60, "H"): 32, (62, "H"): 64, (72, "H"): 2, (74, "H"): 16,
    }  # fmt: skip
    for (offset, size), value in at.items():
        assert struct.unpack_from(f">{size}", body, offset) == (value,)
    assert body[76:] == b"samplewire board\0\0\0\0"


def test_time_is_unknown_until_all_of_it_is_written() -> None:
    board = Board()
    side = sender.Sender(board)
    side.bring_up(SETUP)
    assert board.word("tai_number") == 0
    for number, index in ((1, 0x0123_4567_89AB_CDEF), (2, 5)):
        board.writes.clear()
        side.put_time(index, 1_800_000_000 * 10**9, 245_760_000)
        names = {r.offset: n for n, r in regs.REGISTERS.items()}
        written = [(names[o], v) for o, v in board.writes]
        assert written[0] == ("tai_number", 0) and written[-1] == ("tai_number", number)
        found = dict(written[1:-1])
        assert len(found) == 6
        assert found["tai_index_hi"] << 32 | found["tai_index_lo"] == index
        assert found["tai_time_hi"] << 32 | found["tai_time_lo"] == 1_800_000_000 * 10**9
        period = found["tai_period_hi"] << 32 | found["tai_period_lo"]
        assert abs(period * 245_760_000 - (10**9 << 48)) <= 245_760_000 // 2


def test_rate_is_refused_if_its_period_has_more_than_64_bits() -> None:
    board = Board()
    side = sender.Sender(board)
    for rate_hz in (0, 15_258):
        with pytest.raises(ValueError, match="too slow"):
            side.put_time(0, 0, rate_hz)
    assert board.writes == []
    side.put_time(0, 0, 15_259)
    assert board.word("tai_period_hi") == 65_535 << 16 | int(10**9 / 15_259 % 1 * 2**16)


def test_number_of_a_time_is_never_0() -> None:
    board = Board()
    board.words[regs.REGISTERS["tai_number"].offset] = 0xFFFF
    sender.Sender(board).put_time(0, 1, 10**9)
    assert board.word("tai_number") == 1


def test_second_is_that_nearest_to_the_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    board = Board()
    side = sender.Sender(board)
    sync_index = regs.COUNTERS_OFFSET + 8 * regs.COUNTERS.index("sync_index")
    armed = iter([1 << 5, 1 << 5, 0])
    read = board.read
    state = regs.REGISTERS["state"].offset
    monkeypatch.setattr(board, "read", lambda o: next(armed) if o == state else read(o))
    monkeypatch.setattr(sender.time, "clock_gettime_ns", clock(ahead_s=37))
    side.put_second(10**9)
    assert board.word("tai_time_hi") << 32 | board.word("tai_time_lo") == TAI_S * 10**9
    assert board.word("tai_index_lo") == sync_index
    armed = iter([1 << 5] * 100)
    with pytest.raises(TimeoutError):
        side.latch(timeout_s=0.02, poll_s=0.001)
    assert board.writes[-1] == (regs.REGISTERS["command"].offset, 1 << 6)


def test_time_is_unknown_after_a_missing_pulse_and_after_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    board = Board()
    pulses = iter([7, TimeoutError("no edge"), 9, KeyboardInterrupt()])
    numbers = []

    def latch(_: sender.Sender) -> int:
        numbers.append(board.words.get(regs.REGISTERS["tai_number"].offset, 0))
        pulse = next(pulses)
        if isinstance(pulse, BaseException):
            raise pulse
        return pulse

    monkeypatch.setattr(sender.Sender, "latch", latch)
    monkeypatch.setattr(sender.time, "clock_gettime_ns", clock(ahead_s=37))
    with pytest.raises(KeyboardInterrupt):
        run_main(monkeypatch, board, "--rate", "245760000", "--pps")
    assert numbers == [0, 1, 0, 2]
    assert board.handlers == [(signal.SIGTERM, signal.default_int_handler)]
    assert board.word("tai_index_lo") == 9 and board.word("tai_number") == 0
    assert capsys.readouterr().err == "warning: no edge: the time of samples is unknown\n"


def test_unset_tai_offset_of_the_kernel_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    board = Board()
    monkeypatch.setattr(sender.time, "clock_gettime_ns", clock(ahead_s=0))
    indices = iter([7])
    monkeypatch.setattr(sender.Sender, "latch", lambda _: next(indices))
    with pytest.raises(RuntimeError, match=r"TAI offset .*leapsectz right/UTC"):
        run_main(monkeypatch, board, "--rate", "245760000", "--pps")
    assert board.writes == []
    with pytest.raises(RuntimeError, match="TAI offset"):
        sender.Sender(board).put_second(245_760_000)
    assert board.writes == []


def test_board_without_registers_of_time_does_all_but_that(monkeypatch: pytest.MonkeyPatch) -> None:
    board = Board(version=1 << 16 | 4)
    monkeypatch.setattr(sender.time, "clock_gettime_ns", clock(ahead_s=37))
    with pytest.raises(ValueError, match=r"version 1\.5 .* has 1\.4"):
        run_main(monkeypatch, board, "--rate", "245760000", "--pps")
    assert board.writes == []
    run_main(monkeypatch, board, "--rate", "245760000")
    assert board.word("control") == 1 | sender.SOURCE_CONVERTER << 3


def test_counters_are_of_one_snapshot() -> None:
    board = Board()
    found = sender.Sender(board).counters()
    assert board.writes == [(regs.REGISTERS["command"].offset, 1)]
    assert list(found) == list(regs.COUNTERS)
    assert found["packets"] == (0x224 << 32 | 0x220)


def test_other_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="no sender"):
        sender.Sender(Board(id=0))


@pytest.mark.parametrize("payload", [64, 8010, 16384])
def test_payload_that_does_not_fit_is_refused_before_any_write(payload: int) -> None:
    board = Board()
    with pytest.raises(ValueError, match=str(payload)):
        sender.Sender(board).bring_up(dataclasses.replace(SETUP, payload_bytes=payload))
    assert board.writes == []


def test_mapped_file_holds_the_words(tmp_path: Path) -> None:
    path = tmp_path / "uio0"
    path.write_bytes(bytes(sender.SPAN_BYTES))
    memory = sender.Mapped(str(path))
    memory.write(0x84, 0x12345678)
    assert memory.read(0x84) == 0x12345678
    assert path.read_bytes()[0x84:0x88] == struct.pack("<I", 0x12345678)


def test_address_is_that_of_the_block_designs() -> None:
    script = (ROOT / "rtl/vendor/xilinx/bd/cells.tcl").read_text()
    (address,) = re.findall(r"sender/s_axil/reg0 (0x\w+)", script)
    assert address in (sender.__doc__ or "")
