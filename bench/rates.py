"""Sample rates that hold, the most that goes one way, and how early a burst must leave.

    python3 bench/rates.py [most] [leads] [held] [--seconds S] [--cases LIST] [--ways LIST]
                           [--links LIST] [--rounds N] [--napi-threads] [--out FILE]

`most`: a stream as fast as it goes, by UDP and by AF_XDP, beside a bare AF_XDP program, in turn.
`leads`: the share of bursts that are in time, by how long before their time they leave, in answer
to samples of a device of 10 MS/s. Its I/O thread spins, and the program that answers has none. In
each round once as ordinary threads, and once by SCHED_FIFO, on CPUs 0 and 1.
`held`: streams of sc16 at the rates that UHD's documents state; each must hold in three runs of S
seconds (default 60) without a missing, late or absent sample. Where one does not, the highest
sixteenth of it that does is searched for in the same way.

All is between two network namespaces, which are made for it and removed; that needs root, ip, tc,
ethtool and chrt. With `--napi-threads` the kernel receives in threads of its own, instead of on the
CPU of the sender. Exit: 0 when every rate holds, AF_XDP reaches 0.9 of the bare program, and 99.9 %
of the bursts with a lead of 80 us are in time by SCHED_FIFO, 1 when not, 2 when a program failed.
"""

import argparse
import itertools
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import kept
import machine
import netns
from netns import DEVICE, SENDER_IP, Wire
from programs import Started, build_with, wait_all
from steady import cpu_s
from turns import ProgramError

PORT = 9100
LISTENS_WITHIN_S = 10.0
OVER_WITHIN_S = 30.0
WINDOW_PACKETS = 8_192
STEPS = 16
RUNS = 3
"""A rate holds if none of so many runs has a defect."""
MOST_OF_BARE = 0.9
"""At least, of what a bare AF_XDP program receives in the same round."""
BARE_BYTES = 1_472
"""UDP payload of a full packet at MTU 1,500."""

NO_LIMIT = "gap=1000000000000,late=1000000000000,underflow=1000000000000"


@dataclass(frozen=True, kw_only=True)
class Case:
    """Streams of one rate, and what UHD's documents state for a device of that kind."""

    streams: int
    rate_hz: float
    uhd_sockets: str = "-"
    uhd_dpdk: str = "-"


CASES = {
    "1x250": Case(streams=1, rate_hz=250e6, uhd_sockets="N320: 1 x 250"),
    "2x125": Case(streams=2, rate_hz=125e6, uhd_sockets="N320: 2 x 125"),
    "3x125": Case(streams=3, rate_hz=125e6, uhd_sockets="N310: 3 of 4 x 125"),
    "4x125": Case(streams=4, rate_hz=125e6),
    "2x250": Case(streams=2, rate_hz=250e6, uhd_dpdk="N320: 2 x 250"),
}
WAYS = {
    "receive": ("receive", True, False),
    "send": ("transmit", False, True),
    "both": ("both", True, True),
}
LINKS = ("udp", "xdp")
PARTS = ["most", "leads", "held"]
LEADS_US = (40, 60, 80, 100, 200)
BURSTS = 2_000
IN_TIME_AT_LEAST = 0.999
"""Of the bursts with a lead of 80 us, by SCHED_FIFO."""

SCHEDULINGS = {
    "ordinary": ([], [], []),
    "fifo": (
        ["chrt", "--fifo", "20"],
        ["--priority", "21"],
        ["taskset", "--cpu-list", "1", "chrt", "--fifo", "10"],
    ),
}
"""How both programs are scheduled: what the device begins with, its last options, and what the host
begins with. The threads of the device that sleep go before the program that spins."""


def main() -> int:
    arguments = parse_arguments()
    if not netns.is_ready():
        return 2
    try:
        program = build_with(["-p", "samplewire-cli"], kept.ROOT)["samplewire"]
        bare = program.with_name("bare")
        source = kept.ROOT / "bench" / "peers" / "xdp" / "bare.c"
        subprocess.run(["cc", "-O2", "-o", bare, source], check=True)
        result, is_met = {}, True
        if "most" in arguments.parts:
            result["most"], holds = measure_most(program, bare, arguments)
            is_met &= holds
        if "leads" in arguments.parts:
            result["leads"], holds = measure_leads(program, arguments)
            is_met &= holds
        if "held" in arguments.parts:
            result["held"], holds = measure_held(program, arguments)
            is_met &= holds
    except (ProgramError, OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    about = machine.describe(kept.ROOT)
    print(f"\n{about['cpu']}, {about['cores']} cores, Linux {about['kernel']}")
    print(kept.keep("rates", about, arguments.out, **result))
    return 0 if is_met else 1


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each run (default 60)")
    parser.add_argument("--rounds", type=int, default=7, help="of `most` and `leads` (default 7)")
    parser.add_argument("--napi-threads", action="store_true", help="threads of the kernel receive")
    for name, known in (("cases", CASES), ("ways", WAYS), ("links", LINKS)):
        words = ",".join(known)
        parser.add_argument(f"--{name}", default=words, help=f"default {words}")
    parser.add_argument("--out", type=Path, help="default: a file of today in bench/results")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    arguments.parts = arguments.parts or PARTS
    for name, known in (("cases", CASES), ("ways", WAYS), ("links", LINKS)):
        chosen = getattr(arguments, name).split(",")
        unknown = [word for word in chosen if word not in known]
        if unknown:
            parser.error(f"--{name} {unknown[0]}: one of {', '.join(known)}")
        setattr(arguments, name, chosen)
    if arguments.seconds <= 0 or arguments.rounds < 5:
        parser.error("more than 0 seconds, and at least 5 rounds")
    return arguments


def measure_most(
    program: Path, bare: Path, arguments: argparse.Namespace
) -> tuple[dict[str, object], bool]:
    """Each round: the bare program, and a stream by each link; bits a second that came."""
    runs, has_threads = [], arguments.napi_threads
    with netns.wire(mtu_bytes=1_500, has_gro=True, loss=0.0, has_napi_threads=has_threads) as wire:
        for turn in range(arguments.rounds + 1):
            run = {"bare": one_way(wire, bare)}
            for link in arguments.links:
                run[link] = as_fast_as_it_goes(wire, program, link)
            rates = ", ".join(f"{name} {bps / 1e9:.2f} Gb/s" for name, bps in run.items())
            print(f"{turn:>2} {rates}", flush=True)
            if turn > 0:
                runs.append(run)
    ratios = {
        f"{name}/bare": spread(run[name] / run["bare"] for run in runs) for name in arguments.links
    }
    for name, (middle, least, most) in ratios.items():
        print(f"{name}: {middle:.2f} ({least:.2f}..{most:.2f}), n = {len(runs)}")
    is_met = "xdp" not in arguments.links or ratios["xdp/bare"][0] >= MOST_OF_BARE
    return {"napi_threads": has_threads, "runs": runs, "ratios": ratios}, is_met


def spread(values: object) -> tuple[float, float, float]:
    """Median, least and most."""
    values = list(values)
    return median(values), min(values), max(values)


def one_way(wire: Wire, bare: Path) -> float:
    """Bits of UDP payload a second that a bare AF_XDP program receives."""
    words = [str(bare), DEVICE, wire.receiver[-1], DEVICE, "blast", str(BARE_BYTES), "2", "0", "1"]
    done = subprocess.run([*wire.sender, *words], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise ProgramError(f"bare: {done.stderr.strip()}")
    return json.loads(done.stdout)["payload_bps"]


def as_fast_as_it_goes(wire: Wire, program: Path, link: str) -> float:
    """Bits of samples a second of a complete stream."""
    device = ["--source", "null", "--rate", "max"]
    run = stream(wire, program, (device, ["--way", "receive"]), link, 2.0)
    if run["receive"]["samples_missing"]:
        raise ProgramError(f"{link}: {run['receive']['samples_missing']} samples are missing")
    return run["receive"]["goodput_bps"]


def measure_leads(
    program: Path, arguments: argparse.Namespace
) -> tuple[list[dict[str, object]], bool]:
    """By link and lead the share of bursts that were in time, in each round."""
    rows = []
    with netns.wire(mtu_bytes=1_500, has_gro=True, loss=0.0) as wire:
        for link in arguments.links:
            runs = {name: [] for name in SCHEDULINGS}
            for _ in range(arguments.rounds):
                for name in SCHEDULINGS:
                    runs[name].append(in_time(wire, program, link, name))
            for name, lead_us in itertools.product(SCHEDULINGS, LEADS_US):
                shares = [run[lead_us] for run in runs[name]]
                middle, least, most = spread(shares)
                words = f"{100 * middle:.2f} % ({100 * least:.2f}..{100 * most:.2f}) in time"
                what = f"{link}, {name}, lead of {lead_us} us"
                print(f"{what}: {words}, n = {len(shares)}", flush=True)
                row = {"link": link, "scheduling": name, "lead_us": lead_us, "shares": shares}
                rows.append(row)
    bounded = [row for row in rows if (row["scheduling"], row["lead_us"]) == ("fifo", 80)]
    return rows, all(median(row["shares"]) >= IN_TIME_AT_LEAST for row in bounded)


def in_time(wire: Wire, program: Path, link: str, scheduling: str) -> dict[int, float]:
    """One run of `latency`: the share of bursts that were in time by their lead."""
    both = ["--link", link, "--spin"]
    address = f"{SENDER_IP}:{PORT}"
    before_device, options, before_host = SCHEDULINGS[scheduling]
    device = [*before_device, str(program), "emulate", "--listen", address, *both, "--cpu", "0"]
    device += ["--source", "null", "--play", "null", "--rate", "10M", *options]
    leads = ",".join(f"{lead_us}us" for lead_us in LEADS_US)
    host = [*before_host, str(program), "latency", address, *both, "--leads", leads]
    host += ["--bursts", str(BURSTS), "--rounds", "0", "--json"]
    with Started([*wire.sender, *device]) as sender:
        sender.wait_listening(PORT, LISTENS_WITHIN_S)
        with Started([*wire.receiver, *host]) as receiver:
            ended = wait_all([receiver], OVER_WITHIN_S)[0]
    found = json.loads(ended.text)["leads"]
    return {round(it["lead_s"] * 1e6): 1 - it["bursts_late"] / it["bursts"] for it in found}


def measure_held(program: Path, arguments: argparse.Namespace) -> tuple[list[dict], bool]:
    """Whether each rate holds, else the highest that does."""
    rows = []
    has_threads = arguments.napi_threads
    with netns.wire(mtu_bytes=9_000, has_gro=True, loss=0.0, has_napi_threads=has_threads) as wire:
        for name in arguments.cases:
            case = CASES[name]
            for link in arguments.links:
                for way in arguments.ways:
                    row = highest(wire, program, (case, way, link), arguments.seconds)
                    rows.append({"case": name, "link": link, "way": way, **row})
                    print_row(name, case, rows[-1])
    return rows, all(row["holds"] for row in rows)


def highest(
    wire: Wire, program: Path, what: tuple[Case, str, str], seconds: float
) -> dict[str, object]:
    """The whole rate if it holds, else the highest of its sixteenths that does, by bisection."""
    case, way, _ = what
    if case.streams > 1 and way != "receive":
        return {"holds": False, "rate_hz": None, "why": "a device plays one stream"}
    held, failed, tried = 0, STEPS + 1, {}
    step = STEPS
    while held + 1 < failed:
        rate_hz = case.rate_hz * step / STEPS
        runs = tried[step] = []
        while len(runs) < RUNS and not any(run["defects"] for run in runs):
            runs.append(at_rate(wire, program, what, rate_hz, seconds))
        if runs[-1]["defects"]:
            failed = step
        else:
            held = step
        step = (held + failed) // 2
    found = tried[held or failed]
    return {
        "holds": held == STEPS,
        "rate_hz": case.rate_hz * held / STEPS,
        "cores": median(run["cores"] for run in found),
        "runs": {str(step): runs for step, runs in tried.items()},
    }


def at_rate(
    wire: Wire, program: Path, what: tuple[Case, str, str], rate_hz: float, seconds: float
) -> dict[str, object]:
    """One run: samples that were missing, late or absent, and the cores that were busy."""
    case, way, link = what
    name, receives, sends = WAYS[way]
    device = ["--rate", f"{rate_hz:.0f}"]
    host = ["--way", name]
    if receives:
        device += ["--source", "null", "--streams", str(case.streams)]
        host += ["--channels", ",".join(map(str, range(case.streams)))]
    if sends:
        device += ["--play", "null"]
    run = stream(wire, program, (device, host), link, seconds)
    received, sent = run["receive"], run["transmit"]
    defects = received["samples_missing"] if received else 0
    if sent:
        defects += sent["packets_late"] + (sent["samples_underflow"] or 0)
    return {"defects": defects, "cores": run["cores"]}


def stream(
    wire: Wire, program: Path, options: tuple[list[str], list[str]], link: str, seconds: float
) -> dict[str, object]:
    """Runs a device and `rate`; the end of its JSON, and the cores that both were busy with."""
    both = ["--window", str(WINDOW_PACKETS), "--link", link]
    device = [str(program), "emulate", "--listen", f"{SENDER_IP}:{PORT}", *both, *options[0]]
    host = [str(program), "rate", f"{SENDER_IP}:{PORT}", "--duration", f"{seconds}s", *both]
    host += ["--json", "--fail-on", NO_LIMIT, *options[1]]
    with Started([*wire.sender, *device]) as sender:
        sender.wait_listening(PORT, LISTENS_WITHIN_S)
        before, kernel_s = cpu_s(sender.pid), machine.softirq_threads_s()
        with Started([*wire.receiver, *host]) as receiver:
            ended = wait_all([receiver], seconds + OVER_WITHIN_S)[0]
        used_s = cpu_s(sender.pid) - before + ended.cpu_s + machine.softirq_threads_s() - kernel_s
    end = json.loads(ended.text)["end"]
    by_udp = [it["words"] for it in end["links"] if not it["bypassed"]]
    if by_udp:
        raise ProgramError(f"{link}: {by_udp[0]}")
    return {**end, "cores": used_s / seconds}


def print_row(name: str, case: Case, row: dict[str, object]) -> None:
    rate_hz = row["rate_hz"]
    if rate_hz is None:
        found = f"not run: {row['why']}"
    else:
        found = f"{case.streams} x {rate_hz / 1e6:.1f} MS/s, {row['cores']:.2f} cores"
        found += "" if row["holds"] else "  (the whole rate does not hold)"
    uhd = f"UHD: {case.uhd_sockets} by sockets, {case.uhd_dpdk} by DPDK"
    print(f"{name:<6} {row['link']:<4} {row['way']:<8} {found}; {uhd}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
