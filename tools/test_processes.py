"""tools/prometheus/processes.py: what it reads of a command, and when it gives up."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parent / "prometheus"))

import processes
from processes import Metered

METRICS = "echo 'metrics: http://127.0.0.1:9464/metrics' >&2\n"


class Printed(unittest.TestCase):
    """Commands that print."""

    def metered(self, script: str) -> Metered:
        """A shell script in place of the command, ended with the test."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / "samplewire"
        path.write_text(f"#!/bin/sh\n{script}")
        path.chmod(0o755)
        found = Metered(path, [])
        self.addCleanup(found.process.stdout.close)
        self.addCleanup(found.process.stderr.close)
        self.addCleanup(found.end)
        return found

    def test_other_lines_are_skipped(self) -> None:
        script = f"echo warning >&2\n{METRICS}echo hello\necho 'listening on [::1]:4900'\n"
        device = self.metered(f"{script}exec sleep 600\n")
        self.assertEqual(device.target, "127.0.0.1:9464")
        self.assertEqual(device.listens_at(), "[::1]:4900")

    def test_command_that_ends_is_quoted(self) -> None:
        device = self.metered(f"{METRICS}echo hello\necho 'no such device' >&2\n")
        with self.assertRaisesRegex(
            AssertionError, "'listening on ': hello\n(.*\n)?no such device"
        ):
            device.listens_at()

    def test_command_that_prints_nothing_is_killed_at_the_deadline(self) -> None:
        device = self.metered(f"{METRICS}echo hello\nexec sleep 600\n")
        # The end of its lines is waited for with the same patience: enough for that.
        with (
            patch.object(processes, "PATIENCE_S", 1),
            self.assertRaisesRegex(AssertionError, "'listening on ': hello"),
        ):
            device.listens_at()
        self.assertIsNotNone(device.process.poll())


if __name__ == "__main__":
    unittest.main()
