"""Figures from runs, and numbers from what programs print."""

import json
import unittest
from pathlib import Path

import pairs
import programs
from plot import tick_step
from turns import Case, Figure, Group, ProgramError, Run, reportable, turns, values
from wire_cases import GROUPS, QUIC

CASES = tuple(Case(name=name, what="", program=name) for name in ("ours", "theirs"))


def group_of(*figures: Figure) -> Group:
    return Group(name="g", why="", payload_bytes=1_408, cases=CASES, figures=figures)


def run(case: str, turn: int, rate_bps: float, others_share: float = 0.0) -> Run:
    return Run(
        group="g",
        case=case,
        round=turn,
        rate_bps=rate_bps,
        cpu_s_per_gb=2.0,
        beyond_window_bytes=0,
        others_share=others_share,
        said={},
    )


class Figures(unittest.TestCase):
    ratio = Figure(name="ours / theirs", case="ours", base="theirs", least=0.5)

    def test_a_ratio_is_taken_within_a_round(self) -> None:
        runs = [run("ours", 1, 4e9), run("theirs", 1, 8e9), run("theirs", 2, 1e9)]
        runs.append(run("ours", 2, 2e9))
        self.assertEqual(values(self.ratio, group_of(self.ratio), runs), ([0.5, 2.0], True))

    def test_disturbed_rounds_are_left_out_where_five_others_are_left(self) -> None:
        runs = [run(case, turn, 1e9) for turn in range(1, 6) for case in ("ours", "theirs")]
        runs += [run("ours", 6, 9e9, others_share=0.5), run("theirs", 6, 1e9)]
        self.assertEqual(values(self.ratio, group_of(self.ratio), runs), ([1.0] * 5, True))
        few = runs[2:]
        self.assertEqual(values(self.ratio, group_of(self.ratio), few), ([1.0] * 4 + [9.0], False))

    def test_a_base_that_took_nothing_is_infinitely_slower(self) -> None:
        runs = [run("ours", 1, 4e9), run("theirs", 1, 0.0)]
        self.assertEqual(values(self.ratio, group_of(self.ratio), runs), ([float("inf")], True))

    def test_bounds_hold_at_the_bound(self) -> None:
        most = Figure(name="", case="ours", of="beyond_window_bytes", most=64 << 20)
        self.assertTrue(self.ratio.holds(0.5) and not self.ratio.holds(0.499))
        self.assertTrue(most.holds(64 << 20) and not most.holds((64 << 20) + 1))
        self.assertEqual((self.ratio.claim(), most.claim()), (">= 0.5", "<= 64 MiB"))
        self.assertEqual(Figure(name="", case="ours").claim(), "")

    def test_figures_without_their_cases_are_not_reported(self) -> None:
        alone = Figure(name="ours", case="ours")
        self.assertEqual(reportable((alone, self.ratio), {"ours"}), (alone,))
        self.assertEqual(reportable((alone, self.ratio), {"theirs"}), ())

    def test_the_case_that_begins_a_round_changes_after_one_of_warming_up(self) -> None:
        order = [(turn, case.name) for turn, case in turns(group_of(), 2)]
        ours, theirs = "ours", "theirs"
        self.assertEqual(
            order, [(0, ours), (0, theirs), (1, theirs), (1, ours), (2, ours), (2, theirs)]
        )


class Printed(unittest.TestCase):
    def test_iperf3_reports_what_its_server_took(self) -> None:
        sent = {"bytes": 2_000, "bits_per_second": 16_000.0}
        received = {"bytes": 1_000, "bits_per_second": 8_000.0}
        text = json.dumps({"end": {"sum_sent": sent, "sum_received": received}})
        self.assertEqual(pairs.read_iperf3(text), pairs.Taken(rate_bps=8_000.0, taken_bytes=1_000))

    def test_an_error_of_iperf3_is_passed_on(self) -> None:
        with self.assertRaisesRegex(ProgramError, "unable to connect"):
            pairs.read_iperf3('{"start": {}, "end": {}, "error": "unable to connect"}')

    def test_the_rate_of_srt_is_of_all_intervals_but_the_first(self) -> None:
        rows = [(1_000, 500), (1_250, 1_000), (1_500, 3_000)]
        lines = [json.dumps({"time": at, "recv": {"bytesUnique": n}}) for at, n in rows]
        taken = pairs.read_srt("\n".join(["a word", *lines]))
        self.assertEqual(taken, pairs.Taken(rate_bps=64_000.0, taken_bytes=4_500))
        with self.assertRaisesRegex(ProgramError, "too little"):
            pairs.read_srt(lines[0])

    def test_only_numbers_of_a_program_are_kept(self) -> None:
        self.assertEqual(pairs.numbers_of('{"a": 1, "b": true}'), {"a": 1, "b": True})
        for text in ("", "words", "[1]", '{"host": "name"}'):
            self.assertIsNone(pairs.numbers_of(text))


class Peers(unittest.TestCase):
    def test_every_case_over_a_wire_has_a_program_that_can_be_built(self) -> None:
        wanted = {case.program for group in GROUPS for case in group.cases}
        self.assertEqual(wanted, pairs.PROGRAMS.keys())
        for name in pairs.BUILT:
            self.assertTrue((pairs.PEERS / name / "Cargo.lock").exists(), name)

    def test_each_library_of_quic_is_held_to_the_same_ratio_under_any_loss(self) -> None:
        for group in GROUPS[:3]:
            least = {figure.base: figure.least for figure in group.figures if figure.base}
            self.assertEqual({least[case.name] for case in QUIC}, {1.8}, group.name)

    def test_the_ends_of_quic_are_the_library_s_own_program_with_one_certificate(self) -> None:
        setting = pairs.Setting(
            mtu_bytes=1_500,
            payload_bytes=1_408,
            seconds=1.0,
            rate_bps=0.0,
            executables={built: Path(built) for built in pairs.BUILT.values()},
            folder=Path("/dev/shm"),
        )
        for case in QUIC:
            pair = pairs.PROGRAMS[case.program](setting, case.arguments)
            self.assertEqual({pair.sender[0], pair.receiver[0]}, {f"{case.program}-bulk"})
            certificates = [
                words[words.index("--certificate") + 1] for words in (pair.sender, pair.receiver)
            ]
            self.assertEqual(*certificates)
            self.assertEqual(f"{case.program}-{pair.sender[-1]}", case.name)


class Proc(unittest.TestCase):
    def test_a_socket_that_listens_is_found(self) -> None:
        for state in ("07", "0A"):
            table = f"  sl  local_address rem_address\n   0: 0202630A:24FE 00000000:0000 {state}\n"
            self.assertTrue(programs.has_port(table, 9_470))
            self.assertFalse(programs.has_port(table, 9_471))

    def test_what_is_left_of_a_connection_does_not_listen(self) -> None:
        table = "  sl  local_address rem_address\n   0: 0202630A:24FE 0102630A:B0C2 06\n"
        self.assertFalse(programs.has_port(table, 9_470))

    def test_the_highest_resident_size_is_in_kib(self) -> None:
        self.assertEqual(programs.highest_bytes("Name:\tx\nVmHWM:\t    2048 kB\n"), 2 << 20)
        self.assertEqual(programs.highest_bytes("Name:\tx\n"), 0)


class Axis(unittest.TestCase):
    def test_about_five_round_steps_reach_the_highest_value(self) -> None:
        self.assertEqual(
            [tick_step(most) for most in (0.0, 0.9, 4.3, 10.0, 26.0)], [1, 0.2, 1, 2, 10]
        )


if __name__ == "__main__":
    unittest.main()
