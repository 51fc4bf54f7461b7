"""Profiles of Callgrind, and counts beside those of the table."""

import contextlib
import io
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "instructions"))

import instructions

PROFILE = """\
fn=samplewire_instructions::run
0 70
cfn=samplewire_instructions::first
calls=2 0
0 1000
cob=???
cfi=???
cfn=samplewire_instructions::second'2
calls=1 0
0 30
cfn=samplewire::receiver::Receiver::next_within
calls=1 0
0 5000

fn=samplewire_instructions::first
0 400
cfn=samplewire::first
calls=2 0
0 600

fn=samplewire_instructions::other
cfn=samplewire_instructions::first
calls=1 0
0 7
"""


def grown(now: tuple[float, float]) -> int:
    """How many rows grew beside one of 1,000 instructions, 100 without the CRC."""
    with contextlib.redirect_stdout(io.StringIO()):
        return instructions.grown([("DATA", *now)], {"DATA": (1000, 100)})


class Counts(unittest.TestCase):
    def test_parts_are_summed_over_their_callers_with_all_that_they_call(self) -> None:
        costs = instructions.inclusive(PROFILE)
        self.assertEqual(costs, {"first": 1007, "second": 30, "third": 0})

    def test_growth_above_three_per_cent_fails_with_the_crc_or_without(self) -> None:
        self.assertEqual([grown((1030, 103)), grown((1031, 103)), grown((1004, 104))], [0, 1, 1])

    def test_count_without_a_row_fails(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(instructions.grown([("MARK", 1, 1)], {}), 1)

    def test_table_is_read_as_it_is_written(self) -> None:
        rows = instructions.kept()
        self.assertEqual(set(rows), {row.name for row in instructions.ROWS})
        for row in instructions.ROWS:
            total, rest = rows[row.name]
            self.assertEqual(rest < total, bool(row.crc), row.name)


if __name__ == "__main__":
    unittest.main()
