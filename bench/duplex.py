"""A stream each way at once between two ends, against two bare UDP flows, in turn.

    python3 bench/duplex.py [--rounds N] [--seconds S] [--patience S] [--out FILE]

All over a pair of veth devices in two network namespaces, which are made for it and removed; that
needs root, ip, tc and ethtool. One device port sends and plays. The stream runs twice: with I/O
threads that sleep, by the command, and inline, where one thread an end does all (the example
`duplex`), for which .8 must hold. The bare flows are sendmmsg with UDP_SEGMENT against recvmmsg
with UDP_GRO. Exit: 0 when what must hold does, 1 when it does not, 2 when a program failed.
"""

import argparse
import json
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import kept
import machine
import netns
import turns
from netns import RECEIVER_IP, SENDER_IP, Wire
from programs import Started, build, build_with, wait_all
from steady import LISTENS_WITHIN_S, MTU_BYTES, OVER_WITHIN_S, PORT, cpu_s
from turns import Case, Figure, Group, Outcome, ProgramError

GROUP = Group(
    name="duplex",
    why="samples both ways at once, summed, jumbo frames",
    payload_bytes=8_000,
    cases=(
        Case(name="stream", what="rate --way both, complete", program="samplewire"),
        Case(name="inline", what="the same, one thread an end, which spins", program="duplex"),
        Case(name="raw", what="raw UDP each way", program="raw_udp", arguments=("--gso", "--gro")),
    ),
    figures=(
        Figure(name="stream", case="stream"),
        Figure(name="inline", case="inline"),
        Figure(name="raw", case="raw"),
        Figure(name="stream / raw", case="stream", base="raw"),
        Figure(name="inline / raw", case="inline", base="raw", least=0.8),
        Figure(name="stream", case="stream", of="cpu_s_per_gb"),
        Figure(name="raw", case="raw", of="cpu_s_per_gb"),
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    turns.add_options(parser, rounds=5)
    arguments = parser.parse_args()
    turns.check_options(parser, arguments)
    if not netns.is_ready():
        return 2
    try:
        executables = build([("samplewire-io", "raw_udp"), ("samplewire", "duplex")])
        executables |= build_with(["-p", "samplewire-cli"], kept.ROOT)
        with netns.wire(mtu_bytes=MTU_BYTES, has_gro=True, loss=0.0) as wire:

            def measure(group: Group, case: Case) -> Outcome:
                program, seconds = executables[case.program], arguments.seconds
                if case.name == "raw":
                    return raw(wire, program, group.payload_bytes, case.arguments, seconds)
                if case.name == "inline":
                    return inline(wire, program, group.payload_bytes, seconds)
                return stream(wire, program, group.payload_bytes, seconds)

            patience_end = time.monotonic() + arguments.patience
            runs = turns.run_group(GROUP, arguments.rounds, patience_end, measure)
    except (ProgramError, OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    _, missed = turns.report("duplex", [GROUP], runs, arguments.out, seconds_each=arguments.seconds)
    return 1 if missed else 0


def stream(wire: Wire, program: Path, payload_bytes: int, seconds: float) -> Outcome:
    """A device that sends and plays, and a host that does both with it; neither keeps a clock."""
    address = f"{SENDER_IP}:{PORT}"
    words = ["--source", "null", "--play", "null", "--rate", "max"]
    device = [str(program), "emulate", *words, "--payload", str(payload_bytes)]
    host = [str(program), "rate", address, "--way", "both", "--duration", f"{1e3 * seconds:.0f}ms"]
    with Started([*wire.sender, *device, "--listen", address]) as far:
        far.wait_listening(PORT, LISTENS_WITHIN_S)
        before, kernel_s = cpu_s(far.pid), machine.softirq_threads_s()
        with Started([*wire.receiver, *host, "--json"]) as near:
            ended = wait_all([near], seconds + OVER_WITHIN_S)[0]
        used_s = cpu_s(far.pid) - before + machine.softirq_threads_s() - kernel_s
    end = json.loads(ended.text)["end"]
    ways = [end["receive"], end["transmit"]]
    return Outcome(
        rate_bps=sum(way["goodput_bps"] for way in ways),
        taken_bytes=sum(way["bytes"] for way in ways),
        cpu_s=ended.cpu_s + used_s,
        beyond_window_bytes=0,
        said={"receive": ways[0], "transmit": ways[1]},
    )


def inline(wire: Wire, program: Path, payload_bytes: int, seconds: float) -> Outcome:
    """The same by the calls of one thread an end."""
    address = f"{SENDER_IP}:{PORT}"
    words = ["--payload", str(payload_bytes)]
    host = [str(program), "--host", address, "--seconds", str(seconds), *words]
    with Started([*wire.sender, str(program), "--device", address, *words]) as far:
        far.wait_listening(PORT, LISTENS_WITHIN_S)
        before_s, kernel_s = cpu_s(far.pid), machine.softirq_threads_s()
        with Started([*wire.receiver, *host]) as near:
            ended, far_ended = wait_all([near, far], seconds + OVER_WITHIN_S)
    used_s = far_ended.cpu_s - before_s + machine.softirq_threads_s() - kernel_s
    said = json.loads(ended.text)
    return Outcome(
        rate_bps=8 * (said["taken_bytes"] / said["taken_s"] + said["sent_bytes"] / said["sent_s"]),
        taken_bytes=said["taken_bytes"] + said["sent_bytes"],
        cpu_s=ended.cpu_s + used_s,
        beyond_window_bytes=0,
        said=said,
    )


def raw(
    wire: Wire, program: Path, payload_bytes: int, offload: tuple[str, ...], seconds: float
) -> Outcome:
    """Two flows of nothing but the kernel's calls; what a receiver did not take does not count."""
    gso, gro = offload
    words = ["--payload", str(payload_bytes), "--json"]
    ends = [(wire.sender, SENDER_IP), (wire.receiver, RECEIVER_IP)]
    kernel_s = machine.softirq_threads_s()
    with ExitStack() as started:
        receivers = []
        for inside, ip in ends:
            receive = [*inside, str(program), "--receive-at", f"{ip}:{PORT}", *words, gro]
            receivers.append(started.enter_context(Started(receive)))
        for receiver in receivers:
            receiver.wait_listening(PORT, LISTENS_WITHIN_S)
        senders = []
        for (inside, _), (_, peer_ip) in zip(ends, reversed(ends), strict=True):
            send = ["--send-to", f"{peer_ip}:{PORT}", "--seconds", str(seconds), gso]
            senders.append(started.enter_context(Started([*inside, str(program), *send, *words])))
        ended = wait_all([*receivers, *senders], seconds + OVER_WITHIN_S)
    kernel_s = machine.softirq_threads_s() - kernel_s
    received = [json.loads(end.text) for end in ended[:2]]
    return Outcome(
        rate_bps=1e9 * sum(flow["received_gbps"] for flow in received),
        taken_bytes=sum(flow["received_gbps"] * flow["seconds"] * 1.25e8 for flow in received),
        cpu_s=sum(end.cpu_s for end in ended) + kernel_s,
        beyond_window_bytes=0,
        said={"flows": received},
    )


if __name__ == "__main__":
    sys.exit(main())
