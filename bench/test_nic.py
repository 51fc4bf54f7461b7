"""What nic.py reads out of the programs that it runs, and the tables that it writes."""

import json
import re
import unittest
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import nic
import nic_tables
from kept import ROOT
from nic_tables import Rate, Swap, Transfer

ONE_G, TEN_G = nic_tables.WIRES
KEPT = ROOT / "bench" / "results" / "kept.json"


def swap(mbps: float = 496.1, lost: int = 0) -> Swap:
    rate: Rate = {"mbps": mbps, "lost": lost, "frames": 5000}
    return {
        "rates": {"one core": [rate] * 6, "MAC loop-back": [rate] * 6},
        "trips_us": {"one core": [2.0 + n for n in range(6)], "no processor": [1.5] * 6},
        "loops_us": {"one core": [1.25] * 6},
    }


def transfers() -> list[Transfer]:
    return [
        {
            "picture": picture.name,
            "scheme": scheme,
            "build": build,
            "cells": ["971.80/971.60", "170.70", "971.80/971.80"],
            "repeated": 5,
        }
        for picture in nic_tables.PICTURES
        for scheme in nic.IMAGES
        for build in ("memory outside", "L2")
    ]


class Figures(unittest.TestCase):
    def test_wire_of_1g_carries_what_the_header_and_the_gap_leave(self) -> None:
        self.assertAlmostEqual(ONE_G.mbps(64), 627.45, places=2)
        self.assertAlmostEqual(ONE_G.mbps(1481, 19), 971.78, places=2)

    def test_lost_frames_are_those_that_did_not_come_back(self) -> None:
        line = "496.1 Mb/s of 627.5 (79.06 %), ..; 4219 of 5000 frames came back, 781 dropped"
        with mock.patch.object(nic.Build, "run", return_value=nic.RATE.search(line)):
            rate = nic.LOCAL.rate(ONE_G, 64)
        self.assertEqual(rate, {"mbps": 496.1, "lost": 781, "frames": 5000})

    def test_runs_have_a_row_without_the_processor(self) -> None:
        def rate(build: nic.Build, wire: nic.Wire, size: int, *options: str) -> Rate:
            return {"mbps": float(options[1]), "lost": 0, "frames": size}

        def trip(build: nic.Build, wire: nic.Wire, size: int, *options: str) -> float:
            return float(options[1])

        with (
            mock.patch.object(nic.Build, "rate", rate),
            mock.patch.object(nic.Build, "trip", trip),
            ThreadPoolExecutor(1) as pool,
        ):
            figures = nic.Runs(TEN_G, ["swap"], pool).figures()
        self.assertEqual(list(figures), ["swap"])
        # Modes 1 and 2 of the NIC's register.
        self.assertEqual([r["mbps"] for r in figures["swap"]["rates"][nic.NO_PROCESSOR]], [1.0] * 6)
        self.assertEqual(figures["swap"]["trips_us"][nic.NO_PROCESSOR], [1.0] * 6)
        self.assertEqual(figures["swap"]["loops_us"][nic.LOCAL.name], [2.0] * 6)

    def test_parts_need_their_builds_alone(self) -> None:
        def names(parts: list[str], wire: nic.Wire) -> set[str]:
            return {build.program(wire).name for build in nic.builds_of(parts, wire)}

        self.assertEqual(names(["pacing"], ONE_G), set())
        self.assertEqual(names(["flood"], TEN_G), {"nic_soc_bench_1_10g"})
        self.assertEqual(names(["clock"], ONE_G), {"nic_soc_bench_1_1g_cpu"})
        self.assertEqual(names(["clock"], TEN_G), set())
        rings = {f"nic_soc_bench_1_1g{kind}_rings" for kind in ("", "_outside", "_l2")}
        self.assertLess(rings, names(["swap"], ONE_G))
        self.assertFalse({name for name in names(["swap"], TEN_G) if "rings" in name})

    def test_flood_is_read_and_a_late_answer_is_an_error(self) -> None:
        line = (
            "10 ms of garbage, 6968 frames, 9 bytes: an answer 5.218 ms behind it (6 sent), all 64 "
            "buffers free at 10.370 ms; frames: 9 received, 8 filtered, 7 too long, 6 bad, 5503 "
            "dropped for lack of room"
        )
        with mock.patch.object(nic.Build, "run", return_value=nic.FLOOD.search(line)):
            late = nic.LOCAL.flood(ONE_G, "stack_apart", 1)
        self.assertEqual((late["frames"], late["dropped"]), (6968, 5503))
        self.assertEqual((late["answer_ms"], late["buffers_ms"]), (5.218, 10.37))
        in_time = late | {"buffers_ms": 10.0}
        self.assertEqual(nic.late_floods({"1g": {"flood": [in_time, late]}, "10g": {}}), [late])
        (table,) = nic_tables.flood_tables(ONE_G, [in_time, late])
        self.assertEqual(table.rows, [["`stack_apart`", "6,968", "5,503", "5.218", "10.370"]])

    def test_picture_is_sent_by_the_gap_of_its_build_and_may_repeat_no_frame(self) -> None:
        line = "scheme 4: 3680.54/1358.77 Mb/s, 7.44 pictures/s, most 1.00/2.00; 3 repeated, 3"
        runs: list[tuple[str, ...]] = []

        def run(_: nic.Build, wire: nic.Wire, image: str, pattern: re.Pattern, *options: str):  # noqa: ANN202
            runs.append(options[5:])
            return pattern.search(line)

        with mock.patch.object(nic.Build, "run", run):
            (picture, _) = nic_tables.PICTURES
            build = nic.Build("L2", 1, "l2", burst=8, gap=500)
            lossy = [build.picture(TEN_G, picture, scheme) for scheme in (3, 4)]
            nic.L2.picture(ONE_G, picture, 4)
        ends = [("8", "0"), ("1", "500"), ("16", "0")]
        self.assertEqual([(one[-3], one[-1]) for one in runs], ends)
        whole = lossy[0] | {"repeated": 0}
        figures = {
            "1g": {"pictures": [whole]},
            "10g": {"pictures": [whole, lossy[1]]},
            "pacing": {},
        }
        self.assertEqual(nic.repeated_pictures(figures), [lossy[1]])


class Tables(unittest.TestCase):
    def test_each_row_has_as_many_cells_as_the_head(self) -> None:
        rows = [
            {"sleep": {"median_ns": 63_650 + n}, "spin": {"median_ns": 1_050_000}}
            for n in range(len(nic_tables.PACING_OF_T))
        ]
        for wire in nic_tables.WIRES:
            tables = nic_tables.swap_tables(wire, swap())
            tables += nic_tables.picture_tables(wire, transfers())
            for table in [*tables, nic_tables.pacing_table(rows)]:
                with self.subTest(wire=wire.name, title=table.title):
                    lengths = {len(row) for row in [table.head, table.marks, *table.rows]}
                    self.assertEqual(lengths, {len(table.head)})
        pacing = nic_tables.pacing_table(rows).rows
        self.assertEqual(pacing[0][:3], ["T, sleep (C.1)", "4.25", "59.8"])
        self.assertEqual(pacing[1][:3], ["here, sleep", "63.65", "63.65"])
        self.assertEqual(pacing[2][:2], ["here, spin", "1,050.00"])

    def test_rows_of_t_stand_at_1g_alone(self) -> None:
        for wire, is_there in ((ONE_G, True), (TEN_G, False)):
            tables = nic_tables.swap_tables(wire, swap())
            tables += nic_tables.picture_tables(wire, transfers())
            text = "\n".join(map(str, tables))
            for row in (
                "| T, NIC_1.2 (6.6, 7.2) | 52.60 | 84.79 | 151.49 | 270.42 | 477.09 | 526.12 |",
                "| T, no processor (B.2) | 144.09 | 170.36 | 487.85 | 867.51 | 852.00 | 888.19 |",
                "| T, MAC loop-back (6.5) | 297.07 | 407.06 | 689.93 | 867.73 | 986.16 | 1018.85 |",
                "| T, no processor (B.1) | 99 | 109 | 120 | 137 | 156 | - |",
                "| T, MAC loop-back (6.3) | 108 | 125 | 136 | 146 | 166 | - |",
                "| 15.9 MB (6.8) | 4 | T | 638.25/637.37 | 2.39 | 702.61/701.89 |",
            ):
                with self.subTest(wire=wire.name, row=row):
                    self.assertEqual(row in text.splitlines(), is_there)

    def test_lost_and_repeated_frames_are_in_brackets(self) -> None:
        rates, _, added = nic_tables.swap_tables(TEN_G, swap(lost=3532))
        self.assertEqual(rates.rows[0][:2], ["here, one core", "496.1 (3,532 of 5,000)"])
        self.assertEqual(added.rows[0][:3], ["here, one core", "0.75", "1.75"])
        (pictures,) = nic_tables.picture_tables(TEN_G, transfers())
        self.assertEqual(pictures.rows[0][3], "971.80/971.60 (5)")

    def test_a_part_replaces_its_own_block_alone(self) -> None:
        def block(marker: str) -> str:
            return f"<!-- {marker}: written by bench/nic.py -->\nold\n<!-- end of {marker} -->\n"

        page = f"a\n{block('swap at 10G')}b\n{block('pictures at 10G')}c\n"
        written = nic_tables.page(page, {"10g": {"swap": swap()}}, KEPT)
        self.assertEqual(written.count("old"), 1)
        self.assertIn("| here, one core | 2.00 | 3.00 |", written)
        self.assertEqual(written.count("([Runs](../bench/results/kept.json))"), 1)
        self.assertTrue(written.startswith("a\n") and written.endswith("c\n"))
        with self.assertRaisesRegex(ValueError, "swap at 1G: written by"):
            nic_tables.page(page, {"1g": {"swap": swap()}}, KEPT)

    def test_docs_have_the_tables_of_the_kept_results(self) -> None:
        text = nic_tables.PAGE.read_text()
        links = set(re.findall(r"\(\[Runs\]\((.*)\)\)", text))
        self.assertTrue(links)
        for link in links:
            path = (nic_tables.PAGE.parent / link).resolve()
            figures = json.loads(path.read_text())["wires"]
            self.assertEqual(nic_tables.page(text, figures, path), text)


if __name__ == "__main__":
    unittest.main()
