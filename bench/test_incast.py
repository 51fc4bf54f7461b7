"""What incast.py reads out of the counts of a switch."""

import argparse
import io
import unittest
from contextlib import redirect_stdout
from dataclasses import replace

import incast
from turns import ProgramError

ARGUMENTS = argparse.Namespace(devices=2, boards=0, seconds=7, slow=50, jain=0.98, utilisation=0.97)
SENDERS, RECEIVER = [0, 1], 2


def window(start_s: float, shares: list[int], utilisation: float) -> dict:
    ports = [{"bytes_forwarded": share, "utilisation": 0.0} for share in shares]
    ports.append({"bytes_forwarded": 0, "utilisation": utilisation})
    return {"start_s": start_s, "end_s": start_s + 1, "ports": ports}


def report(windows: list[dict]) -> dict:
    port = {
        "dropped": 0,
        "link_dropped": None,
        "marked": 3,
        "cnp_forwarded": 1,
        "cnp_forged": 2,
        "queue_bytes_max": 5,
    }
    late = {"p50_ns": 1, "p99_ns": 2, "max_ns": 3}
    return {"intervals": windows, "end": {"ports": [port] * 3, "late": late}}


class Figures(unittest.TestCase):
    def test_index_is_one_for_equal_shares_and_falls_to_one_of_n(self) -> None:
        self.assertEqual(incast.jain([7, 7, 7]), 1)
        self.assertAlmostEqual(incast.jain([1, 0, 0, 0]), 0.25)

    def test_windows_are_those_after_the_start_and_before_the_end(self) -> None:
        windows = [window(0, [0, 0], 0), window(1.01, [1, 9], 0.5)]
        windows += [window(at + 0.01, [1, 9], 0.5) for at in range(2, 6)]
        windows += [window(6.02, [5, 5], 0.99), window(7.02, [4, 4], 0.98)]
        windows += [window(8.02, [0, 9], 0.1)]
        result = incast.read(report(windows), SENDERS, RECEIVER, 2, ARGUMENTS)
        self.assertEqual((result.jain, result.utilisation), ([1, 1], [0.99, 0.98]))
        self.assertEqual((result.repaired, result.marked, result.tap_dropped), (2, 9, 0))
        self.assertEqual(result.cnps, 9)

    def test_run_without_traffic_is_no_result(self) -> None:
        with self.assertRaises(ProgramError):
            incast.read(report([window(0, [0, 5], 0)]), SENDERS, RECEIVER, 0, ARGUMENTS)

    def test_each_bound_can_be_missed(self) -> None:
        windows = [window(at, [5, 5], 0.99) for at in range(8)]
        good = incast.read(report(windows), SENDERS, RECEIVER, 0, ARGUMENTS)
        bad = [
            replace(good, jain=[0.97]),
            replace(good, utilisation=[0.96]),
            replace(good, dropped=1),
            replace(good, tap_dropped=1),
        ]
        with redirect_stdout(io.StringIO()):
            self.assertTrue(incast.print_result(good, "2 devices", ARGUMENTS))
            for result in bad:
                self.assertFalse(incast.print_result(result, "2 devices", ARGUMENTS))


if __name__ == "__main__":
    unittest.main()
