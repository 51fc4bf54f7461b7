"""What machine the figures are of."""

import os
import platform
import re
import subprocess
from pathlib import Path

CORES = os.cpu_count() or 1

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
    return ticks / os.sysconf("SC_CLK_TCK")


def softirq_threads_s() -> float:
    """CPU seconds since the start of ksoftirqd, the kernel's threads that take packets from devices
    when the programs that were interrupted for it no longer do."""
    ticks = 0
    for comm in Path("/proc").glob("[0-9]*/comm"):
        if read(comm).startswith("ksoftirqd/"):
            # After the name comes the 3rd field; utime and stime are the 14th and the 15th.
            fields = (comm.parent / "stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
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
