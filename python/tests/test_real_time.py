"""Real-time choices, and what the system grants of them."""

import os
from typing import Any

import numpy as np
import pytest
import samplewire as sw
from samplewire._real_time import Link, Waits


def test_nothing_is_chosen_unless_set(counter: sw.Device) -> None:
    with sw.receive(counter.address) as rx:
        granted = rx.granted
    assert (granted.cpu, granted.priority, granted.locked_bytes) == (None, None, None)
    assert (granted.pages, granted.waits, granted.refused) == (None, "asleep", ())
    assert str(granted) == granted.summary == "as any other thread"


def test_each_choice_is_granted_or_listed_with_a_reason(counter: sw.Device) -> None:
    cpu = min(os.sched_getaffinity(0))
    chosen = sw.RealTime(
        cpu=cpu,
        priority=1,
        lock_memory=True,
        huge_pages=True,
        timer_slack_s=3e-6,
        coalesce_s=50e-6,
    )
    with sw.receive(counter.address, real_time=chosen) as rx:
        granted = rx.granted
        assert len(rx.read(10_000, timeout=30).samples) == 10_000
    assert granted.cpu == cpu
    assert granted.timer_slack_s is not None
    assert granted.coalesce_s == pytest.approx(50e-6)
    had = [granted.priority == 1, (granted.locked_bytes or 0) > 0]
    had.append(granted.pages in ("huge", "transparent"))
    assert sum(had) + len(granted.refused) == 3
    for lack in granted.refused:
        assert lack.why
        assert lack.command
        assert str(lack) == f"no {lack.what}: {lack.why}"
    assert f"CPU {cpu}" in str(granted)


@pytest.mark.parametrize("waits", ["spinning", "both-spinning", "inline"])
def test_stream_is_whole_however_it_waits(waits: Waits) -> None:
    source = sw.emulate("counter", rate_hz=5e6, samples=200_000, faults="data:loss=0.01")
    with source as device, sw.receive(device.address, real_time=sw.RealTime(waits=waits)) as rx:
        assert rx.granted.waits == waits
        assert sum(len(block) for block in rx.blocks(timeout=30)) == 200_000
        assert rx.stats().samples_missing == 0


def test_transmitter_and_aligned_streams_take_them_too() -> None:
    chosen = sw.RealTime(coalesce_s=20e-6)
    with (
        sw.emulate(plays="null", paced=False, rate_hz=1e6) as device,
        sw.transmit(device.address, real_time=chosen, link_bps=10**9) as tx,
    ):
        assert tx.granted.coalesce_s == pytest.approx(20e-6)
        tx.send(np.zeros(10_000, np.complex64))
    assert [it.played for it in device.played()] == [10_000]
    with (
        sw.emulate("counter", rate_hz=1e6, streams=2) as device,
        sw.receive(device.address, streams=[0, 1], real_time=chosen) as rx,
    ):
        assert rx.granted.coalesce_s == pytest.approx(20e-6)
        assert len(rx.read(1_000, timeout=30)) == 1_000


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"priority": 100}, "priority 100: must be 1 to 99"),
        ({"cpu": 100_000}, "cpu 100000: must be 0 to"),
        ({"cpu": -1}, "cpu -1: must be 0 to 2\\^32 - 1"),
        ({"timer_slack_s": 2.0}, "timer slack 2s: must be 1ns to 1s"),
        ({"timer_slack_s": -1.0}, "timer_slack_s -1 s: must be 0 s or more"),
        ({"coalesce_s": 0.0}, "coalesce 0ns: must be 1ns to 10ms"),
        ({"waits": "awake"}, "waits: awake: not asleep, spinning, both-spinning or inline"),
        ({"waits": "inline", "cpu": 0}, "cpu 0 is of an I/O thread"),
        ({"waits": "spinning", "coalesce_s": 1e-3}, "choose one"),
    ],
)
def test_wrong_choices_are_named(counter: sw.Device, choices: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        sw.receive(counter.address, real_time=sw.RealTime(**choices))
    is_library_error = not words.startswith(("waits", "cpu -1", "timer_slack_s"))
    assert isinstance(caught.value, sw.RealTimeError) == is_library_error


def test_named_interface_is_used_and_must_exist() -> None:
    with (
        sw.listen(rate_hz=1e6, interface="lo") as listener,
        sw.receive(listener.address, interface="lo") as rx,
    ):
        stream = listener.accept()
        assert stream is not None
        with stream:
            stream.send(np.zeros(1_000, np.complex64))
            assert len(rx.read(1_000).samples) == 1_000
    words = "interface sw-none0: No such device"
    with pytest.raises(sw.LinkError, match=words):
        sw.receive("addr=127.0.0.1,interface=sw-none0")
    with pytest.raises(sw.LinkError, match=words):
        sw.listen(rate_hz=1e6, interface="sw-none0")
    with pytest.raises(sw.LinkError, match=words):
        sw.transmit("127.0.0.1", interface="sw-none0")


@pytest.mark.parametrize("link", ["auto", "xdp-generic"])
def test_stream_is_whole_whatever_the_kernel_grants_of_its_link(link: Link) -> None:
    source = sw.emulate("counter", rate_hz=5e6, samples=200_000, faults="data:loss=0.01")
    with source as device, sw.receive(f"addr={device.address},link={link}") as rx:
        assert sum(len(block) for block in rx.blocks(timeout=30)) == 200_000
        assert rx.granted.link
        assert rx.stats().samples_missing == 0
    with sw.listen(rate_hz=1e6, link=link) as listener, sw.receive(listener.address) as rx:
        assert listener.granted.link
        assert rx.granted.link is None
    with pytest.raises(ValueError, match='link "raw": it is none of auto, udp, xdp and xdp-gen'):
        sw.receive("127.0.0.1", link="raw")  # type: ignore[call-overload]
