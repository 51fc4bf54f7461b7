"""One name for one thing: device strings, and formats by their other names."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import samplewire as sw


def test_device_string_gives_options_and_arguments_override_it(
    counter: sw.Device, tmp_path: Path
) -> None:
    address = f"addr={counter.address},window=64,timeout=2s,delivery=deadline:5ms"

    def memory_bytes(place: str, window: int | None = None) -> int:
        receiver = sw.receive(place) if window is None else sw.receive(place, window=window)
        with receiver:
            return receiver.memory_bytes

    assert memory_bytes(address) == memory_bytes(counter.address, window=64)
    assert memory_bytes(address, window=32) == memory_bytes(counter.address, window=32)
    assert memory_bytes(address, window=32) < memory_bytes(address) < memory_bytes(counter.address)
    with sw.receive(f"addr={counter.address},channels=0", streams=[0]) as aligned:
        assert len(aligned.infos) == 1
    with sw.receive(f"addr={counter.address},cpu=0,coalesce=50us") as rx:
        assert "CPU 0" in str(rx.granted)
    place = f"addr={counter.address},nsamps=2k,format=CF32,no-hash"
    recording = sw.record(place, tmp_path / "a")
    assert (recording.samples, recording.bytes, recording.sha512) == (2_000, 16_000, None)
    recording = sw.record(place, tmp_path / "b", samples=1_000, format="ci16_le")
    assert (recording.samples, recording.bytes) == (1_000, 4_000)
    assert sw.probe(f"addr={counter.address},timeout=1s").format == "sc16"
    with (
        sw.emulate(plays="null", paced=False, rate_hz=1e6) as player,
        sw.transmit(f"addr={player.address},window=64,underflow=stop,link-rate=1Gb/s") as tx,
    ):
        assert tx.send(np.zeros(10, np.complex64)) == tx.first_index + 10
    with pytest.raises(sw.OptionError, match=r"link rate 1000: must be 10\^4 to 10\^13 bit/s"):
        sw.transmit("addr=127.0.0.1:9,link-rate=1k")
    with pytest.raises(ValueError, match="control none has no rate: leave control_rate 2000000000"):
        sw.transmit("addr=127.0.0.1:9,control=none,control-rate=2G")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("adr=10.0.0.2", "receive has no option 'adr'; did you mean 'addr'?"),
        ("addr=h,widnow=3", "no option 'widnow'; did you mean 'window'?"),
        ("addr=h,colour=red", "no option 'colour'; it has addr, delivery, window"),
        ("window=3", "needs addr=HOST"),
        ("addr=h,window=many", "window: `many` is no number such as 250M"),
        ("addr=h,timeout=0", "timeout: `0` is no time above 0"),
        ("addr=h,window=1.5", "window: '1.5' is no whole number"),
        ("addr=h,spin=maybe", "spin: 'maybe' is neither true nor false"),
    ],
)
def test_wrong_device_string_is_named(text: str, words: str) -> None:
    with pytest.raises(ValueError) as raised:
        sw.receive(text)
    assert words in str(raised.value)


def test_record_has_a_duration_of_which_seconds_is_an_alias(counter: sw.Device) -> None:
    assert sw.record(counter.address, "null", duration=0.05).samples > 0
    assert sw.record(counter.address, "null", seconds=0.05).samples > 0
    with pytest.raises(ValueError, match="duration and seconds"):
        sw.record(counter.address, "null", duration=1.0, seconds=1.0)


@pytest.mark.parametrize(
    ("alias", "name"), [("CS16", "sc16"), ("cf32_le", "fc32"), ("cu8", "uc8"), ("ri16_le", "r16")]
)
def test_format_has_the_names_of_sigmf_and_soapy(alias: str, name: str) -> None:
    with sw.emulate("null", format=alias, rate_hz=1e6) as device:
        assert sw.probe(device.address).format == name
    assert sw.sample_dtype(alias) == sw.sample_dtype(name)
    samples: Any = np.zeros(4, np.float32 if name[0] == "r" else np.complex64)
    assert sw.wire_bytes(samples, alias, 1) == sw.wire_bytes(samples, name, 1)


@pytest.mark.parametrize("format", ["sc8", "uc8", "sc16", "fc32"])
def test_reading_is_complex_at_full_scale(format: str) -> None:
    sent = np.full((2_000, 2), 0.5 - 0.25j, np.complex64)
    with (
        sw.emulate(sent, format=format, channels=2, rate_hz=1e6) as device,
        sw.receive(device.address) as rx,
    ):
        reading = rx.read(1_000)
    assert (reading.format, reading.complex().shape) == (format, (1_000, 2))
    assert reading.complex().dtype == np.complex64
    assert np.abs(reading.complex() - sent[:1_000]).max() < 0.01
    with pytest.raises(TypeError, match=f"{format} samples are complex: use complex"):
        reading.real()


def test_reading_and_block_of_a_real_format_name_the_right_call() -> None:
    source = sw.emulate("null", format="r16", rate_hz=1e6)
    with source as device, sw.receive(device.address) as rx:
        reading, block = rx.read(10), next(iter(rx))
    assert reading.real().shape == (10, 1)
    assert reading.real().dtype == np.float32
    for samples in (reading, block):
        with pytest.raises(TypeError, match=r"r16 samples are real: use real\(\)"):
            samples.complex()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sw.emulate("tone"), "`tone` needs its frequency in hertz, e.g. tone:1e6"),
        (lambda: sw.emulate(faults="data:loss=2"), "faults: loss=2: a probability is 0 to 1"),
        (
            lambda: sw.wire_bytes(np.zeros((4, 3), np.complex64), "sc16", 1),
            "samples are shaped (4, 3): sc16 takes (n, 1)",
        ),
    ],
)
def test_error_says_each_thing_once(call: Callable[[], object], words: str) -> None:
    with pytest.raises(Exception) as raised:
        call()
    assert str(raised.value) == words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("x.wav", "x.wav: such files are not written"),
        ("x.r16", "x.r16: the name states r16, and the samples are sc16"),
    ],
)
def test_file_name_that_cannot_be_is_refused(
    counter: sw.Device, tmp_path: Path, name: str, words: str
) -> None:
    with pytest.raises(sw.SinkError) as raised:
        sw.record(counter.address, tmp_path / name, samples=10)
    assert words in str(raised.value)
    assert sw.record(counter.address, tmp_path / "x.cs8", samples=10).bytes == 20
