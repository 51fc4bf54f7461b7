"""Streams over RDMA between two network namespaces, which a veth pair joins."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import samplewire as sw
from samplewire._real_time import Carriage

FAR = "10.9.0.2"

INTERFACES = """
mount -t sysfs sysfs /sys && mount -t tmpfs tmpfs /run && ip netns add far &&
ip link add near0 mtu 4200 type veth peer name far0 mtu 4200 netns far &&
ip addr add 10.9.0.1/24 dev near0 && ip -n far addr add 10.9.0.2/24 dev far0 &&
ip link set near0 up && ip -n far link set far0 up && ip link set lo up || exit 77
exec "$0" "$@"
"""
"""Makes a namespace `far` behind `near0`, and runs a command beside it."""

SAMPLES = 100_000


def test_stream_goes_over_rdma_if_both_ends_choose_it() -> None:
    words = ["unshare", "--net", "--mount", "sh", "-c", INTERFACES, sys.executable, __file__]
    ran = subprocess.run([*words, "near"], capture_output=True, text=True, check=False, timeout=120)
    if ran.returncode == 77 or "unshare: " in ran.stderr:
        pytest.skip(f"no interface can be made here (needs root): {ran.stderr}")
    assert ran.returncode == 0, ran.stderr
    both = {"carriage": "rdma", "samples": SAMPLES, "missing": 0, "are_whole": True}
    one = {**both, "carriage": "data"}
    offered = {"carriage": "rdma", "path_mtu_bytes": [4_096, 4_096], "packets_a_write": 1}
    not_offered = {"carriage": "data", "path_mtu_bytes": [4_096, None], "packets_a_write": None}
    assert json.loads(ran.stdout) == {
        "emulate rdma": {"probe": offered, "rdma": both, "data": one, "record": [SAMPLES, 0]},
        "emulate data": {"probe": not_offered, "rdma": one, "data": one, "record": [SAMPLES, 0]},
        "listen rdma": {"rdma": both, "data": one},
    }


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (
            {"verbs": "none0"},
            sw.ContradictionError,
            "verbs of none0 contradicts a carriage of DATA: a card takes part in streams over RDMA",
        ),
        ({"carriage": "pigeon"}, ValueError, 'carriage "pigeon": it is neither data nor rdma'),
        # Where the library of the cards is missing, that is the error.
        (
            {"carriage": "rdma", "verbs": "none0"},
            sw.LinkError,
            "no RDMA device is called none0|the verbs library cannot be loaded",
        ),
    ],
)
def test_carriage_that_cannot_be_is_named(
    counter: sw.Device, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    chosen = ",".join(f"{key}={value}" for key, value in options.items())
    for call in (
        lambda: sw.receive(counter.address, **options),
        lambda: sw.receive(counter.address, streams=[0], **options),
        lambda: sw.receive(f"addr={counter.address},{chosen}"),
        lambda: sw.record(counter.address, "null", **options),
    ):
        with pytest.raises(error, match=words):
            call()


def test_device_without_an_ethernet_address_of_ipv4_has_no_rdma() -> None:
    for call in (
        lambda: sw.listen("[::1]:0", rate_hz=1e6, carriage="rdma"),
        lambda: sw.emulate("null", address="[::1]:0", carriage="rdma"),
    ):
        with pytest.raises(sw.LinkError, match="station for RDMA"):
            call()
    with pytest.raises(ValueError, match="carriage"):
        sw.emulate("null", carriage="pigeon")  # type: ignore[arg-type]


def near() -> dict[str, Any]:
    """Receives from devices in the far namespace; returns what came."""
    found: dict[str, Any] = {}
    for carriage in ("rdma", "data"):
        with device("emulate", carriage) as address:
            probe = sw.probe_rdma(address)
            found[f"emulate {carriage}"] = {
                "probe": {
                    "carriage": probe.info.carriage,
                    "path_mtu_bytes": [probe.path_mtu_bytes, probe.device_path_mtu_bytes],
                    "packets_a_write": probe.packets_a_write,
                },
                "rdma": received(f"addr={address},carriage=rdma"),
                "data": received(address),
            }
            recording = sw.record(address, "null", carriage="rdma")
            found[f"emulate {carriage}"]["record"] = [recording.samples, recording.gaps]
    with device("listen", "rdma") as address:
        found["listen rdma"] = {
            "rdma": received(f"addr={address},carriage=rdma"),
            "data": received(address),
        }
    return found


@contextmanager
def device(kind: str, carriage: str) -> Iterator[str]:
    """A device in the far namespace, by its address. /sys shows the interfaces of one namespace."""
    words = ["ip", "netns", "exec", "far", sys.executable, __file__, kind, carriage]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as far:
        assert far.stdin is not None and far.stdout is not None
        yield far.stdout.readline().strip()
        far.stdin.close()
        assert far.wait(60) == 0


def received(address: str) -> dict[str, Any]:
    with sw.receive(address) as rx:
        blocks = [block.samples.view(np.uint32).ravel().copy() for block in rx.blocks(timeout=60)]
        words = np.concatenate(blocks)
        return {
            "carriage": rx.info.carriage,
            "samples": len(words),
            "missing": rx.stats().samples_missing,
            "are_whole": bool((np.diff(words) == 1).all()),
        }


def emulate(carriage: Carriage) -> None:
    """Counts for receivers, on a wire that loses 1 % of what is sent, until there is no input."""
    faults = "data:loss=0.01,seed=1"
    with sw.emulate(
        "counter",
        address=f"{FAR}:0",
        rate_hz=1e6,
        paced=False,
        samples=SAMPLES,
        faults=faults,
        carriage=carriage,
    ) as source:
        print(source.address, flush=True)
        sys.stdin.read()


def listen(carriage: Carriage) -> None:
    """Sends a count of its own to two receivers."""
    samples = np.arange(SAMPLES, dtype=np.uint32)
    with sw.listen(f"{FAR}:0", rate_hz=1e6, carriage=carriage) as listener:
        print(listener.address, flush=True)
        for _ in range(2):
            stream = listener.accept(timeout=60)
            assert stream is not None
            with stream:
                stream.send(samples.view(np.int16).reshape(-1, 1, 2))
        sys.stdin.read()


if __name__ == "__main__":
    if sys.argv[1] == "near":
        print(json.dumps(near()))
    else:
        {"emulate": emulate, "listen": listen}[sys.argv[1]](sys.argv[2])  # type: ignore[arg-type]
