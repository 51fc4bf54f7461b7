"""Ratios of `beside.py`, and the packets of its flood."""

import sys
import unittest
from unittest import mock

import beside
import rates
from turns import Run


def run(case: str, turn: int, **said: float) -> Run:
    return Run(
        group="tcp",
        case=case,
        round=turn,
        rate_bps=0.0,
        cpu_s_per_gb=0.0,
        beyond_window_bytes=0,
        others_share=0.0,
        said=said,
    )


class Arguments(unittest.TestCase):
    def test_without_names_all_parts_are_measured(self) -> None:
        with mock.patch.object(sys, "argv", ["bench"]):
            self.assertEqual(beside.parse_arguments().parts, list(beside.CASES))
            self.assertEqual(rates.parse_arguments().parts, rates.PARTS)
        with mock.patch.object(sys, "argv", ["bench", "idle"]):
            self.assertEqual(beside.parse_arguments().parts, ["idle"])


class Ratios(unittest.TestCase):
    def test_a_ratio_is_taken_within_a_round_and_held_to_its_bounds(self) -> None:
        ratio = beside.RATIOS["tcp"][0]
        runs = [run("xdp", 1, tcp_bps=9e9), run("udp", 2, tcp_bps=4e9)]
        runs += [run("udp", 1, tcp_bps=10e9), run("xdp", 2, tcp_bps=4e9)]
        self.assertEqual(beside.per_round(ratio, runs), [0.9, 1.0])
        self.assertTrue(ratio.holds(0.95) and not ratio.holds(0.94))
        idle = beside.RATIOS["idle"][0]
        self.assertTrue(idle.holds(1.0) and not idle.holds(1.01))

    def test_every_ratio_is_of_cases_that_run(self) -> None:
        for part, ratios in beside.RATIOS.items():
            values = dict.fromkeys(("tcp_bps", "device_cpu_s", "host_cpu_s"), 2.0)
            said = dict.fromkeys(beside.CASES[part], values)
            self.assertEqual({ratio.of(said) for ratio in ratios}, {1.0}, part)


class Flood(unittest.TestCase):
    def test_packets_are_data_with_a_tag_of_their_own_and_a_right_crc(self) -> None:
        packets = [frame[42:] for frame in beside.foreign_frames()]
        tags = {packet[2:6] for packet in packets}
        self.assertEqual((len(packets), len(tags)), (beside.FLOOD_FRAMES,) * 2)
        self.assertNotIn(bytes(4), tags)
        for packet in packets[:2]:
            self.assertEqual((packet[0], packet), (0x10, beside.generate.sealed(packet[:-4])))


if __name__ == "__main__":
    unittest.main()
