"""What machine the figures are of."""

import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CORES = os.cpu_count() or 1

LOOPS: list[subprocess.Popen[bytes]] = []
"""Busy loops that a bench runs on purpose: they do not count as others."""

MEASURED = ("Cargo.toml", "Cargo.lock", "crates", "bench/peers")
"""What the measured programs are built from."""


def describe(root: Path) -> dict[str, object]:
    """Everything that a reader of the figures should know; never a name or an address."""
    cpuinfo = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", cpuinfo, re.MULTILINE)
    frequency = Path("/sys/devices/system/cpu/cpu0/cpufreq")
    return {
        "cpu": model[1].strip() if model else platform.machine(),
        "cores": CORES,
        "is_virtual": " hypervisor" in cpuinfo,
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "governor": read(frequency / "scaling_governor"),
        "rmem_max_bytes": read(Path("/proc/sys/net/core/rmem_max")),
        "wmem_max_bytes": read(Path("/proc/sys/net/core/wmem_max")),
        "mtu_lo_bytes": read(Path("/sys/class/net/lo/mtu")),
        "rustc": output(root, "rustc", "--version"),
        "commit": output(root, "git", "rev-parse", "HEAD"),
        "has_uncommitted_changes": output(root, "git", "status", "--porcelain", *MEASURED) != "",
    }


def busy_s() -> float:
    """CPU seconds since the start that all cores together did not idle, or were not given."""
    user, nice, system, _idle, _iowait, irq, softirq, steal, *_ = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    )
    ticks = user + nice + system + irq + softirq + steal
    ticks -= sum(process_ticks(Path(f"/proc/{loop.pid}")) for loop in LOOPS)
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Runs so many programs that only compute, one a core."""
    LOOPS.extend(
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                f"import os\nos.sched_setaffinity(0, [{core % CORES}])\nwhile True: pass",
            ]
        )
        for core in range(count)
    )
    try:
        yield
    finally:
        while LOOPS:
            loop = LOOPS.pop()
            loop.kill()
            loop.wait()


def process_ticks(folder: Path) -> int:
    """User and system time of a process, in ticks."""
    # After the name comes the 3rd field; utime and stime are the 14th and the 15th.
    fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def softirq_threads_s() -> float:
    """CPU seconds since the start of ksoftirqd, the kernel's threads that take packets from devices
    when the programs that were interrupted for it no longer do."""
    ticks = 0
    for comm in Path("/proc").glob("[0-9]*/comm"):
        if read(comm).startswith("ksoftirqd/"):
            ticks += process_ticks(comm.parent)
    return ticks / os.sysconf("SC_CLK_TCK")


def slug(machine: dict[str, object]) -> str:
    words = f"{machine['cpu']} {machine['cores']} cores".lower()
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-")


def read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return "not readable"


def output(root: Path, *command: str) -> str:
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"not known: {error}"
    return done.stdout.strip()
