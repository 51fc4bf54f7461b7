"""What nic.py reads out of the programs that it runs."""

import io
import json
import unittest
from contextlib import redirect_stdout

import nic


class Figures(unittest.TestCase):
    def test_pacing_has_a_column_for_each_wait_of_t(self) -> None:
        rows = [
            {"sleep": {"median_ns": 63_650 + n}, "spin": {"median_ns": 1_050_000}}
            for n in range(len(nic.PACING_OF_T))
        ]
        with redirect_stdout(io.StringIO()) as out:
            nic.print_pacing(json.dumps({"rows": rows}))
        tables = [line for line in out.getvalue().splitlines() if line.startswith("|")]
        self.assertEqual(len({line.count("|") for line in tables}), 1)
        self.assertTrue(tables[2].startswith("| T, sleep (C.1) | 4.25 | 59.8 |"))
        self.assertTrue(tables[3].startswith("| here, sleep | 63.65 | 63.65 |"))
        self.assertTrue(tables[4].startswith("| here, spin | 1,050.00 |"))

    def test_wire_of_1g_carries_what_the_header_and_the_gap_leave(self) -> None:
        wire = nic.WIRES[0]
        self.assertAlmostEqual(wire.mbps(64), 627.45, places=2)
        self.assertAlmostEqual(wire.mbps(1481, 19), 971.78, places=2)

    def test_lost_frames_are_in_brackets(self) -> None:
        line = "496.1 Mb/s of 627.5 (79.06 %), ..; 4219 of 5000 frames came back, 781 dropped"
        found = nic.RATE.search(line)
        self.assertEqual(found.groups(), ("496.1", "4219", "5000"))


if __name__ == "__main__":
    unittest.main()
