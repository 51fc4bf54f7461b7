"""The sum of a row: what it is of."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

import synth

TOP = "roce_requester"
ROW = ["3497", "184", "67", "2907", "1", "0", "2", "7"]


class Sums(unittest.TestCase):
    """A row is built again when anything changes that it follows from."""

    def setUp(self) -> None:
        self.texts = synth.modules()
        # The tool need not be installed.
        tool = patch.object(synth, "version", return_value="0.66")
        tool.start()
        self.addCleanup(tool.stop)
        self.before = self.sum()

    def sum(self, top: str = TOP, width: int = 64, row: list[str] | None = None) -> str:
        return synth.sum_of(top, width, self.texts, row or ROW)

    def changes(self) -> None:
        self.assertNotEqual(self.sum(), self.before)

    def test_same_sources_have_the_same_sum(self) -> None:
        self.texts = synth.modules()
        self.assertEqual(self.sum(), self.before)

    def test_source_of_the_module_and_of_one_inside_count(self) -> None:
        inside = synth.needed(TOP, self.texts)
        self.assertGreater(len(inside), 2)
        for name in (TOP, inside[-1]):
            with patch.dict(self.texts, {name: self.texts[name] + "wire more;"}):
                self.changes()
        with patch.dict(self.texts, {"nic_afb": "another"}):
            self.assertEqual(self.sum(), self.before)

    def test_parameters_count(self) -> None:
        self.assertNotEqual(self.sum(width=512), self.before)
        self.assertNotEqual(self.sum(top=f"{TOP} Qps=16"), self.before)

    def test_cells_of_the_row_count(self) -> None:
        for at in range(len(ROW)):
            edited = [*ROW[:at], "1234", *ROW[at + 1 :]]
            self.assertNotEqual(self.sum(row=edited), self.before)

    def test_steps_tool_and_rules_of_counting_count(self) -> None:
        for name, value in (("MAP_SCRIPT", "+&if"), ("WIRE_PS", 300)):
            with patch.object(synth, name, value):
                self.changes()
        with patch.object(synth, "version", return_value="0.67"):
            self.changes()
        with tempfile.TemporaryDirectory() as folder:
            edited = Path(folder) / "netlist.py"
            edited.write_text((synth.ROOT / synth.COUNTING).read_text() + "# more\n")
            with patch.object(synth, "COUNTING", edited):
                self.changes()

    def test_steps_are_those_that_are_run(self) -> None:
        with patch.object(synth, "run") as run:
            synth.build(TOP, 64, self.texts)
        ((command, _), _) = run.call_args
        self.assertEqual(command[-1], "; ".join(synth.steps_of(TOP, 64, self.texts)))


if __name__ == "__main__":
    unittest.main()
