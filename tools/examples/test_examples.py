"""Tests of how pages are read, compared and rewritten; nothing is run but a shell's echo."""

import tempfile
import unittest
from pathlib import Path

import check
import compare
import rewrite
from blocks import Block, PageError, parse
from run import RunError, session

PAGE = """# A page

<!-- setup: prepare -->

Some text,
    and a line of it that is no block.

<!-- varies: 2.0 s; 7 -->
    $ first --option \\
        --other
    took 2.0 s

    $ second   # with a remark

- a list

<!-- in another terminal -->
```text
# at the other host
$ device
```

<!-- written by another generator -->

```rust,no_run
fn main() {}
```
"""


def mismatch(expected: str, actual: str, *varying: str) -> compare.Mismatch | None:
    return compare.mismatch(expected.splitlines(), actual.splitlines(), list(varying))


class Reading(unittest.TestCase):
    def test_blocks_have_their_comments(self) -> None:
        first, second, third = parse(PAGE)
        self.assertEqual(first.values("setup"), ["prepare"])
        self.assertEqual(first.varying, ["2.0 s", "7"])
        self.assertTrue(second.has("in another terminal"))
        self.assertEqual((third.language, third.comments), ("rust,no_run", []))

    def test_commands_have_their_output(self) -> None:
        first, second, _ = parse(PAGE)
        one, other = first.commands()
        self.assertEqual(one.text, "first --option --other")
        self.assertEqual(first.lines[one.output_first : one.output_end], ["took 2.0 s"])
        self.assertEqual(other.text, "second   # with a remark")
        self.assertEqual(other.output_first, other.output_end)
        self.assertEqual([it.text for it in second.commands()], ["device"])

    def test_comment_before_no_block_is_an_error(self) -> None:
        for page in ("<!-- not run: why -->\n\ntext\n", "<!-- stop -->\n"):
            with self.assertRaisesRegex(PageError, "line 1: .* before no block"):
                parse(page)

    def test_slip_in_a_comment_is_an_error(self) -> None:
        for comment in ("vary: 1", "not run", "stop: now", "in an other terminal"):
            with self.assertRaisesRegex(PageError, "no comment that is known"):
                parse(f"<!-- {comment} -->\n    $ a\n")

    def test_output_before_the_first_command_is_an_error(self) -> None:
        with self.assertRaises(PageError):
            Block(0, ["output", "$ command"]).commands()

    def test_fence_without_an_end_is_an_error(self) -> None:
        with self.assertRaises(PageError):
            parse("```text\nnever ends\n")


class Comparing(unittest.TestCase):
    def test_equal_outputs_match_and_others_do_not(self) -> None:
        self.assertIsNone(mismatch("a 1\nb", "a 1\nb"))
        self.assertIsNotNone(mismatch("a 1\nb", "a 2\nb"))
        self.assertIsNotNone(mismatch("a 1", "a 1\nb"))
        self.assertIsNotNone(mismatch("a 1\nb", "a 1"))

    def test_dots_stand_for_any_lines_and_for_none(self) -> None:
        for actual in ("a\nb", "a\nx\nb", "a\nb\ny\nb"):
            self.assertIsNone(mismatch("a\n...\nb", actual))
        self.assertIsNotNone(mismatch("a\n...\nb", "a\nb\nx"))
        self.assertIsNone(mismatch("...", ""))

    def test_output_that_goes_on_matches_when_it_may(self) -> None:
        self.assertIsNone(compare.mismatch(["a"], ["a", "b"], [], is_whole=False))
        self.assertIsNotNone(compare.mismatch(["b"], ["a", "b"], [], is_whole=False))

    def test_only_listed_numbers_may_differ(self) -> None:
        line = "whole: 1,000 samples in 2.0 s, 2 lost"
        self.assertIsNone(mismatch(line, "whole: 9 samples in 2.0 s, 2 lost", "1,000"))
        self.assertIsNotNone(mismatch(line, "whole: 9 samples in 2.0 s, 3 lost", "1,000"))
        self.assertIsNotNone(mismatch(line, "whole: no samples in 2.0 s, 2 lost", "1,000"))

    def test_field_is_no_part_of_a_longer_number_or_word(self) -> None:
        self.assertIsNotNone(mismatch("12 and 2.5 and sc2", "13 and 2.5 and sc2", "2"))
        self.assertIsNotNone(mismatch("12 and 2.5 and sc2", "12 and 2.6 and sc2", "2"))
        self.assertIsNotNone(mismatch("12 and 2.5 and sc2", "12 and 2.5 and sc3", "2"))
        self.assertIsNone(mismatch("index 5..7", "index 6..81", "5", "7"))

    def test_unit_may_have_another_prefix_and_is_no_other_unit(self) -> None:
        self.assertIsNone(mismatch("rtt 73.3 us, ok", "rtt 1.2 ms, ok", "73.3 us"))
        self.assertIsNone(mismatch("at 320 Mb/s", "at 1.1 Gb/s", "320 Mb/s"))
        self.assertIsNotNone(mismatch("rtt 73.3 us, ok", "rtt 73.3 Mb/s, ok", "73.3 us"))
        self.assertIsNotNone(mismatch("at 320 Mb/s", "at 320 MS/s", "320 Mb/s"))
        self.assertIsNotNone(mismatch("at 320 Mb/s", "at 320 Mb/symbol", "320 Mb/s"))

    def test_spaces_beside_a_field_and_a_bar_may_be_others(self) -> None:
        old = " 1.0 ms    9    9.0 %  ###"
        self.assertIsNone(mismatch(old, " 1.0 ms  100  100.0 %  ######", "9", "9.0 %", "###"))
        empty = " 1.0 ms    0    0.0 %"
        self.assertIsNone(mismatch(old, empty, "9", "9.0 %", "###"))
        self.assertIsNone(mismatch(empty, old, "0", "0.0 %", "#"))
        self.assertIsNotNone(mismatch(old, "  1.0 ms    9    9.0 %  ###", "9", "9.0 %", "###"))

    def test_hexadecimal_field_and_path(self) -> None:
        boot = "9b33d84fc2424ab4"
        self.assertIsNone(mismatch(f"boot {boot}", "boot 1234567812345678", boot))
        self.assertIsNotNone(mismatch(f"boot {boot}", "boot 12345678", boot))
        self.assertIsNone(mismatch("at /usr/bin/x now", "at /tmp/x now", "/usr/bin/x"))

    def test_field_that_no_line_has_is_found(self) -> None:
        self.assertEqual(compare.unused(["took 2.0 s"], ["2.0 s", "3.0 s"]), ["3.0 s"])

    def test_difference_names_both_lines(self) -> None:
        found = mismatch("a\nlost 2", "a\nlost 3")
        self.assertEqual(str(found), "differs:\n    - lost 2\n    + lost 3")


class Rewriting(unittest.TestCase):
    def test_words_change_and_shape_and_fields_stay(self) -> None:
        lines, fields = rewrite.rewritten(
            ["...", "whole: 9 samples in 2.0 s", "...", "  missing    0 samples in 0 gaps"],
            ["begin", "whole: 12 samples after 2.1 s", "x", "  missing    0 samples of 0 gaps"],
            ["9", "2.0 s"],
        )
        self.assertEqual(
            lines,
            ["...", "whole: 12 samples after 2.1 s", "...", "  missing    0 samples of 0 gaps"],
        )
        self.assertEqual(fields, [("9", "12"), ("2.0 s", "2.1 s")])

    def test_line_that_is_new_comes_in_and_one_that_is_gone_goes(self) -> None:
        lines, _ = rewrite.rewritten(["one a", "gone"], ["one a", "some thing else", "more"], [])
        self.assertEqual(lines, ["one a", "some thing else", "more"])

    def test_unit_changes_and_path_of_the_page_stays(self) -> None:
        lines, fields = rewrite.rewritten(
            ["took 2.2 ms, see /usr/bin/a"], ["took 4.6 s, see /tmp/b"], ["2.2 ms", "/usr/bin/a"]
        )
        self.assertEqual(lines, ["took 4.6 s, see /usr/bin/a"])
        self.assertIn(("2.2 ms", "4.6 s"), fields)

    def test_rewritten_output_matches_its_run(self) -> None:
        expected = ["...", "gap  index 5..7 (3 samples, 3.0 us)", "..."]
        actual = ["start", "gap  index 105..109 (5 samples, 5.0 us)  stream 0", "gap  x", "end"]
        lines, fields = rewrite.rewritten(expected, actual, ["5", "7", "3 samples", "3.0 us"])
        varying = [new for _, new in fields]
        self.assertEqual(varying, ["105", "109", "5 samples", "5.0 us"])
        self.assertIsNone(compare.mismatch(lines, actual, varying))


class Checking(unittest.TestCase):
    """Pages of shell commands, without the command."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "page.md"

    def result(self, text: str, *, is_written: bool = False) -> check.Result:
        self.path.write_text(text)
        page = check.Page(self.path, is_written=is_written, is_shown=False)
        with session(Path("/bin/true")) as opened:
            page.check(page.blocks(), opened)
        return page.result

    def test_right_page_passes(self) -> None:
        page = (
            "<!-- setup: echo 4 > file -->\n<!-- varies: 3 -->\n    $ cat file\n    3\n"
            "    $ cat missing\n    cat: missing: No such file or directory\n    $ true\n"
        )
        result = self.result(page)
        self.assertEqual((result.failures, result.commands, result.outputs), ([], 3, 2))

    def test_wrong_output_fails_with_its_line(self) -> None:
        failures = self.result("    $ true\n    $ echo a\n    b\n").failures
        self.assertEqual(len(failures), 1)
        self.assertIn("page.md:2: differs", failures[0])

    def test_failure_whose_output_is_not_shown_fails(self) -> None:
        for output in ("", "    ...\n"):
            failures = self.result(f"    $ false\n{output}").failures
            self.assertIn("status 1 of: false", failures[0])

    def test_job_keeps_running_and_its_output_goes_on(self) -> None:
        page = (
            "<!-- in another terminal -->\n    $ echo a; while ! [ -e b ]; do sleep 0.05; done;"
            " echo b; sleep 9\n    a\n\ntext\n\n    $ touch b\n\ntext\n\n"
            "<!-- in another terminal -->\n    b\n"
        )
        self.assertEqual(self.result(page).failures, [])

    def test_job_that_failed_is_a_failure(self) -> None:
        page = "<!-- in another terminal -->\n    $ sh -c 'exit 7'\n"
        self.assertIn("status 7", self.result(page).failures[0])

    def test_block_without_a_reason_fails_and_nothing_runs(self) -> None:
        result = self.result("    $ echo a\n    a\n\ntext\n\n    samplewire find\n")
        self.assertIn("page.md:6: neither runs", result.failures[0])
        self.assertEqual(result.commands, 0)
        fenced = self.result("```text\nsamplewire find\n```\n")
        self.assertIn("neither runs", fenced.failures[0])

    def test_reason_and_missing_program_are_listed(self) -> None:
        result = self.result(
            "<!-- not run: no board -->\n    make board\n\ntext\n\n"
            "<!-- needs: no-such-program -->\n    $ no-such-program\n"
        )
        self.assertEqual(result.failures, [])
        self.assertEqual(result.not_run, ["page.md:2: no board"])
        self.assertEqual(result.skipped, ["page.md:7: there is no no-such-program"])

    def test_code_must_stand_in_a_program(self) -> None:
        self.assertEqual(
            self.result("```c\n#include <samplewire.h>\n```\n").elsewhere,
            ["a program that is compiled"],
        )
        self.assertIn("stands in no program", self.result("```c\nnot_there();\n```\n").failures[0])

    def test_fields_of_a_written_page_are_those_of_the_run(self) -> None:
        page = (
            "<!-- varies: 3 lost; 2.0 s -->\n    $ echo '4 lost, in all'; echo 5 lost; echo 1.0 s\n"
            "    3 lost\n    ...\n    2.0 s\n\n    $ echo 3 lost\n    3 lost\n"
        )
        self.result(page, is_written=True)
        written = self.path.read_text()
        self.assertTrue(written.startswith("<!-- varies: 5 lost; 3 lost; 1.0 s -->"), written)

    def test_page_is_written_and_then_right(self) -> None:
        page = "<!-- varies: 3 lost -->\n    $ echo a; echo 4 gone; echo b\n    a\n    3 lost\n"
        self.assertEqual(self.result(page, is_written=True).rewritten, 1)
        written = self.path.read_text()
        self.assertIn("\n    a\n    4 gone\n    b\n", written)
        self.assertNotIn("3 lost", written.splitlines()[2:])


class Running(unittest.TestCase):
    def test_setup_that_fails_is_named(self) -> None:
        with session(Path("/bin/true")) as opened, self.assertRaisesRegex(RunError, "exit 3"):
            opened.set_up("exit 3")


if __name__ == "__main__":
    unittest.main()
