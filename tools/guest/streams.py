"""`samplewire record` and `rate` with `--verbs` in a guest: its Soft-RoCE writes into their memory.

The device is in a network namespace.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from guest import MTU_BYTES, Guest, GuestError
from network import PATIENCE_S, Network
from rdma import expect

HERE = Path(__file__).resolve().parent
PROGRAM = "/tmp/samplewire"
"""Of the guest."""

FILE, LOG, JSON, PID = "/tmp/recorded", "/tmp/record.log", "/tmp/record.json", "/tmp/record.pid"
RATE_HZ, SAMPLES = 300_000, 200_000
CARRIAGE = "--carriage rdma --verbs rxe0"
LIMIT_S = 60
RECEIVED = "cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts"
OUT_S = 1.5
BREAKS_MAX = 5


def check(net: Network, program: Path, is_short: bool, say: Callable[[str], None]) -> None:
    """The guest has the program already."""
    guest = net.guests[0]
    with device(net, program, "--carriage", "rdma") as ip:
        failures(guest, ip)
        say("record: a missing card is named")
        # A small window goes round often, and stalls where a notice of the card is missed.
        cases = ["--window 16"] if is_short else ["--window 16", "", "--spin", "--window 16 --spin"]
        for options in cases:
            whole(guest, ip, options)
            say(f"record {options}: {SAMPLES:,} samples are proven")
        if not is_short:
            unplugged(net, ip)
            say(f"a cable that is out for {OUT_S} s is survived")
            rate(guest, ip)
            say("rate: no sample is missing")
            guest.run("/sbin/ip link set eth0 mtu 1500")
            whole(guest, ip, "")
            guest.run(f"/sbin/ip link set eth0 mtu {MTU_BYTES}")
            say("record at an MTU of 1,500 bytes: proven")
    # So fast that some packets are on their way to the queue pair when it fails.
    with device(net, program, "--carriage", "rdma", rate_hz=4 * RATE_HZ) as ip:
        broken(net, ip)
        say("a forged WRITE fails the queue pair: the next stream reports the gap")
    if not is_short:
        with device(net, program) as ip:
            as_data(guest, ip)
            say("record from a device without the option: DATA, with a warning")


@contextmanager
def device(net: Network, program: Path, *options: str, rate_hz: int = RATE_HZ) -> Iterator[str]:
    """A counting device in the namespace; its address."""
    ip = net.addresses[0].ip
    words = (str(program.resolve()), "emulate", "--listen", f"{ip}:9100", "--source", "counter")
    command = net.command(*words, "--rate", str(rate_hz), *options)
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        said = []
        for line in running.stdout or ():
            said.append(line)
            if "waiting for a receiver" in line:
                break
        else:
            raise GuestError(f"emulate does not listen: {''.join(said)}")
        yield ip
    finally:
        running.kill()
        running.communicate()


def failures(guest: Guest, ip: str) -> None:
    record = f"{PROGRAM} record {ip} {FILE} --nsamps 1"
    cases = [
        (f"{record} --carriage rdma --verbs rxe9", "there is rxe0"),
        (f"{record} --verbs rxe0", "needs --carriage rdma"),
        (f"{PROGRAM} rate {ip} --verbs rxe0", "needs --carriage rdma"),
    ]
    for command, words in cases:
        answer = guest.attempt(command)
        if answer.status != 1 or words not in answer.output:
            raise GuestError(f"{command}: status {answer.status}: {answer.output.strip()}")


def whole(guest: Guest, ip: str, options: str) -> None:
    """All samples are there, and the card has received their packets."""
    before = int(guest.run(RECEIVED))
    said = guest.run(f"{record_command(ip)} {CARRIAGE} {options}", LIMIT_S)
    if "over RDMA" not in said:
        raise GuestError(f"record {options}: {said}")
    report = verified(guest)
    expect((report["samples"], report["samples_missing"]), (SAMPLES, 0), f"record {options}")
    packets = int(guest.run(RECEIVED)) - before
    if packets < SAMPLES * 4 // MTU_BYTES:
        raise GuestError(f"record {options}: the card has received {packets} packets")


def record_command(ip: str, samples: int = SAMPLES) -> str:
    return f"{PROGRAM} record {ip} {FILE} --overwrite --nsamps {samples}"


def verified(guest: Guest) -> dict:
    """The report of a recording whose indexes are all accounted for."""
    answer = guest.attempt(f"{PROGRAM} verify {FILE}.sigmf-meta --json", LIMIT_S)
    report = json.loads(answer.output)
    expect((report["faults"], report["sha512"]), ([], "matches"), answer.output)
    return report


def rate(guest: Guest, ip: str) -> None:
    answer = guest.run(f"{PROGRAM} rate {ip} {CARRIAGE} --duration 1s --json", LIMIT_S)
    received = json.loads(answer)["end"]["receive"]
    expect(received["samples_missing"], 0, answer)
    if received["samples_delivered"] < RATE_HZ // 2:
        raise GuestError(f"rate: {answer}")


def as_data(guest: Guest, ip: str) -> None:
    said = guest.run(f"{record_command(ip)} {CARRIAGE} 2>&1", LIMIT_S)
    if "over RDMA" in said or "--carriage rdma: the device sends" not in said:
        raise GuestError(f"record of DATA: {said}")
    expect(verified(guest)["samples_missing"], 0, "record of DATA")


def broken(net: Network, ip: str) -> None:
    """A WRITE with a wrong key, which the device has not sent, fails the queue pair of the card."""
    forge = (sys.executable, str(HERE / "forge.py"), net.tap)
    for _ in range(BREAKS_MAX):
        end, report = disturbed(net, ip, 12 * SAMPLES, lambda: net.inside(*forge))
        if end["openings"] == 1:
            # Each forged WRITE came behind the real one, as a duplicate.
            continue
        expect(end["openings"], 2, f"a broken queue pair: {end}, {report}")
        # Else no packet was on its way at that moment, and nothing is lost.
        if report["samples_missing"]:
            return
    raise GuestError(f"in {BREAKS_MAX} runs no queue pair broke and lost a packet")


def unplugged(net: Network, ip: str) -> None:
    """No shorter than the device's queue pair waits for its first acknowledgements."""

    def pull() -> None:
        net.guests[0].plug(False)
        time.sleep(OUT_S)
        net.guests[0].plug(True)

    end, report = disturbed(net, ip, 3 * SAMPLES, pull)
    expect((end["openings"], report["samples_missing"]), (1, 0), f"unplugged: {end}")


def disturbed(
    net: Network, ip: str, samples: int, disturb: Callable[[], object]
) -> tuple[dict, dict]:
    """Records while something happens; the end of `record`, and the report of `verify`."""
    guest = net.guests[0]
    command = f"{record_command(ip, samples)} {CARRIAGE} --reconnect --json-stream"
    guest.run(f"{command} >{JSON} 2>{LOG} & echo $! >{PID}")
    wait_for(guest, f"grep -q '\"start\"' {JSON}", "record does not begin")
    disturb()
    wait_for(guest, f"! [ -e /proc/$(cat {PID}) ]", "record does not end")
    report = verified(guest)
    expect(report["samples"] + report["samples_missing"], samples, "indexes")
    return json.loads(guest.run(f"tail -n 1 {JSON}"))["data"], report


def wait_for(guest: Guest, condition: str, what: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while guest.attempt(condition).status:
        if time.monotonic() > until:
            raise GuestError(f"{what}: {guest.run(f'cat {JSON} {LOG}')}")
        time.sleep(0.1)
