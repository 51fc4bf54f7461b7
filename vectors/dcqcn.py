#!/usr/bin/env python3
"""Write dcqcn.json, histories of the reaction point of congestion control, or check it (--check).

The machine stands here a second time, in fractions, from docs/congestion.md and the paper (Zhu et
al., SIGCOMM 2015, section 3), not from the Rust code. Python 3 alone, no packages.
"""

import json
import random
import sys
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from math import ceil, floor
from pathlib import Path

TABLE = Path(__file__).resolve().parent / "dcqcn.json"
HALF = Fraction(1, 2)
COUNT_MAX = 31
RTT_MAX = 2**32 - 1
STEPS_MAX = 256


@dataclass(frozen=True)
class Params:
    """As in samplewire_proto::rate::DcqcnParams; rates in 2^-16 bytes a ns, spans in ns."""

    gain_shift: int = 8
    alpha_period: int = 55_000
    rise_period: int = 55_000
    rise_bytes: int = 1_000_000
    recovery_stages: int = 5
    additive: int = 41
    hyper: int = 819
    minimum: int = 82
    start: int = 819
    first_cut: int = 81_920
    cut_interval: int = 50_000
    line: int = 81_920


class Flow:
    """One flow: alpha is a fraction of 2^-16 steps, a rate a whole number."""

    def __init__(self, params: Params, now: int) -> None:
        self.p = params
        self.g = Fraction(1, 2**params.gain_shift)
        self.rate = self.target = params.start
        self.alpha = Fraction(1)
        self.counts = {"timer": 0, "bytes": 0}
        self.sent = 0
        self.next = {"alpha": now + params.alpha_period, "timer": now + params.rise_period}
        self.free_from = now
        self.cuts = 0

    def count(self, what: str) -> None:
        self.counts[what] = min(self.counts[what] + 1, COUNT_MAX)
        first, last = sorted(self.counts.values())
        if last >= self.p.recovery_stages:
            is_hyper = first > self.p.recovery_stages
            more = self.p.hyper if is_hyper else self.p.additive
            self.target = min(self.target + more, self.p.line)
        self.rate = ceil(HALF * (self.rate + self.target))

    def time(self, now: int) -> None:
        for _ in range(STEPS_MAX):
            # Of two that are due at once, alpha is first.
            what = min(self.next, key=lambda name: (self.next[name], name))
            if self.next[what] > now:
                break
            if what == "alpha":
                self.next[what] += self.p.alpha_period
                self.alpha -= Fraction(ceil(self.alpha * self.g * 2**16), 2**16)
            else:
                self.next[what] += self.p.rise_period
                self.count(what)

    def departure(self, now: int, size: int) -> None:
        self.time(now)
        self.sent += size
        if self.sent >= self.p.rise_bytes:
            self.sent -= self.p.rise_bytes
            self.count("bytes")

    def notification(self, now: int, rtt: int) -> bool:
        self.time(now)
        if now < self.free_from:
            return False
        self.target = self.rate
        self.rate -= floor(self.rate * self.alpha * HALF)
        if not self.cuts:
            self.rate = min(self.rate, self.p.first_cut)
        self.rate = max(self.rate, self.p.minimum)
        self.alpha += Fraction(ceil((1 - self.alpha) * self.g * 2**16), 2**16)
        self.counts = {"timer": 0, "bytes": 0}
        self.sent = 0
        self.next = {"alpha": now + self.p.alpha_period, "timer": now + self.p.rise_period}
        self.free_from = now + max(self.p.cut_interval, min(rtt, RTT_MAX))
        self.cuts += 1
        return True

    def state(self) -> list[int]:
        alpha = self.alpha * 2**16
        assert alpha.denominator == 1
        return [self.rate, self.target, alpha.numerator, self.counts["timer"],
                self.counts["bytes"], self.p.rise_bytes - self.sent]  # fmt: skip


def run(name: str, params: Params, begin: int, events: list[tuple[int, str, int]]) -> dict:
    """A history: each event with the state after it."""
    flow = Flow(params, begin)
    rows = []
    for now, kind, value in events:
        cut = None
        if kind == "time":
            flow.time(now)
        elif kind == "departure":
            flow.departure(now, value)
        else:
            cut = flow.notification(now, value)
        rows.append([str(now), kind, value, cut, *flow.state()])
    return {"name": name, "params": asdict(params), "begin": str(begin), "events": rows}


def drawn(seed: int, begin: int, count: int, span: int, marks: float) -> list[tuple]:
    """Events at random: `marks` of them notifications, the gaps up to `span`."""
    rng = random.Random(seed)
    now, events = begin, []
    for _ in range(count):
        now += rng.choice([0, 1, rng.randrange(span), rng.randrange(span)])
        if rng.random() < marks:
            rtt = rng.choice([0, 4_000, 49_999, 50_001, 400_000])
            events.append((now, "notification", rtt))
        elif rng.random() < 0.1:
            events.append((now, "time", 0))
        else:
            events.append((now, "departure", rng.choice([64, 1_500, 4_158, 65_535])))
    return events


def histories() -> list[dict]:
    p = Params()
    start = 1_800_000_000_000_000_000
    tie = replace(p, rise_bytes=65_536, alpha_period=100, rise_period=100, cut_interval=300)
    at_once = [(100, "departure", 65_535), (100, "departure", 1), (200, "notification", 0),
               (499, "notification", 0), (500, "notification", 301), (800, "notification", 0),
               (801, "notification", 0)]  # fmt: skip
    alone = [(0, "notification", 0)]
    small = replace(p, minimum=1, start=1, first_cut=2, line=2, additive=1, hyper=1)
    sharp = replace(p, gain_shift=1, first_cut=100)
    wide = replace(p, line=2**24 - 1, start=2**24 - 1, first_cut=2**24 - 1, additive=2**24 - 1,
                   hyper=2**24 - 1, minimum=2**24 - 1, gain_shift=16)  # fmt: skip
    each = [(n * 50_000, "notification", 0) for n in range(40)]
    return [
        run("events_at_one_instant", tie, 0, at_once),
        run("alpha_decays_to_0_and_the_rate_reaches_the_line", replace(p, start=40_960), 0,
            [*alone, *((n * 7_000_000, "time", 0) for n in range(1, 60))]),
        run("cut_after_cut_to_the_minimum", replace(p, start=81_920), 0, each),
        run("first_cut_states_the_rate", sharp, start, [(start + n * 60_000, "notification", 0)
                                                       for n in range(4)]),
        run("smallest_rates", small, 5, drawn(1, 5, 120, 40_000, 0.1)),
        run("largest_rates", wide, 0, drawn(2, 0, 60, 40_000, 0.2)),
        run("round_trip_longer_than_the_interval", p, 0,
            [(0, "notification", 2**32), (2**32 - 2, "notification", 0),
             (2**32 - 1, "notification", 0)]),
        run("silence_longer_than_the_steps", p, 0, [(3_600_000_000_000, "time", 0)] * 3),
        run("few_notifications", replace(p, start=40_000), start,
            drawn(3, start, 300, 30_000, 0.01)),
        run("many_notifications", replace(p, start=81_920), start,
            drawn(4, start, 200, 20_000, 0.2)),
        run("hyper_increase", replace(p, rise_bytes=65_536, recovery_stages=1), 0,
            drawn(5, 0, 150, 30_000, 0.02)),
    ]  # fmt: skip


def main() -> int:
    rows = []
    for history in histories():
        events = ",\n".join("  " + json.dumps(row) for row in history.pop("events"))
        head = json.dumps(history)[:-1]
        rows.append(f'{head}, "events": [\n{events}\n]}}')
    text = "[\n" + ",\n".join(rows) + "\n]\n"
    if "--check" not in sys.argv[1:]:
        TABLE.write_text(text)
    elif not TABLE.exists() or TABLE.read_text() != text:
        print(f"stale: {TABLE.name}; run {Path(__file__).name}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
