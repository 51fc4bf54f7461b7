"""What nic_speed.py makes of its runs."""

import subprocess
import unittest
from unittest import mock

import nic_speed


def runs(speeds: dict[str, list[float]]) -> list[dict]:
    return [
        {"round": turn, "case": case, "mcycles_per_s": speed}
        for case, row in speeds.items()
        for turn, speed in enumerate(row)
    ]


class Figures(unittest.TestCase):
    def test_ratio_is_taken_within_a_round(self) -> None:
        of = runs({nic_speed.BARE: [1.0, 2.0, 4.0], "core awake": [0.5, 1.0, 1.0]})
        figure = nic_speed.figure_of("core awake", of)
        self.assertEqual(figure["ratio"], [0.5, 0.25, 0.5])
        self.assertEqual(figure["mcycles_per_s"], [1.0, 0.5, 1.0])

    def test_each_round_begins_with_another_case(self) -> None:
        cases = list(nic_speed.CASES)
        firsts = [nic_speed.rotated(cases, turn)[0] for turn in range(len(cases))]
        self.assertEqual(firsts, cases)

    def test_core_below_its_bound_is_missed(self) -> None:
        for speed, is_missed in ((0.34, True), (0.35, False)):
            of = runs({nic_speed.BARE: [1.0], "core awake": [speed]})
            figure = nic_speed.figure_of("core awake", of)
            self.assertEqual(nic_speed.is_missed(figure), is_missed)

    def test_bench_that_fails_gives_no_speed(self) -> None:
        text = "FAILED: ..\n  8.7 Mcycles in 16.3 s of processor time: 0.54 Mcycles/s\n"
        for status, is_right in ((0, True), (1, False)):
            done = subprocess.CompletedProcess([], status, text, "")
            with mock.patch.object(subprocess, "run", return_value=done):
                if is_right:
                    self.assertEqual(nic_speed.speed("bench_64", "", 1), 0.54)
                else:
                    self.assertRaises(ValueError, nic_speed.speed, "bench_64", "", 1)


if __name__ == "__main__":
    unittest.main()
