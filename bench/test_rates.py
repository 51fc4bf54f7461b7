"""The search for the highest rate that holds."""

import unittest
from collections.abc import Callable
from unittest import mock

import rates


class TestHighest(unittest.TestCase):
    """`rates.highest` with runs that a rule decides."""

    def search(self, has_defect: Callable[[float, int], bool]) -> tuple[dict, list[float]]:
        """What is found, and the rates of the runs in MS/s. A run's rate and number decide it."""
        ran = []

        def at_rate(*of: object) -> dict[str, object]:
            ran.append(of[3] / 1e6)
            return {"defects": int(has_defect(ran[-1], len(ran))), "cores": float(len(ran))}

        with mock.patch.object(rates, "at_rate", at_rate):
            found = rates.highest(None, None, (rates.CASES["1x250"], "receive", "udp"), 60.0)
        return found, ran

    def test_a_rate_holds_after_three_runs_without_a_defect(self) -> None:
        found, ran = self.search(lambda _rate, _number: False)
        self.assertTrue(found["holds"])
        self.assertEqual((found["rate_hz"], found["cores"]), (250e6, 2.0))
        self.assertEqual(ran, [250.0] * 3)

    def test_one_defect_in_the_third_run_sends_the_search_below(self) -> None:
        found, ran = self.search(lambda _rate, number: number == 3)
        self.assertFalse(found["holds"])
        self.assertEqual(found["rate_hz"], 250e6 * 15 / 16)
        self.assertEqual(ran[:4], [250.0] * 3 + [125.0])

    def test_the_highest_sixteenth_that_holds_is_found(self) -> None:
        for limit in range(1, 16):
            found, _ = self.search(lambda rate, _number, limit=limit: rate > 250 * limit / 16)
            self.assertEqual(found["rate_hz"], 250e6 * limit / 16)

    def test_no_rate_is_found_where_none_holds(self) -> None:
        found, ran = self.search(lambda _rate, _number: True)
        self.assertEqual((found["holds"], found["rate_hz"]), (False, 0.0))
        self.assertEqual(ran, [250.0, 125.0, 62.5, 31.25, 15.625])


if __name__ == "__main__":
    unittest.main()
