"""`samplewire record --carriage rdma --verbs` in a guest, from a device in a network namespace."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from guest import MTU_BYTES, Guest, GuestError
from network import PATIENCE_S, Network, network
from rdma import expect
from receiver import LIBRARY, PROGRAM, copy

SAMPLES_SHORT, SAMPLES = 200_000, 2_000_000
RATE = "200k"
FILE, ERRORS = "/tmp/recorded", "/tmp/record.errors"
LIMIT_S = 120


def check(program: Path, is_short: bool, say: Callable[[str], None]) -> None:
    with network(program, "--rate", "1G", guests=("one",), with_host=True) as net:
        guest = net.guests[0]
        copy(net, program, PROGRAM)
        whole(net, program, SAMPLES_SHORT, say)


@contextmanager
def device(net: Network, program: Path, *options: str) -> Iterator[str]:
    """A counting device in the namespace; its address."""
    ip = net.addresses[0].ip
    words = (str(program.resolve()), "emulate", "--listen", f"{ip}:9100", "--source", "counter")
    command = net.command(*words, "--rate", RATE, *options)
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=-1, text=True)
    try:
        for line in running.stdout or ():
            if "waiting for a receiver" in line:
                break
        else:
            raise GuestError(f"emulate does not listen: {running.communicate()}")
        yield ip
    finally:
        running.kill()
        running.communicate()


def record(guest: Guest, ip: str, samples: int, *options: str):
    words = (PROGRAM, "record", ip, FILE, "--nsamps", str(samples), "--overwrite")
    command = " ".join((*words, "--carriage rdma --verbs rxe0", *options))
    return guest.attempt(command, LIMIT_S)


def whole(net: Network, program: Path, samples: int, say) -> None:
    guest = net.guests[0]
    with device(net, program, "--carriage", "rdma") as ip:
        answer = record(guest, ip, samples)
    print(answer.output, answer.status)
    print(guest.attempt(f"{PROGRAM} verify {FILE}.sigmf-meta --json").output)
