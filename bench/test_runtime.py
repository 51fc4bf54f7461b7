"""What the runs of the runtime's tables come to, without running any."""

import unittest

from runtime import Run, Table, rows, said_last, spread_of, without
from runtime_cases import TABLES, case
from turns import ProgramError

CASES = (case("ours", "saxpy", quanta=8), case("theirs", "gnuradio"))

TABLE = Table(name="t", why="", cases=CASES, ours="ours")


def run(
    name: str, turn: int, value: float, to_hand: float | None = None, others: float = 0.0
) -> Run:
    by_hand = value / to_hand if to_hand else None
    return Run(
        group="t",
        case=name,
        round=turn,
        value=value,
        by_hand=by_hand,
        to_hand=to_hand,
        others_share=others,
        said={},
    )


class Rows(unittest.TestCase):
    def test_a_ratio_to_a_peer_is_taken_within_a_round(self) -> None:
        runs = [run("ours", 1, 8e9), run("theirs", 1, 2e9), run("theirs", 2, 4e9)]
        runs.append(run("ours", 2, 4e9))
        ours, theirs = rows(TABLE, runs)
        self.assertEqual(theirs.ours_by_it, [4.0, 1.0])
        self.assertEqual(ours.ours_by_it, [])

    def test_what_is_by_hand_is_that_of_the_run(self) -> None:
        ours, theirs = rows(TABLE, [run("ours", 1, 8e9, 0.9), run("theirs", 1, 2e9)])
        self.assertEqual((ours.to_hand, theirs.to_hand), ([0.9], []))

    def test_a_round_in_which_either_was_disturbed_is_left_out(self) -> None:
        runs = [run(name, turn, 1e9) for turn in range(1, 6) for name in ("ours", "theirs")]
        runs += [run("ours", 6, 9e9, others=0.5), run("theirs", 6, 1e9)]
        ours, theirs = rows(TABLE, runs)
        self.assertEqual((len(ours.values), len(theirs.values)), (5, 5))
        self.assertTrue(ours.is_undisturbed and theirs.is_undisturbed)

    def test_with_too_few_quiet_rounds_all_count_and_it_is_said(self) -> None:
        runs = [run("ours", turn, 1e9, others=0.5) for turn in range(1, 6)]
        runs += [run("theirs", turn, 1e9) for turn in range(1, 6)]
        self.assertEqual([row.is_undisturbed for row in rows(TABLE, runs)], [False, False])
        self.assertEqual([len(row.values) for row in rows(TABLE, runs)], [5, 5])


class Programs(unittest.TestCase):
    def test_the_object_is_the_last_line(self) -> None:
        said = said_last('saxpy :warning: 9216 instead of 8192\n{"samples_per_s":3}\n', ["x"])
        self.assertEqual(said, {"samples_per_s": 3})

    def test_a_program_without_one_is_named_with_its_words(self) -> None:
        with self.assertRaisesRegex(ProgramError, "x --kernels 4.*said nothing"):
            said_last("said nothing", ["x", "--kernels", "4"])

    def test_a_peer_that_is_not_here_leaves_the_table(self) -> None:
        self.assertEqual(without(TABLE, {"gnuradio": "not here"}).cases, CASES[:1])
        self.assertIsNone(without(TABLE, {"gnuradio": "", "saxpy": ""}))


class Tables(unittest.TestCase):
    def test_names_are_of_one_table_and_of_one_case_each(self) -> None:
        names = [table.name for table in TABLES]
        self.assertEqual(len(names), len(set(names)))
        for table in TABLES:
            cases = [one.name for one in table.cases]
            self.assertEqual(len(cases), len(set(cases)), table.name)
            self.assertIn(table.ours, ["", *cases])

    def test_a_ratio_is_reported_with_its_spread(self) -> None:
        self.assertEqual(spread_of([3.0, 1.0, 2.0]), "2.00 (1.00..3.00)")
        self.assertEqual(spread_of([]), "")


if __name__ == "__main__":
    unittest.main()
