"""Measures ways to move UDP packets that our link does not use, in turn with the one that it does.

    python3 bench/trials.py [--rounds N] [--seconds S] [--patience S] [--out FILE]

A way is worth building only where it moves 1.10 times as much, or takes at most 0.90 of the CPU
time (`peers/trials/trials.c` says what each does). Two network namespaces are made and removed;
that needs root. Over veth the kernel copies what is sent without a copy, so nothing follows for
network cards. What the kernel's own threads do for packets counts as that of others. Exit: 0 when
all ran, 2 when a program failed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import netns
import turns
from kept import ROOT
from turns import Case, Figure, Group, Outcome, ProgramError, Run

SOURCE = ROOT / "bench" / "peers" / "trials" / "trials.c"

BETTER_RATE, BETTER_CPU, EQUAL_RATE = 1.10, 0.90, 0.97
"""A way is kept where its median reaches the first, or the second at an equal rate."""

PAIRS = {
    "as our link": ("segment", "gro"),
    "io_uring receives": ("segment", "uring"),
    "TPACKET_V3 receives": ("segment", "ring"),
    "io_uring sends": ("zerocopy", "gro"),
}
"""By name: the ways to send and to receive."""

PAYLOADS = {1_500: 1_436, 9_000: 8_924}
"""UDP payload of a packet of the stream, by MTU."""


def group(mtu_bytes: int) -> Group:
    cases = tuple(
        Case(name=name, what=" to ".join(pair), program="trials", arguments=pair)
        for name, pair in PAIRS.items()
    )
    base = cases[0].name
    figures = [Figure(name=base, case=base)]
    for case in cases[1:]:
        for of, words in (("rate_bps", "rate"), ("cpu_s_per_gb", "CPU")):
            name = f"{case.name}: {words} / our link's"
            figures.append(Figure(name=name, case=case.name, base=base, of=of))
    return Group(
        name=f"mtu-{mtu_bytes}",
        why=f"packets of {PAYLOADS[mtu_bytes]} bytes over veth, as many as can be",
        payload_bytes=PAYLOADS[mtu_bytes],
        cases=cases,
        figures=tuple(figures),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    turns.add_options(parser, rounds=7)
    arguments = parser.parse_args()
    turns.check_options(parser, arguments)
    if not netns.is_ready():
        return 2
    groups = [group(mtu_bytes) for mtu_bytes in PAYLOADS]
    runs: list[Run] = []
    patience_end = time.monotonic() + arguments.patience
    try:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "trials"
            subprocess.run(["cc", "-O2", "-o", program, SOURCE], check=True)
            for mtu_bytes, one in zip(PAYLOADS, groups, strict=True):
                with netns.wire(mtu_bytes=mtu_bytes, has_gro=True, loss=0.0) as wire:

                    def measure(
                        given: Group, case: Case, program: Path = program, wire: netns.Wire = wire
                    ) -> Outcome:
                        return run(program, given, case, wire, arguments.seconds)

                    runs += turns.run_group(one, arguments.rounds, patience_end, measure)
    except (ProgramError, OSError, subprocess.SubprocessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    turns.report("trials", groups, runs, arguments.out, seconds_each=arguments.seconds)
    for one in groups:
        print_kept(one, runs)
    return 0


def run(program: Path, given: Group, case: Case, wire: netns.Wire, seconds: float) -> Outcome:
    """One run of a case; its programs share all cores."""
    far = wire.sender[-1]
    words = [netns.RECEIVER_IP, far, netns.DEVICE, *case.arguments, str(given.payload_bytes)]
    done = subprocess.run(
        [*wire.receiver, program, *words, str(seconds)],
        capture_output=True,
        text=True,
        timeout=seconds + 20,
    )
    if done.returncode != 0:
        raise ProgramError(f"{case.name}: {done.stderr.strip()}")
    said = json.loads(done.stdout)
    if said["bytes"] == 0:
        raise ProgramError(f"{case.name}: nothing arrived")
    return Outcome(
        rate_bps=8 * said["bytes"] / said["seconds"],
        taken_bytes=said["bytes"],
        cpu_s=said["receiver_cpu_s"] + said["sender_cpu_s"],
        beyond_window_bytes=0,
        said=said,
    )


def print_kept(one: Group, runs: list[Run]) -> None:
    """Which ways are worth building."""
    for case in one.cases[1:]:
        of_case = [figure for figure in one.figures if figure.case == case.name]
        values = {figure.of: turns.values(figure, one, runs) for figure in of_case}
        rate, cpu = (median(values[of][0]) for of in ("rate_bps", "cpu_s_per_gb"))
        is_better = rate >= BETTER_RATE or (cpu <= BETTER_CPU and rate >= EQUAL_RATE)
        verdict = "worth building" if is_better else "lost"
        if not all(is_quiet for _, is_quiet in values.values()):
            verdict += ", on a machine that was disturbed"
        print(f"{one.name}, {case.name}: {verdict}")


if __name__ == "__main__":
    sys.exit(main())
