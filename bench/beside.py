"""What a stream and other traffic of its interface cost each other, by AF_XDP and by UDP, in turn.

    python3 bench/beside.py [tcp] [flood] [idle] [--rounds N] [--seconds S] [--patience S]
                            [--out FILE]

`tcp`: iperf3 sends over the interface by which a stream of 10 MS/s comes, as fast as it goes or
1 Gb/s ("paced"), or beside a stream that is open and sends almost nothing ("open"); its rate is
measured. `flood`: a device plays a stream of 1 MS/s while 60,000 packets a second with tags of no
stream come to its port; its CPU time is measured. `idle`: a stream of 100 samples a second, and the
CPU time of both ends. Each by UDP and by AF_XDP, between two network namespaces, which are made for
it and removed; that needs root, ip, tc and ethtool, and `tcp` needs iperf3. Exit: 0 when every
bound holds, 1 when one is missed, 2 when a program failed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import kept
import machine
import netns
import turns
from netns import DEVICE, IPS, MACS, RECEIVER_IP, SENDER_IP, Wire
from pairs import read_iperf3
from programs import Started, build_with, wait_all
from steady import cpu_s
from turns import Case, Group, Outcome, ProgramError, Run

sys.path.insert(0, str(kept.ROOT / "tools" / "attacks"))
sys.path.insert(0, str(kept.ROOT / "vectors"))

import frames
import generate
import inject

PORT, TCP_PORT = 9470, 9471
LISTENS_WITHIN_S = 10.0
OVER_WITHIN_S = 30.0
RATE_HZ = 10e6
SAMPLE_BYTES = 4
IDLE_RATE_HZ = 100
PACED = "1G"
SETTLED_AFTER_S = 1.0
"""An idle stream is measured once it is open and steered."""
FLOODED_RATE_HZ = 1e6
"""Little beside what the flood costs."""
FLOOD_PER_S = 60_000
FLOOD_FRAMES = 256
FLOOD_PAYLOAD_BYTES = 200
STRANGER_PORT = 40_000

LINKS = ("udp", "xdp")
NO_LIMIT = "gap=1000000000000,late=1000000000000,underflow=1000000000000"


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """A ratio that is taken in each round, from what the programs of its cases printed."""

    name: str
    of: Callable[[dict[str, dict[str, float]]], float]
    least: float | None = None
    most: float | None = None

    def holds(self, value: float) -> bool:
        return (self.least is None or value >= self.least) and (
            self.most is None or value <= self.most
        )


def over(key: str, case: str, base: str) -> Callable[[dict[str, dict[str, float]]], float]:
    return lambda said: said[case][key] / said[base][key]


CASES = {
    "tcp": ("alone", *(f"{link}{how}" for how in ("", " open", " paced") for link in LINKS)),
    "flood": (*LINKS, *(f"{link} flooded" for link in LINKS)),
    "idle": LINKS,
}
RATIOS = {
    "tcp": (
        Ratio(name="rate of TCP beside AF_XDP / UDP", of=over("tcp_bps", "xdp", "udp"), least=0.95),
        Ratio(
            name="rate of TCP beside an open stream, AF_XDP / UDP",
            of=over("tcp_bps", "xdp open", "udp open"),
        ),
        Ratio(
            name="rate of TCP of 1 Gb/s, AF_XDP / UDP",
            of=over("tcp_bps", "xdp paced", "udp paced"),
            least=0.95,
        ),
        Ratio(name="rate of TCP beside UDP / alone", of=over("tcp_bps", "udp", "alone")),
        Ratio(name="rate of TCP beside AF_XDP / alone", of=over("tcp_bps", "xdp", "alone")),
    ),
    "flood": (
        Ratio(
            name="CPU of the device under a flood, AF_XDP / UDP",
            of=over("device_cpu_s", "xdp flooded", "udp flooded"),
            most=1.0,
        ),
        Ratio(
            name="CPU of the device without a flood, AF_XDP / UDP",
            of=over("device_cpu_s", "xdp", "udp"),
        ),
    ),
    "idle": (
        Ratio(name="CPU of the host, AF_XDP / UDP", of=over("host_cpu_s", *LINKS[::-1]), most=1.0),
        Ratio(name="CPU of the device, AF_XDP / UDP", of=over("device_cpu_s", *LINKS[::-1])),
    ),
}


def main() -> int:
    arguments = parse_arguments()
    if not netns.is_ready():
        return 2
    try:
        program = build_with(["-p", "samplewire-cli"], kept.ROOT)["samplewire"]
        patience_end = time.monotonic() + arguments.patience
        runs: list[Run] = []
        with netns.wire(mtu_bytes=1_500, has_gro=True, loss=0.0) as wire:

            def measure(group: Group, case: Case) -> Outcome:
                link, _, how = case.name.partition(" ")
                return MEASURES[group.name](wire, program, (link, how), arguments.seconds)

            for name in arguments.parts:
                runs += turns.run_group(group_of(name), arguments.rounds, patience_end, measure)
    except (ProgramError, OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    missed, found = 0, []
    for part in arguments.parts:
        for ratio in RATIOS[part]:
            values = per_round(ratio, [run for run in runs if run.group == part])
            missed += print_ratio(part, ratio, values)
            found.append({"part": part, "ratio": ratio.name, "median": median(values),
                          "least": min(values), "most": max(values)})  # fmt: skip
        print_defects(part, [run for run in runs if run.group == part])
    about = machine.describe(kept.ROOT)
    each = [{"part": run.group, "case": run.case, "round": run.round,
             "others_share": run.others_share, **run.said} for run in runs]  # fmt: skip
    path = kept.keep("beside", about, arguments.out, ratios=found, runs=each)
    print(f"{about['cpu']}, {about['cores']} cores, Linux {about['kernel']}")
    print(f"every run: {os.path.relpath(path)}")
    return 1 if missed else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(CASES)} (default: all)")
    turns.add_options(parser, rounds=7)
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(CASES):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    arguments.parts = arguments.parts or list(CASES)
    turns.check_options(parser, arguments)
    return arguments


def group_of(part: str) -> Group:
    cases = tuple(Case(name=name, what="", program=name) for name in CASES[part])
    return Group(name=part, why="", payload_bytes=1_408, cases=cases, figures=())


def per_round(ratio: Ratio, runs: list[Run]) -> list[float]:
    rounds = sorted({run.round for run in runs})
    said = {turn: {run.case: run.said for run in runs if run.round == turn} for turn in rounds}
    return [ratio.of(cases) for cases in said.values()]


def print_ratio(part: str, ratio: Ratio, values: list[float]) -> int:
    middle = median(values)
    words = f"{part}: {ratio.name}: {middle:.2f} ({min(values):.2f}..{max(values):.2f})"
    bounds = (("at least", ratio.least), ("at most", ratio.most))
    claims = [f"{word} {bound:g}" for word, bound in bounds if bound is not None]
    if claims:
        claims.append("holds" if ratio.holds(middle) else "MISSED")
    print(f"{words}, n = {len(values)}{''.join(f', {claim}' for claim in claims)}")
    return not ratio.holds(middle)


def print_defects(part: str, runs: list[Run]) -> None:
    """Samples of the streams that were missing, or late, in all rounds."""
    cases = [name for name in CASES[part] if name != "alone"]
    sums = {name: sum(run.said["defects"] for run in runs if run.case == name) for name in cases}
    words = ", ".join(f"{name} {count:,}" for name, count in sums.items())
    print(f"{part}: samples missing or late: {words}")


def tcp(wire: Wire, program: Path, what: tuple[str, str], seconds: float) -> Outcome:
    """TCP, alone or beside a stream of the same direction."""
    link, how = what
    port = ["--port", str(TCP_PORT)]
    server = ["iperf3", "--server", "--bind", RECEIVER_IP, "--one-off", *port]
    client = ["iperf3", "--client", RECEIVER_IP, "--time", f"{max(1, round(seconds))}", "--json"]
    client += ["--bitrate", PACED] if how == "paced" else []
    rate_hz = IDLE_RATE_HZ if how == "open" else RATE_HZ
    device = ["--source", "null", "--rate", f"{rate_hz:.0f}"]
    with ExitStack() as started:
        host = None
        if link != "alone":
            # It ends after the last of TCP.
            duration_s = seconds + 2 * SETTLED_AFTER_S
            emulated = emulate(program, SENDER_IP, link, *device)
            sender = started.enter_context(Started([*wire.sender, *emulated]))
            sender.wait_listening(PORT, LISTENS_WITHIN_S)
            words = rate(program, SENDER_IP, link, duration_s)
            host = started.enter_context(Started([*wire.receiver, *words]))
            time.sleep(SETTLED_AFTER_S)
        receiving = started.enter_context(Started([*wire.receiver, *server]))
        receiving.wait_listening(TCP_PORT, LISTENS_WITHIN_S)
        sending = started.enter_context(Started([*wire.sender, *client, *port]))
        ended = wait_all([sending, receiving], seconds + OVER_WITHIN_S)
        taken = read_iperf3(ended[0].text)
        end = end_of(wait_all([host], OVER_WITHIN_S)[0].text, link) if host else None
    missing = end["receive"]["samples_missing"] if end else 0
    return Outcome(
        rate_bps=taken.rate_bps,
        taken_bytes=taken.taken_bytes,
        cpu_s=sum(it.cpu_s for it in ended),
        beyond_window_bytes=0,
        said={"tcp_bps": taken.rate_bps, "defects": missing},
    )


def flood(wire: Wire, program: Path, what: tuple[str, str], seconds: float) -> Outcome:
    """A stream that a device plays, with or without packets of a tag that is no stream's."""
    link, how = what
    device = ["--play", "null", "--rate", f"{FLOODED_RATE_HZ:.0f}"]
    with ExitStack() as started:
        emulated = emulate(program, RECEIVER_IP, link, *device)
        receiver = started.enter_context(Started([*wire.receiver, *emulated]))
        receiver.wait_listening(PORT, LISTENS_WITHIN_S)
        before_s = cpu_s(receiver.pid)
        words = rate(program, RECEIVER_IP, link, seconds, "--way", "transmit")
        programs = [started.enter_context(Started([*wire.sender, *words]))]
        if how:
            folder = Path(started.enter_context(tempfile.TemporaryDirectory()))
            inject.write(folder / "frames", foreign_frames())
            script = [sys.executable, str(kept.ROOT / "tools" / "attacks" / "inject.py")]
            script += [DEVICE, str(folder / "frames"), str(seconds), str(FLOOD_PER_S)]
            programs.append(started.enter_context(Started([*wire.sender, *script])))
        ended = wait_all(programs, seconds + OVER_WITHIN_S)
        # It has no end of its own, and a late sample would make that a failure.
        device_cpu_s = cpu_s(receiver.pid) - before_s
    sent = end_of(ended[0].text, link)["transmit"]
    return Outcome(
        rate_bps=sent["goodput_bps"],
        taken_bytes=sent["bytes"],
        cpu_s=sum(it.cpu_s for it in ended) + device_cpu_s,
        beyond_window_bytes=0,
        said={
            "device_cpu_s": device_cpu_s,
            "host_cpu_s": ended[0].cpu_s,
            "flood_packets": int(ended[1].text) if how else 0,
            "defects": known(sent, "samples_underflow"),
        },
    )


def known(counts: dict[str, int | None], name: str) -> int:
    """A count that the program has; it does not count what is null."""
    count = counts[name]
    assert count is not None, f"{name} is not known"
    return count


def foreign_frames() -> list[bytes]:
    """Packets of DATA to the device, all with a tag of no stream and right checksums."""
    path = frames.Path(
        to_mac=bytes.fromhex(MACS[1].replace(":", "")),
        from_mac=bytes.fromhex(MACS[0].replace(":", "")),
        to_ip=IPS[1],
        from_ip=IPS[0],
        to_port=PORT,
        from_port=STRANGER_PORT,
    )
    payload = {"payload": bytes(FLOOD_PAYLOAD_BYTES)}
    heads = [generate.head(tag=1 + number, seq=number) for number in range(FLOOD_FRAMES)]
    return [frames.datagram(path, generate.packet("DATA", head, payload)) for head in heads]


def idle(wire: Wire, program: Path, what: tuple[str, str], seconds: float) -> Outcome:
    """A stream that is open and sends almost nothing."""
    link, _ = what
    duration_s = seconds + 2 * SETTLED_AFTER_S
    device = ["--source", "null", "--rate", str(IDLE_RATE_HZ)]
    emulated = emulate(program, SENDER_IP, link, *device)
    with Started([*wire.sender, *emulated]) as sender:
        sender.wait_listening(PORT, LISTENS_WITHIN_S)
        words = rate(program, SENDER_IP, link, duration_s)
        with Started([*wire.receiver, *words]) as receiver:
            time.sleep(SETTLED_AFTER_S)
            before = [threads_cpu_s(it.pid) for it in (receiver, sender)]
            time.sleep(seconds)
            after = [threads_cpu_s(it.pid) for it in (receiver, sender)]
            ended = wait_all([receiver], OVER_WITHIN_S)[0]
    received = end_of(ended.text, link)["receive"]
    host_cpu_s, device_cpu_s = (late - early for late, early in zip(after, before, strict=True))
    return Outcome(
        rate_bps=received["goodput_bps"],
        taken_bytes=received["bytes"],
        cpu_s=host_cpu_s + device_cpu_s,
        beyond_window_bytes=0,
        said={
            "host_cpu_s": host_cpu_s,
            "device_cpu_s": device_cpu_s,
            "defects": received["samples_missing"],
        },
    )


MEASURES = {"tcp": tcp, "flood": flood, "idle": idle}


def emulate(program: Path, ip: str, link: str, *words: str) -> list[str]:
    return [str(program), "emulate", "--listen", f"{ip}:{PORT}", "--link", link, *words]


def rate(program: Path, ip: str, link: str, seconds: float, *words: str) -> list[str]:
    command = [str(program), "rate", f"{ip}:{PORT}", "--link", link, "--json"]
    return [*command, "--duration", f"{1e3 * seconds:.0f}ms", "--fail-on", NO_LIMIT, *words]


def end_of(text: str, link: str) -> dict:
    """What `rate` has found; its packets must have gone as they were to go."""
    end = json.loads(text)["end"]
    if [it["bypassed"] for it in end["links"]] != [True] * (link == "xdp"):
        raise ProgramError(f"--link {link}: {end['links']}")
    return end


def threads_cpu_s(pid: int) -> float:
    """CPU seconds of a running program's threads; exact, where /proc/PID/stat counts ticks."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


if __name__ == "__main__":
    sys.exit(main())
