"""Best effort for long beside a competing load: what is lost, and at which hop.

    python3 bench/steady.py [--minutes M] [--runs N] [--load THREADS] [--rate SAMPLES]
                            [--window PACKETS] [--no-real-time] [--out FILE]

A device sends at 80 % of the most that goes through without a loss (or at --rate, in samples of 4
bytes a second) over a pair of veth devices in two network namespaces, which are made for it and
removed; that needs root, ip, tc and ethtool. Nothing is repaired. Beside it run busy loops. Both
programs run by SCHED_FIFO, the two I/O threads each on a core of its own and before the others,
where they rest between two looks; --no-real-time leaves all to the ordinary scheduler, where a
loop has as good a claim to a core.
What must hold: the hops' counts sum to the samples that are missing, in every run; and nothing is
lost in 3 of 5 runs. Exit: 0 when both hold, 1 when one does not, 2 when a program failed.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import kept
import machine
import netns
from netns import SENDER_IP, Wire
from programs import Started, build_with, wait_all
from turns import ProgramError

PORT = 9100
MTU_BYTES = 9_000
SAMPLE_BYTES = 4

SHARE = 0.8
"""Of the most that goes through, what the runs are at."""

CLEAN_SHARE_LEAST = 3 / 5
"""Of all runs, those in which nothing is lost."""

WINDOW_PACKETS = 32_768
"""Of either end, 1.1 s at 2 Gb/s: while a host does not run there is no credit and a converter
overflows, and a core that busy loops share may be gone for longer than 4,096 packets last."""

SEARCH_SECONDS = 5.0
SEARCH_STEP = 0.9
SEARCH_STEPS_MOST = 20

OVER_WITHIN_S = 30.0
LISTENS_WITHIN_S = 10.0

NEVER = "gap=18446744073709551615"
"""A threshold that is not crossed: a run with missing samples is reported as any other."""

PRIORITY = 10
"""Of the programs; their I/O threads have one more. Both by SCHED_FIFO."""

REST = "100us"
"""Between two looks of an I/O thread: woken for each packet it would take the programs' time."""

BUSY = (sys.executable, "-c", "while True: pass")


def main() -> int:
    arguments = parse_arguments()
    if not netns.is_ready():
        return 2
    try:
        program = build_with(["-p", "samplewire-cli"], kept.ROOT)["samplewire"]
        with netns.wire(mtu_bytes=MTU_BYTES, has_gro=True, loss=0.0) as wire:
            rate = arguments.rate or SHARE * most(wire, program, arguments)
            print(f"{rate / 1e6:.1f} MS/s, {rate * SAMPLE_BYTES * 8 / 1e9:.2f} Gb/s", flush=True)
            runs = []
            for number in range(arguments.runs):
                with busy(arguments.load):
                    runs.append(run(wire, program, rate, arguments, 60 * arguments.minutes))
                print_run(number, runs[-1])
    except (ProgramError, OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    clean = sum(run["samples_missing"] == 0 for run in runs)
    wrong = sum(not run["is_sum_right"] for run in runs)
    about = machine.describe(kept.ROOT)
    result = {
        "rate_hz": rate,
        "load_threads": arguments.load,
        "window": arguments.window,
        "is_real_time": arguments.real_time,
        "runs": runs,
    }
    path = kept.keep("steady", about, arguments.out, **result)
    print(f"nothing lost in {clean} of {len(runs)} runs; sums wrong in {wrong}; {path}")
    return 0 if wrong == 0 and clean >= CLEAN_SHARE_LEAST * len(runs) else 1


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="of each run (default 10)")
    parser.add_argument("--runs", type=int, default=5, help="default 5")
    parser.add_argument(
        "--load", type=int, default=machine.CORES, help="busy loops (default: one for each core)"
    )
    parser.add_argument("--rate", type=float, help="samples a second (default: a short search)")
    parser.add_argument(
        "--window",
        type=int,
        default=WINDOW_PACKETS,
        help=f"packets, of both ends (default {WINDOW_PACKETS})",
    )
    parser.add_argument(
        "--no-real-time",
        dest="real_time",
        action="store_false",
        help="ordinary threads, which wake for each packet",
    )
    parser.add_argument("--out", type=Path, help="default: a file of today in bench/results")
    arguments = parser.parse_args()
    if arguments.minutes <= 0 or arguments.runs < 1 or arguments.load < 0:
        parser.error("more than 0 minutes, at least 1 run and no less than 0 busy loops")
    return arguments


def most(wire: Wire, program: Path, arguments: argparse.Namespace) -> float:
    """The highest rate in samples a second that loses nothing for a short while, without a load:
    from what a source that waits reaches down, in steps of a tenth."""
    waiting = run(wire, program, None, arguments, SEARCH_SECONDS)
    rate = waiting["goodput_bps"] / 8 / SAMPLE_BYTES
    for _ in range(SEARCH_STEPS_MOST):
        if run(wire, program, rate, arguments, SEARCH_SECONDS)["samples_missing"] == 0:
            return rate
        rate *= SEARCH_STEP
    raise ProgramError(f"samples are lost at {rate:.0f} samples a second already; give a --rate")


@contextmanager
def busy(threads: int) -> Iterator[None]:
    """As many loops that do nothing, while the `with` lasts."""
    with ExitStack() as loops:
        for _ in range(threads):
            loops.enter_context(Started(BUSY))
        yield


def run(
    wire: Wire,
    program: Path,
    rate: float | None,
    arguments: argparse.Namespace,
    seconds: float,
) -> dict[str, object]:
    """One run at this rate, or at that of a source that waits: what came and what was lost."""
    pace = "max" if rate is None else f"{rate:.0f}"
    address = f"{SENDER_IP}:{PORT}"
    window = ["--window", str(arguments.window)]
    device = [str(program), "emulate", "--source", "null", "--rate", pace, "--listen", address]
    words = ["--delivery", "best-effort", "--duration", f"{1e3 * seconds:.0f}ms", "--json"]
    host = [str(program), "rate", address, *words, "--fail-on", NEVER]
    at_once = ["chrt", "--fifo", str(PRIORITY)] if arguments.real_time else []
    device, host = (
        [*at_once, *where, *words, *window, *(on_core(core) if arguments.real_time else [])]
        for core, (where, words) in enumerate(((wire.sender, device), (wire.receiver, host)))
    )
    with Started(device) as sender:
        sender.wait_listening(PORT, LISTENS_WITHIN_S)
        before, kernel_s = cpu_s(sender.pid), machine.softirq_threads_s()
        with Started(host) as receiver:
            ended = wait_all([receiver], seconds + OVER_WITHIN_S)[0]
        cpu = {
            "sender": cpu_s(sender.pid) - before,
            "receiver": ended.cpu_s,
            "kernel": machine.softirq_threads_s() - kernel_s,
        }
    received = json.loads(ended.text)["end"]["receive"]
    lost = received["lost_at"]
    return {
        "seconds": received["seconds"],
        "goodput_bps": received["goodput_bps"],
        "samples_delivered": received["samples_delivered"],
        "samples_missing": received["samples_missing"],
        "gaps": received["gaps"],
        "lost_at": lost,
        "is_sum_right": sum(lost.values()) == received["samples_missing"],
        "host_hints": received["host_hints"],
        "packets_dropped_by_socket": received["packets_dropped_by_socket"],
        "credit_stalls": received["credit_stalls"],
        "cpu_s": cpu,
    }


def on_core(core: int) -> list[str]:
    """The options that keep an I/O thread on this core, before what else its program does."""
    return ["--cpu", str(core), "--priority", str(PRIORITY + 1), "--coalesce", REST]


def cpu_s(pid: int) -> float:
    """User and system time of a running program, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def print_run(number: int, run: dict[str, object]) -> None:
    lost = ", ".join(f"{hop} {count:,}" for hop, count in run["lost_at"].items() if count)
    cpu = sum(run["cpu_s"].values()) / run["seconds"]
    print(
        f"{number + 1:>2}  {run['goodput_bps'] / 1e9:6.2f} Gb/s  {cpu:4.2f} cores"
        f"  missing {run['samples_missing']:,} of {run['samples_delivered']:,}"
        f"{': ' if lost else ''}{lost}{'' if run['is_sum_right'] else '  SUM IS WRONG'}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
