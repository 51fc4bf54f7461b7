"""The page of several processes: two devices, of which one ends while it is shown."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import access
from reading import LISTENERS, PATIENCE_S, SEEN, SENTENCE, new_page, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


SOCKETS = """
window.sockets = [];
window.WebSocket = class extends WebSocket {
  constructor(...parts) {
    super(...parts);
    window.sockets.push(this);
  }
};
"""
NEXT = """() => {
  const select = document.getElementById("process");
  const ids = [...select.options].map(({ value }) => value);
  const expected = ids[(ids.indexOf(select.value) + 1) % ids.length];
  dispatchEvent(new KeyboardEvent("keydown", { key: "n" }));
  return [expected, select.value];
}"""
"""What the key should go on to, by the list at that moment, and what it goes on to."""
REMEDY = "document.getElementById('remedy').textContent"


class Process:
    """A command with sockets in a folder of its own, while the block lasts."""

    def __init__(self, command: Path, folder: str, *arguments: str) -> None:
        environment = {**os.environ, "XDG_RUNTIME_DIR": folder}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [command, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_error: object) -> None:
        self.end()

    def end(self) -> None:
        """End the command as Ctrl-C does."""
        if self.process.poll() is None:
            self.process.terminate()
        self.process.communicate(timeout=PATIENCE_S)

    @property
    def url(self) -> str:
        """Where its page is."""
        assert self.process.stderr
        found = re.search(r"page: (\S+)", self.process.stderr.readline())
        assert found, "the command prints no URL"
        return found[1]


def check(browser: Browser, command: Path) -> None:
    """Choose between processes, and end the one that is shown."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        shown = stack.enter_context(Process(command, folder, "web"))
        page = new_page(browser)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.add_init_script(LISTENERS)
        page.add_init_script(SOCKETS)
        page.goto(shown.url)
        arguments = ["emulate", "--listen", "127.0.0.1:0", "--source", "tone:100k", "--rate", "1M"]
        one, two = (stack.enter_context(Process(command, folder, *arguments)) for _ in range(2))
        for device in (one, two):
            until_listed(page, device)
        select = page.locator("#process")
        choose(page, one)
        until(page, f"{SENTENCE}.startsWith('No sample was sent')")
        address = listening(two)
        recorder = stack.enter_context(Process(command, folder, "record", address, "null"))
        choose(page, two)
        until(page, SEEN)
        until(page, f"{SENTENCE}.startsWith('Whole') || {SENTENCE}.startsWith('Lost')")
        listeners = page.evaluate("listeners")
        assert (page.locator("#counters").text_content() or "").startswith("packets"), "of a sender"
        page.evaluate("sockets.at(-1).close()")
        until(page, f"{REMEDY}.includes('Nothing was seen for')")
        # By key: through all of them, of which one receives, and back. Other programs of this user
        # may come and go.
        until_listed(page, recorder)
        left = {str(it.process.pid) for it in (one, recorder, two)}
        while left:
            expected, id_ = page.evaluate(NEXT)
            assert id_ == expected, f"`n` goes on to {id_}, not to {expected}"
            # The last is the one that was shown before.
            left -= {id_} if len(left) == 1 or id_ != str(two.process.pid) else set()
            if id_ == str(one.process.pid):
                until(page, f"{SENTENCE}.startsWith('No sample was sent')")
                assert not page.evaluate(SEEN), "the picture of the process before stays"
                words = page.evaluate(REMEDY)
                assert "Nothing was seen" not in words, f"words of the process before: {words}"
        until(page, SEEN)
        count = page.evaluate("listeners")
        assert count == listeners > 0, f"{listeners} listeners become {count}"
        access.scan_themes(page, "a page of several processes")
        two.end()
        until(page, f"{SENTENCE}.startsWith('Ended: emulate {two.process.pid}')")
        words = select.locator("option:checked").inner_text()
        assert words.endswith("(ended)"), words
        choose(page, one)
        until(page, f"{SENTENCE}.startsWith('No sample was sent')")
        page.close()
        assert not complaints, complaints


def choose(page: Page, process: Process) -> None:
    """Show a process."""
    page.locator("#process").select_option(str(process.process.pid))


def until_listed(page: Page, process: Process) -> None:
    """Wait until a process can be chosen."""
    option = f"#process option[value='{process.process.pid}']"
    until(page, f'document.querySelector("{option}")')


def listening(device: Process) -> str:
    """Where a device listens."""
    assert device.process.stdout
    return device.process.stdout.readline().split("listening on ")[1].strip()
