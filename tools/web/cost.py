"""What a shown page costs: the CPU time of the browser's processes, apart from the program's."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from reading import new_page

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))

import kept
import machine

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[2]
PROC = Path("/proc")
WINDOW_S = 10.0
SERVER_THREAD = "samplewire-web"
PERIOD = """() => new Promise((done) => {
  const times = [];
  const next = (at) => {
    times.push(at);
    if (times.length < 60) {
      requestAnimationFrame(next);
    } else {
      done((at - times[0]) / 59);
    }
  };
  requestAnimationFrame(next);
})"""


def browser_processes() -> list[Path]:
    """The folders of all processes of the browser: Playwright's driver has started the first."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for folder in PROC.glob("[0-9]*"):
        try:
            name, fields = (folder / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
        except (FileNotFoundError, ProcessLookupError):
            # It has ended since it was listed.
            continue
        parents[int(folder.name)] = int(fields.split()[1])
        names[int(folder.name)] = name
    found = []
    for pid, name in names.items():
        above = pid
        while above in parents and above != os.getpid():
            above = parents[above]
        if above == os.getpid() and name.startswith("chrom"):
            found.append(PROC / str(pid))
    return found


def browser_seconds() -> dict[Path, float]:
    """CPU time of each process of the browser."""
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    seconds = {}
    for process in browser_processes():
        # One that has ended since it was listed does not live at both ends.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            seconds[process] = tick_s * machine.process_ticks(process)
    return seconds


def server_seconds(pid: int) -> float:
    """CPU time of the thread that serves a program's page. It takes less than a tick a second."""
    for task in (PROC / str(pid) / "task").iterdir():
        if (task / "comm").read_text().strip() == SERVER_THREAD:
            return int((task / "schedstat").read_text().split()[0]) / 1e9
    raise AssertionError("the program has no thread of its page")


def shares(page: Page, program: int, window_s: float) -> tuple[float, float]:
    """Parts of a core that the browser and the program's page take while a page is shown.

    Those processes of the browser count that live at both ends of the window.
    """
    # Processes of pages that were closed end meanwhile.
    page.wait_for_timeout(1_000)
    server, browser = server_seconds(program), browser_seconds()
    started = time.monotonic()
    page.wait_for_timeout(1_000 * window_s)
    passed_s = time.monotonic() - started
    late = browser_seconds()
    growth = [late[it] - early for it, early in browser.items() if it in late]
    assert len(growth) > 1, f"{len(growth)} processes of the browser"
    return sum(growth) / passed_s, (server_seconds(program) - server) / passed_s


def bare_period_ms(browser: Browser) -> float:
    """How long a picture of an empty page takes: no page can be faster."""
    page = new_page(browser)
    period = page.evaluate(PERIOD)
    page.close()
    return period


def keep(out: Path, figures: dict[str, float]) -> None:
    """Write figures as the benchmarks do."""
    about = machine.describe(ROOT) | {"load": os.getloadavg()}
    print(f"kept in {kept.keep('web-page', about, out, figures=figures)}")
