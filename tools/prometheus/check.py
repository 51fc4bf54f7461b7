#!/usr/bin/env python3
"""Asks Prometheus every query of the dashboard and every alert, of a live device and recorder.

    python3 tools/prometheus/check.py target/debug/samplewire

Each query has data, and the alerts fire that must. The device loses packets, so there are repairs.
Needs Prometheus (tried: 2.42). Exit: 0 when all holds, 1 when something does not, or when it cannot
run here.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from processes import Metered

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "grafana/alerts.yml"
DASHBOARD = ROOT / "grafana/samplewire.json"
UNPACKED = ROOT / ".tools/prometheus/usr/bin"
PATIENCE_S = 20
TIME = f"{6 * PATIENCE_S}s"
"""Longer than all waits of a run together."""
RATE_INTERVAL = "30s"
"""What Grafana would fill in."""
FIRING = "SamplewireReceiverRepaired"
LATENCY = "samplewire_receiver_repair_latency_seconds"
CONFIGURATION = """\
global:
  scrape_interval: 500ms
  scrape_timeout: 500ms
  evaluation_interval: 500ms
rule_files: [{rules}]
scrape_configs:
  - job_name: samplewire
    static_configs:
      - targets: {targets}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("program", nargs="?", type=Path, help="the command samplewire")
    parser.add_argument("--can-run", action="store_true", help="print why not, if it cannot run")
    arguments = parser.parse_args()
    reason = missing()
    if reason or arguments.can_run:
        print(reason or "yes")
        return 1 if reason else 0
    if arguments.program is None:
        parser.error("name the program: target/debug/samplewire")
    try:
        check_rules()
        with tempfile.TemporaryDirectory() as folder:
            run(arguments.program.resolve(), Path(folder))
    except AssertionError as error:
        print(f"prometheus: {error}", file=sys.stderr)
        return 1
    return 0


def missing() -> str:
    """Why it cannot run here; empty when it can."""
    for program in ("prometheus", "promtool"):
        if not found(program):
            return f"there is no {program}: tools/setup.sh prometheus"
    return ""


def found(program: str) -> str | None:
    """Where a program is: unpacked by tools/setup.sh, or installed."""
    return shutil.which(program, path=f"{UNPACKED}{os.pathsep}{os.environ['PATH']}")


def check_rules() -> None:
    """The rules are valid, and fire where they must and nowhere else."""
    for command in (["check", "rules", str(RULES)],
                    ["test", "rules", str(RULES.with_name("alerts_test.yml"))]):  # fmt: skip
        done = subprocess.run([found("promtool"), *command], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        print(f"promtool {' '.join(command[:2])}: {done.stdout.strip().splitlines()[-1].strip()}")


def run(program: Path, folder: Path) -> None:
    """Scrape live streams until everything has data."""
    with ExitStack() as stack:
        device = stack.enter_context(
            Metered(
                program,
                ["emulate", "--source", "counter", "--play", "null", "--rate", "1M"],
                ["--fault", "data:loss=0.02,seed=7", "--listen", "127.0.0.1:0"],
            )
        )
        address = device.listens_at()
        started = [device]
        for arguments in (["record", address, str(folder / "samples.sc16")],
                          ["rate", address, "--way", "transmit", "--duration", TIME]):  # fmt: skip
            started.append(stack.enter_context(Metered(program, arguments)))
        prometheus = stack.enter_context(Prometheus(folder, [it.target for it in started]))
        check_targets(prometheus, len(started))
        check_queries(prometheus)
        check_alerts(prometheus)
        check_histogram(prometheus, started[1].target)


def check_targets(prometheus: Prometheus, count: int) -> None:
    """All processes answer."""
    prometheus.until(lambda: len(prometheus.ask("up == 1")) == count, "all targets are up")


def check_queries(prometheus: Prometheus) -> None:
    """Each query of the dashboard has data."""
    queries = list(expressions(json.loads(DASHBOARD.read_text())))
    assert len(queries) > 50, f"the dashboard has {len(queries)} queries"
    left = {
        it.replace("$__rate_interval", RATE_INTERVAL).replace("$device", ".*") for it in queries
    }
    assert not any("$" in it for it in left), "a variable is not filled in"
    prometheus.until_data(left)
    print(f"dashboard: each of {len(queries)} queries has data")


def check_alerts(prometheus: Prometheus) -> None:
    """Each alert is evaluated, both of its sides have data, and one fires."""

    def alerts() -> dict[str, dict[str, Any]]:
        groups = prometheus.get("rules")["groups"]
        return {rule["name"]: rule for group in groups for rule in group["rules"]}

    prometheus.until(lambda: alerts()[FIRING]["state"] == "firing", f"{FIRING} fires")
    rules = alerts()
    ill = {name: rule["lastError"] for name, rule in rules.items() if rule["health"] != "ok"}
    assert not ill, f"alerts that cannot be evaluated: {ill}"
    prometheus.until_data({rule["query"].replace(" > ", " > bool ") for rule in rules.values()})
    print(f"alerts: each of {len(rules)} has data")


def check_histogram(prometheus: Prometheus, instance: str) -> None:
    """Buckets rise with their bound, and the last is the count of repaired packets."""
    at = f'instance="{instance}"'
    buckets = prometheus.ask(f"{LATENCY}_bucket{{{at}}}")
    assert len(buckets) == 49, f"{len(buckets)} buckets"
    ordered = sorted(buckets, key=lambda it: float(it["metric"]["le"]))
    assert ordered[-1]["metric"]["le"] == "+Inf"
    counts = [float(it["value"][1]) for it in ordered]
    assert counts == sorted(counts), f"buckets do not include those below: {counts}"
    # Both sides are of one answer of the recorder.
    largest = f'{LATENCY}_bucket{{{at},le="+Inf"}} == ignoring (le) {LATENCY}_count'
    for query in (f"{LATENCY}_count{{{at}}} == samplewire_receiver_repaired_total > 0", largest):
        assert prometheus.ask(query), f"it does not hold: {query}"
    quantile = f"histogram_quantile(0.5, {LATENCY}_bucket{{{at}}})"
    for query in (quantile, f"{LATENCY}_sum{{{at}}} / {LATENCY}_count"):
        [number] = prometheus.ask(query)
        seconds = float(number["value"][1])
        assert 1e-6 < seconds < 1, f"{seconds} s: {query}"
    print(f"repair latency: on average {seconds * 1e3:.2f} ms")


def expressions(node: object) -> Iterator[str]:
    """All queries of the dashboard."""
    if isinstance(node, dict):
        if "expr" in node:
            yield node["expr"]
        for value in node.values():
            yield from expressions(value)
    elif isinstance(node, list):
        for value in node:
            yield from expressions(value)


class Prometheus:
    """The server, while the block lasts."""

    def __init__(self, folder: Path, targets: list[str]) -> None:
        configuration = folder / "prometheus.yml"
        configuration.write_text(
            CONFIGURATION.format(rules=json.dumps(str(RULES)), targets=json.dumps(targets))
        )
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder / "prometheus.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [
                    found("prometheus"),
                    f"--config.file={configuration}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{port}",
                ],
                stdout=log,
                stderr=log,
            )

    def __enter__(self) -> Prometheus:
        self.until(self.is_ready, "the server answers")
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def is_ready(self) -> bool:
        """Whether it answers."""
        assert self.process.poll() is None, f"the server ended:\n{self.log.read_text()}"
        try:
            with urlopen(f"{self.url}/-/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def get(self, path: str) -> dict[str, Any]:
        """The data of an answer."""
        with urlopen(f"{self.url}/api/v1/{path}", timeout=5) as answer:
            return json.load(answer)["data"]

    def ask(self, query: str) -> list[dict[str, Any]]:
        """The numbers that a query has at present."""
        numbers = self.get(f"query?{urlencode({'query': query})}")["result"]
        return [it for it in numbers if not math.isnan(float(it["value"][1]))]

    def until(self, holds: Callable[[], bool], words: str) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline, f"within {PATIENCE_S} s not: {words}"
            time.sleep(0.1)

    def until_data(self, queries: set[str]) -> None:
        """Wait until each query has data; names those that do not get any."""
        deadline = time.monotonic() + PATIENCE_S
        left = {it for it in queries if not self.ask(it)}
        while left:
            assert time.monotonic() < deadline, "no data:\n" + "\n".join(sorted(left))
            time.sleep(0.2)
            left = {it for it in left if not self.ask(it)}


if __name__ == "__main__":
    sys.exit(main())
