"""tools/steps.sh: what a step leaves when it is killed, and what a check leaves when it is."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path

STEPS = Path(__file__).resolve().parent / "steps.sh"
PATIENCE_S = 20
# A lane with one step that runs and one that waits for it; a set-up; and a step that goes on.
LANES = """
sleep 60 &
beside lane first sh -c 'touch first; sleep 60'
beside lane second touch second
step third sh -c 'touch third; sleep 60'
step fourth touch fourth
finish
"""


class Steps(unittest.TestCase):
    """Scripts that source steps.sh, each in a session of its own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.logs = self.folder / "logs"
        self.logs.mkdir()

    def begin(self, script: str, **environment: str) -> subprocess.Popen[str]:
        """Starts a script; what it leaves is killed with the test.

        A check in the background of a shell ignores SIGINT, and so would what it starts.
        """
        bash = ["env", "--default-signal=INT", "bash", "-uo", "pipefail", "-c"]
        begun = subprocess.Popen(
            [*bash, f". {STEPS}\n{script}"],
            cwd=self.folder,
            env={**os.environ, "TMPDIR": str(self.logs), **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.addCleanup(begun.stdout.close)
        self.addCleanup(self.end, begun.pid)
        return begun

    def left(self, session: int) -> list[int]:
        """Processes of the session that have not ended."""
        command = ["ps", "-o", "pid=,stat=", "-s", str(session)]
        lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        found = [line.split() for line in lines.splitlines()]
        return [int(pid) for pid, state in found if not state.startswith("Z")]

    def end(self, session: int) -> None:
        """Kills what a test that failed has left."""
        for pid in self.left(session):
            os.kill(pid, signal.SIGKILL)

    def exists(self, name: str) -> bool:
        """Whether the step that makes this file has begun."""
        return (self.folder / name).exists()

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Waits for what a script does."""
        until = time.monotonic() + PATIENCE_S
        while not holds():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)

    def ended_by(self, number: int, *, has_group: bool, script: str = LANES) -> int:
        """Ends a script once its steps run; gives its status. Nothing of it may be left."""
        begun = self.begin(script)
        self.wait_until(lambda: self.exists("first") and self.exists("third"))
        (os.killpg if has_group else os.kill)(begun.pid, number)
        status = begun.wait(PATIENCE_S)
        self.wait_until(lambda: not self.left(begun.pid))
        self.assertFalse(self.exists("second") or self.exists("fourth"))
        self.assertEqual(list(self.logs.iterdir()), [])
        return status

    def test_interrupt_ends_lanes(self) -> None:
        self.assertNotEqual(self.ended_by(signal.SIGINT, has_group=True), 0)

    def test_interrupt_that_a_step_handles_ends_lanes(self) -> None:
        handles = 'trap "sleep 1; exit 0" INT; touch third; while true; do sleep 0.05; done'
        script = LANES.replace("touch third; sleep 60", handles)
        self.assertEqual(self.ended_by(signal.SIGINT, has_group=True, script=script), 130)

    def test_termination_of_the_shell_alone_ends_lanes_and_the_step(self) -> None:
        self.assertEqual(self.ended_by(signal.SIGTERM, has_group=False), -signal.SIGTERM)

    def test_termination_while_a_lane_is_waited_for_ends_it(self) -> None:
        script = "beside lane first sh -c 'touch first third; sleep 60'\n"
        script += "beside lane second touch second\nfinish\n"
        self.assertEqual(
            self.ended_by(signal.SIGTERM, has_group=False, script=script), -signal.SIGTERM
        )

    def test_step_of_a_lane_does_not_begin_once_the_shell_was_killed(self) -> None:
        begun = self.begin(LANES.replace("touch first; sleep 60", "touch first; sleep 1"))
        self.wait_until(lambda: self.exists("first") and self.exists("third"))
        begun.kill()
        begun.wait(PATIENCE_S)
        # The set-up, the step's two processes and what prints its output are left.
        self.wait_until(lambda: len(self.left(begun.pid)) <= 4)
        self.assertFalse(self.exists("second") or self.exists("fourth"))

    def test_normal_end_waits_for_lanes(self) -> None:
        waits = "until [ -e go ]; do sleep 0.02; done; touch first"
        script = f"beside lane first sh -c '{waits}'\n"
        script += "beside lane second touch second\nstep third touch third\nfinish\n"
        begun = self.begin(script)
        assert begun.stdout
        while (line := begun.stdout.readline()) != "waiting for first\n":
            self.assertTrue(line, "it ended without a word")
        self.assertFalse(self.exists("second"))
        (self.folder / "go").touch()
        words = begun.communicate(timeout=PATIENCE_S)[0]
        self.assertEqual(begun.returncode, 0, words)
        self.assertIn("steps: 3 passed, 0 failed, 0 skipped", words)
        self.assertTrue(self.exists("first") and self.exists("second"))
        self.assertEqual(list(self.logs.iterdir()), [])

    def test_signal_that_kills_a_step_is_in_the_summary_and_not_in_its_times(self) -> None:
        for begin in ("step", "beside lane"):
            begun = self.begin(f"{begin} first sh -c 'kill -SEGV $$'\nfinish\n")
            words = begun.communicate(timeout=PATIENCE_S)[0]
            self.assertEqual(begun.returncode, 1)
            summary = words[words.index("\ntook ") :]
            self.assertIn("Segmentation fault", summary)
            self.assertRegex(summary, r"took     [01] s, 0 s of processor time: first\n")


if __name__ == "__main__":
    unittest.main()
